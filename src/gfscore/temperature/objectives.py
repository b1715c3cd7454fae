r"""What a temperature can be chosen to maximise. Each objective is a step function of T.

``models``     Spearman over models of (score, clean accuracy): the definition in the paper.
``classes``    mean over models of Spearman over classes of (class score, clean accuracy of the class): what the
               published temperatures were found with.
``stability``  mean over models of the smallest Spearman over classes of (class scores at T, class scores at T') for
               any T' within 0.05 of T.
``given``      as ``models``, against any other reference.
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.ranking import rank_correlations, ranks
from gfscore.temperature.crossings import TIED, crossings
from gfscore.temperature.curve import TemperatureCurve
from gfscore.temperature.steps import Steps, mean_steps, middles

_Item = TypeVar("_Item")

EXACT_CLASSES = 100  # with more there are too many pairs to cross: a grid takes the place of the crossings
RESOLUTION = 1.01  # ratio of neighbours on that grid
WINDOW = 0.05  # of stability


class Objective(StrEnum):
    """The names under which the objectives are offered."""

    MODELS = "models"
    CLASSES = "classes"
    STABILITY = "stability"
    GIVEN = "given"


class Criterion(Protocol):
    """An objective, of certain models or of one."""

    @property
    def steps(self) -> Steps:
        """It, as a function of the temperature."""

    def values(self, temperatures: FloatArray) -> FloatArray:
        """It, at given temperatures."""


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
        """As a function of the temperature."""
        return Steps(edges=self.edges, values=self.values(middles(self.edges)))

    def values(self, temperatures: FloatArray) -> FloatArray:
        """At given temperatures."""
        scores = np.stack([curve.aggregate(temperatures) for curve in self.models], axis=-1)
        return rank_correlations(scores, self.target, tolerance=TIED)

    def without(self, model: int) -> Self:
        """The same of all models but one; the crossings with it merely divide a step."""
        return replace(self, models=_drop(self.models, model), target=np.delete(self.target, model))


@dataclass(frozen=True, eq=False)
class MeanOverModels:
    """Mean of what each model's own classes say, without models of which they say nothing."""

    models: tuple[Criterion, ...]

    @property
    def steps(self) -> Steps:
        """As a function of the temperature."""
        return mean_steps([part.steps for part in self.models])

    def values(self, temperatures: FloatArray) -> FloatArray:
        """At given temperatures."""
        each = np.stack([part.values(temperatures) for part in self.models])
        known = ~np.isnan(each).all(axis=1)
        return np.asarray(each[known].mean(axis=0) if known.any() else each[0])

    def without(self, model: int) -> Self:
        """The same of all models but one."""
        return replace(self, models=_drop(self.models, model))


@dataclass(frozen=True, eq=False)
class ClassAgreement:
    """Spearman over the classes of one model of (class score, clean accuracy of the class)."""

    curve: TemperatureCurve

    @cached_property
    def steps(self) -> Steps:
        """Exact up to 100 classes, on a grid beyond."""
        edges = class_edges(self.curve)
        return Steps(edges=edges, values=self.values(middles(edges)))

    def values(self, temperatures: FloatArray) -> FloatArray:
        """At given temperatures."""
        return rank_correlations(self.curve.scores(temperatures), self.curve.accuracies, tolerance=TIED)


@dataclass(frozen=True, eq=False)
class ClassStability:
    """Smallest Spearman over the classes of one model of its scores at T and at any T' within a window."""

    curve: TemperatureCurve
    window: float = WINDOW

    @cached_property
    def steps(self) -> Steps:
        """Exact up to 100 classes: it changes where two classes cross, and where that enters or leaves the window."""
        edges = class_edges(self.curve)
        orders = ranks(self.curve.scores(middles(edges)), tolerance=TIED)
        orders -= orders.mean(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):  # classes that all score the same have no order
            orders /= np.linalg.norm(orders, axis=1, keepdims=True)
        shifted = np.unique(np.clip(np.concatenate([edges, edges - self.window, edges + self.window]), *edges[[0, -1]]))
        inside = middles(shifted)
        first, own, last = (
            np.clip(np.searchsorted(edges, inside + shift) - 1, 0, len(orders) - 1)
            for shift in (-self.window, 0.0, self.window)
        )
        values = [(orders[i : k + 1] @ orders[j]).min() for i, j, k in zip(first, own, last, strict=True)]
        return Steps(edges=shifted, values=np.minimum(values, 1.0))

    def values(self, temperatures: FloatArray) -> FloatArray:
        """At given temperatures."""
        return self.steps.at(temperatures)


def class_edges(curve: TemperatureCurve) -> FloatArray:
    """Temperatures between which no two classes change places; with more than 100 classes a fine grid."""
    low, high = curve.temperature_range
    if len(curve.names) <= EXACT_CLASSES:
        return _edges([curve.spline], curve.temperature_range)
    return np.geomspace(low, high, 1 + math.ceil(math.log(high / low) / math.log(RESOLUTION)))


def _edges(splines: list[Any], temperature_range: tuple[float, float]) -> FloatArray:
    low, high = temperature_range
    return np.concatenate([[low], np.exp(crossings(splines, math.log(low), math.log(high))), [high]])


def _drop(items: tuple[_Item, ...], place: int) -> tuple[_Item, ...]:
    return items[:place] + items[place + 1 :]
