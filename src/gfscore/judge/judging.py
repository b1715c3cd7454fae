"""What an audit says about the rules of a policy: judged on the interval, never on the estimate alone.

PASS when the whole interval satisfies the rule, FAIL when none of it does, else UNDECIDED. One error level for the
verdict: it is divided equally among the kinds of rules that a policy has, and rules of one kind share intervals that
hold together. So PASS although a rule is broken, or FAIL although all hold, happens with probability at most delta.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from gfscore import views
from gfscore.errors import OptionError
from gfscore.judge.accuracies import accuracy_intervals
from gfscore.judge.flags import known_flags
from gfscore.judge.policy import EVERY, Kind, Policy, Rule, no_such
from gfscore.judge.scale import check_thresholds
from gfscore.judge.soundness import ABSENT, refuse_void, without_samples
from gfscore.metrics import Unit
from gfscore.results import Comparison, Interval, Metric, ModelAudit, ModelVerdict, RuleVerdict, Verdict

SLACK = 1e-12  # on the comparison of two levels, for their rounding


def judge(
    model: ModelAudit, policy: Policy, levels: Mapping[Kind, float], *, comparison: Comparison | None = None
) -> ModelVerdict:
    """Judge an audited model by every rule of a policy; ``comparison`` is with the baseline, for rules on changes.

    ``levels`` are those of :meth:`Policy.levels`: the verdict is wrong with probability at most their sum. An audit
    that is about nothing has none, unless the policy allows it.
    """
    flags = known_flags(model)
    refuse_void(flags, policy.allow)
    policy = policy.about(views.score_name(model.score))
    n_classes = len(model.classes) + len(model.absent_classes)
    check_thresholds(policy, maximum=model.score.range[1], weight=model.fp_great.weight, n_classes=n_classes)
    _check_levels(model, comparison, levels)
    found = []
    for rule in policy.rules:
        value, interval, n, about = _estimate(rule, model, comparison, levels, policy)
        of_score = rule.subject.unit in (Unit.SCORE, Unit.GAP)
        digits = views.digits_of(model.score) if of_score else views.INDEX_DIGITS
        judged = _judged(rule, value, interval, n, about, digits)
        missing = _missing(rule, model, comparison)
        found.append(about_the_missing(judged, rule, missing, allowed=ABSENT in policy.allow) if missing else judged)
    verdict = Verdict.all_of([entry.verdict for entry in found])
    delta = sum(levels.values())
    return ModelVerdict(
        name=model.name,
        score=model.score,
        verdict=verdict,
        reasons=tuple(entry.reason for entry in found if entry.verdict is verdict),
        rules=tuple(found),
        delta=delta,
        levels={kind.value: level for kind, level in levels.items()},
        accuracy=Metric(value=model.accuracy, interval=accuracy_intervals(model, {None}, delta)[0]),
        preprocessing=None if model.run is None else views.preprocessing_text(model.run.preprocessing),
        absent_classes=model.absent_classes,
        flags=(*flags, *(() if comparison is None else comparison.flags)),
        allowed=tuple(flag.code for flag in flags if flag.code in policy.allow),
    )


def about_the_missing(judged: RuleVerdict, rule: Rule, missing: Sequence[str], *, allowed: bool) -> RuleVerdict:
    """A verdict on a rule that speaks of every class, where some have no sample: UNDECIDED, unless that is allowed.

    What some classes break is broken, whatever the others are: then FAIL stays.
    """
    if allowed and judged.value is not None:
        return judged.model_copy(
            update={"reason": f"{judged.reason.removesuffix('.')}; {without_samples(missing)}, left out as allowed."}
        )
    if judged.verdict is Verdict.FAIL and rule.broken_by_any:
        return judged
    what = rule.what[0].upper() + rule.what[1:]
    reason = (
        f"{what} is not known: {without_samples(missing)}. Give some, or judge the other classes alone: "
        f"--allow {ABSENT}."
    )
    return judged.model_copy(update={"verdict": Verdict.UNDECIDED, "reason": reason, "samples_needed": None})


def _missing(rule: Rule, model: ModelAudit, comparison: Comparison | None) -> tuple[str, ...]:
    """The classes that a rule speaks of, and that have no sample."""
    if not rule.of_every_class:
        return ()
    also = () if comparison is None or not rule.change else comparison.not_compared
    return tuple(dict.fromkeys((*model.absent_classes, *also)))


def samples_needed(n: int, value: float, threshold: float, interval: Interval) -> int | None:
    """About how many samples would decide a rule, if the estimate stays: intervals shrink with the root of n.

    None when the estimate is so near to the threshold that no number helps.

    >>> samples_needed(100, 0.5, 0.25, (0.0, 1.0))
    400
    """
    end = interval[0] if value >= threshold else interval[1]
    if abs(value - threshold) < 1e-3 * abs(end - value):
        return None
    factor = float(((end - value) / (value - threshold)) ** 2)
    step = int(10 ** max(0, math.floor(math.log10(n * factor)) - 1))  # two digits are all that is known
    return max(n + 1, math.ceil(n * factor / step) * step)


Estimate = tuple[float | None, Interval | None, int, str]  # value, interval, samples behind it, and a remark


def _estimate(
    rule: Rule, model: ModelAudit, comparison: Comparison | None, levels: Mapping[Kind, float], policy: Policy
) -> Estimate:
    """What is known of the number that a rule is about."""
    match rule.kind:
        case Kind.CHANGE:
            return _change(rule, comparison)
        case Kind.REFUTED:
            claim = model.claim
            if claim.radius_refuted_interval is None:
                raise OptionError(
                    "the policy has a rule on the refuted share, but the audit says nothing about it. Run gfscore "
                    "check, and gate the audit it writes."
                )
            tried = model.samples.n if claim.tried_on is None else claim.tried_on
            return claim.radius_refuted_share, claim.radius_refuted_interval, tried, ""
        case Kind.ACCURACY:
            return _accuracy(rule, model, levels[Kind.ACCURACY], policy)
        case Kind.PROFILE:
            return _profile(rule, model)


def _profile(rule: Rule, model: ModelAudit) -> Estimate:
    if rule.part is not None:
        entries = {entry.name: (entry.score, entry.interval) for entry in model.classes}
        value, interval, name = _of_part(rule, entries, model.absent_classes)
        n = next((entry.n for entry in model.classes if entry.name == name), model.samples.n)
        return value, interval, n, _lowest(rule, name)
    metric = model.metric(rule.metric)
    worst = f" ({views.printable(model.wcr.class_)})" if rule.metric == "wcr" else ""
    about = _of_what(model) if rule.metric == "aggregate" else worst
    return metric.value, metric.interval, model.samples.n, about


def _accuracy(rule: Rule, model: ModelAudit, level: float, policy: Policy) -> Estimate:
    """All accuracies that the policy asks about at once."""
    asked = {entry.part for entry in policy.rules if entry.kind is Kind.ACCURACY}
    whole, intervals = accuracy_intervals(model, asked, level)
    if rule.part is None:
        return model.accuracy, whole, model.samples.n, _of_what(model)
    counts = {entry.name: entry.n for entry in model.classes}
    found = {entry.name: (entry.accuracy, intervals[entry.name]) for entry in model.classes if entry.name in intervals}
    value, interval, name = _of_part(rule, found, model.absent_classes, counts)
    return value, interval, model.samples.n if name is None else counts[name], _lowest(rule, name)


def _of_what(model: ModelAudit) -> str:
    """A remark on a number of the whole, where its classes are weighed."""
    return " (classes weighed as in the data set)" if model.samples.weighted_by == "class_sizes" else ""


def _change(rule: Rule, comparison: Comparison | None) -> Estimate:
    if comparison is None:
        raise OptionError("the policy has a rule on a change, but there is nothing to compare with. Give --baseline.")
    if rule.part is None:
        change = comparison.metrics.get(rule.metric)
        if change is None:
            raise OptionError(f"nothing is known of the {rule.what}: the comparison does not hold it. Audit both anew.")
        return change.value, change.interval, comparison.n, ""
    entries = {entry.name: (entry.change.value, entry.change.interval) for entry in comparison.classes}
    value, interval, name = _of_part(rule, entries, ())
    n = next(entry.n for entry in comparison.classes if entry.name == name)
    return value, interval, n, _lowest(rule, name)


def _of_part(
    rule: Rule,
    entries: Mapping[str, tuple[float | None, Interval | None]],
    absent: tuple[str, ...],
    names: Iterable[str] = (),
) -> tuple[float | None, Interval | None, str | None]:
    """Value and interval of the class that a rule names, or of the lowest; and which class it is."""
    if rule.part == EVERY:
        values = {name: value for name, (value, _) in entries.items() if value is not None}
        ends = [interval for _, interval in entries.values()]
        lowest = min(values, key=lambda name: values[name])
        known = [interval for interval in ends if interval is not None]
        interval = (min(low for low, _ in known), min(high for _, high in known)) if len(known) == len(ends) else None
        return values[lowest], interval, lowest
    part = str(rule.part)
    if part in entries:
        return *entries[part], part
    if part in absent:
        return None, None, None
    raise OptionError(no_such(part, list(dict.fromkeys([*entries, *names, *absent])), "class"))


def _lowest(rule: Rule, name: str | None) -> str:
    return f" (lowest: {views.printable(name)})" if rule.part == EVERY and name is not None else ""


def _judged(rule: Rule, value: float | None, interval: Interval | None, n: int, about: str, digits: int) -> RuleVerdict:
    """The verdict on one rule, with its reason."""
    good, needed = "at least" if rule.subject.high_is_good else "at most", None
    what = rule.what[0].upper() + rule.what[1:]
    if value is None or interval is None:
        verdict = Verdict.UNDECIDED
        lacks = "does not exist" if value is None else "has no interval"
        reason = f"{what} {lacks} here, so nothing shows that it is {good} {rule.threshold:g}."
    else:
        verdict = rule.judge(interval)
        seen = f"{what} is {views.estimate(value, interval, digits)}{about}"
        if verdict is Verdict.UNDECIDED:
            needed = samples_needed(n, value, rule.threshold, interval)
            reason = f"{seen}: the interval reaches across {rule.threshold:g}; {_more(rule, n, needed)}."
        else:
            share = "all" if verdict is Verdict.PASS else "none"
            reason = f"{seen}: {share} of the interval is {good} {rule.threshold:g}."
    return RuleVerdict(
        rule=rule.text,
        metric=rule.metric,
        class_=rule.part,
        change=rule.change,
        at_least=rule.threshold if rule.subject.high_is_good else None,
        at_most=None if rule.subject.high_is_good else rule.threshold,
        value=value,
        interval=interval,
        verdict=verdict,
        reason=reason,
        samples_needed=needed,
    )


def _more(rule: Rule, n: int, needed: int | None) -> str:
    """How many samples would decide instead of n, and for refuted shares how to have them tried."""
    if needed is None:
        return "it is too near to say how many samples would decide"
    if rule.kind is Kind.REFUTED:
        return (
            f"about {needed:,} samples tried instead of {n:,} would decide, if the estimate stays: "
            "raise gfscore check --samples, which counts per class"
        )
    return f"about {needed:,} samples instead of {n:,} would decide, if the estimate stays"


def _check_levels(model: ModelAudit, comparison: Comparison | None, levels: Mapping[Kind, float]) -> None:
    """Refuse intervals that were made at a higher level than their share."""
    refuted = model.claim.delta  # check may have had another level than the audit
    made = {Kind.PROFILE: model.interval.delta, Kind.REFUTED: model.interval.delta if refuted is None else refuted}
    if comparison is not None:
        made[Kind.CHANGE] = comparison.delta
    for kind, level in levels.items():
        if made.get(kind, 0.0) > level + SLACK:
            raise OptionError(
                f"{model.name}: intervals for rules on the {kind} were made at delta {made[kind]:g}, but have "
                f"{level:g} here. Make them with --delta {level:g}, give logits, or raise --delta."
            )
