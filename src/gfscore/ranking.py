"""Models against a reference: whether two scores order them alike."""

import numpy as np
from numpy.typing import ArrayLike

from gfscore.errors import SamplesError
from gfscore.samples import FloatArray


def ranks(values: ArrayLike) -> FloatArray:
    """Rank of each value from 1 for the lowest; equal values share the mean of their ranks.

    >>> ranks([0.3, 0.1, 0.3])
    array([2.5, 1. , 2.5])
    """
    array = np.asarray(values, dtype=np.float64)
    _, inverse, counts = np.unique(array, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse])


def spearman(first: ArrayLike, second: ArrayLike) -> float | None:
    r"""Spearman's rank correlation: Pearson's correlation of the ranks.

    Both are ``(M,)``. None when either has fewer than two different values. Spearman (1904).

    >>> spearman([1, 2, 3, 4], [10, 20, 40, 30])
    0.8
    """
    x, y = (np.asarray(values, dtype=np.float64) for values in (first, second))
    if x.shape != y.shape or x.ndim != 1:
        raise SamplesError(f"rank correlation of shapes {x.shape} and {y.shape}: give two rows of equal length.")
    x, y = (array - array.mean() for array in (ranks(x), ranks(y)))
    norm = float(np.dot(x, x) * np.dot(y, y))
    return None if norm == 0 else float(np.dot(x, y) / np.sqrt(norm))
