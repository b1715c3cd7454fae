"""The adaptive gate on the command line: a model is run only until the verdict is sure, and no row twice."""

import uuid
from collections.abc import Sequence

from gfscore import auditing, gating
from gfscore.cli.options import RunOptions
from gfscore.cli.running import Loaded, advance, load, progress_bar
from gfscore.engines.local import check_run, forward_rows
from gfscore.errors import OptionError, naming
from gfscore.inputs.score_log import ScoreLog
from gfscore.inputs.store import Store
from gfscore.samples import FloatArray, IntArray
from gfscore.verdicts import ModelVerdict


def judge_adaptively(
    models: Sequence[str],
    data: Sequence[str],
    policy: gating.Policy,
    options: auditing.Options,
    run: RunOptions,
    *,
    size: int,
    finite: bool,
) -> list[ModelVerdict]:
    """Judge every model on every data set; a run that was stopped goes on where it was."""
    gating.adaptive_rule(policy)  # before anything is loaded
    if not (models and data):
        raise OptionError("--adaptive runs a model, and only as far as it must. Give --model and --data.")
    if options.expect_accuracy is not None:
        raise OptionError(
            "--expect-accuracy is for whole audits: an adaptive gate draws mostly from the worst classes."
        )
    verdicts = []
    with progress_bar(quiet=run.quiet) as bar:
        for loaded in load(models, data, run):
            with naming(loaded.name):
                verdicts.append(
                    _judged(
                        loaded,
                        policy,
                        options,
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
    store: Store,
    *,
    size: int,
    finite: bool,
    progress: gating.Progress,
) -> ModelVerdict:
    model, data, preprocessing = loaded.model, loaded.data, loaded.preprocessing
    if finite and data.seed is not None:
        raise OptionError("the target finite is for a fixed data set, and a generator draws without end.")
    n_classes = check_run(model, data, preprocessing)

    def forward(rows: IntArray) -> FloatArray:
        return forward_rows(model, data, preprocessing, rows, batch_size=loaded.batch_size)

    recipe = {
        "model": model.fingerprint or f"unknown-{uuid.uuid4().hex}",  # found by nobody again
        "data": data.fingerprint,
        "preprocessing": preprocessing.describe(),
        "score": {"name": "great", "activation": str(options.activation), "temperature": options.temperature},
    }
    with ScoreLog(store.root, recipe) as log:
        return gating.gate_adaptively(
            log.scoring(gating.row_scores(forward, data.labels, options)),
            data.labels,
            policy,
            name=loaded.name,
            class_names=data.class_names or tuple(map(str, range(n_classes))),
            delta=options.delta,
            seed=options.seed,
            shuffle=data.seed is None,
            finite=finite,
            size=size,
            progress=progress,
            from_store=lambda: log.reused,
        )
