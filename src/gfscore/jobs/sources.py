"""Where samples come from: arrays, files, or models that are run on data; and ``logits``, which only runs them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from gfscore.assemble import make_provenance
from gfscore.engines.homes import Stored
from gfscore.engines.loading import as_model, load
from gfscore.engines.local import measured, score_first_order
from gfscore.engines.ray import logits_on_ray
from gfscore.errors import OptionError, naming
from gfscore.inputs.logits_files import read_samples
from gfscore.inputs.models import CallableModel
from gfscore.inputs.models.forward_passes import check_batch_independence
from gfscore.inputs.small_files import read_groups
from gfscore.inputs.table_columns import NOTHING_SAID, ReadingWords
from gfscore.jobs.calling import SILENT, Face, Job, listed_paths
from gfscore.jobs.options import DataSpecs, ModelSpecs, Options, RunOptions
from gfscore.jobs.stages import ARRAYS, Origin, score_samples
from gfscore.measures import Logits, Run
from gfscore.measures.logits import SHARD_ROWS, forward_rows
from gfscore.measures.run import facts_of
from gfscore.results import Provenance
from gfscore.samples import Groups, Samples
from gfscore.scores import LocalScores
from gfscore.storage import Watched, redact, to_read
from gfscore.storage.store import export_logits, fact_metadata
from gfscore.words import Word

LOGITS_FILES = "an audit of logits files"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The samples of one model, and what the result should say about where they came from."""

    name: str
    samples: Samples | None = None  # where they are in memory already
    path: Path | None = None  # of a logits file
    run: Run | None = None  # the model and data behind it, if it was made here

    @property
    def origin(self) -> Origin:
        """Where the samples come from, for the result."""
        if self.run is not None:
            return Origin(self.run.data.source, self.run.data.seed, self.run.about)
        return ARRAYS if self.path is None else Origin(self.path.name)

    def naming(self) -> AbstractContextManager[object]:
        """Errors say what they are about: the file as given, or the model that is run; arrays have no name."""
        if self.run is None and self.path is None:
            return nullcontext()
        return naming(self.name if self.run is not None or self.path is None else self.path)

    def read(
        self,
        *,
        probabilities: bool = False,
        class_names: Sequence[str] | None = None,
        groups: Any = None,
        words: ReadingWords = NOTHING_SAID,
    ) -> Samples:
        """The samples; data that are run here have names for their classes."""
        if self.samples is not None:
            samples = self.samples
            if probabilities and not samples.probabilities:
                raise OptionError(
                    "these samples were checked as logits. Say that they are probabilities where they are made."
                )
            words.refuse("samples in memory have no columns")
            samples = samples if class_names is None else samples.named(class_names)
        elif self.path is None:
            raise OptionError(f"{self.name} has no samples.")
        elif self.run is not None:
            words.refuse("the labels of --data are its own", labels_too=True)
            samples = self.run.read(self.path, probabilities=probabilities)
        else:
            samples = read_samples(self.path, probabilities=probabilities, class_names=class_names, **asdict(words))
        if groups is None:
            return samples
        with nullcontext() if self.path is None else naming(redact(self.path)):
            n = samples.n_samples
            given = read_groups(groups, samples.sample_ids, n) if isinstance(groups, Path) else groups
            return replace(samples, groups=Groups.of(given, n))

    def score(self, samples: Samples, options: Options, face: Face) -> LocalScores:
        """The local score that is asked for, of the samples that were read."""
        radius = options.radius
        if radius is None:
            return score_samples(samples, options)
        if self.run is None:
            with naming(self.name if self.path is None else self.path):
                raise OptionError("holds logits, and a radius takes the model itself. Say --model and --data.")
        return score_first_order(self.run, samples, radius, gradients=options.choice, progress=face.bar(self.run.name))


def find_sources(
    logits: Any, model: Any, data: Any, run: RunOptions, face: Face, *, probabilities: bool = False
) -> Iterator[Source]:
    """Samples, logits files, then the models that are run; one at a time, so that one is held at a time."""
    models, sets = listed_objects(model), listed_objects(data)
    in_memory = logits if isinstance(logits, Mapping) else {"model": logits} if isinstance(logits, Samples) else {}
    files = [] if in_memory else listed_paths(logits)
    yield from find_samples(in_memory)
    if not (in_memory or files or models or sets):
        raise OptionError("there is nothing to audit. Name logits files, or a --model and --data.")
    if not (models or sets):
        run.refuse_ray(LOGITS_FILES)
    for name, path in model_names(files).items():
        yield Source(name=name, path=path)
    specs = [each for each in (*models, *sets) if isinstance(each, str | Path)]
    if len(specs) == len(models) + len(sets):
        yield from run_models(models, sets, run, face) if specs else ()
    elif len(models) == len(sets) == 1:
        yield _run_in_memory(models[0], sets[0], run, probabilities=probabilities)
    else:
        raise OptionError("models and data that are no specs are run one at a time. Give one model and one data set.")


def find_samples(by_name: Mapping[str, Any]) -> Iterator[Source]:
    """Samples that are in memory."""
    for name, samples in by_name.items():
        if not isinstance(samples, Samples):
            raise OptionError(f"{name} is {type(samples).__name__}. Give Samples by name, or files in a list.")
        yield Source(name=name, samples=samples)


def source_of(model: Any, data: Any = None, *, run: RunOptions, probabilities: bool = False) -> Source:
    """The samples of one model, from whatever is at hand: see :func:`samples_of`."""
    if isinstance(model, Source):
        return model
    if isinstance(model, Samples):
        return Source(name="model", samples=model)
    if data is None and isinstance(model, str | Path):
        return Source(name=str(model), path=to_read(model))
    if data is None:
        raise OptionError("the model comes without data. Give (inputs, labels), a data spec, or the labels of logits.")
    if callable(model) or isinstance(model, str | Path):
        return next(find_sources(None, model, data, run, SILENT, probabilities=probabilities))
    if isinstance(data, str | Path):
        with naming(data):
            raise OptionError("is a data spec, but the model is logits. Give their labels.")
    samples = Samples.of(as_array(model), as_array(data), class_names=run.names, probabilities=probabilities)
    return Source(name="model", samples=samples)


@Job
def samples_of(model: Any, data: Any = None, *, probabilities: bool = False, run: RunOptions) -> Samples:
    """What a model says about data.

    - ``samples_of(samples)`` or ``samples_of("logits.npz")``: what it has said already
    - ``samples_of(logits, labels)``: (N, K) and (N,)
    - ``samples_of(model, (inputs, labels))``: a function, a torch module or a model spec, on arrays as it takes them
    - ``samples_of(model, "zoo:digits")``: on a data spec, with all the words of the command line, such as ``mean``

    >>> samples_of(lambda inputs: inputs @ np.eye(2), ([[3.0, 0.0], [1.0, 4.0]], [0, 1])).logits
    array([[3., 0.],
           [1., 4.]], dtype=float32)
    """
    source = source_of(model, data, run=run, probabilities=probabilities)
    return source.read(probabilities=probabilities, class_names=run.names)


def refuse_objects(*given: Sequence[Any]) -> None:
    """Refuse models and data in memory where only specs can be run: they could not be found again."""
    for each in (each for several in given for each in several):
        if not isinstance(each, str | Path):
            raise OptionError(
                f"a {type(each).__name__} in memory can be audited and gated, not more. Give specs, such as net.onnx."
            )


def run_models(models: Sequence[Any], data: Sequence[Any], options: RunOptions, face: Face) -> Iterator[Source]:
    """Every model on every data set, with the file of its logits."""
    refuse_objects(models, data)
    store, how, cluster = options.kept, options.loading, options.cluster
    found: Iterable[tuple[Run, Stored]]
    if cluster is not None:
        found = logits_on_ray(models, data, how, store, cluster, face.bar)
    else:
        found = ((run, measured(run, Logits(), face.bar(run.name))) for run in load(models, data, how, store))
    for run, stored in found:
        yield Source(name=run.name, path=stored.path, run=run)


def _run_in_memory(model: Any, data: Any, options: RunOptions, *, probabilities: bool) -> Source:
    """A function, a torch module or a model spec, on a data spec or on (inputs, labels) as it takes them.

    Nothing is kept in the store: nobody could find it again.
    """
    options.refuse_ray("a model in memory")
    if isinstance(data, str | Path):
        run = next(load([model], [data], options.loading, options.kept))
        run.check()
        rows = np.arange(run.n_samples)
        pieces = np.split(rows, range(SHARD_ROWS, len(rows), SHARD_ROWS))  # so that not all images are held at once
        logits = np.concatenate([forward_rows(run, piece) for piece in pieces])
        run.refuse_changed()
        samples = Samples.of(
            logits, run.data.labels, probabilities=probabilities, halved_batches=run.notes.take(), **facts_of(run.data)
        )
        return Source(name=run.name, samples=samples, run=run)
    runnable, (inputs, labels) = as_model(model), _pair(data)
    if inputs.dtype.kind in "iub" and not isinstance(runnable, CallableModel):
        raise OptionError(
            f"{runnable.name} takes floats and was given {inputs.dtype}. Scale the inputs as in training: / 255."
        )
    check_batch_independence(runnable, inputs)
    step = runnable.fixed_batch or options.batch_size
    logits = np.concatenate([runnable(inputs[start : start + step]) for start in range(0, len(inputs), step)])
    samples = Samples.of(logits, labels, class_names=options.names, probabilities=probabilities)
    return Source(name=runnable.name, samples=samples)


def as_array(values: Any) -> NDArray[Any]:
    """A tensor, or anything like an array."""
    return np.asarray(values.detach().cpu().numpy() if hasattr(values, "detach") else values)


def listed_objects(values: Any) -> list[Any]:
    """Specs or objects as a list; a pair (inputs, labels) is one object."""
    if isinstance(values, list | tuple) and all(isinstance(each, str | Path) or callable(each) for each in values):
        return list(values)
    return [] if values is None else [values]


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


def watch(*paths: Any) -> Watched:
    """The files among what was given, in the state they are in before any is read."""
    given = [each for path in paths for each in (path if isinstance(path, list | tuple) else [path])]
    return Watched(path for path in given if isinstance(path, Path))


def provenance_of(face: Face, files: Watched, known: Mapping[Path, str] | None = None) -> Provenance:
    """The command as it was written, and the hashes of the files it read; of some they are ``known`` already.

    ``files`` were watched from before they were read: one that changed since is refused, not hashed.
    """
    hashes = {**(known or {}), **files.hashes()}
    return make_provenance(command=face.command, inputs={str(path): digest for path, digest in hashes.items()})


def _pair(data: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    if not (isinstance(data, tuple | list) and len(data) == 2):
        raise OptionError("data must be a pair (inputs, labels), or a data spec such as 'test.npz'.")
    inputs, labels = as_array(data[0]), as_array(data[1])
    if inputs.ndim == 0 or len(inputs) == 0:
        raise OptionError("data holds no input. Give at least one of each of two classes.")
    return (inputs.astype(np.float32) if inputs.dtype.kind == "f" else inputs), labels


@Job
def logits(
    out: Annotated[Path, Word(short="o", help="The logits file to write: .safetensors.")],
    *,
    model: ModelSpecs = None,
    data: DataSpecs = None,
    run: RunOptions,
    face: Face = SILENT,
) -> Path:
    """Run a model on labelled images and keep its logits in a file.

    A run that was stopped, however it was stopped, goes on where it was.
    """
    if out.suffix.lower() != ".safetensors":
        raise OptionError(f"--out {out} has the ending {out.suffix!r}. Logits are written as .safetensors.")
    models, sets = listed_objects(model), listed_objects(data)
    if len(models) != 1 or len(sets) != 1:
        raise OptionError("one --model and one --data make one logits file. Call the command once for each.")
    for source in run_models(models, sets, run, face):
        if source.run is not None and source.path is not None:
            export_logits(source.path, out, fact_metadata(facts_of(source.run.data)))
    return out
