"""The search of the paper, exactly as written, to compare with the exact answer."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.errors import OptionError
from gfscore.results import GridOptimum

COARSE, FINE = 0.1, 0.001  # steps
BLOCK = 1000  # temperatures tried together
REACH = 0.1  # of the fine grid, to either side of the best coarse temperature


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridSearch:
    """Temperatures tried and what they gave, and the first of the best."""

    temperature: float
    value: float
    coarse_temperatures: FloatArray
    coarse_values: FloatArray
    fine_temperatures: FloatArray
    fine_values: FloatArray

    @property
    def optimum(self) -> GridOptimum:
        """What was found, for a result file; the temperatures tried follow from the rule."""
        tried = len(self.coarse_temperatures) + len(self.fine_temperatures)
        return GridOptimum(temperature=self.temperature, value=self.value, tried=tried)


def two_phase_grid(objective: Callable[[FloatArray], FloatArray], low: float = 0.01, high: float = 10.0) -> GridSearch:
    r"""First maximum over :math:`T \in \{0.01, 0.11, \ldots\}` up to 10, then in steps of 0.001 within 0.1 of it.

    ``objective`` takes temperatures ``(n,)`` and gives values ``(n,)``, NaN where there is none. The fine grid is
    cut to the range. Shah et al. (2026), Section 3.4.

    >>> found = two_phase_grid(lambda t: -np.abs(t - 2.7))
    >>> round(found.temperature, 3), len(found.coarse_temperatures), len(found.fine_temperatures)
    (2.7, 100, 201)
    """
    coarse = _grid(low, high, COARSE)
    coarse_values = _values(objective, coarse)
    if np.isnan(coarse_values).all():
        raise OptionError("the objective has no value at any temperature of the grid. Choose another objective.")
    best = float(coarse[np.nanargmax(coarse_values)])
    fine = _grid(max(low, best - REACH), min(high, best + REACH), FINE)
    fine_values = _values(objective, fine)
    first = int(np.nanargmax(fine_values))
    return GridSearch(
        temperature=float(fine[first]),
        value=float(fine_values[first]),
        coarse_temperatures=coarse,
        coarse_values=coarse_values,
        fine_temperatures=fine,
        fine_values=fine_values,
    )


def _values(objective: Callable[[FloatArray], FloatArray], temperatures: FloatArray) -> FloatArray:
    """In blocks: at each temperature the objective may look at a thousand classes."""
    return np.concatenate([objective(temperatures[i : i + BLOCK]) for i in range(0, len(temperatures), BLOCK)])


def _grid(low: float, high: float, step: float) -> FloatArray:
    """From ``low`` in equal steps, up to ``high`` at most."""
    return low + step * np.arange(int((high - low) / step + 1e-9) + 1)
