"""``gfscore audit --stream``: logits read, or computed, piece by piece, and not kept."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from gfscore import auditing, views
from gfscore.cli.options import RunOptions
from gfscore.cli.running import advance
from gfscore.cli.screens import progress_bar, screen
from gfscore.cli.sources import LOGITS_FILES, model_names, refuse_repeated
from gfscore.engines.loading import load
from gfscore.engines.local import summed
from gfscore.engines.ray import summaries_on_ray
from gfscore.errors import FileError, GFScoreError, OptionError, naming
from gfscore.inputs.logits_files import Shards, find_shards, refuse_two_formats
from gfscore.measures import Sums
from gfscore.results import ModelAudit
from gfscore.storage import Watched, redact, refuse_changed, refuse_unreadable, sha256
from gfscore.streaming import StreamingAudit, early_look, pieces_of
from gfscore.summaries import Look, Tally

FIRST_LOOK = 1000  # samples; the next looks come whenever their number has doubled


def stream_all(
    logits: Sequence[Path],
    models: Sequence[str],
    data: Sequence[str],
    options: auditing.Options,
    run: RunOptions,
    *,
    pieces: bool,
    probabilities: bool,
) -> tuple[list[ModelAudit], dict[Path, str]]:
    """Audits of logits files and of models that are run; and the files that were read, with their hashes."""
    audits, hashes = list[ModelAudit](), dict[Path, str]()
    if logits or not (models or data):
        run.refuse_ray(LOGITS_FILES)
        files = _files_of(logits, pieces=pieces)
        watched = Watched(path for paths in files.values() for path in paths)  # before any is read
        hashes = {path: digest for paths in files.values() for path, digest in _hashes(paths).items()}
        audits += _stream_files(files, options, run, probabilities=probabilities)
        refuse_changed(watched)
    if models or data:
        audits += _stream_runs(models, data, options, run, probabilities=probabilities)
    return audits, hashes


def _files_of(paths: Sequence[Path], *, pieces: bool) -> dict[str, list[Path]]:
    """The files of each model: those in its folder, or the one named; or all of them for one (``pieces``)."""
    if not paths:
        raise OptionError("there is nothing to stream. Name logits files, folders of them, or --model and --data.")
    files = {name: find_shards(path) for name, path in model_names(paths).items()}
    every = [file for shards in files.values() for file in shards]
    refuse_repeated(every)  # one may be named, and be in a folder that is named
    if pieces:
        folder = paths[0].resolve()
        name = folder.name if folder.is_dir() else folder.parent.name
        files = {name or "model": every}
    for shards in files.values():
        refuse_two_formats(shards)
    return files


def _hashes(paths: Sequence[Path]) -> dict[Path, str]:
    """The hash of each piece of a model; refuses two that are the same, whose samples would count twice."""
    first = dict[str, Path]()
    for path in paths:
        with naming(redact(path)):
            refuse_unreadable(path)
            same = first.setdefault(sha256(path), path)
            if same is not path:
                raise FileError(f"holds the same as {redact(same)}: its samples would count twice. Leave one out.")
    return {path: digest for digest, path in first.items()}


def _stream_files(
    files: Mapping[str, Sequence[Path]], options: auditing.Options, run: RunOptions, *, probabilities: bool
) -> list[ModelAudit]:
    """Audit each model file by file, with early looks at the intervals on the way."""
    console, class_names = screen(stderr=True, quiet=run.quiet), run.names
    return [
        _streamed(name, paths, options, class_names, probabilities=probabilities, look=_looks(console, options, name))
        for name, paths in files.items()
    ]


def _stream_runs(
    models: Sequence[str], data: Sequence[str], options: auditing.Options, run: RunOptions, *, probabilities: bool
) -> list[ModelAudit]:
    """Run every model on every data set and audit the sums of its scores; on a cluster, no logits leave a worker."""
    sums = Sums(
        activation=str(options.activation),
        temperature=options.temperature,
        probabilities=probabilities,
        seed=options.seed,
    )
    store, cluster, how, audits = run.kept, run.cluster, run.loading, []
    with progress_bar(quiet=run.quiet) as bar:
        bars, looks = partial(advance, bar), partial(_looks, bar.console, options)
        if cluster is not None:
            found = summaries_on_ray(models, data, how, store, cluster, bars, sums, looks)
        else:
            found = (
                (each, summed(each, sums, bars(each.name), looks(each.name))) for each in load(models, data, how, store)
            )
        for each, summary in found:
            with naming(each.name):
                audits.append(
                    auditing.audit_summary(
                        summary,
                        options,
                        name=each.name,
                        source=each.data.source,
                        data_seed=each.data.seed,
                        run=each.about,
                        class_sizes=each.data.class_sizes,
                    )
                )
    return audits


def _streamed(
    name: str,
    paths: Sequence[Path],
    options: auditing.Options,
    class_names: Sequence[str] | None,
    *,
    probabilities: bool,
    look: Look,
) -> ModelAudit:
    source = paths[0].name if len(paths) == 1 else f"{len(paths)} files, {paths[0].name} to {paths[-1].name}"
    stream = StreamingAudit(options, name=name, source=source)
    shards = Shards(probabilities=probabilities, class_names=class_names)
    for path in paths:
        samples = shards.read(path)
        with naming(path):
            for piece in pieces_of(samples):
                look(stream.add(piece).tally)
    shards.finish()
    with naming(name):
        return stream.result()


def _looks(console: Console, options: auditing.Options, name: str) -> Look:
    """What prints an early look at the sum of a model whenever its number of samples has doubled."""
    next_look = FIRST_LOOK

    def look(so_far: Tally) -> None:
        nonlocal next_look
        if console.quiet or so_far.n_samples < next_look:
            return
        next_look, summary = 2 * so_far.n_samples, so_far.summary()
        if summary.partition == "group":
            return
        try:
            seen = early_look(summary, options, name=name, source=name)
        except GFScoreError:  # sorted by class, perhaps, with nothing to compare yet: the end decides, not a look
            return
        worst = f"worst {seen.wcr.class_} {views.estimate(seen.wcr.value, seen.wcr.interval)}"
        rdi = views.estimate(seen.rdi.value, seen.rdi.interval)
        n_samples = f"{so_far.n_samples:,} samples"
        if seen.absent_classes:  # sorted by class, perhaps: the worst may be still to come
            n_samples += f" of {len(seen.classes)} of {len(summary.class_names)} classes"
        console.print(views.printable(f"{name}: {n_samples} so far: {worst}, RDI {rdi} (early look)"))

    return look
