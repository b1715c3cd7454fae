"""Two versions of a model: which classes got worse, and what a better mean hides."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from gfscore import views
from gfscore.arrays import FloatArray, IntArray
from gfscore.bounds import ChangeIntervals
from gfscore.errors import first_few
from gfscore.metrics import ClassScores, all_metrics
from gfscore.profile import ClassProfile
from gfscore.results import ClassChange, Interval, Metric, MetricChange, ModelAudit, Verdict

SAME_WEIGHT = 1e-9  # two shares of the whole closer than this are equal
ORDER_CORRELATION = 0.5  # of row number and score, by rank: at it the deviation of a change looks 13 % too small
ORDER_DEVIATIONS = 4.0  # that it must be away from 0, for chance to have no part in it


def follows_order(old: FloatArray, new: FloatArray, codes: IntArray) -> bool:
    r"""Whether the scores of two versions, row by row, both rise or both fall with the row number.

    Then rows may not be matched by their order: any two files would look paired. Two samples of n that are sorted by
    the score are paired quantile by quantile. With a correlation r of order and score, the differences have the
    variance :math:`2\sigma^2(1 - r^2)`, but their mean that of two independent samples, :math:`2\sigma^2/n`: a change
    is taken to be surer than it is, and chance for a fall. ``codes`` are the parts, ``(N,)`` as the scores.
    """
    found = [order_correlation(scores, codes) for scores in (old, new)]
    needed = max(ORDER_CORRELATION, ORDER_DEVIATIONS / np.sqrt(max(len(codes) - len(np.unique(codes)), 1)))
    return bool(min(found) >= needed or max(found) <= -needed)


def order_correlation(scores: FloatArray, codes: IntArray) -> float:
    """Spearman's correlation of the scores with the row number within the parts, over all of them; 0 without any.

    >>> codes = np.array([0, 0, 0, 1, 1, 1])
    >>> order_correlation(np.array([0.1, 0.2, 0.3, 0.7, 0.8, 0.9]), codes)
    1.0
    >>> order_correlation(np.array([0.3, 0.2, 0.1, 0.7, 0.7, 0.7]), codes)
    -0.707...
    """
    rows, ranks = np.zeros(len(codes)), np.zeros(len(codes))
    for part in np.unique(codes):
        inside = codes == part
        n = int(inside.sum())
        rows[inside] = (np.arange(n) + 0.5) / n - 0.5
        _, place, counts = np.unique(scores[inside], return_inverse=True, return_counts=True)
        ranks[inside] = (np.cumsum(counts) - 0.5 * counts)[place] / n - 0.5  # equals share their middle
    scale = np.sqrt((rows @ rows) * (ranks @ ranks))
    return float(np.clip(rows @ ranks / scale, -1.0, 1.0)) if scale > 0 else 0.0


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


def _verdict(worse: bool, lowest: float, tolerance: float | None) -> Literal["worse", "better", "within", "unclear"]:
    """On one class, from the lower end of the interval of its change."""
    if worse:
        return "worse"
    if lowest > 0:
        return "better"
    return "within" if tolerance is not None and lowest >= -tolerance else "unclear"


def paired_metrics(
    old: ClassProfile, new: ClassProfile, intervals: Mapping[str, Interval | None], weight: float
) -> dict[str, MetricChange]:
    """The metrics of both versions, and their changes."""
    before, after = (
        ClassScores(scores=profile.scores, weights=profile.weights, fairness_weight=weight) for profile in (old, new)
    )
    changes = {
        key: _change(metric.of(before), metric.of(after), intervals.get(key)) for key, metric in all_metrics().items()
    }
    return changes | {"aggregate": _change(old.aggregate, new.aggregate, intervals.get("aggregate"))}


def unpaired_metrics(old: ModelAudit, new: ModelAudit, *, other_classes: bool = False) -> dict[str, MetricChange]:
    """The metrics of two audits, and what their intervals leave of the differences.

    Numbers that are not of the same classes, or not with the same weight, have no difference, and a reason instead.
    """
    keys = views.metric_keys(old, new)
    reasons = dict.fromkeys(keys, "the two versions have samples of different classes") if other_classes else {}
    if old.fp_great.weight != new.fp_great.weight:
        reasons["fp_great"] = f"the fairness weights are {old.fp_great.weight:g} and {new.fp_great.weight:g}"
    if not other_classes and not _weighed_alike(old, new):
        reasons["aggregate"] = "the two versions weigh their classes differently"
    changes = {}
    for key in keys:
        before, after = old.metric(key), new.metric(key)
        if key in reasons:
            changes[key] = MetricChange(old=before.value, new=after.value, value=None, reason=reasons[key])
        else:
            changes[key] = _change(before.value, after.value, _difference(before.interval, after.interval))
    return changes


def _weighed_alike(old: ModelAudit, new: ModelAudit) -> bool:
    """Whether numbers of the whole are of one mixture of classes in both."""
    if "class_sizes" not in (old.samples.weighted_by, new.samples.weighted_by):
        return True  # as they were sampled, each in its own numbers
    return all(abs(a - b) <= SAME_WEIGHT for a, b in zip(old.class_weights, new.class_weights, strict=True))


def _change(old: float | None, new: float | None, interval: Interval | None) -> MetricChange:
    value = None if old is None or new is None else new - old
    return MetricChange(old=old, new=new, value=value, interval=interval)


def _difference(old: Interval | None, new: Interval | None) -> Interval | None:
    return None if old is None or new is None else (new[0] - old[1], new[1] - old[0])


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
    *,
    shares: bool = False,
) -> tuple[Verdict, str]:
    """The verdict on a new version, and why.

    FAIL when a class is worse. UNDECIDED where a class could not be compared: nothing is known of it. Without a
    tolerance everything else is PASS: no fall was found, which is no proof that there is none. With one, PASS needs
    every class shown to have fallen by no more. Changes of ``shares`` are said in points.
    """
    accepted = f"{100 * (tolerance or 0.0):g} points" if shares else f"{tolerance or 0.0:g}"

    def estimate(entry: ClassChange) -> str:
        return (
            f"{views.points(entry.change)} points"
            if shares
            else views.estimate(entry.change.value, entry.change.interval, digits)
        )

    worse, unsure, better = (
        [entry for entry in classes if entry.verdict == verdict] for verdict in ("worse", "unclear", "better")
    )
    by, n = "" if not tolerance else f" by more than {accepted}", f"{len(classes):,}"
    if worse:
        fallen = first_few([f"{views.printable(entry.name)} ({estimate(entry)})" for entry in worse])
        return Verdict.FAIL, f"{len(worse):,} of {n} {parts} fell{by}: {fallen}."
    if not_compared:
        names = first_few([views.printable(name) for name in not_compared])
        reason = f"{names} could not be compared; of the other {n} {parts} none is shown to have fallen{by}."
        return Verdict.UNDECIDED, reason
    if tolerance is None and len(better) == len(classes):
        return Verdict.PASS, f"All {n} {parts} are shown to have risen."
    if tolerance is None:
        also = f", and {len(better):,} to have risen" if better else ""
        return Verdict.PASS, f"None of {n} {parts} is shown to have fallen{also}; smaller falls may be there."
    if unsure:
        lowest = min(unsure, key=lambda entry: (entry.change.interval or (0.0, 0.0))[0])
        return Verdict.UNDECIDED, (
            f"{len(unsure):,} of {n} {parts} may have fallen by more than {accepted}: the change of "
            f"{views.printable(lowest.name)} is {estimate(lowest)}."
        )
    return Verdict.PASS, f"All {n} {parts} are shown to have fallen by no more than {accepted}."
