"""Puts the stages of a gate in order: audit at the level that the policy leaves it, compare, judge."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gfscore.assembling import make_provenance
from gfscore.auditing import Options, audit_scores, score_samples
from gfscore.comparing import compare, compare_audits
from gfscore.errors import OptionError
from gfscore.judge.gate import ROUND, Progress, Score, adaptive_gate, describe, reason
from gfscore.judge.judging import judge
from gfscore.judge.policy import Kind, Policy, Rule
from gfscore.results import ModelAudit, Provenance
from gfscore.samples import FloatArray, IntArray, Samples
from gfscore.scores import SCORE_MAX, LocalScores
from gfscore.verdicts import Comparison, GateResult, ModelVerdict, RuleVerdict, Verdict

__all__ = [
    "ROUND",
    "SCORE_MAX",
    "Baseline",
    "Policy",
    "Progress",
    "Score",
    "adaptive_rule",
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
) -> GateResult:
    r"""Judge a model by a policy: PASS, FAIL or UNDECIDED, wrong with probability at most ``options.delta``.

    ``policy`` has the tables of a ``policy.toml``; each rule is judged on the interval of its number. ``baseline`` is
    an earlier version, for rules on changes. What the rules are: :doc:`gate`.

    >>> import numpy as np
    >>> labels = np.arange(400) % 2
    >>> samples = Samples.of(3 * np.eye(2)[labels], labels)
    >>> result = gate(samples, {"rules": {"wcr": 0.5, "rdi": 0.4}})
    >>> result.verdict.value, [rule.verdict.value for rule in result.models[0].rules]
    ('PASS', ['PASS', 'PASS'])
    """
    rules = policy if isinstance(policy, Policy) else Policy.of(policy)
    options = replace(options or Options(), permutations=0)  # no rule asks for the noise floor
    local = score_samples(samples, options)
    _, verdict = gate_scores(samples, local, rules, options, baseline=baseline, name=name)
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
    comparison = None if baseline is None or Kind.CHANGE not in levels else _against(baseline, model)
    verdict = judge(model, policy, levels, comparison=comparison)
    return model.model_copy(update={"verdict": verdict.verdict.value}), verdict


def gate_adaptively(
    score: Score,
    labels: IntArray,
    policy: Policy,
    *,
    name: str,
    class_names: Sequence[str],
    maximum: float = SCORE_MAX,
    delta: float = 0.05,
    seed: int = 0,
    shuffle: bool = True,
    finite: bool = False,
    class_sizes: IntArray | None = None,
    size: int = ROUND,
    passes: int = 1,
    progress: Progress = lambda _used, _available: None,
    from_store: Callable[[], int] = lambda: 0,
) -> ModelVerdict:
    """Judge the rule on the WCR by as few forward passes as it takes: see :func:`~gfscore.judge.gate.adaptive_gate`.

    ``score`` gives the local scores and predictions of some rows; ``from_store`` says afterwards how many of them it
    knew already. ``passes`` says how many forward passes a sample takes.
    """
    rule = adaptive_rule(policy)
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
    run = describe(drawn, tuple(class_names), rule.threshold, finite=finite, from_store=from_store(), passes=passes)
    why = reason(drawn, run, delta)
    lowest = [entry.score for entry in run.classes if entry.score is not None]
    judged = RuleVerdict(
        rule=rule.text,
        metric=rule.metric,
        at_least=rule.threshold,
        value=min(lowest) if len(lowest) == len(run.classes) else None,
        verdict=drawn.verdict,
        reason=why,
    )
    return ModelVerdict(
        name=name,
        verdict=drawn.verdict,
        reasons=(why,),
        rules=(judged,),
        delta=delta,
        levels={Kind.PROFILE.value: delta},
        adaptive=run,
    )


def adaptive_rule(policy: Policy) -> Rule:
    """The one rule that can be judged without a full pass."""
    if len(policy.rules) != 1 or policy.rules[0].metric != "wcr" or policy.rules[0].change:
        raise OptionError(
            f"--adaptive judges one rule, on the WCR; the policy has {len(policy.rules)}: "
            f"{', '.join(rule.text for rule in policy.rules[:3])}. Give --wcr alone, or leave --adaptive away."
        )
    return policy.rules[0]


def row_scores(forward: Callable[[IntArray], FloatArray], labels: IntArray, options: Options) -> Score:
    """Local scores of any rows, from a function that gives their logits."""

    def score(rows: IntArray) -> tuple[FloatArray, IntArray]:
        local = score_samples(Samples.of(forward(rows), labels[rows]), options)
        return local.values, local.predicted

    return score


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


def _against(baseline: ModelAudit, model: ModelAudit) -> Comparison:
    """The unpaired comparison, at the level of the baseline: that of the new audit is spent already."""
    return compare_audits(baseline, model).model_copy(update={"delta": baseline.interval.delta})
