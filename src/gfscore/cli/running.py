"""From model and data specs to logits files: what ``audit``, ``logits``, ``demo`` and ``reproduce`` share."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gfscore import auditing
from gfscore.auditing import LocalScores
from gfscore.cli.options import RunOptions
from gfscore.engines.first_order import score_first_order
from gfscore.engines.local import compute_logits
from gfscore.errors import OptionError, naming
from gfscore.inputs.data import load_data
from gfscore.inputs.generators import GENERATOR
from gfscore.inputs.logits_files import read_samples
from gfscore.inputs.models import load_model
from gfscore.inputs.pixels import PixelModel
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.protocols import Dataset, Model
from gfscore.inputs.store import Store
from gfscore.refuting import Subject
from gfscore.results import ModelAudit
from gfscore.samples import Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A model and the data it is to be run on."""

    name: str
    model: Model
    data: Dataset
    preprocessing: Preprocessing
    batch_size: int

    @property
    def about(self) -> dict[str, Any]:
        """What decides the numbers, for the result."""
        return {
            "model": {"name": self.model.name, "fingerprint": self.model.fingerprint},
            "data": {"source": self.data.source, "fingerprint": self.data.fingerprint, "seed": self.data.seed},
            "preprocessing": self.preprocessing.describe(),
            "batch_size": self.batch_size,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A model's logits on one data set."""

    loaded: Loaded
    logits: Path

    @property
    def name(self) -> str:
        """Of the model, and of the data where there are several."""
        return self.loaded.name


def load(models: Sequence[str], data: Sequence[str], options: RunOptions) -> Iterator[Loaded]:
    """Every model with every data set, one after the other."""
    if not models or not data:
        given, missing = ("--model", "--data") if models else ("--data", "--model")
        raise OptionError(f"{given} is given without {missing}. Running a model takes both.")
    for spec in models:
        model = load_model(
            spec,
            trust=options.trust_model,
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
                class_names=options.names,
                n_classes=options.classes if generated else None,
            )
            yield Loaded(
                name=model.name if len(data) == 1 else f"{model.name} on {data_spec}",
                model=model,
                data=dataset,
                preprocessing=preprocessing,
                batch_size=model.fixed_batch or options.batch_size,
            )


def run_models(models: Sequence[str], data: Sequence[str], options: RunOptions) -> Iterator[Run]:
    """Logits of every model on every data set, with a progress bar on standard error."""
    store = Store(options.store)
    with progress_bar(quiet=options.quiet) as bar:
        for loaded in load(models, data, options):
            logits = compute_logits(
                loaded.model,
                loaded.data,
                loaded.preprocessing,
                store,
                batch_size=loaded.batch_size,
                progress=advance(bar, loaded.name),
            )
            yield Run(loaded=loaded, logits=logits)


def first_order_scores(
    loaded: Loaded, samples: Samples, how: auditing.FirstOrder, gradients: str, options: RunOptions
) -> LocalScores:
    """First-order radii of a model's samples, with a progress bar on standard error."""
    with progress_bar(quiet=options.quiet) as bar:
        return score_first_order(
            loaded.model,
            loaded.data,
            loaded.preprocessing,
            Store(options.store),
            samples,
            how,
            gradients=gradients,
            batch_size=loaded.batch_size,
            progress=advance(bar, loaded.name),
        )


def audit_run(run: Run, options: auditing.Options) -> ModelAudit:
    """Read, score and audit the logits of a run."""
    return audit_subject(run, subject_of(run, options), options)


def audit_subject(run: Run, subject: Subject, options: auditing.Options) -> ModelAudit:
    """Audit the scores of a run."""
    data = run.loaded.data
    with naming(run.name):
        return auditing.audit_scores(
            subject.samples,
            subject.local,
            options,
            name=run.name,
            source=data.source,
            data_seed=data.seed,
            run=run.loaded.about,
        )


def subject_of(
    run: Run, options: auditing.Options, score: Callable[[Loaded, Samples], LocalScores] | None = None
) -> Subject:
    """The model of a run, its data and its scores: GREAT's, or those that ``score`` finds."""
    samples, loaded = read_samples(run.logits), run.loaded
    with naming(run.name):
        local = auditing.score_samples(samples, options) if score is None else score(loaded, samples)
    model = PixelModel(model=loaded.model, preprocessing=loaded.preprocessing, batch_size=loaded.batch_size)
    return Subject(model=model, data=loaded.data, samples=samples, local=local)


def _position(output: str | None) -> str | int | None:
    """A number is the position of an output, anything else its name."""
    return int(output) if output is not None and output.isdecimal() else output


def advance(bar: Progress, description: str) -> Callable[[int, int], None]:
    """What moves the bar of one piece of work."""
    task = bar.add_task(description, total=None)
    return lambda done, total: bar.update(task, completed=done, total=total)


def _preprocessing(options: RunOptions, model: Model) -> Preprocessing:
    """What the model brings along, and over it what the user said."""
    said = options.preprocessing
    suggested = dict(getattr(model, "suggested_preprocessing", None) or {})
    if said.keys() & {"preset", "mean", "std"}:
        suggested.pop("mean", None)
        suggested.pop("std", None)
    return Preprocessing.from_options(**suggested | said)


def progress_bar(*, quiet: bool) -> Progress:
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
