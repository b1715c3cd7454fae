"""Intervals for the share of samples of which something is true, whole and per class, all at one level."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gfscore.arrays import FloatArray, IntArray
from gfscore.bounds.parts import PartScores
from gfscore.bounds.stratified import Strata


def share_intervals(
    counted: NDArray[np.bool_],
    codes: IntArray,
    n_parts: int,
    *,
    delta: float,
    totals: ArrayLike | None = None,
    sizes: ArrayLike | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Share, lower and upper end of each part with samples, and last of the whole: ``(K + 1,)`` each.

    ``counted`` says of which samples it is true and ``codes`` to which part each belongs, ``(N,)``. All intervals hold
    together with probability 1 - ``delta``. In the whole each part with samples weighs as much as ``totals`` ``(K,)``
    say: as much as was looked at, unless given. For draws from a distribution in proportion they are Clopper-Pearson's.
    In the whole, the numbers per class are fixed, so successes have unequal chances; s or more of them are then no more
    likely than of a binomial with the mean chance p, if s is at least np + 1 (Hoeffding, "On the distribution of the
    number of successes in independent trials", Annals of Mathematical Statistics 27, 1956). At the levels in use every
    s at which an end fails is, but for s = 1: with all of the chance in one sample, the end fails with probability
    alpha (1 + alpha / 2) instead of alpha, which is next to nothing. For other draws, and for a fixed set of ``sizes``
    ``(n_parts,)`` per part, of which a random part was looked at, see :class:`~gfscore.bounds.stratified.Strata`.

    >>> share, lower, upper = share_intervals(np.arange(8) < 5, np.repeat([0, 1], 4), 2, delta=0.05)
    >>> share, lower.round(2), upper.round(2)
    (array([1.   , 0.25 , 0.625]), array([0.3 , 0.  , 0.19]), array([1.  , 0.87, 0.94]))
    """
    parts = PartScores.of(counted, codes, n_parts, maximum=1.0, sizes=sizes)
    strata = Strata.of(np.rint(parts.sums(parts.values)), parts.counts, totals=totals, sizes=parts.sizes)
    return np.append(strata.shares, strata.whole), *strata.all_ends(delta)
