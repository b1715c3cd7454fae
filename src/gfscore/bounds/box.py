r"""What intervals of the classes say about each metric: its smallest and largest value over the box.

The box holds every profile x with :math:`l_k \le x_k \le u_k`. If it holds the true profile, then each range here holds
the true metric: no further probability is spent. All functions take ``lower`` and ``upper``, ``(K,)`` each.

NRGC, Theil and Atkinson depend on the shares :math:`p_k = x_k / \sum_j x_j` alone, and are convex and symmetric in
them. Two facts follow for any such index.

*Largest.* Linearise the index at a maximiser: its slopes are ordered as the shares are, so moving every class above
some rank to its upper end and every other to its lower end cannot make it smaller. Sorting the lower and the upper
ends separately gives a box that holds every sorted profile; in it K + 1 such profiles are all there is to try. Exact
when both ends sort alike, else a valid upper bound.

*Smallest.* Of all profiles with a given sum, the most even one is ``clip(c, lower, upper)`` for some level c. Along c
each index first falls, then rises.
"""

import math
from bisect import bisect_left
from collections.abc import Callable

import numpy as np

from gfscore.arrays import BoolArray, FloatArray
from gfscore.bounds.class_means import last_excluded
from gfscore.metrics import formulas

Interval = tuple[float, float]
Ends = tuple[FloatArray, FloatArray]  # lower and upper ends of all classes: a box

ROUNDING = 1e-12  # by which the range of an index is widened, for the rounding of sums


def mean_range(lower: FloatArray, upper: FloatArray, weights: FloatArray | None = None) -> Interval:
    """Range of the mean with the given weights, which sum to 1 (equal ones when None).

    >>> mean_range(np.array([0.25, 0.5]), np.array([0.75, 0.5]))
    (0.375, 0.625)
    """
    return float(np.average(lower, weights=weights)), float(np.average(upper, weights=weights))


def wcr_range(lower: FloatArray, upper: FloatArray) -> Interval:
    """Range of the lowest class score.

    >>> wcr_range(np.array([0.1, 0.4]), np.array([0.3, 0.5]))
    (0.1, 0.3)
    """
    return float(lower.min()), float(upper.min())


def rdi_range(lower: FloatArray, upper: FloatArray) -> Interval:
    """Range of the highest minus the lowest class score.

    At least what separates the intervals; at most the largest upper end minus the smallest lower end of another class.

    >>> rdi_range(np.array([0.0, 0.5]), np.array([0.25, 1.0]))
    (0.25, 1.0)
    """
    return max(0.0, float(lower.max() - upper.min())), max(0.0, float((upper - _lowest_other(lower)).max()))


def fp_great_range(lower: FloatArray, upper: FloatArray, weight: float) -> Interval:
    """Range of the class mean minus ``weight`` times the RDI.

    Largest: cut all at one level M, ``min(upper, M)``, because raising any class up to the highest one raises the mean
    and never the RDI; the value is linear in M between upper ends. Smallest: all at their lower ends but one, because
    the value is the least over i of (mean - weight x_i + weight min x), which grows with every other class; in x_i it
    is concave, so an end of its interval serves.

    >>> fp_great_range(np.array([0.0, 0.5]), np.array([0.25, 1.0]), 0.5)
    (0.0, 0.25)
    """
    k = len(lower)
    ends = np.sort(upper)
    levels = np.append(ends, max(lower.max(), ends[0]))
    levels = levels[levels >= levels[-1]]
    cut = np.searchsorted(ends, levels, side="right")  # how many lie wholly below the level
    below = np.concatenate(([0.0], np.cumsum(ends)))[cut]
    highest = ((below + (k - cut) * levels) / k - weight * (levels - ends[0])).max()

    others = _lowest_other(lower)
    lowest = min(((lower.sum() - lower + x) / k - weight * (x - np.minimum(x, others))).min() for x in (lower, upper))
    return float(lowest), float(highest)


def _lowest_other(lower: FloatArray) -> FloatArray:
    """For each class the lowest end of the others, ``(K,)``."""
    smallest, second = np.partition(lower, 1)[:2]
    return np.asarray(np.where(np.arange(len(lower)) == lower.argmin(), second, smallest))


def nrgc_range(lower: FloatArray, upper: FloatArray) -> Interval | None:
    """Range of the NRGC, or None when all upper ends are 0.

    >>> low, high = nrgc_range(np.array([0.0, 0.5]), np.array([0.25, 1.0]))
    >>> round(low, 6), round(high, 6)
    (0.166667, 0.5)
    """
    if not upper.any():
        return None
    k = len(lower)
    ranks = 2.0 * np.arange(1, k + 1) - k - 1.0
    weighted, totals = _steps(lower, upper, lambda x: ranks * x), _steps(lower, upper, lambda x: x)
    largest = float((weighted[totals > 0] / (k * totals[totals > 0])).max())
    profile = np.clip(_most_even_level(lower, upper), lower, upper)
    return _widen(formulas.nrgc(profile) or 0.0, largest)


def theil_range(lower: FloatArray, upper: FloatArray) -> Interval | None:
    """Range of Theil's index, or None when all upper ends are 0.

    >>> low, high = theil_range(np.array([0.0, 0.5]), np.array([0.25, 1.0]))
    >>> round(low, 6), round(high, 6)
    (0.056633, 0.693147)
    """
    if not upper.any():
        return None
    k = len(lower)

    def entropy(x: FloatArray) -> FloatArray:
        return np.asarray(x * np.log(np.where(x > 0, x, 1.0)))

    terms, totals = _steps(lower, upper, entropy), _steps(lower, upper, lambda x: x)
    kept = totals > 0
    largest = float((terms[kept] / totals[kept] - np.log(totals[kept] / k)).max())
    # Raising a class makes the index fall as long as the class is below mean * exp(index), which is this:
    profile = _most_even(lower, upper, lambda x: math.exp(float(entropy(x).sum() / x.sum())))
    return _widen(formulas.theil(profile) or 0.0, largest)


def atkinson_range(lower: FloatArray, upper: FloatArray) -> Interval | None:
    """Range of Atkinson's index with aversion 1, or None when all upper ends are 0.

    >>> low, high = atkinson_range(np.array([0.1, 0.5]), np.array([0.25, 1.0]))
    >>> round(low, 6), round(high, 6)
    (0.057191, 0.42504)
    """
    if not upper.any():
        return None
    k = len(lower)
    with np.errstate(divide="ignore"):
        logs, totals = _steps(lower, upper, np.log), _steps(lower, upper, lambda x: x)
    kept = totals > 0
    largest = float((1.0 - np.exp(logs[kept] / k) / (totals[kept] / k)).max())
    profile = _most_even(lower, upper, lambda x: float(x.mean()))  # raising a class below the mean evens out
    low, high = _widen(formulas.atkinson(profile) or 0.0, largest)
    return low, min(high, 1.0)  # more than everything cannot be lost


def _steps(lower: FloatArray, upper: FloatArray, term: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Sums of ``term`` over the K + 1 profiles whose first 0, 1, ..., K sorted classes are low and the rest high."""
    low, high = term(np.sort(lower)), term(np.sort(upper))
    return np.concatenate(([0.0], np.cumsum(low))) + np.concatenate((np.cumsum(high[::-1])[::-1], [0.0]))


def _most_even_level(lower: FloatArray, upper: FloatArray) -> float:
    """The level c at which the NRGC of ``clip(c, lower, upper)`` is least.

    Between two ends of intervals the derivative in c has the sign of (A - B) sum(x) - sum over pairs of differences,
    with A classes below c and B above it. That does not change there, and jumps upward at each end: the first end after
    which it is not negative is the minimum. (At c = 0 it never is, unless the profile is 0.)
    """
    ends = np.unique(np.concatenate((lower, upper)))
    ends = ends[ends > 0]

    def rises(level: float) -> bool:
        index = formulas.nrgc(np.clip(level, lower, upper)) or 0.0
        return bool(np.count_nonzero(upper <= level) - np.count_nonzero(lower > level) >= len(lower) * index)

    return float(ends[bisect_left(ends.tolist(), True, hi=len(ends) - 1, key=rises)])


def _most_even(lower: FloatArray, upper: FloatArray, turning: Callable[[FloatArray], float]) -> FloatArray:
    """The profile along the level c at which an index is least that falls while c is below ``turning``."""

    def falls(level: FloatArray) -> BoolArray:
        return np.asarray(level < turning(np.clip(level, lower, upper)))

    return np.clip(last_excluded(falls, np.asarray(0.0), upper.max()), lower, upper)


def _widen(smallest: float, largest: float) -> Interval:
    return max(0.0, smallest - ROUNDING), largest + ROUNDING
