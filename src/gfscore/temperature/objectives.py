r"""What a temperature can be chosen to maximise. Each objective is a step function of T.

``models``     Spearman over models of (score, clean accuracy): the definition in the paper.
``classes``    mean over models of Spearman over classes of (class score, clean accuracy of the class): what the
               published temperatures were found with.
``stability``  mean over models of the smallest Spearman over classes of (class scores at T, class scores at T') for
               any T' within 0.05 of T.
``given``      as ``models``, against any other reference.

Between two places where curves cross no order changes, so a rank correlation is constant there. A spline is a
polynomial between its knots. Written in Bernstein's basis, a polynomial has no zero in its interval when its
coefficients have one sign; when they have not, the interval is halved and each half looked at again. So nothing is
missed, but crossings closer than 1e-6 in log T count as one: curves are not known better than that. Curves that meet
and stay together, as those of two classes of equal accuracy do at low T, are tied from where they are 1e-12 apart.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from math import comb, factorial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import BoolArray, FloatArray
from gfscore.ranking import rank_correlations, ranks
from gfscore.temperature.curve import TemperatureCurve

EXACT_CLASSES = 100  # with more there are too many pairs to cross: a grid takes the place of the crossings
RESOLUTION = 1.01  # ratio of neighbours on that grid
WINDOW = 0.05  # of stability
HALVINGS = 34  # of a piece between two knots, some 0.1 wide in log T
TIED = 1e-12  # scores no further apart than this are equal: what is left is rounding
ONE_CROSSING = 1e-6  # crossings closer than this in log T are one
SAME = 1e-9  # two values of an objective closer than this are equal


class Objective(StrEnum):
    """The names under which the objectives are offered."""

    MODELS = "models"
    CLASSES = "classes"
    STABILITY = "stability"
    GIVEN = "given"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """``values[i]`` between ``edges[i]`` and ``edges[i + 1]``; NaN where there is none.

    >>> steps = Steps(edges=np.array([0.5, 1.0, 2.0, 8.0]), values=np.array([0.2, 0.9, 0.9]))
    >>> steps.highest(), steps.at([0.7, 3.0]).tolist()
    ((0.9, ((1.0, 8.0),)), [0.2, 0.9])
    """

    edges: FloatArray  # (n + 1,), temperatures, rising
    values: FloatArray  # (n,)

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


@dataclass(frozen=True, eq=False)
class ClassAgreement:
    """Spearman over the classes of one model of (class score, clean accuracy of the class)."""

    curve: TemperatureCurve

    @cached_property
    def steps(self) -> Steps:
        """As a function of the temperature: exact up to 100 classes, on a grid beyond."""
        edges = class_edges(self.curve)
        return Steps(edges=edges, values=self.values(middles(edges)))

    def values(self, temperatures: FloatArray) -> FloatArray:
        """Correlation at given temperatures."""
        return rank_correlations(self.curve.scores(temperatures), self.curve.accuracies, tolerance=TIED)


@dataclass(frozen=True, eq=False)
class ClassStability:
    """Smallest Spearman over the classes of one model of its scores at T and at any T' within a window."""

    curve: TemperatureCurve

    @cached_property
    def steps(self) -> Steps:
        """Exact up to 100 classes: it changes where two classes cross, and where that enters or leaves the window."""
        edges = class_edges(self.curve)
        orders = ranks(self.curve.scores(middles(edges)), tolerance=TIED)
        orders -= orders.mean(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):  # classes that all score the same have no order
            orders /= np.linalg.norm(orders, axis=1, keepdims=True)
        shifted = np.unique(np.clip(np.concatenate([edges, edges - WINDOW, edges + WINDOW]), *edges[[0, -1]]))
        inside = middles(shifted)
        first, own, last = (
            np.clip(np.searchsorted(edges, inside + shift) - 1, 0, len(orders) - 1) for shift in (-WINDOW, 0.0, WINDOW)
        )
        values = [(orders[i : k + 1] @ orders[j]).min() for i, j, k in zip(first, own, last, strict=True)]
        return Steps(edges=shifted, values=np.minimum(values, 1.0))

    def values(self, temperatures: FloatArray) -> FloatArray:
        """Correlation at given temperatures."""
        return self.steps.at(temperatures)


@dataclass(frozen=True, eq=False)
class OverModels:
    """Spearman over models of (score, target): exact, by the crossings of the models' curves."""

    models: tuple[TemperatureCurve, ...]
    target: FloatArray  # (M,)
    edges: FloatArray  # temperatures between which no order changes

    @classmethod
    def of(cls, models: tuple[TemperatureCurve, ...], target: FloatArray) -> Self:
        """Find the crossings."""
        return cls(models, target, _edges([curve.aggregate_spline for curve in models], models[0].temperature_range))

    @property
    def steps(self) -> Steps:
        """The objective as a function of the temperature."""
        return Steps(edges=self.edges, values=self.values(middles(self.edges)))

    def values(self, temperatures: FloatArray) -> FloatArray:
        """The objective at given temperatures."""
        scores = np.stack([curve.aggregate(temperatures) for curve in self.models], axis=-1)
        return rank_correlations(scores, self.target, tolerance=TIED)

    def without(self, model: int) -> Self:
        """All models but one; the crossings with it merely divide a step."""
        return replace(
            self, models=self.models[:model] + self.models[model + 1 :], target=np.delete(self.target, model)
        )


@dataclass(frozen=True, eq=False)
class MeanOverModels:
    """Mean of what each model's own classes say, without models of which they say nothing."""

    models: tuple[ClassAgreement | ClassStability, ...]

    @property
    def steps(self) -> Steps:
        """The objective as a function of the temperature."""
        return mean_steps([part.steps for part in self.models])

    def values(self, temperatures: FloatArray) -> FloatArray:
        """The objective at given temperatures."""
        each = np.stack([part.values(temperatures) for part in self.models])
        known = ~np.isnan(each).all(axis=1)
        return np.asarray(each[known].mean(axis=0) if known.any() else each[0])

    def without(self, model: int) -> Self:
        """All models but one."""
        return replace(self, models=self.models[:model] + self.models[model + 1 :])


def class_edges(curve: TemperatureCurve) -> FloatArray:
    """Temperatures between which no two classes change places; with more than 100 classes a fine grid."""
    low, high = curve.temperature_range
    if len(curve.names) <= EXACT_CLASSES:
        return _edges([curve.spline], curve.temperature_range)
    return np.geomspace(low, high, 1 + math.ceil(math.log(high / low) / math.log(RESOLUTION)))


def _edges(splines: list[Any], temperature_range: tuple[float, float]) -> FloatArray:
    low, high = temperature_range
    return np.concatenate([[low], np.exp(crossings(splines, math.log(low), math.log(high))), [high]])


def crossings(splines: Sequence[Any], low: float, high: float) -> FloatArray:
    """All places in ``(low, high)``, rising, where two curves cross, meet or part. A spline may hold several curves.

    Places where two curves merely touch may be among them; the order on both sides is then the same.

    >>> from scipy.interpolate import make_interp_spline
    >>> x = np.linspace(0, 4, 9)
    >>> crossings([make_interp_spline(x, np.stack([x, 2 - x, 3 - x], axis=1), k=3)], 0, 4).round(6)
    array([1. , 1.5])
    """
    knots = np.unique(np.concatenate([spline.t for spline in splines]))
    ends = np.concatenate([[low], knots[(knots > low) & (knots < high)], [high]])
    starts, widths = ends[:-1], np.diff(ends)
    pieces = np.concatenate([_bernstein(spline, starts, widths) for spline in splines], axis=1)
    found: list[FloatArray] = [np.empty(0)]
    for first in range(pieces.shape[1] - 1):
        apart = pieces[:, first, None] - pieces[:, first + 1 :]  # (pieces, curves after the first, degree + 1)
        both = _is_mixed(apart)
        piece = np.nonzero(both)[0]
        found.append(_zeros(apart[both], starts[piece], widths[piece]))
    places = np.sort(np.concatenate(found))
    places = places[(places > low + ONE_CROSSING) & (places < high - ONE_CROSSING)]
    return np.asarray(places[np.diff(places, prepend=-np.inf) > ONE_CROSSING])


def _bernstein(spline: Any, starts: FloatArray, widths: FloatArray) -> FloatArray:
    """Bernstein coefficients of the polynomial on each interval, ``(intervals, curves, degree + 1)``."""
    k = int(spline.k)
    taylor = [spline(starts), *(spline.derivative(m)(starts) for m in range(1, k + 1))]
    scaled = [values * widths[:, None] ** m / factorial(m) for m, values in enumerate(taylor)]
    basis = np.array([[comb(j, m) / comb(k, m) for m in range(k + 1)] for j in range(k + 1)])
    return np.asarray(np.einsum("mpc,jm->pcj", np.stack(scaled), basis))


def _is_mixed(coefficients: FloatArray) -> BoolArray:
    """Whether the polynomial may change between above, tied and below."""
    above, below = coefficients > TIED, coefficients < -TIED
    return np.asarray((above.any(axis=-1) & ~above.all(axis=-1)) | (below.any(axis=-1) & ~below.all(axis=-1)))


def _zeros(coefficients: FloatArray, starts: FloatArray, widths: FloatArray) -> FloatArray:
    """Zeros of polynomials given by Bernstein coefficients ``(n, k + 1)``, each on its own interval."""
    for _ in range(HALVINGS):
        left, right = _halves(coefficients)
        widths = widths / 2
        coefficients = np.concatenate([left, right])
        starts, widths = np.concatenate([starts, starts + widths]), np.concatenate([widths, widths])
        alive = _is_mixed(coefficients)
        coefficients, starts, widths = coefficients[alive], starts[alive], widths[alive]
    return starts + widths / 2


def _halves(coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Polynomials on the left and on the right half of their intervals (de Casteljau)."""
    left, right = np.empty_like(coefficients), np.empty_like(coefficients)
    for j in range(coefficients.shape[1]):
        left[:, j], right[:, -1 - j] = coefficients[:, 0], coefficients[:, -1]
        coefficients = (coefficients[:, :-1] + coefficients[:, 1:]) / 2
    return left, right
