"""Ends of intervals by bisection, rounded outward."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import FloatArray

STEPS = 36  # halvings: 1.5e-11 of the range


def last_excluded(
    excluded: Callable[[FloatArray], NDArray[np.bool_]], low: FloatArray, high: FloatArray, *, steps: int = STEPS
) -> FloatArray:
    """Largest point found that a test excludes, or ``low`` when it excludes none.

    ``excluded`` holds up to some point of [low, high] and fails beyond it, for each entry on its own. What is returned
    was itself tested, so rounding only ever widens the interval that begins there.

    >>> last_excluded(lambda m: m < 0.3, np.zeros(1), np.ones(1)).round(6)
    array([0.3])
    """
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    for _ in range(steps):
        middle = (low + high) / 2.0
        out: NDArray[Any] = excluded(middle)
        low, high = np.where(out, middle, low), np.where(out, high, middle)
    return low
