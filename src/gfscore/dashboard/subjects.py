"""What can be shown: the models of the zoo, of stored audits, and of logits files."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path

from gfscore import views, zoo
from gfscore.engines.local import measured
from gfscore.errors import FileError, GFScoreError, InvalidInputError
from gfscore.inputs.data import load_data
from gfscore.inputs.logits_files import SUFFIXES, read_samples
from gfscore.inputs.models import load_model
from gfscore.inputs.protocols import Dataset
from gfscore.jobs.options import Options
from gfscore.jobs.stages import asked_score
from gfscore.measures import Logits, Run
from gfscore.results import Audit, ModelAudit, RunInfo, ScoreInfo
from gfscore.samples import Samples
from gfscore.storage.store import Store

RESULT = "audit.json"
DIGITS = "zoo:digits"
COMPUTED = asked_score(Options())  # what is computed from samples, unless another score is asked for

Progress = Callable[[float, str], object]  # share done, and with what


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subject:
    """A model: with its samples everything can be computed anew, as a stored audit only what was stored with it."""

    name: str
    key: str  # tells it from all others, for caches and widgets
    source: str
    samples: Samples | None = None
    stored: ModelAudit | None = None
    images: Dataset | None = None  # behind the samples, row by row, where they are there
    run: RunInfo | None = None
    asked: ScoreInfo = COMPUTED  # which score is computed from the samples, where there are some

    @property
    def score(self) -> ScoreInfo:
        """Which local score it has: as it was audited, or as it is asked for."""
        return self.asked if self.stored is None else self.stored.score


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
    data, kept, models = load_data(DIGITS), Store(store), zoo.models()
    found = []
    for done, entry in enumerate(models):
        progress(done / len(models), entry.name)
        run = Run(model=load_model(f"zoo:{entry.name}"), data=data, store=kept)
        found.append(
            Subject(
                name=run.name,
                key=f"zoo:{entry.name}",
                source=data.source,
                samples=run.read(measured(run, Logits()).path),
                images=data,
                run=run.about,
            )
        )
    return found


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


def uploaded_subject(name: str, content: bytes, key: str, *, probabilities: bool = False) -> Subject:
    """A logits file that came through the browser; only the ending of its name is used."""
    suffix = Path(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise FileError(f"has the ending {suffix!r}. Logits files are {', '.join(SUFFIXES)}.").found_in(name)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # a mapped file may outlive its name
        path = Path(folder) / f"upload{suffix}"
        path.write_bytes(content)
        try:
            samples = read_samples(path, probabilities=probabilities)
        except InvalidInputError as error:
            error.source = name  # the user's word for it, not ours
            raise
    return Subject(name=Path(name).stem, key=key, source=name, samples=samples)


def _files(paths: Sequence[str], broken: list[str]) -> Iterator[Path]:
    for path in map(Path, paths):
        if not path.is_dir():
            yield path
            continue
        inside = sorted(path.rglob(RESULT))
        if not inside:
            broken.append(f"{path}: holds no {RESULT}. Name the folder that gfscore audit --out wrote to.")
        yield from inside


def _logits(path: Path, data: Dataset | None) -> list[Subject]:
    samples = read_samples(path)
    if data is not None and (len(data.labels) != samples.n_samples or (data.labels != samples.labels).any()):
        raise FileError(f"has other labels than {data.source}. Give the data that the logits were made from.").found_in(
            path
        )
    return [Subject(name=path.stem, key=str(path.resolve()), source=path.name, samples=samples, images=data)]


def _stored(path: Path) -> list[Subject]:
    return [
        Subject(name=model.name, key=f"{path.resolve()}#{position}", source=str(path), stored=model)
        for position, model in enumerate(Audit.load(path).models)
    ]


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
