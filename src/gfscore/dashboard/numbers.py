"""What can be shown, from the zoo, stored audits and logits files; and its numbers at the settings of the sliders."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

import streamlit as st

from gfscore import views, zoo
from gfscore.assemble import at_temperature, make_provenance, ranking_of, reweighted
from gfscore.errors import FileError, GFScoreError, InvalidInputError, ResultError
from gfscore.inputs.array_files import remembered_run
from gfscore.inputs.logits_files import SUFFIXES, read_samples
from gfscore.inputs.protocols import Dataset
from gfscore.jobs.audit import sample_table
from gfscore.jobs.calibrate import curve_of, with_calibration
from gfscore.jobs.calling import SILENT
from gfscore.jobs.compare import compare, compare_audits
from gfscore.jobs.options import Options, RunOptions
from gfscore.jobs.robustness import FoundRadii, MeasuredRadii, find_radii
from gfscore.jobs.sources import run_models
from gfscore.jobs.stages import Origin, asked_score, audit_scores, band_of, score_samples
from gfscore.results import Audit, Comparison, ModelAudit, RunInfo, ScoreInfo
from gfscore.samples import Samples

RESULT = "audit.json"
DIGITS = "zoo:digits"
COMPUTED = asked_score(Options())  # what is computed from samples, unless another score is asked for

Progress = Callable[[float, str], object]  # share done, and with what
DEFAULTS = Options()
KEPT = 64  # audits; at 1,000 classes each takes about a megabyte
TABLES = 4  # of samples


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
    radii: FoundRadii | None = None  # of a part of the samples, where the model itself was here
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
    networks, found = [f"zoo:{model.name}" for model in zoo.models()], list[Subject]()
    wanted = MeasuredRadii.of(DEFAULTS, None)
    for source in run_models(networks, [DIGITS], RunOptions(store=store), SILENT):
        progress(len(found) / len(networks), source.name)
        samples = source.read()
        found.append(
            Subject(
                name=source.name,
                key=f"zoo:{source.name}",
                source=source.origin.source,
                samples=samples,
                radii=None if source.run is None or wanted is None else find_radii(source.run, samples, wanted, SILENT),
                images=None if source.run is None else source.run.data,
                run=source.origin.run,
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
            samples, made_by = read_samples(path, probabilities=probabilities), remembered_run(path)
        except InvalidInputError as error:
            error.source = name  # the user's word for it, not ours
            raise
    return Subject(name=Path(name).stem, key=key, source=name, samples=samples, run=made_by)


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
    return [
        Subject(
            name=path.stem,
            key=str(path.resolve()),
            source=path.name,
            samples=samples,
            images=data,
            run=remembered_run(path),
        )
    ]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the sliders stand."""

    temperature: float | None  # None: each stored audit at its own
    fairness_weight: float | None  # likewise
    thresholds: Mapping[str, float]  # by the kind of score
    delta: float

    def threshold(self, model: ModelAudit) -> float | None:
        """What no class of the model may be below; None before somebody has chosen it."""
        return self.thresholds[kind_of(model.score)] or None


def audit_at(subject: Subject, settings: Settings) -> tuple[ModelAudit, list[str]]:
    """The model's audit at the settings, and a sentence for each of them that it cannot follow."""
    notes: list[str] = []
    if subject.samples is not None:
        model = _compute(subject.key, _options(settings, subject), subject, subject.samples)
    elif subject.stored is not None:
        model, notes = _restate(subject.stored, settings)
    else:
        raise ResultError(f"{subject.name} has neither samples nor a stored audit.")
    return model.model_copy(update={"name": subject.name}), notes  # others of its name may have come since


def compare_at(old: Subject, new: Subject, settings: Settings) -> Comparison:
    """What changes from one model to another: sample by sample, or from their intervals where one has no samples."""
    if old.samples is None or new.samples is None:
        return compare_audits(audit_at(old, settings)[0], audit_at(new, settings)[0])
    names = (old.name, new.name)
    return _compare((old.key, new.key), _options(settings, new), names, (old.samples, new.samples))


def result_of(models: Sequence[ModelAudit]) -> Audit:
    """A result to save or to draw."""
    return Audit(
        models=tuple(models),
        ranking=ranking_of(tuple(models)),
        provenance=make_provenance(command="gfscore dashboard"),
    )


def class_samples(subject: Subject, settings: Settings, part: str) -> list[dict[str, Any]]:
    """The samples of a class (or group) as rows, lowest score first; none of a stored audit."""
    if subject.samples is None:
        return []
    options = _options(settings, subject)
    score = Options(score=options.score, temperature=options.temperature)  # nothing else changes a sample's score
    table = _sample_table(subject.key, score, subject.samples)
    column = table.get("group", table["label"])
    rows = sorted((row for row, name in enumerate(column) if name == part), key=lambda row: table["score"][row])
    return [{name: values[row] for name, values in table.items()} | {"row": row} for row in rows]


def confusions(samples: Sequence[Mapping[str, Any]], most: int = 5) -> list[tuple[str, int]]:
    """The classes that samples are most often mistaken for, and how often."""
    return Counter(str(row["predicted"]) for row in samples if not row["correct"]).most_common(most)


def _options(settings: Settings, subject: Subject) -> Options:
    return Options(
        score=subject.asked.name,
        temperature=None if subject.asked.temperature is None else settings.temperature,
        fairness_weight=DEFAULTS.fairness_weight if settings.fairness_weight is None else settings.fairness_weight,
        delta=settings.delta,
    )


def _restate(stored: ModelAudit, settings: Settings) -> tuple[ModelAudit, list[str]]:
    """What a stored audit can say at the settings."""
    notes = []
    model = stored
    if settings.temperature is not None and stored.score.temperature is None:
        notes.append(f"The temperature does not apply: the score of {stored.name} has none.")
    elif settings.temperature is not None:
        try:
            model = at_temperature(stored, settings.temperature)
        except ResultError as error:
            notes.append(f"The temperature does not apply: {error}")
    if settings.delta != stored.interval.delta:
        notes.append(
            f"Delta does not apply: these intervals are for {stored.interval.delta:g}; others need the samples."
        )
    weight = stored.fp_great.weight if settings.fairness_weight is None else settings.fairness_weight
    return reweighted(model, weight), notes


# What follows is remembered by key and options; arguments with a leading underscore are not looked at.


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def _compute(key: str, options: Options, _subject: Subject, _samples: Samples) -> ModelAudit:
    local, origin = score_samples(_samples, options), Origin(_subject.source, run=_subject.run)
    # one temperature is fixed beforehand; another was chosen by who moved the slider, after looking
    moved = local.temperature is not None and options.divisor != DEFAULTS.divisor
    band = _band(key, Options(delta=options.delta), _samples) if moved else None
    model = audit_scores(_samples, local, options, name=_subject.name, origin=origin, band=band)
    if _subject.radii is not None:
        model = _subject.radii.added_to(model, delta=options.delta)
    if model.score.temperature is None:
        return model
    return with_calibration(model, _samples, _curve(key, _samples), options, None)


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def _band(key: str, options: Options, _samples: Samples) -> Any:  # noqa: ARG001 (the key is what is remembered)
    return band_of(_samples, options)


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def _curve(key: str, _samples: Samples) -> Any:  # noqa: ARG001 (the key is what is remembered)
    return curve_of(_samples, Options())


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def _compare(
    keys: tuple[str, str],  # noqa: ARG001 (what is remembered)
    options: Options,
    names: tuple[str, str],
    _samples: tuple[Samples, Samples],
) -> Comparison:
    return compare(*_samples, options=options, names=names)


@st.cache_resource(max_entries=TABLES, show_spinner=False)
def _sample_table(key: str, options: Options, _samples: Samples) -> dict[str, list[Any]]:
    return sample_table(_samples, score_samples(_samples, options), name=key)
