"""Numbers at the settings of the sliders, computed once for each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from gfscore.assemble import make_provenance, ranking_of
from gfscore.dashboard.subjects import Subject, kind_of
from gfscore.errors import ResultError
from gfscore.jobs.audit import sample_table
from gfscore.jobs.calibrate import curve_of, with_calibration
from gfscore.jobs.compare import compare, compare_audits
from gfscore.jobs.options import Options
from gfscore.jobs.restate import at_temperature, reweighted
from gfscore.jobs.stages import Origin, audit_scores, score_samples
from gfscore.results import Audit, Comparison, ModelAudit
from gfscore.samples import Samples

DEFAULTS = Options()
KEPT = 64  # audits; at 1,000 classes each takes about a megabyte
TABLES = 4  # of samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the sliders stand."""

    temperature: float | None  # None: each stored audit at its own
    fairness_weight: float | None  # likewise
    thresholds: Mapping[str, float]  # by the kind of score
    delta: float

    def threshold(self, model: ModelAudit) -> float:
        """What no class of the model may be below."""
        return self.thresholds[kind_of(model.score)]


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
    model = audit_scores(_samples, local, options, name=_subject.name, origin=origin)
    if model.score.temperature is None:
        return model
    return with_calibration(model, _samples, _curve(key, _samples), options, None)


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
