"""The adaptive gate: a model is run only until the verdict is sure, and no row twice."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gfscore import views
from gfscore.arrays import FloatArray, IntArray
from gfscore.engines.local import first_order_rows, logits_of_rows
from gfscore.errors import MissingExtraError, ModelError, OptionError, naming
from gfscore.jobs.arranging import listed_data, listed_models
from gfscore.jobs.calling import Face
from gfscore.jobs.options import Options, RunOptions
from gfscore.jobs.probing import input_flags
from gfscore.jobs.robustness import MeasuredRadii
from gfscore.jobs.sources import open_runs
from gfscore.jobs.stages import asked_score, score_samples
from gfscore.jobs.steps import logits_step, radii_step
from gfscore.jobs.trials import Step
from gfscore.judge import (
    ABSENT,
    ROUND,
    Drawn,
    Progress,
    Score,
    adaptive_gate,
    check_thresholds,
    describe_draws,
    drawn_decisions,
    drawn_evidence,
    explain_draws,
    refuse_void,
    rows_to_make_sure,
)
from gfscore.judge.flags import absent_flag, bounded_flag, chance_flag
from gfscore.judge.judging import about_rules, about_the_missing
from gfscore.judge.policy import EVERY, Policy, Rule
from gfscore.measures import Run
from gfscore.measures.slopes import Gradients
from gfscore.results import AdaptiveRun, Flag, Metric, ModelVerdict, RuleVerdict, RunInfo, ScoreInfo
from gfscore.samples import Samples
from gfscore.score_titles import FIRST_ORDER, ROBUST
from gfscore.scores import FirstOrder
from gfscore.storage.journals import ScoreLog


def gate_runs(
    model: Any,
    data: Any,
    policy: Policy,
    options: Options,
    run: RunOptions,
    face: Face,
    *,
    round: int,  # noqa: A002
    finite: bool,
) -> list[ModelVerdict]:
    """Judge every model on every data set; a run that was stopped goes on where it was."""
    adaptive_rule(policy)  # before anything is loaded
    models, sets = listed_models(model), listed_data(data)
    if not (models and sets):
        raise OptionError("--adaptive runs a model, and only as far as it must. Give --model and --data.")
    if options.expect_accuracy is not None:
        raise OptionError(
            "--expect-accuracy is for whole audits: an adaptive gate draws mostly from the worst classes."
        )
    verdicts = []
    for each in open_runs(models, sets, run):
        with naming(each.name):
            moved = face.bar(each.name, "draws")
            verdicts.append(_judge_run(each, policy, options, size=round, finite=finite, progress=moved))
    return verdicts


def _judge_run(
    run: Run,
    policy: Policy,
    options: Options,
    *,
    size: int,
    finite: bool,
    progress: Progress,
) -> ModelVerdict:
    data, (radius, gradients) = run.data, radius_of(run, policy, options)
    if finite and data.seed is not None:
        raise OptionError("the target finite is for a fixed data set, and a generator draws without end.")
    recipe = {**run.identity(), "score": _about(options, radius, gradients=gradients)}
    if policy.allow:  # scores that were allowed are not found by who does not allow them
        recipe["allowed"] = sorted(policy.allow)
    with ScoreLog(run.store.root, recipe).open() as log:
        run.refuse_changed()
        score, eps = (
            log.remember(_unchanged(run, _scorer(run, options, radius, policy.allow, gradients=gradients))),
            policy.eps,
        )
        return gate_adaptively(
            above(score, eps[0]) if eps else score,
            data.labels,
            policy,
            name=run.name,
            class_names=data.class_names or tuple(map(str, range(run.check().n_classes))),
            score_info=_judged_score(options, policy, radius),
            delta=options.delta,
            seed=options.seed,
            shuffle=data.seed is None,
            finite=finite,
            class_sizes=data.class_sizes,
            size=size,
            passes=1 if radius is None else radius.passes(gradients=gradients),
            progress=progress,
            from_store=lambda: log.reused,
            run=run.about,
            more_flags=lambda accuracy: input_flags(run, accuracy, run.check().n_classes),
        )


def adaptive_steps(run: Run, policy: Policy, options: Options) -> list[Step]:
    """What an adaptive gate asks of a model at most; it ends as soon as its rule is decided."""
    adaptive_rule(policy)
    radius, _ = radius_of(run, policy, options)
    found = [logits_step(run, most=True)]
    return found if radius is None else [*found, radii_step(run, radius, options.choice, most=True)]


def _unchanged(run: Run, score: Score) -> Score:
    """The scores, refused before they are kept when a file behind them is no longer what it was."""

    def checked(rows: IntArray) -> tuple[FloatArray, IntArray]:
        found = score(rows)
        run.refuse_changed()
        return found

    return checked


def radius_of(run: Run, policy: Policy, options: Options) -> tuple[FirstOrder | None, bool]:
    """How radii are found where rule or score is about them, and whether by gradients."""
    radius = options.radius
    if policy.eps:
        found = MeasuredRadii.of(options, None, policy.eps)
        radius = radius if found is None else replace(found.how, decide=policy.eps[:1])
    if radius is None or options.choice is Gradients.NO:
        return radius, False
    try:
        run.differentiable()
    except (ModelError, MissingExtraError):
        if options.choice is Gradients.YES:
            raise
        return radius, False
    return radius, True


def above(score: Score, eps: float) -> Score:
    """1 for each radius above eps, else 0: the mean of a class is its robust accuracy."""

    def counted(rows: IntArray) -> tuple[FloatArray, IntArray]:
        radii, predicted = score(rows)
        return (radii > eps).astype(np.float64), predicted

    return counted


def _judged_score(options: Options, policy: Policy, radius: FirstOrder | None) -> ScoreInfo:
    """What the rule is about."""
    if radius is None or not policy.eps:
        return asked_score(options)
    return ScoreInfo(name=ROBUST, range=(0.0, 1.0), norm=str(radius.kind), eps=policy.eps[0])


def _about(options: Options, radius: FirstOrder | None, *, gradients: bool) -> dict[str, Any]:
    """What decides a score, for the name of the place where scores are kept."""
    if radius is None:
        if asked_score(options).temperature is None:  # neither decides this score
            return {"name": options.score}
        activation = str(options.softmax_or_sigmoid)
        return {"name": options.score, "activation": activation, "temperature": options.divisor}
    return {"name": FIRST_ORDER, "norm": str(radius.kind), "cap": radius.largest, **radius.measure(gradients=gradients)}


def _scorer(run: Run, options: Options, radius: FirstOrder | None, allow: Sequence[str], *, gradients: bool) -> Score:
    """The local score of any rows, each from as many passes as it takes."""
    if radius is None:
        return row_scores(partial(logits_of_rows, run), run.data.labels, options, allow=allow)

    def measure(rows: IntArray) -> tuple[FloatArray, IntArray]:
        local = first_order_rows(run, rows, radius, gradients=gradients)
        return local.values, local.predicted

    return measure


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
    more_flags: Callable[[float], tuple[Flag, ...]] = lambda _accuracy: (),
) -> ModelVerdict:
    """Judge the rule on the WCR by as few forward passes as it takes: see :func:`~gfscore.judge.gate.adaptive_gate`.

    ``score`` gives the local scores and predictions of some rows; ``from_store`` says afterwards how many of them it
    knew already. ``passes`` says how many forward passes a sample takes. Where what was drawn leaves it open that the
    model guesses, some hundred rows more are scored to find out; ``run`` says how the model was run. ``score_info``
    says which score it is, the GREAT score where nothing is said.
    """
    score_info = score_info or asked_score(Options())
    maximum, policy = score_info.range[1], policy.about(views.score_name(score_info), score_info.norm)
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
    said = (*more_flags(seen.accuracy), *about_rules(score_info, policy))
    flags = (*(flag for flag in found if flag is not None), *said)
    refuse_void(flags, policy.allow)
    judged = _adaptive_verdict(rule, drawn, how, delta, score_info)
    allowed = ABSENT in policy.allow
    if absent:
        judged = about_the_missing(judged, rule, absent, allowed=allowed)
    evidence = drawn_evidence(drawn, missing=bool(absent) and not allowed)
    judged = judged.model_copy(update={"evidence": evidence})
    return ModelVerdict(
        name=name,
        score=score_info,
        verdict=judged.verdict,
        reasons=(judged.reason,),
        rules=(judged,),
        delta=delta,
        levels={rule.kind.value: delta},
        adaptive=how,
        accuracy=Metric(value=seen.accuracy),
        preprocessing=None if run is None else views.preprocessing_text(run.preprocessing),
        absent_classes=absent,
        flags=flags,
        allowed=tuple(flag.code for flag in flags if flag.code in policy.allow),
    )


def _adaptive_verdict(rule: Rule, drawn: Drawn, run: AdaptiveRun, delta: float, score: ScoreInfo) -> RuleVerdict:
    """The rule on the WCR of the classes that have samples."""
    lowest = [entry.score for entry in run.classes if entry.score is not None]
    return RuleVerdict(
        rule=rule.text,
        metric=rule.metric,
        class_=rule.part,
        eps=rule.eps,
        at_least=rule.threshold,
        value=min(lowest) if len(lowest) == len(run.classes) else None,
        verdict=drawn.verdict,
        reason=explain_draws(drawn, run, delta, score),
    )


def adaptive_rule(policy: Policy) -> Rule:
    """The one rule that can be judged without a full pass: on every class alike."""
    rule = policy.rules[0]
    of_every_class = rule.metric == "wcr" or (rule.metric == "class_robust_accuracy" and rule.part == EVERY)
    if len(policy.rules) != 1 or rule.change or not of_every_class:
        raise OptionError(
            f"--adaptive judges one rule, on the worst class; the policy has {len(policy.rules)}: "
            f"{', '.join(rule.text for rule in policy.rules[:3])}. Give --class-robust-accuracy '*=0.1@2/255' alone, "
            "or --wcr, or leave --adaptive out."
        )
    return rule


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
