r"""Sums of numbers in [0, 1] that do not depend on the order: whole numbers, which add up without rounding.

A number x is kept as two whole numbers of 30 bits, :math:`x \approx (h + l\,2^{-30})\,2^{-30}`, cut off after 60 bits.
The sums of h and of l fit into 64 bits for 8 thousand million samples.
"""

import numpy as np

from gfscore.arrays import FloatArray, IntArray

BITS = 30
ONE = 1 << BITS


def high_and_low(values: FloatArray) -> tuple[IntArray, IntArray]:
    """The two halves of each number, ``(N,)`` each.

    >>> high, low = high_and_low(np.array([0.0, 0.5, 1.0]))
    >>> high.tolist(), low.tolist()
    ([0, 536870912, 1073741824], [0, 0, 0])
    """
    scaled = values * ONE  # a power of two: exact, and so are the subtraction and the next product
    high = np.floor(scaled)
    return high.astype(np.int64), np.floor((scaled - high) * ONE).astype(np.int64)


def ratios(high: IntArray, low: IntArray, counts: IntArray) -> FloatArray:
    """Sum of the numbers divided by ``counts``, rounded once; ``(K,)``. 0 where there are none.

    >>> ratios(np.array([3 << 29]), np.array([0]), np.array([3]))
    array([0.5])
    """
    rows = zip(high.tolist(), low.tolist(), counts.tolist(), strict=True)
    # Python's whole numbers have no limit, and their division rounds correctly
    return np.array([((upper << BITS) + lower) / (max(n, 1) << 2 * BITS) for upper, lower, n in rows])
