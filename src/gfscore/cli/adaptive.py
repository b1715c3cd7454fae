"""The adaptive gate on the command line: a model is run only until the verdict is sure, and no row twice."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from gfscore import auditing, gating
from gfscore.arrays import FloatArray, IntArray
from gfscore.cli.options import RunOptions, ScoreOptions
from gfscore.cli.running import advance
from gfscore.cli.screens import progress_bar
from gfscore.engines.first_order import first_order_rows
from gfscore.engines.loading import load
from gfscore.errors import OptionError, naming
from gfscore.measures import Run
from gfscore.measures.logits import forward_rows
from gfscore.measures.slopes import Gradients
from gfscore.results import ModelVerdict
from gfscore.score_titles import FIRST_ORDER
from gfscore.storage.journals import ScoreLog


def judge_adaptively(
    models: Sequence[str],
    data: Sequence[str],
    policy: gating.Policy,
    options: auditing.Options,
    asked: ScoreOptions,
    running: RunOptions,
    *,
    size: int,
    finite: bool,
) -> list[ModelVerdict]:
    """Judge every model on every data set; a run that was stopped goes on where it was."""
    gating.adaptive_rule(policy)  # before anything is loaded
    running.refuse_ray("--adaptive")
    if not (models and data):
        raise OptionError("--adaptive runs a model, and only as far as it must. Give --model and --data.")
    if options.expect_accuracy is not None:
        raise OptionError(
            "--expect-accuracy is for whole audits: an adaptive gate draws mostly from the worst classes."
        )
    radius = asked.first_order()
    if radius is not None and asked.choice is not Gradients.NO:
        raise OptionError("--adaptive measures radii by forward passes alone. Leave --gradients out.")
    verdicts = []
    with progress_bar(quiet=running.quiet) as bar:
        for run in load(models, data, running.loading, running.kept):
            with naming(run.name):
                moved = advance(bar, run.name)
                verdicts.append(_judged(run, policy, options, radius, size=size, finite=finite, progress=moved))
    return verdicts


def _judged(
    run: Run,
    policy: gating.Policy,
    options: auditing.Options,
    radius: auditing.FirstOrder | None,
    *,
    size: int,
    finite: bool,
    progress: gating.Progress,
) -> ModelVerdict:
    data = run.data
    if finite and data.seed is not None:
        raise OptionError("the target finite is for a fixed data set, and a generator draws without end.")
    recipe = {**run.identity(), "score": _about(options, radius)}
    if policy.allow:  # scores that were allowed are not found by who does not allow them
        recipe["allowed"] = sorted(policy.allow)
    with ScoreLog(run.store.root, recipe).open() as log:
        run.refuse_changed()
        return gating.gate_adaptively(
            log.remember(_unchanged(run, _scorer(run, options, radius, policy.allow))),
            data.labels,
            policy,
            name=run.name,
            class_names=data.class_names or tuple(map(str, range(run.check().n_classes))),
            score_info=auditing.asked_score(options, radius),
            delta=options.delta,
            seed=options.seed,
            shuffle=data.seed is None,
            finite=finite,
            class_sizes=data.class_sizes,
            size=size,
            passes=1 if radius is None else 1 + 2 * radius.count,
            progress=progress,
            from_store=lambda: log.reused,
            run=run.about,
        )


def _unchanged(run: Run, score: gating.Score) -> gating.Score:
    """The same scores, refused before they are kept when a file behind them is no longer what it was."""

    def checked(rows: IntArray) -> tuple[FloatArray, IntArray]:
        found = score(rows)
        run.refuse_changed()
        return found

    return checked


def _about(options: auditing.Options, radius: auditing.FirstOrder | None) -> dict[str, Any]:
    """What decides a score, for the name of the place where scores are kept."""
    if radius is None:
        if auditing.asked_score(options).temperature is None:  # neither decides this score
            return {"name": options.score}
        return {"name": options.score, "activation": str(options.activation), "temperature": options.temperature}
    return {"name": FIRST_ORDER, "norm": str(radius.kind), "cap": radius.largest, **radius.measure(gradients=False)}


def _scorer(
    run: Run, options: auditing.Options, radius: auditing.FirstOrder | None, allow: Sequence[str]
) -> gating.Score:
    """The local score of any rows, each from as many forward passes as it takes."""
    if radius is None:
        return gating.row_scores(partial(forward_rows, run), run.data.labels, options, allow=allow)

    def measure(rows: IntArray) -> tuple[FloatArray, IntArray]:
        local = first_order_rows(run, rows, radius)
        return local.values, local.predicted

    return measure
