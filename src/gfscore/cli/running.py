"""From model and data specs to logits files: what ``audit``, ``logits``, ``demo`` and ``reproduce`` share."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from rich.progress import Progress

from gfscore import auditing, views
from gfscore.attacks import ScoredRun
from gfscore.auditing import LocalScores
from gfscore.cli.options import RunOptions
from gfscore.cli.screens import progress_bar
from gfscore.engines.first_order import score_first_order
from gfscore.engines.homes import Stored
from gfscore.engines.loading import load
from gfscore.engines.local import measured
from gfscore.engines.ray import logits_on_ray
from gfscore.errors import naming
from gfscore.measures import Logits, Run
from gfscore.results import ModelAudit
from gfscore.samples import Samples


def run_models(models: Sequence[str], data: Sequence[str], options: RunOptions) -> Iterator[tuple[Run, Path]]:
    """Every model on every data set with the file of its logits, with a progress bar on standard error."""
    store, how, cluster = options.kept, options.loading, options.cluster
    with progress_bar(quiet=options.quiet) as bar:
        found: Iterable[tuple[Run, Stored]]
        if cluster is not None:
            found = logits_on_ray(models, data, how, store, cluster, partial(advance, bar))
        else:
            found = ((run, measured(run, Logits(), advance(bar, run.name))) for run in load(models, data, how, store))
        for run, stored in found:
            yield run, stored.path


def first_order_scores(
    run: Run, samples: Samples, how: auditing.FirstOrder, gradients: str, options: RunOptions
) -> LocalScores:
    """First-order radii of a model's samples, with a progress bar on standard error."""
    with progress_bar(quiet=options.quiet) as bar:
        return score_first_order(run, samples, how, gradients=gradients, progress=advance(bar, run.name))


def audit_run(run: Run, logits: Path, options: auditing.Options) -> ModelAudit:
    """Read, score and audit the logits of a run."""
    return audit_subject(subject_of(run, logits, options), options)


def audit_subject(subject: ScoredRun, options: auditing.Options) -> ModelAudit:
    """Audit the scores of a run."""
    run = subject.run
    with naming(run.name):
        return auditing.audit_scores(
            subject.samples,
            subject.local,
            options,
            name=run.name,
            source=run.data.source,
            data_seed=run.data.seed,
            run=run.about,
            class_sizes=run.data.class_sizes,
            finite=False,
        )


def subject_of(
    run: Run,
    logits: Path,
    options: auditing.Options,
    score: Callable[[Run, Samples], LocalScores] | None = None,
) -> ScoredRun:
    """A run and its scores: GREAT's, or those that ``score`` finds."""
    samples = run.read(logits)
    with naming(run.name):
        local = auditing.score_samples(samples, options) if score is None else score(run, samples)
    return ScoredRun(run=run, samples=samples, local=local)


def advance(bar: Progress, description: str) -> Callable[[int, int], None]:
    """What moves the bar of one piece of work."""
    task = bar.add_task(views.printable(description), total=None)
    return lambda done, total: bar.update(task, completed=done, total=total)
