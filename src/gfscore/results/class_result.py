"""Numbers of classes: of each by itself, metrics over all of them with what chance would give, robust accuracy."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, TypeVar

from pydantic import Field

from gfscore.errors import NoSuchNameError, ResultError, first_few
from gfscore.metrics import BUILT_IN, find_metric
from gfscore.results.base_result import Interval, Metric, Result, Setting, Share, WeightedBy

Named = TypeVar("Named", bound=Any)  # something with a name
SAME_EPS = 1e-9  # two eps that differ by less, relatively, are one: 2/255 may be written as 0.00784313725


class ClassResult(Result):
    """A class, or a group where the audit was asked for groups."""

    name: str
    n: int = Field(ge=1)
    size: int | None = Field(
        default=None, description="samples of the class in the data set that these were drawn from, where it is known"
    )
    score: float = Field(description="mean local score of the samples")
    std: float | None = Field(description="standard deviation of the local scores, n - 1; null when n is 1")
    accuracy: Share
    interval: Interval | None = Field(description="for the expected score; all classes at once")
    shrunken: float | None = Field(
        default=None, description="estimate that borrows from the other classes; beside the score, not in its place"
    )
    confused_with: str | None = Field(description="class most often predicted by mistake; null without mistakes")
    confused_share: Share = Field(default=0.0, description="share of the samples predicted so")
    robust_accuracy: Metric | None = Field(
        default=None, description="share of radii above eps; the interval covers sampling only: it is no bound"
    )
    refuted: Metric | None = Field(
        default=None, description="share of claimed radii in which an adversarial example was found"
    )
    abstained: Share | None = Field(
        default=None, description="share of the samples for which no class was named; null where none can be withheld"
    )
    attacked: Metric | None = Field(default=None, description="accuracy under the attack of the cross-check")

    def __repr__(self) -> str:
        parts = [f"{self.name}: {self.n:,} samples", f"accuracy {100 * self.accuracy:.1f} %"]
        if self.robust_accuracy is not None and self.robust_accuracy.value is not None:
            parts.append(f"robust accuracy {100 * self.robust_accuracy.value:.1f} %")
        ends = "" if self.interval is None else " [{:.3g}, {:.3g}]".format(*self.interval)
        parts.append(f"score {self.score:.3g}{ends}")
        if self.confused_with is not None:
            parts.append(f"most often taken for {self.confused_with} ({100 * self.confused_share:.1f} %)")
        return "".join(each if each.isprintable() else " " for each in "; ".join(parts))

    __str__ = __repr__


def find_named(entries: Sequence[Named], name: str, kind: str) -> Named:
    """The class, group or model of that name."""
    for entry in entries:
        if entry.name == name:
            return entry
    raise NoSuchNameError(f"no {kind} {name!r}; there are {first_few([repr(entry.name) for entry in entries], 10)}")


class WorstCase(Metric):
    """WCR, with its class."""

    class_: str = Field(alias="class", description="class that attains it, the first of several")


class Disparity(Metric):
    """RDI, with the two classes that make it."""

    classes: tuple[str, str] = Field(description="highest and lowest class")


class Penalised(Metric):
    """FP-GREAT, with its fairness weight."""

    weight: float = Field(ge=0, description="lambda")


class Atkinson(Metric):
    """Atkinson's index, with its inequality aversion and the mean it adjusts."""

    aversion: float = Field(default=1.0, ge=0, description="epsilon")
    adjusted_mean: float | None = Field(default=None, description="class mean times (1 - index)")


class MetricBlock(Result):
    """Base of what holds every metric of a model: one way to read them all."""

    def metric(self, key: str) -> Metric:
        """A metric of the whole model by its key, with its interval; its value is None where this result has none."""
        if key in BUILT_IN:
            found = getattr(self, key)
            if isinstance(found, Metric):
                return found
            return Metric(value=found, interval=getattr(self, f"{key}_interval", None))
        others: dict[str, Metric] = getattr(self, "metrics", {})
        if key not in others and find_metric(key) is None:
            raise ResultError(f"there is no metric {key!r}. There are {', '.join([*BUILT_IN, *others])}.")
        return others.get(key, Metric(value=None))


class Null(Result):
    """An index of disparity under chance alone: all classes equal."""

    null_mean: float = Field(description="what chance gives on average, by the test with the larger p-value")
    null_q95: float = Field(description="what chance exceeds in 5 % of the shuffles, likewise")
    p_value: float = Field(
        gt=0, le=1, description="how often chance gives at least what was observed: the larger of both tests"
    )
    p_holm: float | None = Field(
        default=None, description="p_value, corrected (Holm) for RDI and NRGC being asked together"
    )
    p_plain: float | None = Field(
        default=None, description="of the plain test: exact for classes that all have one distribution"
    )
    p_studentised: float | None = Field(
        default=None, description="of the studentised test: approximate, for classes with equal means"
    )
    test: Literal["plain", "studentised"] | None = Field(default=None, description="the one with the larger p-value")


class NoiseFloor(Result):
    """The noise floor of RDI and NRGC."""

    rdi: Null
    nrgc: Null | None = Field(description="null when all scores are 0")
    permutations: int = Field(description="shuffles, or draws")
    studentised: bool = Field(description="false only where an earlier version made the plain test alone")
    seed: int
    kind: Literal["permutation", "normal"] = Field(
        default="permutation", description="shuffled samples, or normal draws where the samples are gone"
    )


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
