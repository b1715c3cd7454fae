"""What can be shown: models of the zoo, of stored audits, of logits files and of uploads."""

import tempfile
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from gfscore import views, zoo
from gfscore.errors import FileError, GFScoreError, InvalidInputError
from gfscore.inputs.array_files import remembered_run
from gfscore.inputs.logits_files import SUFFIXES, read_samples
from gfscore.inputs.protocols import Dataset
from gfscore.jobs.calling import SILENT
from gfscore.jobs.options import Options, RunOptions
from gfscore.jobs.robustness import FoundRadii
from gfscore.jobs.sources import Source, run_models
from gfscore.jobs.stages import asked_score
from gfscore.outputs.escaping import shorten
from gfscore.results import Audit, ModelAudit, RunInfo, ScoreInfo
from gfscore.samples import Samples

RESULT, AUDITS = "audit.json", ".json"
DIGITS = "zoo:digits"
COMPUTED = asked_score(Options())  # what is computed from samples, unless another score is asked for
KEPT = 16  # results of a model; at 1,000 classes an audit takes about a megabyte

Made = TypeVar("Made")
Progress = Callable[[float, str], object]  # share done, and with what
numbers = count()


class Kept:
    """What was computed of a model, the latest few: it goes when the model goes, so that closing one frees it."""

    def __init__(self, most: int = KEPT) -> None:
        self.most = most
        self.made: OrderedDict[Hashable, Any] = OrderedDict()
        self.lock = Lock()  # several pages may look at one model

    def clear(self) -> None:
        """Forget everything."""
        with self.lock:
            self.made.clear()

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What was made for a key, or is made now."""
        with self.lock:
            if key in self.made:
                self.made.move_to_end(key)
                known: Made = self.made[key]
                return known
        found = make()
        with self.lock:
            self.made[key] = found
            while len(self.made) > self.most:
                self.made.popitem(last=False)
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subject:
    """A model: with its samples everything can be computed anew, as a stored audit only what was stored with it."""

    name: str
    key: str  # tells it from all others, for widgets
    source: str
    samples: Samples | None = None
    stored: ModelAudit | None = None
    images: Dataset | None = None  # behind the samples, row by row, where they are there
    no_images: str | None = None  # why the data that was named is not what is behind the samples
    run: RunInfo | None = None
    radii: FoundRadii | None = None  # of a part of the samples, where the model itself was here
    model: Source | None = None  # the model itself, where it is here
    asked: ScoreInfo = COMPUTED  # which score is computed from the samples, where there are some
    kept: Kept = field(default_factory=Kept)
    number: int = field(default_factory=lambda: next(numbers))  # of what was read: a changed file has another

    @property
    def score(self) -> ScoreInfo:
        """Which local score it has: as it was audited, or as it is asked for."""
        return self.asked if self.stored is None else self.stored.score

    @property
    def ladder(self) -> tuple[str, float, tuple[float, ...]] | None:
        """Norm, eps of the headline and all eps at which robust accuracy is known; None where it is not."""
        found = None if self.stored is None else self.stored.robustness
        if found is not None:
            return found.norm, found.eps, tuple(rung.eps for rung in found.rungs)
        return None if self.radii is None else self.radii.ladder


def kind_of(score: ScoreInfo) -> str:
    """The name of a score and its norm: numbers of one kind can stand side by side.

    >>> kind_of(ScoreInfo(name="first-order", range=(0, 1), norm="l2"))
    'first-order radius, L2'
    >>> kind_of(ScoreInfo(name="lipschitz", range=(0, 1), norm="l2"))
    'certified radius (lipschitz), L2'
    """
    title, name = views.score_name(score), views.printable(score.name)
    norm = [] if score.norm is None else [views.printable(score.norm.capitalize())]
    return ", ".join([title if name in title.lower() else f"{title} ({name})", *norm])


def zoo_subjects(progress: Progress, store: Path | None = None) -> list[Subject]:
    """The embedded networks on their test images; forward passes come from the store, or go there."""
    networks, found = [f"zoo:{model.name}" for model in zoo.models()], list[Subject]()
    for source in run_models(networks, [DIGITS], RunOptions(store=store), SILENT):
        progress(len(found) / len(networks), source.name)
        found.append(
            Subject(
                name=source.name,
                key=f"zoo:{source.name}",
                source=source.origin.source,
                samples=source.read(),
                images=None if source.run is None else source.run.data,
                run=source.origin.run,
                model=source,
            )
        )
    return found


class Stamp(NamedTuple):
    """A file as it is on disk now: another one when it was written again."""

    path: str
    changed: int
    size: int


def stamps_of(paths: Sequence[str]) -> tuple[Stamp, ...]:
    """The files that are named, and the audits below the folders that are."""
    found = []
    for path in chain.from_iterable(_below(Path(path)) or [Path(path)] for path in paths):
        try:
            facts = path.stat()
            found.append(Stamp(str(path), facts.st_mtime_ns, facts.st_size))
        except OSError:  # gone, or not to be read: reading it says so
            found.append(Stamp(str(path), 0, 0))
    return tuple(found)


def file_subjects(paths: Sequence[str], data: Dataset | None = None) -> tuple[list[Subject], list[str]]:
    """The models in the files (audits, logits, folders of audits), and a sentence for each file that has none."""
    found: list[Subject] = []
    broken: list[str] = []
    for path in _files(paths, broken):
        try:
            found += _logits(path, data) if path.suffix.lower() in SUFFIXES else _stored(path)
        except GFScoreError as error:
            broken.append(str(error))
    return list({subject.key: subject for subject in found}.values()), broken  # a file named twice is opened once


def uploaded_subjects(name: str, content: bytes, key: str, *, probabilities: bool = False) -> list[Subject]:
    """The models in a file that came through the browser; only the ending of its name is used."""
    suffix = Path(name).suffix.lower()
    if suffix not in (*SUFFIXES, AUDITS):
        raise FileError(
            f"has the ending {suffix!r}. Audits are {AUDITS}, logits files {', '.join(SUFFIXES)}."
        ).found_in(name)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # a mapped file may outlive its name
        path = Path(folder) / f"upload{suffix}"
        path.write_bytes(content)
        try:
            if suffix == AUDITS:
                models = Audit.load(path).models
                return [
                    Subject(name=model.name, key=f"{key}#{place}", source=name, stored=model)
                    for place, model in enumerate(models)
                ]
            samples, made_by = read_samples(path, probabilities=probabilities), remembered_run(path)
        except InvalidInputError as error:
            error.source = name  # the user's word for it, not ours
            raise
    return [Subject(name=Path(name).stem, key=key, source=name, samples=samples, run=made_by)]


def _below(path: Path) -> list[Path]:
    return sorted(path.rglob(RESULT)) if path.is_dir() else []


def _files(paths: Sequence[str], broken: list[str]) -> Iterator[Path]:
    for path in map(Path, paths):
        if not path.is_dir():
            yield path
            continue
        inside = _below(path)
        if not inside:
            broken.append(f"{path}: holds no {RESULT}. Name the folder that gfscore audit --out wrote to.")
        yield from inside


def _logits(path: Path, data: Dataset | None) -> list[Subject]:
    samples, why = read_samples(path), None
    if data is not None and (len(data.labels) != samples.n_samples or (data.labels != samples.labels).any()):
        why = f"{path.name} has other labels than {data.source}, so that no images are shown. Give the data that the "
        why += "logits were made from."
        data = None
    return [
        Subject(
            name=path.stem,
            key=str(path.resolve()),
            source=path.name,
            samples=samples,
            images=data,
            no_images=why,
            run=remembered_run(path),
        )
    ]


def _stored(path: Path) -> list[Subject]:
    return [
        Subject(name=model.name, key=f"{path.resolve()}#{position}", source=str(path), stored=model)
        for position, model in enumerate(Audit.load(path).models)
    ]


def names_of(subjects: Mapping[str, Subject]) -> dict[str, str]:
    """What each model is called in a box, by key.

    A box must not look into the models: the session keeps what formats its entries after a model was closed.
    """
    return {key: shorten(subject.name) for key, subject in subjects.items()}


def tell_apart(subjects: Sequence[Subject]) -> list[Subject]:
    """The subjects with a name each: the file's before the model's where several have the same, then a number."""
    names = [subject.name for subject in subjects]
    named = [
        subject if names.count(subject.name) == 1 else replace(subject, name=f"{subject.name} ({subject.source})")
        for subject in subjects
    ]
    found: dict[str, Subject] = {}
    for subject in named:
        numbered = (f"{subject.name} {number}" for number in count(2))
        name = next(name for name in chain([subject.name], numbered) if name not in found)
        found[name] = replace(subject, name=name)
    return list(found.values())
