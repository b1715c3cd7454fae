r"""When random directions may end early: once the side of every asked eps on which a radius lies is certain.

Along a random direction the slope of a margin is larger than the median of its law with probability 1/2 exactly when
the norm of the gradient is the one that puts the radius at eps, with more when the radius is smaller, with less when it
is larger. So each direction is a toss of a coin, and the question is whether the coin is fair. The tosses are bet on
with a mixture of coins (Jeffreys' prior, the half on one side of 1/2), which is an e-process: whenever one stops, it is
above 1 / level with probability at most ``level`` if the radius lies on the other side (Ville's inequality; Robbins,
"Statistical methods related to the law of the iterated logarithm", Ann. Math. Statist. 41, 1970).
"""

import numpy as np
from scipy.special import betainc, betaln

from gfscore.arrays import BoolArray, FloatArray, IntArray

LEVEL = 0.05  # probability with which a side that is called certain is the wrong one, at most, for a sample and an eps
LOOK_EVERY = 4  # directions


def coin_evidence(heads: IntArray, tosses: int) -> tuple[FloatArray, FloatArray]:
    r"""E-values against "heads come at least half of the time", and against "at most half of the time".

    .. math:: E = \frac{2^{n+1}}{B(\frac12, \frac12)} \int_0^{1/2} p^{k - 1/2} (1-p)^{n - k - 1/2} \, dp

    for k heads in n tosses, and the same from 1/2 to 1.

    >>> [round(float(each), 2) for each in coin_evidence(np.array(0), 6)]
    [28.78, 0.09]
    """
    a, b = heads + 0.5, tosses - heads + 0.5
    whole = np.exp((tosses + 1) * np.log(2.0) + betaln(a, b) - betaln(0.5, 0.5))
    low = betainc(a, b, 0.5)
    return np.asarray(whole * low), np.asarray(whole * (1 - low))


def certain_sides(
    slopes: FloatArray, margins: FloatArray, sizes: tuple[float, ...], median: float, level: float = LEVEL
) -> BoolArray:
    """Whether the side of every size on which the radius of a sample lies is certain, (n,).

    ``slopes`` (n, m, R) are the slopes of the margins (n, R) to the rivals along m directions each, ``median`` that of
    the sizes of such slopes where the norm of the gradient is 1. A radius is above a size when it is for every rival,
    each shown at ``level``; below when it is for one, shown at ``level`` divided among them.
    """
    n_rivals = margins.shape[1]
    certain = np.ones(len(slopes), dtype=bool)
    for size in sizes:
        heads = (np.abs(slopes) > median * margins[:, None, :] / size).sum(axis=1)  # (n, R): so far the rival wins
        above, below = coin_evidence(heads, slopes.shape[1])
        certain &= (above >= 1 / level).all(axis=1) | (below >= n_rivals / level).any(axis=1)
    return certain
