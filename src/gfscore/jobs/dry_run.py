"""A dry run of any job that runs a model: opened and checked, tried for some seconds, and nothing else computed."""

import sys
import time
from collections.abc import Sequence
from typing import Any

from gfscore.engines.handed import pairs
from gfscore.engines.loading import Loader
from gfscore.errors import OptionError, naming
from gfscore.inputs.data.data_objects import why_no_pixels
from gfscore.inputs.models.model_objects import is_model
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.jobs.arranging import listed_data, listed_models
from gfscore.jobs.calling import Face, Planned
from gfscore.jobs.options import Options, RunOptions
from gfscore.jobs.robustness import MeasuredRadii
from gfscore.jobs.steps import Steps, score_steps
from gfscore.jobs.trials import Step, try_out
from gfscore.measures import Run
from gfscore.results import DryRun, PlannedMeasure, PlannedModel

KILO = 1024  # bytes of the unit in which Linux counts memory


def refuse_dry_run(run: RunOptions, why: str) -> None:
    """Refuse a dry run where there is nothing to plan."""
    if run.dry_run:
        raise OptionError(f"--dry-run says what running a model takes, and {why}. Leave --dry-run out.")


def plan_run(job: str, model: Any, data: Any, run: RunOptions, face: Face, steps: Steps, *, beside: Any = None) -> None:
    """End a job whose dry run is asked for with what it would take; files ``beside`` models are refused.

    Every model is opened on every data set, and each step of it is tried.
    """
    if not run.dry_run:
        return
    if beside is not None and not (isinstance(beside, list | tuple) and not beside):
        raise OptionError(
            "--dry-run says what running a model takes, and files are not run. Name --model and --data alone."
        )
    models, sets = listed_models(model), listed_data(data)
    if not models and not sets:
        refuse_dry_run(run, "there is none here: files are read as they are")
    loader, found = Loader(run.loading, run.kept, data=len(sets), several=len(sets) > 1), []
    for model_spec, data_spec in pairs(models, sets):
        begun = time.perf_counter(), time.process_time()
        if not loader.are_pixels(model_spec, data_spec):
            raise OptionError(f"data: {why_no_pixels(data_spec.pile(Preprocessing()))}")
        opened = loader.open(model_spec, data_spec)
        with naming(opened.name):
            asked = steps(opened)
            _ = opened.data.fingerprint  # which the run is found by in the store: reading all of the data takes time
            start = time.perf_counter() - begun[0], time.process_time() - begun[1]
            found.append(_planned(opened, asked, start, face))
    raise Planned(DryRun(job=job, models=tuple(found)))


def _planned(run: Run, asked: Sequence[Step], start: tuple[float, float], face: Face) -> PlannedModel:
    progress = face.bar(run.name, "trial", "trials")
    measures = []
    for done, step in enumerate(asked):
        progress(done, len(asked))
        measures.append(_measure(run, step))
    progress(len(asked), len(asked))
    held = sum(step.held for step in asked)
    return PlannedModel(
        name=run.name,
        data=run.data.source,
        n=run.n_samples,
        classes=run.check().n_classes,
        measures=tuple(measures),
        start_seconds=start[0],
        memory=_memory() + held,
        seconds=start[0] + sum(entry.seconds for entry in measures),
        seconds_range=(
            start[0] + sum(entry.seconds_range[0] for entry in measures),
            start[0] + sum(entry.seconds_range[1] for entry in measures),
        ),
        cpu_seconds=start[1] + sum(entry.cpu_seconds for entry in measures),
    )


def _measure(run: Run, step: Step) -> PlannedMeasure:
    tried = try_out(run, step)
    amount = step.amount(tried)
    seconds, low, high, cpu = tried.seconds(amount.work)
    most: dict[str, float] = {}
    if amount.most is not None:
        most = dict(zip(("most_forward_passes", "most_backward_passes"), amount.most, strict=True))
        most["most_seconds"] = tried.most_seconds(amount.work)
    return PlannedMeasure.model_validate(
        {
            "what": step.what,
            "images": step.images,
            "stored": step.images - len(step.rows) if step.stored is None else step.stored,
            "forward_passes": amount.forward,
            "backward_passes": amount.backward,
            "passes_are": amount.are,
            "bytes_written": step.bytes_written,
            "seconds": seconds,
            "seconds_range": (low, high),
            "cpu_seconds": cpu,
            "tried": tried.images,
            **most,
        }
    )


def _memory() -> int:
    """Bytes that this process took at most so far; 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # on Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most if sys.platform == "darwin" else KILO * most)


def plan_versions(
    versions: Sequence[Any], data: Any, options: Options, radii: Any, run: RunOptions, face: Face
) -> None:
    """End a comparison with what it would take to run those of the two versions that are models."""
    models = [each for each in versions if is_model(each)]
    robust = MeasuredRadii.of(options, radii) if len(models) == len(versions) else None
    plan_run("compare", models, data if models else None, run, face, lambda each: score_steps(each, options, robust))
