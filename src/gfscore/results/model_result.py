"""Everything about one model, and what must hold between its numbers, whatever the model."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from gfscore.errors import PLURALS, ResultError
from gfscore.metrics import BUILT_IN, Scale, find_metric
from gfscore.results.base_result import (
    Flag,
    Interval,
    IntervalInfo,
    Metric,
    RunInfo,
    SamplesInfo,
    ScoreInfo,
    Share,
    Shown,
)
from gfscore.results.calibration_result import Calibrated, Curves
from gfscore.results.class_result import (
    Atkinson,
    ClassResult,
    Disparity,
    MetricBlock,
    NoiseFloor,
    Penalised,
    Robustness,
    WorstCase,
    find_named,
)
from gfscore.results.verdict_result import Claim, CrossCheck

WHOLE_NUMBER = 1e-6  # of the samples of a class: how far the correct ones may be from a whole number, by rounding
SLACK = 1e-9  # for the rounding of sums, relative to the largest score or to 1
CALLED = {"aggregate": "the mean score", "class_mean": "the class mean"}  # others by their keys


class ModelAudit(MetricBlock, Shown):
    """Everything about one model."""

    name: str
    score: ScoreInfo
    samples: SamplesInfo
    run: RunInfo | None = Field(
        default=None, description="when gfscore made the logits: here, or in the file that remembers it"
    )
    interval: IntervalInfo
    partition: Literal["class", "group"] = "class"
    accuracy: Share = Field(description="share of correct decisions, of what samples.weighted_by says")
    aggregate: float = Field(description="mean local score, of what samples.weighted_by says")
    aggregate_interval: Interval | None = Field(
        default=None, description="null when no bound was computed, as for unequal draws that cannot be weighed"
    )
    class_mean: float = Field(description="unweighted mean of the class scores")
    class_mean_interval: Interval | None = None
    classes: tuple[ClassResult, ...] = Field(
        min_length=2, description="in the order of the class index; groups by name"
    )
    absent_classes: tuple[str, ...] = Field(description="classes without a sample: left out of every metric")
    worst_set: tuple[str, ...] = Field(description="classes whose interval allows them to be the worst")
    rdi: Disparity
    nrgc: Metric
    wcr: WorstCase
    fp_great: Penalised
    theil: Metric
    atkinson: Atkinson
    metrics: dict[str, Metric] = Field(default_factory=dict, description="those of plug-ins, by key")
    robust_accuracy: Metric | None = Field(
        default=None, description="share of radii above eps; the interval covers sampling only: it is no bound"
    )
    robustness: Robustness | None = Field(
        default=None, description="robust accuracy at several eps; its intervals hold together, apart from the others"
    )
    abstained: Share | None = Field(default=None, description="share of all samples for which no class was named")
    noise: NoiseFloor | None = None
    flags: tuple[Flag, ...]
    claim: Claim
    cross_check: CrossCheck | None = None
    verdict: str | None = None
    curves: Curves | None = None
    calibrated: Calibrated | None = None

    @property
    def class_weights(self) -> tuple[float, ...]:
        """What each class counts for in numbers of the whole; they sum to 1."""
        by_size = self.samples.weighted_by == "class_sizes"
        totals = [(entry.size or 0) if by_size else entry.n for entry in self.classes]
        whole = sum(totals)
        return tuple(total / whole for total in totals)

    def __getitem__(self, name: str) -> ClassResult:
        """The class, or group, of that name."""
        return find_named(self.classes, name, self.partition)

    def plot(self) -> Any:
        """An Altair chart of the classes: robust accuracy over eps, or their scores where it is unknown."""
        return self._ask("plot")


def check_consistent(model: ModelAudit) -> None:
    """Refuse an audit that no samples can have: it was changed after it was written, or damaged."""
    for complaint in _complaints(model):
        raise ResultError(f"holds an audit of {model.name!r} that cannot be: {complaint}. Run the audit again.")


def _complaints(model: ModelAudit) -> Iterator[str]:
    """What contradicts itself, in words, most basic first."""
    counted = Counter([*(entry.name for entry in model.classes), *model.absent_classes])
    for name, times in counted.items():
        if times > 1:
            yield f"the {model.partition} {name!r} is there {times} times"
    low, high = model.score.range
    if not low < high:
        yield f"its scores range from {low:g} to {high:g}"
    total = sum(entry.n for entry in model.classes)
    if total != model.samples.n:
        yield f"the numbers of samples add up to {total:,}, not to {model.samples.n:,}"
    if model.curves is not None:
        yield from _uneven(model.curves)
    yield from _misplaced(model)
    if model.robustness is not None:
        yield from model.robustness.complaints(tuple(entry.name for entry in model.classes))
    yield from _apart(model)


def _uneven(curves: Curves) -> Iterator[str]:
    """Curves that have more or fewer values than there are temperatures."""
    wanted = len(curves.temperature)
    lines = {"the aggregate": curves.aggregate, **{f"{name!r}": line for name, line in curves.scores.items()}}
    for name, line in (*lines.items(), *curves.metrics.items()):
        if len(line) != wanted:
            yield f"the curve of {name} has {len(line)} values for {wanted} temperatures"


def _misplaced(model: ModelAudit) -> Iterator[str]:
    """Numbers off their scale or out of their interval."""
    low, high = model.score.range
    share, claim = (0.0, 1.0), model.claim
    facts = Scale(low=low, high=high, fairness_weight=model.fp_great.weight, n_classes=len(model.classes))
    for entry in model.classes:
        score = Metric(value=entry.score, interval=entry.interval)
        yield from _out_of_place(f"the score of {entry.name!r}", score, model.score.range)
        for what, metric in (("robust accuracy", entry.robust_accuracy), ("refuted share", entry.refuted)):
            yield from _out_of_place(f"the {what} of {entry.name!r}", metric, share)
    for key in (*BUILT_IN, *model.metrics):
        row = find_metric(key)
        scale = (-math.inf, math.inf) if row is None else row.values(facts)
        yield from _out_of_place(CALLED.get(key, key), model.metric(key), scale)
    yield from _out_of_place("robust_accuracy", model.robust_accuracy, share)
    for rung in () if model.robustness is None else model.robustness.rungs:
        shares = (Metric(value=rung.value, interval=rung.interval), *rung.classes)
        yield from (
            text for each in shares for text in _out_of_place(f"the robust accuracy at {rung.eps:.4g}", each, share)
        )
    refuted = Metric(value=claim.radius_refuted_share, interval=claim.radius_refuted_interval)
    yield from _out_of_place("the refuted share", refuted, share)


def _out_of_place(what: str, metric: Metric | None, scale: Interval) -> Iterator[str]:
    if metric is None:
        return
    value, interval, length = metric.value, metric.interval, scale[1] - scale[0]
    slack = SLACK * max(1.0, length if math.isfinite(length) else 0.0)
    if interval is not None:
        if interval[0] > interval[1] + slack:
            yield f"the interval of {what} begins at {interval[0]:.6g} and ends at {interval[1]:.6g}"
        if value is not None and not interval[0] - slack <= value <= interval[1] + slack:
            yield f"{what} is {value:.6g}, outside its interval from {interval[0]:.6g} to {interval[1]:.6g}"
    for number in (value, *(interval or ())):
        if number is not None and not scale[0] - slack <= number <= scale[1] + slack:
            yield f"{number:.6g} is no value for {what}, which lies between {scale[0]:.4g} and {scale[1]:.4g}"


def _apart(model: ModelAudit) -> Iterator[str]:
    """Numbers of the model that do not follow from those of its classes."""
    scores = {entry.name: entry.score for entry in model.classes}
    lowest, highest = min(scores.values()), max(scores.values())
    slack = SLACK * max(1.0, model.score.range[1])
    follows = (
        ("wcr", model.wcr.value, lowest, "the lowest score"),
        ("rdi", model.rdi.value, highest - lowest, "the highest score minus the lowest"),
        ("class_mean", model.class_mean, sum(scores.values()) / len(scores), "the mean of the scores"),
    )
    for name, value, expected, what in follows:
        if value is None or abs(value - expected) > slack:
            yield f"{name} is {value}, and {what} is {expected:.6g}"
    if scores.get(model.wcr.class_, math.inf) > lowest + slack:
        yield f"{model.wcr.class_!r} is named as the worst, and its score is not the lowest"
    for entry in model.classes:
        correct = entry.accuracy * entry.n
        if abs(correct - round(correct)) > WHOLE_NUMBER * entry.n:
            yield f"{entry.accuracy:.6g} is of no whole number of the {entry.n:,} samples of {entry.name!r}"
        if entry.score > entry.accuracy * model.score.range[1] + slack:
            yield f"the score of {entry.name!r} is {entry.score:.6g}, more than its correct decisions can have"
    parts = PLURALS[model.partition]
    if model.samples.weighted_by == "class_sizes" and not any(entry.size for entry in model.classes):
        yield f"its {parts} are weighed by sizes that it does not hold"
        return
    weighed = list(zip(model.class_weights, model.classes, strict=True))
    wholes = (
        ("accuracy", model.accuracy, sum(weight * entry.accuracy for weight, entry in weighed)),
        ("aggregate", model.aggregate, sum(weight * entry.score for weight, entry in weighed)),
    )
    for name, value, expected in wholes:
        if abs(value - expected) > slack:
            yield f"{name} is {value:.6g}, and cannot be with those of its {parts}"
