r"""What intervals of the classes say about each metric: its smallest and largest value over the box.

The box holds every profile x with :math:`l_k \le x_k \le u_k`. If it holds the true profile, then each range here holds
the true metric: no further probability is spent. All functions take ``lower`` and ``upper``, ``(K,)`` each.
"""

import numpy as np

from gfscore.arrays import FloatArray

Interval = tuple[float, float]


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
    smallest, second = np.partition(lower, 1)[:2]
    others_lower = np.where(np.arange(len(lower)) == lower.argmin(), second, smallest)
    return max(0.0, float(lower.max() - upper.min())), max(0.0, float((upper - others_lower).max()))


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

    smallest, second = np.partition(lower, 1)[:2]
    others = np.where(np.arange(k) == lower.argmin(), second, smallest)
    lowest = min(((lower.sum() - lower + x) / k - weight * (x - np.minimum(x, others))).min() for x in (lower, upper))
    return float(lowest), float(highest)
