"""The KL interval: Chernoff's bound, solved rather than approximated. Best for classes near 0 or near the maximum."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr

from gfscore.arrays import FloatArray, IntArray
from gfscore.bounds.parts import check_level, known_range
from gfscore.bounds.search import last_excluded
from gfscore.scores.great import SCORE_MAX

SLACK = 1e-9  # on the exponent, far above its rounding


def kl_intervals(
    scores: ArrayLike,
    counts: ArrayLike,
    delta: float,
    *,
    maximum: float = SCORE_MAX,
    sizes: IntArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends for all classes at once, ``(K,)`` each, with probability at least 1 - ``delta``.

    ``scores`` and ``counts`` are the mean score and the number of samples of each class; ``sizes`` as in
    :func:`kl_lower`.

    >>> lower, upper = kl_intervals([0.0, 0.5], [100, 100], 0.05, maximum=1.0)
    >>> lower.round(3), upper.round(3)
    (array([0.   , 0.355]), array([0.043, 0.645]))
    """
    means = np.asarray(scores, dtype=np.float64) / maximum
    samples = np.asarray(counts, dtype=np.int64)
    alpha = delta / (2 * len(means))
    lower = kl_lower(means, samples, alpha, sizes=sizes)
    upper = 1.0 - kl_lower(1.0 - means, samples, alpha, sizes=sizes)
    return maximum * lower, maximum * upper


def kl_lower(means: FloatArray, counts: IntArray, alpha: float, *, sizes: IntArray | None = None) -> FloatArray:
    r"""Lower bound of each mean of scores in [0, 1]; each one fails with probability at most ``alpha``.

    .. math:: \min\{\mu \le \hat\mu :\; n\,\mathrm{kl}(\hat\mu, \mu) \le \ln(1/\alpha)\}, \qquad
              \mathrm{kl}(p, q) = p \ln\tfrac{p}{q} + (1 - p) \ln\tfrac{1 - p}{1 - q}

    Chernoff's bound for a mean of independent scores in [0, 1]: Hoeffding, JASA 58 (1963), Theorem 1.

    With ``sizes`` N, for samples drawn without replacement from a fixed set. The same bound holds (Hoeffding's Theorem
    4: drawing without replacement makes every convex function of the sum smaller on average). It holds as well for the
    N - n samples that were *not* drawn, whose mean is then too low by as much: the event is the same one, so the larger
    exponent counts. Each exponent is convex in the mean of the set and 0 at the estimate, so the bound is one end of
    an interval.
    """
    check_level(alpha)
    log_level = math.log(1.0 / alpha)
    floor, _ = known_range(means, counts, sizes)

    def excluded(mean: FloatArray) -> NDArray[np.bool_]:
        exponent = counts * _kl(means, mean)
        if sizes is not None:
            rest = sizes - counts
            unseen = np.clip((sizes * mean - counts * means) / np.maximum(rest, 1), 0.0, 1.0)
            # where all were drawn there is nothing unseen, and its divergence may be infinite
            exponent = np.maximum(exponent, rest * _kl(np.where(rest > 0, unseen, mean), mean))
        return np.asarray(exponent > log_level + SLACK)

    return last_excluded(excluded, floor, means)


def _kl(p: FloatArray, q: FloatArray) -> FloatArray:
    return np.asarray(rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q))
