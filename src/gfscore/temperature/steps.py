"""Step functions of the temperature: what a rank correlation is between two crossings."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import FloatArray

SAME = 1e-9  # two values of an objective closer than this are equal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """``values[i]`` between ``edges[i]`` and ``edges[i + 1]``; NaN where there is none.

    >>> steps = Steps(edges=np.array([0.5, 1.0, 2.0, 8.0]), values=np.array([0.2, 0.9, 0.9]))
    >>> steps.highest(), steps.at([0.7, 3.0]).tolist()
    ((0.9, ((1.0, 8.0),)), [0.2, 0.9])
    """

    edges: FloatArray  # (n + 1,), temperatures, rising
    values: FloatArray  # (n,)

    @property
    def middles(self) -> FloatArray:
        """Geometric middle of each step."""
        return middles(self.edges)

    def at(self, temperature: ArrayLike) -> FloatArray:
        """Value at each temperature of the range (at an edge: that of the step above)."""
        step = np.searchsorted(self.edges, np.asarray(temperature), side="right") - 1
        return np.asarray(self.values[np.clip(step, 0, len(self.values) - 1)])

    def highest(self) -> tuple[float, tuple[tuple[float, float], ...]] | None:
        """The largest value and the intervals that have it; steps side by side make one interval. None if all NaN."""
        if np.isnan(self.values).all():
            return None
        best = float(np.nanmax(self.values))
        inside = np.concatenate([[False], self.values >= best - SAME, [False]])
        starts, ends = np.flatnonzero(~inside[:-1] & inside[1:]), np.flatnonzero(inside[:-1] & ~inside[1:])
        return best, tuple((float(self.edges[i]), float(self.edges[j])) for i, j in zip(starts, ends, strict=True))


def middles(edges: FloatArray) -> FloatArray:
    """Geometric middle between each two neighbours."""
    return np.asarray(np.sqrt(edges[:-1] * edges[1:]))


def mean_steps(parts: Sequence[Steps]) -> Steps:
    """Mean of step functions over the same range, without those that have no value anywhere."""
    known = [steps for steps in parts if not np.isnan(steps.values).all()] or list(parts)[:1]
    edges = np.unique(np.concatenate([steps.edges for steps in known]))
    return Steps(edges=edges, values=np.mean([steps.at(middles(edges)) for steps in known], axis=0))


def representative(intervals: Sequence[tuple[float, float]]) -> float:
    """Geometric middle of the interval that is widest in log T, the first of several.

    >>> representative([(0.1, 0.2), (1.0, 4.0)])
    2.0
    """
    low, high = max(intervals, key=lambda ends: ends[1] / ends[0])
    return math.sqrt(low * high)
