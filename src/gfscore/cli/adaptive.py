"""The adaptive gate on the command line: a model is run only until the verdict is sure, and no row twice."""

import uuid
from collections.abc import Sequence
from typing import Any

from gfscore import auditing, gating
from gfscore.arrays import FloatArray, IntArray
from gfscore.cli.options import RunOptions, ScoreOptions
from gfscore.cli.running import advance
from gfscore.cli.screens import progress_bar
from gfscore.digests import refuse_changed
from gfscore.engines.first_order import Gradients, first_order_rows
from gfscore.engines.loading import Loaded, load
from gfscore.engines.local import check_run, forward_rows
from gfscore.errors import OptionError, naming
from gfscore.inputs.pixels import PixelModel
from gfscore.inputs.probes import name_of
from gfscore.inputs.score_log import ScoreLog
from gfscore.inputs.store import Store
from gfscore.score_titles import FIRST_ORDER
from gfscore.verdicts import ModelVerdict


def judge_adaptively(
    models: Sequence[str],
    data: Sequence[str],
    policy: gating.Policy,
    options: auditing.Options,
    asked: ScoreOptions,
    run: RunOptions,
    *,
    size: int,
    finite: bool,
) -> list[ModelVerdict]:
    """Judge every model on every data set; a run that was stopped goes on where it was."""
    gating.adaptive_rule(policy)  # before anything is loaded
    run.refuse_ray("--adaptive")
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
    with progress_bar(quiet=run.quiet) as bar:
        for loaded in load(models, data, run.loading):
            with naming(loaded.name):
                verdicts.append(
                    _judged(
                        loaded,
                        policy,
                        options,
                        radius,
                        Store(run.store),
                        size=size,
                        finite=finite,
                        progress=advance(bar, loaded.name),
                    )
                )
    return verdicts


def _judged(
    loaded: Loaded,
    policy: gating.Policy,
    options: auditing.Options,
    radius: auditing.FirstOrder | None,
    store: Store,
    *,
    size: int,
    finite: bool,
    progress: gating.Progress,
) -> ModelVerdict:
    model, data, preprocessing = loaded.model, loaded.data, loaded.preprocessing
    if finite and data.seed is not None:
        raise OptionError("the target finite is for a fixed data set, and a generator draws without end.")
    n_classes, probe = check_run(model, data, preprocessing)
    recipe = {
        "model": model.fingerprint or f"unknown-{uuid.uuid4().hex}",  # found by nobody again
        "data": data.fingerprint,
        "preprocessing": preprocessing.describe(),
        "score": _about(options, radius),
    }
    if model.fingerprint is not None:
        about = {part: recipe[part] for part in ("model", "data", "preprocessing")}
        recipe["probe"] = name_of(store.root, about, probe)
    if policy.allow:  # scores that were allowed are not found by who does not allow them
        recipe["allowed"] = sorted(policy.allow)
    with ScoreLog(store.root, recipe) as log:
        refuse_changed(model, data)
        return gating.gate_adaptively(
            log.scoring(_unchanged(loaded, _scorer(loaded, options, radius, policy.allow))),
            data.labels,
            policy,
            name=loaded.name,
            class_names=data.class_names or tuple(map(str, range(n_classes))),
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
            run=loaded.about,
        )


def _unchanged(loaded: Loaded, score: gating.Score) -> gating.Score:
    """The same scores, refused before they are kept when a file behind them is no longer what it was."""

    def checked(rows: IntArray) -> tuple[FloatArray, IntArray]:
        found = score(rows)
        refuse_changed(loaded.model, loaded.data)
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
    loaded: Loaded, options: auditing.Options, radius: auditing.FirstOrder | None, allow: Sequence[str]
) -> gating.Score:
    """The local score of any rows, each from as many forward passes as it takes."""
    model, data, preprocessing = loaded.model, loaded.data, loaded.preprocessing
    if radius is None:

        def forward(rows: IntArray) -> FloatArray:
            return forward_rows(model, data, preprocessing, rows, batch_size=loaded.batch_size)

        return gating.row_scores(forward, data.labels, options, allow=allow)
    pixel_model = PixelModel(model=model, preprocessing=preprocessing, batch_size=loaded.batch_size)

    def measure(rows: IntArray) -> tuple[FloatArray, IntArray]:
        local = first_order_rows(pixel_model, data, rows, radius)
        return local.values, local.predicted

    return measure
