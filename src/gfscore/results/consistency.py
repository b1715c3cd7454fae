"""Can an audit be? What must hold between its numbers, whatever the model: checked when one is read from a file."""

import math
from collections import Counter
from collections.abc import Iterator

from gfscore.errors import PLURALS, ResultError
from gfscore.metrics import BUILT_IN, Scale, find_metric
from gfscore.results.base_result import Interval, Metric
from gfscore.results.model_result import ModelAudit

WHOLE = 1e-6  # of the samples of a class: how far the correct ones may be from a whole number, by rounding
SLACK = 1e-9  # for the rounding of sums, relative to the largest score or to 1
CALLED = {"aggregate": "the mean score", "class_mean": "the class mean"}  # others by their keys


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
    yield from _misplaced(model)
    yield from _apart(model)


def _misplaced(model: ModelAudit) -> Iterator[str]:
    """Numbers off their scale or out of their interval."""
    low, high = model.score.range
    scores, share = (low, high), (0.0, 1.0)
    facts = Scale(low=low, high=high, fairness_weight=model.fp_great.weight, n_classes=len(model.classes))
    for entry in model.classes:
        yield from _out_of_place(f"the score of {entry.name!r}", entry.score, entry.interval, scores)
        for what, metric in (("robust accuracy", entry.robust_accuracy), ("refuted share", entry.refuted)):
            yield from _metric_out_of_place(f"the {what} of {entry.name!r}", metric, share)
    for key in (*BUILT_IN, *model.metrics):
        row = find_metric(key)
        scale = (-math.inf, math.inf) if row is None else row.values(facts)
        yield from _metric_out_of_place(CALLED.get(key, key), model.metric(key), scale)
    yield from _metric_out_of_place("robust_accuracy", model.robust_accuracy, share)
    claim = model.claim
    yield from _out_of_place("the refuted share", claim.radius_refuted_share, claim.radius_refuted_interval, share)


def _metric_out_of_place(what: str, metric: Metric | None, scale: Interval) -> Iterator[str]:
    if metric is not None:
        yield from _out_of_place(what, metric.value, metric.interval, scale)


def _out_of_place(what: str, value: float | None, interval: Interval | None, scale: Interval) -> Iterator[str]:
    length = scale[1] - scale[0]
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
        if abs(correct - round(correct)) > WHOLE * entry.n:
            yield f"{entry.accuracy:.6g} is of no whole number of the {entry.n:,} samples of {entry.name!r}"
        if entry.score > entry.accuracy * model.score.range[1] + slack:
            yield f"the score of {entry.name!r} is {entry.score:.6g}, more than its correct decisions can have"
    weights = [entry.size or 0 if model.samples.weighted_by == "class_sizes" else entry.n for entry in model.classes]
    if not any(weights):
        yield f"its {PLURALS[model.partition]} are weighed by sizes that it does not hold"
        return
    for name, parts in (
        ("accuracy", [entry.accuracy for entry in model.classes]),
        ("aggregate", [entry.score for entry in model.classes]),
    ):
        expected = sum(weight * part for weight, part in zip(weights, parts, strict=True)) / sum(weights)
        if abs(getattr(model, name) - expected) > slack:
            yield f"{name} is {getattr(model, name):.6g}, and cannot be with those of its {PLURALS[model.partition]}"
