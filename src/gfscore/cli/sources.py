"""Where logits come from: files as given, or models that are run; the same for every command that takes both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gfscore import auditing
from gfscore.arrays import IntArray
from gfscore.cli.options import RunOptions, ScoreOptions
from gfscore.cli.running import first_order_scores, run_models
from gfscore.errors import OptionError
from gfscore.inputs.logits_files import read_samples
from gfscore.measures import Run
from gfscore.results import ModelAudit
from gfscore.samples import Samples

LOGITS_FILES = "an audit of logits files"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A logits file, and what the result should say about where it came from."""

    path: Path
    source: str
    run: Run | None = None  # the model and data behind it, if it was made here

    @property
    def class_sizes(self) -> IntArray | None:
        """Samples of each class in the data set that these, or a random part of it, are; None where nobody knows."""
        return None if self.run is None else self.run.data.class_sizes

    def read(
        self, *, probabilities: bool = False, class_names: Sequence[str] | None = None, groups: Path | None = None
    ) -> Samples:
        """The samples; data that are run here have names for their classes."""
        if self.run is not None:
            return self.run.read(self.path, probabilities=probabilities, groups=groups)
        return read_samples(self.path, probabilities=probabilities, class_names=class_names, groups=groups)


def logits_sources(
    logits: Sequence[Path], models: Sequence[str], data: Sequence[str], options: RunOptions
) -> Iterator[tuple[str, Source]]:
    """Logits files as given, then those of the models that are run; one at a time, so that one is held at a time."""
    if not (logits or models or data):
        raise OptionError("there is nothing to audit. Name logits files, or a --model and --data.")
    if not (models or data):
        options.refuse_ray(LOGITS_FILES)
    for name, path in model_names(logits).items():
        yield name, Source(path=path, source=path.name)
    if models or data:
        for run, path in run_models(models, data, options):
            yield run.name, Source(path=path, source=run.data.source, run=run)


def local_scores(
    source: Source, samples: Samples, options: auditing.Options, asked: ScoreOptions, running: RunOptions
) -> auditing.LocalScores:
    """The local score that was asked for."""
    radius = asked.first_order()
    if radius is None:
        return auditing.score_samples(samples, options)
    if source.run is None:
        raise OptionError("holds logits, and a radius takes the model itself. Say --model and --data.")
    return first_order_scores(source.run, samples, radius, asked.choice, running)


def audit_source(
    name: str,
    source: Source,
    samples: Samples,
    local: auditing.LocalScores,
    options: auditing.Options,
    *,
    finite: bool = False,
) -> ModelAudit:
    """Audit local scores, and say where they came from; ``finite``: about the data set, not the world behind it."""
    run = source.run
    return auditing.audit_scores(
        samples,
        local,
        options,
        name=name,
        source=source.source,
        data_seed=None if run is None else run.data.seed,
        run=None if run is None else run.about,
        class_sizes=source.class_sizes,
        finite=finite,
    )


def refuse_repeated(paths: Sequence[Path]) -> list[Path]:
    """The paths without links in them; refused where two are one file."""
    resolved, seen = [path.resolve() for path in paths], set[Path]()
    for path, given in zip(resolved, paths, strict=True):
        if path in seen:
            raise OptionError(f"{given} is given twice. Name each file once.")
        seen.add(path)
    return resolved


def model_names(paths: Sequence[Path]) -> dict[str, Path]:
    """A name per file: its stem, with as many folders before it as it takes to tell it from the others."""
    parts = [(*path.parts[:-1], path.stem) for path in refuse_repeated(paths)]
    names = ["/".join(part[-1:]) for part in parts]
    depth = 1
    while len(set(names)) < len(names) and depth < max(map(len, parts)):
        depth += 1
        names = [
            "/".join(part[-depth:]) if names.count(name) > 1 else name for part, name in zip(parts, names, strict=True)
        ]
    if len(set(names)) < len(names):  # same folder, same stem: only the ending differs
        names = [path.name if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]
    return dict(zip(names, paths, strict=True))
