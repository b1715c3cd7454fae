"""Robust accuracy: the share of samples whose radius is above eps, at several eps, of the whole and of each class."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from pydantic import Field

from gfscore.results.base_result import Interval, Metric, Result, Setting, Share, WeightedBy

SAME_EPS = 1e-9  # two eps that differ by less, relatively, are one: 2/255 may be written as 0.00784313725


class RobustPart(Result):
    """A class, or group, and its samples whose radii were measured."""

    name: str
    n: int = Field(ge=1, description="samples with a radius")
    size: int = Field(ge=1, description="samples that these are a random part of, or all of")


class Rung(Result):
    """Robust accuracy at one eps."""

    eps: float = Field(gt=0, description="in [0, 1] pixels")
    value: Share = Field(description="of the whole")
    interval: Interval | None = Field(
        default=None, description="null where the classes were drawn unequally and cannot be weighed"
    )
    worst: str = Field(description="the lowest class; of several, the one that is lowest over all eps")
    worst_set: tuple[str, ...] = Field(description="classes whose interval allows them to be the lowest")
    classes: tuple[Metric, ...] = Field(description="in the order of the classes of the robustness")

    @property
    def whole(self) -> Metric:
        """Of the whole, with its interval."""
        return Metric(value=self.value, interval=self.interval)

    @property
    def lowest(self) -> Metric:
        """Of the worst class: what all intervals together leave of the smallest share."""
        known = [entry.interval for entry in self.classes if entry.interval is not None]
        value = min(entry.value for entry in self.classes if entry.value is not None)
        return Metric(value=value, interval=(min(low for low, _ in known), min(high for _, high in known)))


class Robustness(Result):
    """Accuracy under attack at a ladder of eps, as radii tell it, without an attack.

    Estimated radii bound nothing: their intervals are about the samples that were drawn, not about the radii.
    """

    kind: Literal["estimated", "certified"] = Field(description="what the radii are: first-order estimates, or proofs")
    norm: str
    eps: float = Field(gt=0, description="of the headline")
    n: int = Field(ge=1, description="samples with a radius")
    settings: dict[str, Setting] | None = Field(default=None, description="how the radii were found")
    delta: float = Field(gt=0, lt=1, description="all intervals at all eps hold together with probability 1 - delta")
    target: Literal["population", "finite"] = "population"
    weighted_by: WeightedBy = Field(default="samples", description="what the share of the whole is of")
    classes: tuple[RobustPart, ...] = Field(min_length=2)
    rungs: tuple[Rung, ...] = Field(min_length=1, description="by eps, the smallest first")

    def at(self, eps: float) -> Rung | None:
        """Robust accuracy at an eps, where it is known."""
        return next((rung for rung in self.rungs if math.isclose(rung.eps, eps, rel_tol=SAME_EPS)), None)

    @property
    def headline(self) -> Rung:
        """Robust accuracy at the eps that was asked for."""
        return self.at(self.eps) or self.rungs[0]

    def complaints(self, names: tuple[str, ...]) -> Iterator[str]:
        """What contradicts itself, or the ``names`` of the classes that the audit is of."""
        if tuple(part.name for part in self.classes) != names:
            yield "its robust accuracies are of other classes"
        if self.at(self.eps) is None:
            yield f"it has no robust accuracy at its own eps, {self.eps:.6g}"
        if sum(part.n for part in self.classes) != self.n:
            yield f"its radii do not add up to {self.n:,}"
        shares = [[rung.value, *(entry.value for entry in rung.classes)] for rung in self.rungs]
        if any(len(row) != len(self.classes) + 1 for row in shares):
            yield "a robust accuracy is missing"
            return
        for before, after in pairwise(shares):
            if any(b is None or a is None or a > b + SAME_EPS for b, a in zip(before, after, strict=True)):
                yield "a robust accuracy rises with eps"
