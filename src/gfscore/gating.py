"""Puts the stages of a gate in order: audit at the level that the policy leaves it, compare, judge."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gfscore import views
from gfscore.arrays import FloatArray, IntArray
from gfscore.assembling import make_provenance
from gfscore.auditing import FirstOrder, Options, asked_score, audit_scores, score_samples
from gfscore.comparing import compare, compare_audits
from gfscore.errors import OptionError, naming
from gfscore.judge import (
    ABSENT,
    ROUND,
    Drawn,
    Facts,
    Kind,
    Policy,
    Progress,
    Rule,
    Score,
    about_the_missing,
    absent_flag,
    adaptive_gate,
    audit_flags,
    bounded_flag,
    chance_flag,
    check_thresholds,
    describe_draws,
    drawn_decisions,
    explain_draws,
    judge,
    known_flags,
    refuse_void,
    rows_to_make_sure,
)
from gfscore.profile import class_profile
from gfscore.results import (
    AdaptiveRun,
    Comparison,
    GateResult,
    Metric,
    ModelAudit,
    ModelVerdict,
    Provenance,
    RuleVerdict,
    RunInfo,
    ScoreInfo,
    Verdict,
)
from gfscore.samples import Samples
from gfscore.scores import LocalScores
from gfscore.views import preprocessing_text

__all__ = [
    "ROUND",
    "Baseline",
    "Policy",
    "Progress",
    "Score",
    "adaptive_rule",
    "check_scale",
    "gate",
    "gate_adaptively",
    "gate_audit",
    "gate_result",
    "gate_scores",
    "policy_of",
    "row_scores",
]

Baseline = Samples | ModelAudit


def gate(
    samples: Samples,
    policy: Policy | Mapping[str, Any],
    options: Options | None = None,
    *,
    baseline: Baseline | None = None,
    name: str = "model",
    allow: Sequence[str] = (),
    run: RunInfo | None = None,
) -> GateResult:
    r"""Judge a model by a policy: PASS, FAIL or UNDECIDED, wrong with probability at most ``options.delta``.

    ``policy`` has the tables of a ``policy.toml``; each rule is judged on the interval of its number. ``baseline`` is
    an earlier version, for rules on changes. ``allow`` names flags that do not keep a verdict from being given, and
    ``run`` says how the logits were made. What the rules are: :doc:`gate`.

    >>> import numpy as np
    >>> labels = np.arange(400) % 2
    >>> samples = Samples.of(3 * np.eye(2)[labels], labels)
    >>> result = gate(samples, {"rules": {"wcr": 0.5, "rdi": 0.4}})
    >>> result.verdict.value, [rule.verdict.value for rule in result.models[0].rules]
    ('PASS', ['PASS', 'PASS'])
    """
    rules = (policy if isinstance(policy, Policy) else Policy.of(policy)).allowing(allow)
    options = replace(options or Options(), permutations=0)  # no rule asks for the noise floor
    local = score_samples(samples, options)
    _, verdict = gate_scores(samples, local, rules, options, baseline=baseline, name=name, run=run)
    return gate_result([verdict])


def gate_scores(
    samples: Samples,
    local: LocalScores,
    policy: Policy,
    options: Options,
    *,
    name: str,
    baseline: Baseline | None = None,
    **about: Any,
) -> tuple[ModelAudit, ModelVerdict]:
    """Audit by any local score at the level that the policy leaves the audit, and judge.

    ``about`` is passed on to :func:`~gfscore.auditing.audit_scores`.
    """
    levels = _levels(policy, options.delta, baseline)
    at = replace(options, delta=levels.get(Kind.PROFILE, options.delta))
    model = audit_scores(samples, local, at, name=name, **about)
    comparison = None
    if baseline is not None and Kind.CHANGE in levels:
        _refuse_void_baseline(baseline, policy, options)
    if isinstance(baseline, Samples) and Kind.CHANGE in levels:
        level = replace(options, delta=levels[Kind.CHANGE])
        comparison = compare(baseline, samples, level, names=("baseline", name))
    elif isinstance(baseline, ModelAudit) and Kind.CHANGE in levels:
        comparison = _against(baseline, model)
    verdict = judge(model, policy, levels, comparison=comparison)
    return model.model_copy(update={"verdict": verdict.verdict.value}), verdict


def gate_audit(
    model: ModelAudit, policy: Policy, delta: float, *, baseline: ModelAudit | None = None
) -> tuple[ModelAudit, ModelVerdict]:
    """Judge an audit that was made before; its intervals must be at the level that the policy leaves them."""
    levels = _levels(policy, delta, baseline)
    comparison = None
    if baseline is not None and Kind.CHANGE in levels:
        _refuse_void_baseline(baseline, policy, Options())
        comparison = _against(baseline, model)
    with naming(model.name):
        verdict = judge(model, policy, levels, comparison=comparison)
    return model.model_copy(update={"verdict": verdict.verdict.value}), verdict


def gate_adaptively(
    score: Score,
    labels: IntArray,
    policy: Policy,
    *,
    name: str,
    class_names: Sequence[str],
    score_info: ScoreInfo | None = None,
    delta: float = 0.05,
    seed: int = 0,
    shuffle: bool = True,
    finite: bool = False,
    class_sizes: IntArray | None = None,
    size: int = ROUND,
    passes: int = 1,
    progress: Progress = lambda _used, _available: None,
    from_store: Callable[[], int] = lambda: 0,
    run: RunInfo | None = None,
) -> ModelVerdict:
    """Judge the rule on the WCR by as few forward passes as it takes: see :func:`~gfscore.judge.adaptive_gate`.

    ``score`` gives the local scores and predictions of some rows; ``from_store`` says afterwards how many of them it
    knew already. ``passes`` says how many forward passes a sample takes. Where what was drawn leaves it open that the
    model guesses, some hundred rows more are scored to find out; ``run`` says how the model was run. ``score_info``
    says which score it is, the GREAT score where nothing is said.
    """
    score_info = score_info or asked_score(Options())
    maximum, policy = score_info.range[1], policy.about(views.score_name(score_info))
    rule, names = adaptive_rule(policy), tuple(class_names)
    check_thresholds(policy, maximum=maximum, weight=0.0)
    drawn = adaptive_gate(
        score,
        labels,
        threshold=rule.threshold,
        maximum=maximum,
        delta=delta,
        seed=seed,
        shuffle=shuffle,
        finite=finite,
        class_sizes=class_sizes,
        size=size,
        progress=progress,
    )
    how = describe_draws(drawn, names, rule.threshold, finite=finite, from_store=from_store(), passes=passes)
    seen = drawn_decisions(drawn, names)
    if seen.is_doubtful:
        rows = rows_to_make_sure(drawn)
        seen = seen.with_more(labels[rows], score(rows)[1]) if len(rows) else seen
    absent = tuple(name for k, name in enumerate(names) if k not in drawn.present)
    found = (absent_flag(absent), chance_flag(seen.accuracy, seen.worth, seen.guess))
    flags = tuple(flag for flag in found if flag is not None)
    refuse_void(flags, policy.allow)
    judged = _adaptive_verdict(rule, drawn, how, delta, views.digits_of(score_info))
    if absent:
        judged = about_the_missing(judged, rule, absent, allowed=ABSENT in policy.allow)
    return ModelVerdict(
        name=name,
        score=score_info,
        verdict=judged.verdict,
        reasons=(judged.reason,),
        rules=(judged,),
        delta=delta,
        levels={Kind.PROFILE.value: delta},
        adaptive=how,
        accuracy=Metric(value=seen.accuracy),
        preprocessing=None if run is None else preprocessing_text(run.preprocessing),
        absent_classes=absent,
        flags=flags,
        allowed=tuple(flag.code for flag in flags if flag.code in policy.allow),
    )


def _adaptive_verdict(rule: Rule, drawn: Drawn, run: AdaptiveRun, delta: float, digits: int) -> RuleVerdict:
    """The rule on the WCR of the classes that have samples."""
    lowest = [entry.score for entry in run.classes if entry.score is not None]
    return RuleVerdict(
        rule=rule.text,
        metric=rule.metric,
        at_least=rule.threshold,
        value=min(lowest) if len(lowest) == len(run.classes) else None,
        verdict=drawn.verdict,
        reason=explain_draws(drawn, run, delta, digits),
    )


def adaptive_rule(policy: Policy) -> Rule:
    """The one rule that can be judged without a full pass."""
    if len(policy.rules) != 1 or policy.rules[0].metric != "wcr" or policy.rules[0].change:
        raise OptionError(
            f"--adaptive judges one rule, on the WCR; the policy has {len(policy.rules)}: "
            f"{', '.join(rule.text for rule in policy.rules[:3])}. Give --wcr alone, or leave --adaptive out."
        )
    return policy.rules[0]


def row_scores(
    forward: Callable[[IntArray], FloatArray], labels: IntArray, options: Options, *, allow: Sequence[str] = ()
) -> Score:
    """Local scores of any rows, from a function that gives their logits.

    Once a round of rows was seen, all of whose logits lie in [0, 1], nothing more is scored unless that is allowed.
    """
    seen = [math.inf, -math.inf, 0]  # the smallest and the largest logit, and the rows they are of

    def score(rows: IntArray) -> tuple[FloatArray, IntArray]:
        samples = Samples.of(forward(rows), labels[rows])
        low, high = samples.value_range
        seen[:] = min(seen[0], low), max(seen[1], high), seen[2] + samples.n_samples
        flag = bounded_flag(seen[0], seen[1])
        if flag is not None and seen[2] >= ROUND:
            refuse_void((flag,), allow)
        local = score_samples(samples, options)
        return local.values, local.predicted

    return score


def check_scale(policy: Policy, options: Options, radius: FirstOrder | None = None) -> None:
    """Refuse thresholds off the scale of the score that is asked for, before anything is run."""
    score = asked_score(options, radius)
    check_thresholds(policy.about(views.score_name(score)), maximum=score.range[1], weight=options.fairness_weight)


def policy_of(table: Mapping[str, Any]) -> Policy:
    """The policy that the tables of a ``policy.toml`` make."""
    return Policy.of(table)


def gate_result(models: Sequence[ModelVerdict], provenance: Provenance | None = None) -> GateResult:
    """The verdict on several models together: PASS needs every one."""
    return GateResult(
        verdict=Verdict.all_of([model.verdict for model in models]),
        models=tuple(models),
        provenance=provenance or make_provenance(),
    )


def _levels(policy: Policy, delta: float, baseline: Baseline | None) -> dict[Kind, float]:
    """What each kind of rule has of delta. Changes from audits alone rest on the intervals of both: those count too."""
    unpaired = Kind.CHANGE in policy.kinds and isinstance(baseline, ModelAudit)
    return policy.levels(delta, also=(Kind.PROFILE,) if unpaired else ())


def _refuse_void_baseline(baseline: Baseline, policy: Policy, options: Options) -> None:
    """A change against what is about nothing is about nothing."""
    if isinstance(baseline, ModelAudit):
        flags = known_flags(baseline)
    else:
        local = score_samples(baseline, options)
        flags = audit_flags(Facts.of(baseline, local), class_profile(baseline, local), min_n=options.min_n)
    with naming("baseline"):
        refuse_void(flags, policy.allow)


def _against(baseline: ModelAudit, model: ModelAudit) -> Comparison:
    """The unpaired comparison, at the level of the baseline: that of the new audit is spent already."""
    return compare_audits(baseline, model).model_copy(update={"delta": baseline.interval.delta})
