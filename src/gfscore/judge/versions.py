"""Two versions of a model: which classes got worse, and what a better mean hides."""

from collections.abc import Mapping, Sequence
from typing import Literal

from gfscore import views
from gfscore.bounds import ChangeIntervals
from gfscore.errors import first_few
from gfscore.metrics import ClassScores, all_metrics
from gfscore.profile import ClassProfile
from gfscore.results import ClassChange, Interval, Metric, MetricChange, ModelAudit, Verdict

SAME_WEIGHT = 1e-9  # two shares of the whole closer than this are equal


def paired_classes(
    old: ClassProfile, new: ClassProfile, found: ChangeIntervals, tolerance: float | None = None
) -> tuple[ClassChange, ...]:
    """The classes of two versions that were scored on the same samples.

    Worse: Holm's procedure over betting p-values. Better: the interval lies above 0.
    """
    return tuple(
        ClassChange(
            name=name,
            n=int(new.counts[k]),
            old=float(old.scores[k]),
            new=float(new.scores[k]),
            change=Metric(
                value=float(new.scores[k] - old.scores[k]), interval=(float(found.lower[k]), float(found.upper[k]))
            ),
            accuracy=(float(old.accuracies[k]), float(new.accuracies[k])),
            p_value=float(found.p_values[k]),
            p_holm=float(found.adjusted[k]),
            verdict=_verdict(bool(found.adjusted[k] <= found.level), float(found.lower[k]), tolerance),
        )
        for k, name in enumerate(new.names)
    )


def paired_metrics(
    old: ClassProfile, new: ClassProfile, intervals: Mapping[str, Interval | None], weight: float
) -> dict[str, MetricChange]:
    """The metrics of both versions, and their changes."""
    return _changes(_values(old, weight), _values(new, weight), intervals)


def unpaired_classes(old: ModelAudit, new: ModelAudit, tolerance: float | None = None) -> tuple[ClassChange, ...]:
    """The classes of two audits, from the intervals of each: what both intervals leave of the difference."""
    before = {entry.name: entry for entry in old.classes}
    changes = []
    for entry in new.classes:
        earlier = before[entry.name]
        interval = _difference(earlier.interval, entry.interval)
        low, high = interval or (-float("inf"), float("inf"))
        changes.append(
            ClassChange(
                name=entry.name,
                n=entry.n,
                old=earlier.score,
                new=entry.score,
                change=Metric(value=entry.score - earlier.score, interval=interval),
                accuracy=(earlier.accuracy, entry.accuracy),
                verdict=_verdict(high < -(tolerance or 0.0), low, tolerance),
            )
        )
    return tuple(changes)


def unpaired_metrics(old: ModelAudit, new: ModelAudit, *, other_classes: bool = False) -> dict[str, MetricChange]:
    """The metrics of two audits, and what their intervals leave of the differences.

    Numbers that are not of the same classes, or not with the same weight, have no difference, and a reason instead.
    """
    keys = views.metric_keys(old, new)
    before, after = ({key: model.metric(key) for key in keys} for model in (old, new))
    changes = _changes(
        {key: metric.value for key, metric in before.items()},
        {key: metric.value for key, metric in after.items()},
        {key: _difference(before[key].interval, after[key].interval) for key in keys},
    )
    reasons = dict.fromkeys(keys, "the two versions have samples of different classes") if other_classes else {}
    if old.fp_great.weight != new.fp_great.weight:
        reasons["fp_great"] = f"the fairness weights are {old.fp_great.weight:g} and {new.fp_great.weight:g}"
    if not other_classes and not _weighed_alike(old, new):
        reasons.setdefault("aggregate", "the two versions weigh their classes differently")
    return {
        name: change.model_copy(update={"value": None, "interval": None, "reason": reasons[name]})
        if name in reasons
        else change
        for name, change in changes.items()
    }


def _weighed_alike(old: ModelAudit, new: ModelAudit) -> bool:
    """Whether numbers of the whole are of the same mixture of classes in both."""
    if "class_sizes" not in (old.samples.weighted_by, new.samples.weighted_by):
        return True  # as they were sampled, each in its own numbers
    return all(abs(a - b) <= SAME_WEIGHT for a, b in zip(old.class_weights, new.class_weights, strict=True))


def hidden_fall(
    classes: tuple[ClassChange, ...], metrics: Mapping[str, MetricChange], part: str, digits: int = 3
) -> str | None:
    """What a mean that did not fall hides: classes that did. None when it hides nothing."""
    mean = metrics["class_mean"]
    worse = [entry for entry in classes if entry.verdict == "worse"]
    if not worse or mean.value is None or mean.value < 0:
        return None
    lowest = min(worse, key=lambda entry: entry.change.value or 0.0)
    others = f", and {len(worse) - 1} more fell" if len(worse) > 1 else ""
    return (
        f"The {part} mean rose by {views.number(mean.value, digits)}, and hides that {views.printable(lowest.name)} "
        f"fell from {views.number(lowest.old, digits)} to {views.number(lowest.new, digits)}{others}."
    )


def judge_changes(
    classes: tuple[ClassChange, ...],
    tolerance: float | None,
    parts: str,
    not_compared: Sequence[str] = (),
    digits: int = 3,
) -> tuple[Verdict, str]:
    """The verdict on a new version, and why.

    FAIL when a class is worse. UNDECIDED where a class could not be compared: nothing is known of it. Without a
    tolerance everything else is PASS: no fall was found, which is no proof that there is none. With one, PASS needs
    every class shown to have fallen by no more.
    """
    worse = [entry for entry in classes if entry.verdict == "worse"]
    by = "" if not tolerance else f" by more than {tolerance:g}"
    if worse:
        fallen = first_few(
            [
                f"{views.printable(entry.name)} ({views.estimate(entry.change.value, entry.change.interval, digits)})"
                for entry in worse
            ]
        )
        return Verdict.FAIL, f"{len(worse):,} of {len(classes):,} {parts} fell{by}: {fallen}."
    if not_compared:
        names = first_few(list(map(views.printable, not_compared)))
        return Verdict.UNDECIDED, (
            f"{names} could not be compared; of the other {len(classes):,} {parts} none is shown to have fallen{by}."
        )
    if tolerance is None:
        return Verdict.PASS, _no_fall(classes, parts)
    unsure = [entry for entry in classes if entry.verdict == "unclear"]
    if unsure:
        lowest = min(unsure, key=lambda entry: (entry.change.interval or (0.0, 0.0))[0])
        return Verdict.UNDECIDED, (
            f"{len(unsure):,} of {len(classes):,} {parts} may have fallen by more than {tolerance:g}: the change of "
            f"{views.printable(lowest.name)} is {views.estimate(lowest.change.value, lowest.change.interval, digits)}."
        )
    return Verdict.PASS, f"All {len(classes):,} {parts} are shown to have fallen by no more than {tolerance:g}."


def _no_fall(classes: tuple[ClassChange, ...], parts: str) -> str:
    """What there is to say where no class is worse."""
    better = [entry.name for entry in classes if entry.verdict == "better"]
    if len(better) == len(classes):
        return f"All {len(classes):,} {parts} are shown to have risen."
    also = f", and {len(better):,} to have risen" if better else ""
    return f"None of {len(classes):,} {parts} is shown to have fallen{also}; smaller falls may be there."


def _verdict(worse: bool, lowest: float, tolerance: float | None) -> Literal["worse", "better", "within", "unclear"]:
    """On one class, from the lower end of the interval of its change."""
    if worse:
        return "worse"
    if lowest > 0:
        return "better"
    return "within" if tolerance is not None and lowest >= -tolerance else "unclear"


def _values(profile: ClassProfile, weight: float) -> dict[str, float | None]:
    classes = ClassScores(scores=profile.scores, weights=profile.weights, fairness_weight=weight)
    found = {key: metric.of(classes) for key, metric in all_metrics().items()}
    return found | {"aggregate": profile.aggregate}


def _changes(
    old: Mapping[str, float | None], new: Mapping[str, float | None], intervals: Mapping[str, Interval | None]
) -> dict[str, MetricChange]:
    return {
        name: MetricChange(
            old=before,
            new=after,
            value=None if before is None or after is None else after - before,
            interval=intervals.get(name),
        )
        for name in old
        for before, after in [(old[name], new[name])]
    }


def _difference(old: Interval | None, new: Interval | None) -> Interval | None:
    return None if old is None or new is None else (new[0] - old[1], new[1] - old[0])
