"""From model and data specs to logits files: what ``audit``, ``logits``, ``demo`` and ``reproduce`` share."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.progress import Progress

from gfscore import auditing, views
from gfscore.auditing import LocalScores
from gfscore.cli.options import RunOptions
from gfscore.cli.screens import progress_bar
from gfscore.engines.first_order import score_first_order
from gfscore.engines.loading import Loaded, load
from gfscore.engines.local import compute_logits
from gfscore.engines.ray import logits_on_ray
from gfscore.errors import naming
from gfscore.inputs.pixels import PixelModel
from gfscore.inputs.store import Store
from gfscore.refuting import Subject
from gfscore.results import ModelAudit
from gfscore.samples import Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A model's logits on one data set."""

    loaded: Loaded
    logits: Path

    @property
    def name(self) -> str:
        """Of the model, and of the data where there are several."""
        return self.loaded.name


def run_models(models: Sequence[str], data: Sequence[str], options: RunOptions) -> Iterator[Run]:
    """Logits of every model on every data set, with a progress bar on standard error."""
    store, how, cluster = Store(options.store), options.loading, options.cluster
    with progress_bar(quiet=options.quiet) as bar:
        if cluster is not None:
            for loaded, logits in logits_on_ray(models, data, how, store, cluster, partial(advance, bar)):
                yield Run(loaded=loaded, logits=logits)
            return
        for loaded in load(models, data, how):
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
            class_sizes=data.class_sizes,
            finite=False,
        )


def subject_of(
    run: Run, options: auditing.Options, score: Callable[[Loaded, Samples], LocalScores] | None = None
) -> Subject:
    """The model of a run, its data and its scores: GREAT's, or those that ``score`` finds."""
    samples, loaded = run.loaded.read(run.logits), run.loaded
    with naming(run.name):
        local = auditing.score_samples(samples, options) if score is None else score(loaded, samples)
    model = PixelModel(model=loaded.model, preprocessing=loaded.preprocessing, batch_size=loaded.batch_size)
    return Subject(model=model, data=loaded.data, samples=samples, local=local)


def advance(bar: Progress, description: str) -> Callable[[int, int], None]:
    """What moves the bar of one piece of work."""
    task = bar.add_task(views.printable(description), total=None)
    return lambda done, total: bar.update(task, completed=done, total=total)
