"""``gate``: PASS, FAIL or UNDECIDED, by rules on the intervals of an audit; compare, judge, and say why."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from gfscore import views
from gfscore.assemble import make_provenance
from gfscore.bounds import Evidence
from gfscore.errors import OptionError, naming
from gfscore.inputs.table_columns import ReadingWords
from gfscore.jobs.adaptive import adaptive_steps, gate_runs
from gfscore.jobs.arranging import arrange, listed_models, refuse_unread, split_policy, with_name
from gfscore.jobs.calling import SILENT, Face, Job, listed_paths
from gfscore.jobs.common_words import DataSpecs, Groups, ModelSpecs, Probabilities, Radii
from gfscore.jobs.compare import compare_samples
from gfscore.jobs.dry_run import plan_run
from gfscore.jobs.options import Options, RunOptions, Target
from gfscore.jobs.policy_words import Baseline, PolicyWords, compare_with, is_audit, read_baseline, refuse_void_baseline
from gfscore.jobs.referee import RefereeWords, referee, referee_steps
from gfscore.jobs.robustness import MeasuredRadii, begin_measures, measure_robustness, radii_of_rules
from gfscore.jobs.sources import Source, Then, find_samples, find_sources, provenance_of, watch
from gfscore.jobs.stages import ARRAYS, Origin, asked_score, audit_scores
from gfscore.jobs.steps import Steps, score_steps
from gfscore.judge import ROUND, check_thresholds
from gfscore.judge.e_values import Bets
from gfscore.judge.judging import judge
from gfscore.judge.policy import Kind, Policy
from gfscore.results import (
    Audit,
    GateResult,
    ModelAudit,
    ModelVerdict,
    Provenance,
    Verdict,
)
from gfscore.samples import Samples
from gfscore.scores import LocalScores
from gfscore.words import Panel, Word


@Job
def gate(
    inputs: Annotated[
        Any,
        Word(
            kind=list[Path] | None,
            is_argument=True,
            help="Logits files, or an audit.json that was made before; a model each.",
        ),
    ] = None,
    policy: Annotated[
        Any,
        Word(kind=Path | None, panel=Panel.RULES, help="A policy.toml with rules.  [default: only those said here]"),
    ] = None,
    *,
    labels: Any = None,
    model: ModelSpecs = None,
    data: DataSpecs = None,
    rules: PolicyWords,
    radii: Radii = None,
    baseline: Annotated[
        Any,
        Word(
            kind=Path | None, help="An earlier version to compare with, for --change: a logits file or an audit.json."
        ),
    ] = None,
    adaptive: Annotated[
        bool, Word(panel=Panel.RULES, help="Run the model only until the rule on the worst class (--wcr) is decided.")
    ] = False,
    round: Annotated[  # noqa: A002
        int,
        Word(
            least=1,
            panel=Panel.RULES,
            expert=True,
            help="Forward passes between two looks at the rule, with --adaptive.",
        ),
    ] = ROUND,
    refereeing: RefereeWords,
    target: Annotated[
        Target,
        Word(
            panel=Panel.RULES,
            expert=True,
            help="What --adaptive or --referee decides about: the population behind the data, or this finite data set.",
        ),
    ] = Target.POPULATION,
    probabilities: Probabilities = False,
    groups: Groups = None,
    words: ReadingWords,
    options: Options,
    run: RunOptions,
    name: str | None = None,
    seen: Callable[[ModelAudit], None] | None = None,
    face: Face = SILENT,
) -> GateResult:
    r"""Judge models by a policy: PASS, FAIL or UNDECIDED, wrong with probability at most ``delta``.

    What is judged is as for :func:`~gfscore.audit`, or audits that were made before. ``policy`` is a file, or has the
    tables of a ``policy.toml``; each rule is judged on the interval of its number, not on the estimate. ``baseline`` is
    an earlier version, for rules on changes. ``allow`` names flags that do not keep a verdict from being given.
    ``seen`` is called with the audit of each model. What the rules are: :doc:`gate`.

    >>> import numpy as np
    >>> labels = np.arange(400) % 2
    >>> samples = Samples.of(3 * np.eye(2)[labels], labels)
    >>> result = gate(samples, {"rules": {"wcr": 0.5, "rdi": 0.4}})
    >>> result.verdict.value, [rule.verdict.value for rule in result.models[0].rules]
    ('PASS', ['PASS', 'PASS'])
    """
    policy, labels = split_policy(inputs, policy, labels)
    refuse_unread(words, inputs, baseline)
    inputs, model, data = arrange(inputs, labels, model, data).checked(run.names, words, probabilities=probabilities)
    if not (model or data):
        run.refuse_running("a gate on files")
    model, name = with_name(model, name)
    files = watch(inputs, baseline, policy, groups, words.label_names)
    kept = rules.over(policy, options.eps)
    options, robust = radii_of_rules(kept, options, radii)
    given = _listed(inputs)
    if model or not all(isinstance(each, ModelAudit) or is_audit(each) for each in given):
        with naming(policy) if isinstance(policy, Path) else nullcontext():
            check_scale(kept, options)
    refereeing.refuse(kept, files=bool(given) or baseline is not None, radii=radii, adaptive=adaptive)
    plan_run("gate", model, data, run, face, _steps(kept, options, robust, refereeing, adaptive=adaptive), beside=given)
    if adaptive:
        _refuse_files(given, baseline, groups, radii=radii)
        words.refuse("--adaptive runs a model", labels_too=True)
        verdicts = gate_runs(model, data, kept, options, run, face, round=round, finite=target == Target.FINITE)
        return gate_result(verdicts, provenance_of(face, files))
    _refuse_finite(target, refereeing)

    def read(source: Source) -> Samples:
        return source.read(probabilities=probabilities, class_names=run.names, groups=groups, words=words)

    if name is not None and len(given) + len(listed_models(model)) > 1:
        raise OptionError("several models have names of their own. Leave name out.")
    before = read_baseline(baseline, read, options)
    if seen is None:
        options = replace(options, permutations=0)  # no rule asks for the noise floor
    verdicts = []
    then = partial(begin_measures, read, options, None if refereeing.referee else robust, face)
    for source in _sources(given, model, data, run, face, probabilities=probabilities, then=then):
        if refereeing.referee is not None and isinstance(source, Source):
            audited, verdict = referee(source, read, kept, options, refereeing, face, name=name, target=target)
        else:
            audited, verdict = _judge(source, read, kept, options, robust, before, face, name)
        if seen is not None:
            seen(audited)
        verdicts.append(verdict)
    return gate_result(verdicts, provenance_of(face, files))


def _refuse_finite(target: Target, refereeing: RefereeWords) -> None:
    """Refuse a finite target where an audit decides, which has its own."""
    if target == Target.FINITE and refereeing.referee is None:
        raise OptionError(
            "--target finite is for --adaptive and --referee. Otherwise make the audit with it (gfscore audit --target "
            "finite), and gate the audit.json."
        )


def _steps(
    policy: Policy, options: Options, robust: MeasuredRadii | None, refereeing: RefereeWords, *, adaptive: bool
) -> Steps:
    """What is asked of each model."""
    if adaptive:
        return lambda run: adaptive_steps(run, policy, options)
    if refereeing.referee is not None:
        return lambda run: referee_steps(run, policy, options, refereeing)
    return lambda run: score_steps(run, options, robust)


def _listed(inputs: Any) -> list[Any]:
    """What is judged, one after the other: audits, samples, or files."""
    if isinstance(inputs, Audit):
        return list(inputs.models)
    if isinstance(inputs, Mapping):
        return list(find_samples(inputs))
    several = inputs if isinstance(inputs, list | tuple) else [inputs]
    if several and all(isinstance(each, Samples | ModelAudit | Source) for each in several):
        return [Source(name="model", samples=each) if isinstance(each, Samples) else each for each in several]
    return listed_paths(inputs)


def _sources(
    inputs: Sequence[Any], model: Any, data: Any, run: RunOptions, face: Face, *, probabilities: bool, then: Then
) -> Iterator[Source | ModelAudit]:
    """Audits as they are, then logits, then models that are run."""
    files = [each for each in inputs if isinstance(each, Path)]
    for each in files:
        yield from Audit.load(each).models if is_audit(each) else ()
    yield from (each for each in inputs if not isinstance(each, Path))
    logits = [each for each in files if not is_audit(each)]
    if logits or model or data or not inputs:
        yield from find_sources(logits, model, data, run, face, probabilities=probabilities, then=then)


def _judge(
    source: Source | ModelAudit,
    read: Callable[[Source], Samples],
    policy: Policy,
    options: Options,
    robust: MeasuredRadii | None,
    baseline: Baseline | None,
    face: Face,
    name: str | None,
) -> tuple[ModelAudit, ModelVerdict]:
    if isinstance(source, ModelAudit):
        if isinstance(baseline, Samples):
            raise OptionError("an audit has no samples to compare with those of --baseline. Give logits for both.")
        return gate_audit(source, policy, options.delta, baseline=baseline)
    samples = read(source)
    with source.naming():
        local = source.score(samples, options, face)
        called = name or source.name

        def beside(model: ModelAudit) -> ModelAudit:
            if robust is None or source.run is None:
                return model
            return measure_robustness(model, source.run, samples, robust, face, delta=options.delta)

        about: dict[str, Any] = {"name": called, "origin": source.origin, "baseline": baseline, "beside": beside}
        return gate_scores(samples, local, policy, options, **about)


def gate_scores(
    samples: Samples,
    local: LocalScores,
    policy: Policy,
    options: Options,
    *,
    name: str,
    origin: Origin = ARRAYS,
    baseline: Baseline | None = None,
    beside: Callable[[ModelAudit], ModelAudit] = lambda model: model,
) -> tuple[ModelAudit, ModelVerdict]:
    """Audit by any local score at the level that the policy leaves the audit, and judge.

    ``beside`` adds what else rules ask for, such as robust accuracy.
    """
    levels = _levels(policy, options.delta, baseline)
    at = replace(options, delta=levels.get(Kind.PROFILE, options.delta))
    model = beside(audit_scores(samples, local, at, name=name, origin=origin))
    comparison = None
    if baseline is not None and Kind.CHANGE in levels:
        refuse_void_baseline(baseline, policy, options)
    if isinstance(baseline, Samples) and Kind.CHANGE in levels:
        level = replace(options, delta=levels[Kind.CHANGE])
        comparison = compare_samples(baseline, samples, level, names=("baseline", name))
    elif isinstance(baseline, ModelAudit) and Kind.CHANGE in levels:
        comparison = compare_with(baseline, model, policy, levels)
    verdict = judge(model, policy, levels, comparison=comparison, bets=_bets(samples, local))
    return model.model_copy(update={"verdict": verdict.verdict.value}), verdict


def _bets(samples: Samples, local: LocalScores) -> Bets | None:
    """Bets on the scores of each class, or group, against a threshold; none where scores may be too large."""
    if local.failure_rate > 0:
        return None
    present, codes = np.unique(samples.partition[0], return_inverse=True)
    return lambda threshold: Evidence.start(len(present), threshold, maximum=local.maximum).add(local.values, codes)


def gate_audit(
    model: ModelAudit, policy: Policy, delta: float, *, baseline: ModelAudit | None = None
) -> tuple[ModelAudit, ModelVerdict]:
    """Judge an audit that was made before; its intervals must be at the level that the policy leaves them."""
    levels = _levels(policy, delta, baseline)
    comparison = None
    if baseline is not None and Kind.CHANGE in levels:
        refuse_void_baseline(baseline, policy, Options())
        comparison = compare_with(baseline, model, policy, levels)
    with naming(model.name):
        verdict = judge(model, policy, levels, comparison=comparison)
    return model.model_copy(update={"verdict": verdict.verdict.value}), verdict


def check_scale(policy: Policy, options: Options) -> None:
    """Refuse thresholds off the scale of the score that is asked for, before anything is run."""
    score = asked_score(options)
    check_thresholds(policy.about(views.score_name(score)), maximum=score.range[1], weight=options.fairness_weight)


def gate_result(models: Sequence[ModelVerdict], provenance: Provenance | None = None) -> GateResult:
    """The verdict on several models together: PASS needs every one."""
    return GateResult(
        verdict=Verdict.all_of([model.verdict for model in models]),
        models=tuple(models),
        provenance=provenance or make_provenance(),
    )


def _levels(policy: Policy, delta: float, baseline: Baseline | None) -> dict[Kind, float]:
    """What each kind of rule has of delta. Changes from audits alone rest on the intervals of both: those count too."""
    of_scores = any(rule.kind is Kind.CHANGE and rule.eps is None for rule in policy.rules)  # others are counted anew
    unpaired = of_scores and isinstance(baseline, ModelAudit)
    return policy.levels(delta, also=(Kind.PROFILE,) if unpaired else ())


def _refuse_files(inputs: Sequence[Any], *files: Any, radii: Any) -> None:
    if radii is not None:
        raise OptionError("--adaptive draws samples until it is sure, so it is not said of how many. Leave --radii.")
    if inputs or any(file is not None for file in files):
        raise OptionError(
            "--adaptive runs a model, and only as far as it must: give --model and --data, and no files, baseline or "
            "groups."
        )
