"""What an audit says about the rules of a policy: judged on the interval, never on the estimate alone.

PASS when the whole interval satisfies the rule, FAIL when none of it does, else UNDECIDED. One error level for the
verdict: it is divided equally among the kinds of rules that a policy has, and rules of one kind share intervals that
hold together. So PASS although a rule is broken, or FAIL although all hold, happens with probability at most delta.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from gfscore import views
from gfscore.errors import InvalidInputError, OptionError, first_few
from gfscore.judge.accuracies import accuracy_intervals
from gfscore.judge.e_values import Bets, rule_evidence
from gfscore.judge.flags import known_flags
from gfscore.judge.policy import ABSENT, EVERY, Kind, Policy, Rule, check_thresholds, no_such
from gfscore.judge.robust_accuracy import RobustIntervals, robust_intervals
from gfscore.judge.robust_changes import robust_change_at
from gfscore.metrics import Unit
from gfscore.results import (
    CAUSES,
    Comparison,
    Flag,
    Interval,
    Metric,
    ModelAudit,
    ModelVerdict,
    Robustness,
    RuleVerdict,
    ScoreInfo,
    Verdict,
)
from gfscore.score_titles import title_of

LEVEL_ROUNDING = 1e-12  # on the comparison of two levels
ESTIMATED = Flag(
    code="estimated_radii",
    message="robust accuracy is estimated by radii, which bound nothing: attacks may leave less or more. The error "
    "level is about the choice of samples. gfscore check --autoattack attacks.",
)
CONFIDENCES = Flag(
    code="confidences_only",
    message="a rule on the GREAT score is a threshold on confidences, which does not compare networks: fragile ones "
    "can pass it, robust ones fail. Accuracy under attack is judged by --robust-accuracy, with --model.",
)

Estimate = tuple[float | None, Interval | None, int, str]  # value, interval, samples behind it, and a remark
Accuracies = tuple[Interval | None, Mapping[str, Interval]]  # intervals: of the whole, and by class


class UnsoundError(InvalidInputError):
    """Numbers that are about nothing, so that no verdict can rest on them."""


def refuse_void(flags: Iterable[Flag], allow: Sequence[str]) -> None:
    """Stop where a flag says that there is nothing to judge, unless it is allowed."""
    given = list(flags)
    found = [flag for flag in given if flag.voids and flag.code not in allow]
    if found:
        options = " ".join(f"--allow {code}" for code in dict.fromkeys(flag.code for flag in found))
        why = next((flag for flag in given if flag.code in CAUSES), found[0])
        raise UnsoundError(f"there is nothing to judge: {why.message} To judge nevertheless, give {options}.")


def judge(
    model: ModelAudit,
    policy: Policy,
    levels: Mapping[Kind, float],
    *,
    comparison: Comparison | None = None,
    bets: Bets | None = None,
) -> ModelVerdict:
    """Judge an audited model by every rule of a policy; ``comparison`` is with the baseline, for rules on changes.

    ``levels`` are those of :meth:`Policy.levels`: the verdict is wrong with probability at most their sum. An audit
    that is about nothing has none, unless the policy allows it. ``bets`` on the samples make e-values sharper.
    """
    flags = known_flags(model)
    refuse_void(flags, policy.allow)
    policy = policy.about(views.score_name(model.score), None if model.robustness is None else model.robustness.norm)
    n_classes = len(model.classes) + len(model.absent_classes)
    check_thresholds(policy, maximum=model.score.range[1], weight=model.fp_great.weight, n_classes=n_classes)
    _check_levels(model, comparison, levels)
    asked = {rule.part for rule in policy.rules if rule.kind is Kind.ACCURACY}
    accuracies = accuracy_intervals(model, asked, levels.get(Kind.ACCURACY, 0.0))
    robust = robust_intervals(model, _asked_sizes(policy), levels.get(Kind.ROBUST, 0.0))
    found = []
    for rule in policy.rules:
        of_score = rule.row.unit in (Unit.SCORE, Unit.GAP)
        digits = views.digits_of(model.score) if of_score else views.INDEX_DIGITS
        entry = _judge_rule(rule, _estimate(rule, model, comparison, accuracies, robust), digits)
        missing, allowed = _missing(rule, model, comparison), ABSENT in policy.allow
        entry = about_the_missing(entry, rule, missing, allowed=allowed) if missing else entry
        unknown = () if allowed else missing
        evidence = rule_evidence(rule, entry, model, levels[rule.kind], robust=robust, bets=bets, missing=unknown)
        found.append(entry.model_copy(update={"evidence": evidence}))
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
        flags=(
            *flags,
            *about_rules(model.score, policy, model.robustness),
            *(() if comparison is None else comparison.flags),
        ),
        allowed=tuple(flag.code for flag in flags if flag.code in policy.allow),
    )


def about_the_missing(judged: RuleVerdict, rule: Rule, missing: Sequence[str], *, allowed: bool) -> RuleVerdict:
    """A verdict on a rule that speaks of every class, where some have no sample: UNDECIDED, unless that is allowed.

    What some classes break is broken, whatever the others are: then FAIL stays.
    """
    named = first_few([views.printable(name) for name in missing])
    without = f"{named} {'has' if len(missing) == 1 else 'have'} no sample"
    if allowed and judged.value is not None:
        return judged.model_copy(
            update={"reason": f"{judged.reason.removesuffix('.')}; {without}, left out as allowed."}
        )
    if judged.verdict is Verdict.FAIL and rule.broken_by_any:
        return judged
    reason = (
        f"{_sentence(rule)} is not known: {without}. Give some, or judge the other classes alone: --allow {ABSENT}."
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


def _asked_sizes(policy: Policy) -> list[tuple[float, str | None]]:
    """The sizes of attack that rules are about, each with its class."""
    rules = [rule for rule in policy.rules if rule.kind is Kind.ROBUST]
    return [(rule.eps, rule.part) for rule in rules if rule.eps is not None]


def about_rules(score: ScoreInfo, policy: Policy, robust: Robustness | None = None) -> tuple[Flag, ...]:
    """What a verdict is not: by a score that does not order models, or by radii that are estimates."""
    found = []
    if any(rule.kind is Kind.PROFILE for rule in policy.rules) and not title_of(score.name).orders_models:
        found.append(CONFIDENCES)
    if policy.eps and (robust is None or robust.kind == "estimated"):
        found.append(ESTIMATED)
    return tuple(found)


def _estimate(
    rule: Rule,
    model: ModelAudit,
    comparison: Comparison | None,
    accuracies: Accuracies,
    robust: RobustIntervals,
) -> Estimate:
    """What is known of the number that a rule is about."""
    n, classes, absent = model.samples.n, model.classes, model.absent_classes
    weighed = " (classes weighed as in the data set)" if model.samples.weighted_by == "class_sizes" else ""
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
            tried = n if claim.tried_on is None else claim.tried_on
            return claim.radius_refuted_share, claim.radius_refuted_interval, tried, ""
        case Kind.ROBUST:
            found = robust[rule.eps or 0.0]
            if rule.part is None:
                return *found.whole, sum(n for *_, n in found.classes.values()), weighed
            return _of_part(rule, found.classes, absent)
        case Kind.ACCURACY if rule.part is None:
            return model.accuracy, accuracies[0], n, weighed
        case Kind.ACCURACY:
            known = {entry.name: (entry.accuracy, accuracies[1].get(entry.name), entry.n) for entry in classes}
            return _of_part(rule, known, absent)
        case Kind.PROFILE if rule.part is None:
            metric = model.metric(rule.metric)
            worst = f" ({views.printable(model.wcr.class_)})" if rule.metric == "wcr" else ""
            return metric.value, metric.interval, n, weighed if rule.metric == "aggregate" else worst
        case Kind.PROFILE:
            return _of_part(rule, {entry.name: (entry.score, entry.interval, entry.n) for entry in classes}, absent)


def _change(rule: Rule, comparison: Comparison | None) -> Estimate:
    if comparison is None:
        raise OptionError("the policy has a rule on a change, but there is nothing to compare with. Give --baseline.")
    if rule.part is not None:
        of_robust = rule.metric == "class_robust_accuracy"
        classes = robust_change_at(comparison, rule.eps).classes if of_robust else comparison.classes
        entries = {entry.name: (entry.change.value, entry.change.interval, entry.n) for entry in classes}
        return _of_part(rule, entries, ())
    if rule.metric == "robust_accuracy":
        found = robust_change_at(comparison, rule.eps)
        return found.change.value, found.change.interval, comparison.n, ""
    change = comparison.metrics.get(rule.metric)
    if change is None:
        raise OptionError(f"nothing is known of the {rule.what}: the comparison does not hold it. Audit both anew.")
    return change.value, change.interval, comparison.n, ""


def _of_part(
    rule: Rule, entries: Mapping[str, tuple[float | None, Interval | None, int]], absent: tuple[str, ...]
) -> Estimate:
    """Of the class that a rule names, or of the lowest."""
    if rule.part == EVERY:
        values = {name: value for name, (value, _, _) in entries.items() if value is not None}
        lowest = min(values, key=lambda name: values[name])
        ends = [interval for _, interval, _ in entries.values() if interval is not None]
        interval = (min(low for low, _ in ends), min(high for _, high in ends)) if len(ends) == len(entries) else None
        return values[lowest], interval, entries[lowest][2], f" (lowest: {views.printable(lowest)})"
    part = str(rule.part)
    if part in entries:
        return *entries[part], ""
    if part in absent:
        return None, None, 0, ""
    raise OptionError(no_such(part, [*entries, *absent], "class"))


def _judge_rule(rule: Rule, estimate: Estimate, digits: int) -> RuleVerdict:
    """The verdict on one rule, with its reason."""
    value, interval, n, remark = estimate
    at_least, needed = rule.row.higher_is_better, None
    good = f"{'at least' if at_least else 'at most'} {rule.threshold:g}"
    if value is None or interval is None:
        verdict = Verdict.UNDECIDED
        lacks = "does not exist" if value is None else "has no interval"
        reason = f"{_sentence(rule)} {lacks} here, so nothing shows that it is {good}."
    else:
        verdict = rule.judge(interval)
        seen = f"{_sentence(rule)} is {views.estimate(value, interval, digits)}{remark}"
        if verdict is Verdict.UNDECIDED:
            needed = samples_needed(n, value, rule.threshold, interval)
            reason = f"{seen}: the interval reaches across {rule.threshold:g}; {_more(rule, n, needed)}."
        else:
            share = "all" if verdict is Verdict.PASS else "none"
            reason = f"{seen}: {share} of the interval is {good}."
    return RuleVerdict(
        rule=rule.text,
        metric=rule.metric,
        class_=rule.part,
        eps=rule.eps,
        change=rule.change,
        at_least=rule.threshold if at_least else None,
        at_most=None if at_least else rule.threshold,
        value=value,
        interval=interval,
        verdict=verdict,
        reason=reason,
        samples_needed=needed,
    )


def _sentence(rule: Rule) -> str:
    """What a rule is about, as the beginning of a sentence."""
    return rule.what[0].upper() + rule.what[1:]


def _more(rule: Rule, n: int, needed: int | None) -> str:
    """How many samples would decide instead of n, and for refuted shares how to have them tried."""
    if needed is None:
        return "it is too near to say how many samples would decide"
    if rule.kind is Kind.ROBUST:
        found = f"about {needed:,} radii instead of {n:,} would decide, if the estimate stays"
        return f"{found}: raise --radii, or give more images"
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
        if made.get(kind, 0.0) > level + LEVEL_ROUNDING:
            raise OptionError(
                f"{model.name}: intervals for rules on the {kind} were made at delta {made[kind]:g}, but have "
                f"{level:g} here. Make them with --delta {views.level_text(level)}, give logits, or raise --delta."
            )
