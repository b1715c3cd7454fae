"""From model and data specs to logits files: what ``audit``, ``logits``, ``demo`` and ``reproduce`` share."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gfscore import auditing
from gfscore.engines.local import DEFAULT_BATCH, compute_logits
from gfscore.errors import OptionError, naming
from gfscore.inputs.data import load_data
from gfscore.inputs.generators import GENERATOR
from gfscore.inputs.logits_files import read_samples
from gfscore.inputs.models import load_model
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.protocols import Dataset, Model
from gfscore.inputs.store import Store
from gfscore.results import ModelAudit
from gfscore.samples import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How models are loaded and run."""

    preprocessing: Mapping[str, Any] = field(default_factory=dict)  # as Preprocessing.from_options takes it
    trust: bool = False
    form: str | None = None
    output: str | None = None
    model_dir: Path | None = None
    batch_size: int = DEFAULT_BATCH
    split: str | None = None
    n_per_class: int | None = None
    n_classes: int | None = None
    class_names: Sequence[str] | None = None
    seed: int = 0
    store: Path | None = None
    quiet: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A model's logits on one data set."""

    name: str
    model: str
    logits: Path
    source: str
    seed: int | None
    class_sizes: IntArray | None
    about: dict[str, Any]


def run_models(models: Sequence[str], data: Sequence[str], options: RunOptions) -> Iterator[Run]:
    """Every model on every data set, one after the other, with a progress bar on standard error."""
    if not models or not data:
        given, missing = ("--model", "--data") if models else ("--data", "--model")
        raise OptionError(f"{given} is given without {missing}. Running a model takes both.")
    store = Store(options.store)
    with _progress_bar(quiet=options.quiet) as bar:
        for spec in models:
            model = load_model(
                spec,
                trust=options.trust,
                output=_position(options.output),
                format=options.form,
                model_dir=options.model_dir,
            )
            preprocessing = _preprocessing(options, model)
            for data_spec in data:
                generated = data_spec.startswith(GENERATOR)
                dataset = load_data(
                    data_spec,
                    preprocessing=preprocessing,
                    split=None if generated else options.split,
                    n_per_class=options.n_per_class,
                    seed=options.seed,
                    class_names=options.class_names,
                    n_classes=options.n_classes if generated else None,
                )
                name = model.name if len(data) == 1 else f"{model.name} on {data_spec}"
                yield _run(name, model, dataset, preprocessing, store, options, bar)


def audit_run(run: Run, options: auditing.Options) -> ModelAudit:
    """Read, score and audit the logits of a run."""
    samples = read_samples(run.logits)
    with naming(run.name):
        local = auditing.score_samples(samples, options)
        return auditing.audit_scores(
            samples, local, options, name=run.name, source=run.source, data_seed=run.seed, run=run.about
        )


def _position(output: str | None) -> str | int | None:
    """A number is the position of an output, anything else its name."""
    return int(output) if output is not None and output.isdecimal() else output


def _run(
    name: str,
    model: Model,
    data: Dataset,
    preprocessing: Preprocessing,
    store: Store,
    options: RunOptions,
    bar: Progress,
) -> Run:
    task = bar.add_task(name, total=len(data.labels))
    logits = compute_logits(
        model,
        data,
        preprocessing,
        store,
        batch_size=options.batch_size,
        progress=lambda done, total: bar.update(task, completed=done, total=total),
    )
    about = {
        "model": {"name": model.name, "fingerprint": model.fingerprint},
        "data": {"source": data.source, "fingerprint": data.fingerprint, "seed": data.seed},
        "preprocessing": preprocessing.describe(),
        "batch_size": model.fixed_batch or options.batch_size,
    }
    return Run(
        name=name,
        model=model.name,
        logits=logits,
        source=data.source,
        seed=data.seed,
        class_sizes=data.class_sizes,
        about=about,
    )


def _preprocessing(options: RunOptions, model: Model) -> Preprocessing:
    """What the model brings along, and over it what the user said."""
    said = {name: value for name, value in options.preprocessing.items() if value not in (None, False)}
    suggested = dict(getattr(model, "suggested_preprocessing", None) or {})
    if said.keys() & {"preset", "mean", "std"}:
        suggested.pop("mean", None)
        suggested.pop("std", None)
    return Preprocessing.from_options(**suggested | said)


def _progress_bar(*, quiet: bool) -> Progress:
    """Rate and time left; nothing in logs, where a bar would be noise."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.speed:,.0f}/s", justify="right"),
        TimeRemainingColumn(),
        console=console,
        disable=quiet or not console.is_terminal,
        transient=True,
    )
