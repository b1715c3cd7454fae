"""Where samples come from: arrays, files, or models that are run on data; and ``logits``, which only runs them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from itertools import starmap
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from gfscore.assemble import make_provenance
from gfscore.engines.handed import Handed, pairs
from gfscore.engines.homes import Stored
from gfscore.engines.in_turn import InTurn, loader_of
from gfscore.engines.local import score_first_order
from gfscore.errors import OptionError, naming
from gfscore.inputs.array_files import remembered_run
from gfscore.inputs.data import random_rows
from gfscore.inputs.data.data_objects import class_indices, why_no_pixels
from gfscore.inputs.logits_files import read_samples
from gfscore.inputs.models import TorchModel
from gfscore.inputs.models.forward_passes import check_batch_independence, forward_batches
from gfscore.inputs.models.model_objects import Classifier
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.protocols import Model
from gfscore.inputs.small_files import read_groups
from gfscore.inputs.table_columns import NOTHING_SAID, ReadingWords
from gfscore.jobs.arranging import arrange, listed_data, listed_models
from gfscore.jobs.calling import SILENT, Face, Job, listed_paths
from gfscore.jobs.common_words import LOGITS, RADII, DataSpecs, ModelSpecs
from gfscore.jobs.config_files import read_now
from gfscore.jobs.dry_run import plan_run
from gfscore.jobs.named_files import name_files
from gfscore.jobs.options import Options, RunOptions
from gfscore.jobs.probing import input_flags
from gfscore.jobs.radius_trust import trust_flags
from gfscore.jobs.stages import ARRAYS, Origin, score_samples
from gfscore.jobs.steps import logits_step
from gfscore.measures import Logits, Run
from gfscore.measures.run import facts_of
from gfscore.results import Flag, Provenance, RunInfo
from gfscore.samples import Groups, Samples
from gfscore.scores import LocalScores
from gfscore.storage import Watched, redact, to_read
from gfscore.storage.store import export_logits, fact_metadata
from gfscore.words import Word

LOGITS_FILES = "an audit of logits files"
SAY_BOTH = "Say --model and --data."


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The samples of one model, and what the result should say about where they came from."""

    name: str
    samples: Samples | None = None  # where they are in memory already
    path: Path | None = None  # of a logits file
    run: Run | None = None  # the model and data behind it, if it was made here and its inputs are pixels
    no_run: str | None = None  # why there is none, of a model that was run here nevertheless
    flags: tuple[Flag, ...] = ()  # what a reader should know of that
    probabilities: bool = False  # what the model gives, whoever says otherwise
    remembered: RunInfo | None = None  # what a logits file says of the run that made it

    @property
    def origin(self) -> Origin:
        """Where the samples come from, for the result."""
        if self.run is not None:
            return Origin(self.run.data.source, self.run.data.seed, self.run.about)
        made_by = self.remembered
        seed = None if made_by is None else made_by.data.seed
        return ARRAYS if self.path is None else Origin(self.path.name, seed, made_by)

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
        probabilities = probabilities or self.probabilities
        if self.samples is not None:
            samples = self.samples
            if probabilities and not samples.probabilities:
                raise OptionError(
                    "these samples were checked as logits. Say that they are probabilities where they are made."
                )
            words.refuse("samples in memory have no columns")
            if self.no_run is not None:
                words.refuse("the labels of data are its own", labels_too=True)
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
            return self.flagged(score_samples(samples, options), samples)
        if self.run is None:
            with naming(self.name if self.path is None else self.path):
                raise OptionError(self.no_run or f"holds logits, and a radius takes the model itself. {SAY_BOTH}")
        moved = face.bar(self.run.name, RADII)
        found = score_first_order(self.run, samples, radius, gradients=options.choice, progress=moved)
        doubts = trust_flags(self.run, samples, found, radius)
        return self.flagged(replace(found, flags=(*found.flags, *doubts)), samples)

    def flagged(self, local: LocalScores, samples: Samples) -> LocalScores:
        """Scores with what is to be said of how they were made: also that another normalisation fits better."""
        likely = input_flags(self.run, float(local.correct(samples.labels).mean()), samples.n_classes)
        flags = (*local.flags, *self.flags, *likely)
        return local if flags == local.flags else replace(local, flags=flags)


Then = Callable[[Source], None]  # called with a model whose logits are there


def find_sources(
    logits: Any,
    model: Any,
    data: Any,
    run: RunOptions,
    face: Face,
    *,
    probabilities: bool = False,
    then: Then = lambda _source: None,
) -> Iterator[Source]:
    """Samples, logits files, then the models that are run; one at a time, so that one is held at a time.

    ``then`` is called with a model's logits as in :func:`run_models`.
    """
    models, sets = listed_models(model), listed_data(data)
    in_memory = logits if isinstance(logits, Mapping) else {"model": logits} if isinstance(logits, Samples) else {}
    files = [] if in_memory else listed_paths(logits)
    yield from find_samples(in_memory)
    if not (in_memory or files or models or sets):
        raise OptionError(
            "there is nothing to audit. Name logits files, a --model and --data, or a --config that does."
        )
    if not (models or sets):
        run.refuse_running(LOGITS_FILES)
    for found in name_files(files, beside_runs=bool(models)):
        yield Source(name=found.name, path=found.files[0], remembered=found.run)
    if models or sets:
        yield from run_models(models, sets, run, face, probabilities=probabilities, then=then)


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
    if isinstance(model, Samples) and data is None:
        return Source(name="model", samples=model)
    asked = arrange(model, data)
    if asked.model is not None and asked.data is None:
        raise OptionError("the model comes without data. Give (inputs, labels), a data spec, or the labels of logits.")
    if asked.model is None and asked.labels is None:
        if not isinstance(model, str | Path):
            raise OptionError("logits in memory need their labels beside them. Give both arrays, or Samples.")
        path = to_read(model)
        made_by = remembered_run(path)
        return Source(name=str(model) if made_by is None else made_by.model.name, path=path, remembered=made_by)
    if asked.labels is None:
        return next(find_sources(None, asked.model, asked.data, run, SILENT, probabilities=probabilities))
    samples = Samples.of(asked.logits, asked.labels, class_names=run.names, probabilities=probabilities)
    return Source(name="model", samples=samples)


@Job
def samples_of(model: Any, data: Any = None, *, probabilities: bool = False, run: RunOptions) -> Samples:
    """What a model says about data.

    - ``samples_of(samples)`` or ``samples_of("logits.npz")``: what it has said already
    - ``samples_of(logits, labels)``: (N, K) and (N,)
    - ``samples_of(model, data)``: a model and data as :func:`~gfscore.audit` takes them, with all the words of the
      command line, such as ``mean``

    >>> samples_of(lambda inputs: inputs @ np.eye(2), ([[3.0, 0.0], [1.0, 4.0]], [0, 1])).logits
    array([[3., 0.],
           [1., 4.]], dtype=float32)
    """
    source = source_of(model, data, run=run, probabilities=probabilities)
    return source.read(probabilities=probabilities, class_names=run.names)


def run_models(
    models: Sequence[Any],
    data: Sequence[Any],
    options: RunOptions,
    face: Face,
    *,
    probabilities: bool = False,
    then: Then = lambda _source: None,
) -> Iterator[Source]:
    """Every model on every data set, with the file of its logits.

    An engine that computes elsewhere begins with the next models meanwhile, and ``then`` is called with each as soon as
    its logits are there, so that what follows from them can be begun too.
    """
    plan_run("logits", models, data, options, face, lambda each: [logits_step(each)])
    loader = loader_of(models, data, options.loading, options.kept, options.cluster)

    def found(run: Run, stored: Stored) -> Source:
        gives = getattr(run.model, "gives_probabilities", False)
        return Source(name=run.name, path=stored.path, run=run, probabilities=gives)

    in_turn = InTurn(lambda run: (Logits(), face.bar(run.name, LOGITS)), then=lambda *told: then(found(*told)))
    for model_spec, data_spec in pairs(models, data):
        if loader.are_pixels(model_spec, data_spec):
            yield from starmap(found, in_turn.add(loader.open(model_spec, data_spec)))
        else:
            yield _run_inputs(loader.open_model(model_spec), data_spec, options, probabilities=probabilities)
    yield from starmap(found, in_turn.rest())


def open_runs(models: Sequence[Any], data: Sequence[Any], options: RunOptions) -> Iterator[Run]:
    """Every model on every data set, opened and not run yet; refused where inputs are no pixels."""
    loader = loader_of(models, data, options.loading, options.kept, options.cluster)
    for model_spec, data_spec in pairs(models, data):
        if not loader.are_pixels(model_spec, data_spec):
            raise OptionError(f"data: {why_no_pixels(data_spec.pile(Preprocessing()))}")
        yield loader.open(model_spec, data_spec)


def _run_inputs(model: Model, data: Handed, options: RunOptions, *, probabilities: bool) -> Source:
    """A model on inputs that are no pixels, which go to it as they are."""
    pile = data.pile(Preprocessing())
    inputs, frame = pile.rows(slice(None)), data.value[0] if isinstance(data.value, tuple | list) else None
    names = options.names
    if isinstance(model, Classifier):
        known = model.classes
        labels = model.positions(pile.labels)
        names = names or [str(name) for name in known]
        probabilities = probabilities or model.gives_probabilities
        if hasattr(frame, "iloc"):  # by its rows: a pipeline may ask for columns by name
            model, inputs = replace(model, frame=frame), np.arange(len(pile))
    else:
        labels, names = class_indices(pile, names)
    if inputs.dtype.kind in "iub" and isinstance(model, TorchModel):
        raise OptionError(
            f"{model.name} takes floats and was given {inputs.dtype}. Scale the inputs as in training: / 255."
        )
    if options.n_per_class is not None:
        rows = random_rows(labels, options.n_per_class, options.seed)
        inputs, labels = inputs[rows], labels[rows]
    check_batch_independence(model, inputs)
    logits = forward_batches(model, inputs, model.fixed_batch or options.batch_size).values
    samples = Samples.of(logits, labels, class_names=names, probabilities=probabilities)
    why = why_no_pixels(pile)
    flags = (Flag(code="no_pixels", message=why),) if len(pile.shape) > 1 and not isinstance(model, Classifier) else ()
    return Source(name=model.name, samples=samples, no_run=why, flags=flags, probabilities=probabilities)


def watch(*paths: Any) -> Watched:
    """The files among what was given, in the state they are in before any is read."""
    given = [each for path in paths for each in (path if isinstance(path, list | tuple) else [path])]
    return Watched(path for path in (*given, *read_now.get()) if isinstance(path, Path))


def provenance_of(face: Face, files: Watched, known: Mapping[Path, str] | None = None) -> Provenance:
    """The command as it was written, and the hashes of the files it read; of some they are ``known`` already.

    ``files`` were watched from before they were read: one that changed since is refused, not hashed.
    """
    hashes = {**(known or {}), **files.hashes()}
    return make_provenance(command=face.command, inputs={str(path): digest for path, digest in hashes.items()})


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
    models, sets = listed_models(model), listed_data(data)
    if len(models) != 1 or len(sets) != 1:
        raise OptionError("one --model and one --data make one logits file. Call the command once for each.")
    for source in run_models(models, sets, run, face):
        if source.run is not None and source.path is not None:
            export_logits(source.path, out, fact_metadata(facts_of(source.run.data, source.run.about)))
    return out
