r"""Ranges of the inequality indices over the box of class intervals: NRGC, Theil, Atkinson.

All three depend on the shares :math:`p_k = x_k / \sum_j x_j` alone, and are convex and symmetric in them. Two facts
follow for any such index.

*Largest.* Linearise the index at a maximiser: its slopes are ordered as the shares are, so moving every class above
some rank to its upper end and every other to its lower end cannot make it smaller. Sorting the lower and the upper
ends separately gives a box that holds every sorted profile; in it K + 1 such profiles are all there is to try. Exact
when both ends sort alike, else a valid upper bound.

*Smallest.* Of all profiles with a given sum, the most even one is ``clip(c, lower, upper)`` for some level c. Along c
each index first falls, then rises.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import FloatArray
from gfscore.bounds.box import Interval
from gfscore.bounds.search import last_excluded
from gfscore.metrics import formulas

ROUNDING = 1e-12  # by which a range is widened, for the rounding of sums


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
    return _widened(formulas.nrgc(profile) or 0.0, largest)


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

    def index(profile: FloatArray) -> float:
        return formulas.theil(profile) or 0.0

    # Raising a class makes the index fall as long as the class is below mean * exp(index), which is this:
    smallest = _smallest(index, lower, upper, lambda x: math.exp(float(entropy(x).sum() / x.sum())))
    return _widened(smallest, largest)


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

    def index(profile: FloatArray) -> float:
        return formulas.atkinson(profile) or 0.0

    smallest = _smallest(index, lower, upper, lambda x: float(x.mean()))  # raising a class below the mean evens out
    low, high = _widened(smallest, largest)
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
    first, last = 0, len(ends) - 1
    while first < last:
        middle = (first + last) // 2
        level = float(ends[middle])
        profile = np.clip(level, lower, upper)
        below, above = np.count_nonzero(upper <= level), np.count_nonzero(lower > level)
        if below - above >= len(lower) * (formulas.nrgc(profile) or 0.0):
            last = middle
        else:
            first = middle + 1
    return float(ends[first])


def _smallest(
    index: Callable[[FloatArray], float],
    lower: FloatArray,
    upper: FloatArray,
    turning: Callable[[FloatArray], float],
) -> float:
    """Least index along the level c, which falls while c is below ``turning`` of the profile."""

    def falls(level: FloatArray) -> NDArray[np.bool_]:
        return np.asarray(level < turning(np.clip(level, lower, upper)))

    level = last_excluded(falls, np.asarray(0.0), upper.max())
    return index(np.clip(level, lower, upper))


def _widened(smallest: float, largest: float) -> Interval:
    return max(0.0, smallest - ROUNDING), largest + ROUNDING
