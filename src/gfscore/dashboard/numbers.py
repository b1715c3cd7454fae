"""The numbers of a model at the settings of the sliders: an audit makes them, and they are kept with the model."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gfscore.assemble import at_eps, at_temperature, make_provenance, ranking_of, reweighted
from gfscore.dashboard.subjects import Subject, kind_of
from gfscore.errors import ResultError
from gfscore.jobs.audit import sample_table
from gfscore.jobs.calibrate import curve_of, with_calibration
from gfscore.jobs.compare import compare
from gfscore.jobs.compared import compare_audits
from gfscore.jobs.options import Options
from gfscore.jobs.stages import Origin, audit_scores, band_of, score_samples
from gfscore.results import Audit, Comparison, ModelAudit
from gfscore.samples import Samples

DEFAULTS = Options()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the sliders stand."""

    temperature: float | None  # None: each stored audit at its own
    fairness_weight: float | None  # likewise
    thresholds: Mapping[str, float]  # by the kind of score
    delta: float
    eps: Mapping[str, float] = field(default_factory=dict)  # by norm; without one each audit stays at its own
    least: float | None = None  # robust accuracy that no class may be below; None before somebody has chosen it

    def threshold(self, model: ModelAudit) -> float | None:
        """What no class of the model may be below; None before somebody has chosen it."""
        return self.thresholds.get(kind_of(model.score)) or None


def audit_at(subject: Subject, settings: Settings, *, noise: bool = False) -> tuple[ModelAudit, list[str]]:
    """The model's audit at the settings, and a sentence for each of them that it cannot follow.

    What chance alone would give takes as long as all the rest: it is there only with ``noise``.
    """
    notes: list[str] = []
    if subject.samples is not None:
        usual = replace(_options(settings, subject), fairness_weight=DEFAULTS.fairness_weight)  # another is cheap
        model = reweighted(_compute(subject, subject.samples, usual, noise=noise), _weight(settings))
    elif subject.stored is not None:
        model, notes = _restate(subject.stored, settings)
    else:
        raise ResultError(f"{subject.name} has neither samples nor a stored audit.")
    if model.robustness is not None and model.robustness.norm in settings.eps:
        eps = settings.eps[model.robustness.norm]
        if model.robustness.at(eps) is None:
            notes.append(f"eps does not apply: {subject.name} was not measured at this one.")
        else:
            model = at_eps(model, eps)
    return model.model_copy(update={"name": subject.name}), notes  # others of its name may have come since


def compare_at(old: Subject, new: Subject, settings: Settings) -> Comparison:
    """What changes from one model to another: sample by sample, or from their intervals where one has no samples."""
    before, after = old.samples, new.samples
    if before is None or after is None:
        return compare_audits(audit_at(old, settings)[0], audit_at(new, settings)[0])
    options, names = _options(settings, new), (old.name, new.name)
    key = ("compare", old.number, options, names)
    return new.kept.get(key, lambda: compare(before, after, options=options, names=names))


def result_of(models: Sequence[ModelAudit]) -> Audit:
    """A result to save or to draw."""
    return Audit(
        models=tuple(models),
        ranking=ranking_of(tuple(models)),
        provenance=make_provenance(command="gfscore dashboard"),
    )


def class_samples(subject: Subject, settings: Settings, part: str) -> list[dict[str, Any]]:
    """The samples of a class (or group) as rows, lowest score first; none of a stored audit."""
    samples = subject.samples
    if samples is None:
        return []
    codes, _ = samples.partition
    names = samples.class_names if samples.groups is None else samples.groups.names
    rows = (codes == names.index(part)).nonzero()[0]
    inside, score = samples.rows(rows), _score(_options(settings, subject))
    table = sample_table(inside, score_samples(inside, score), name=subject.name)
    if samples.sample_ids is None:  # then they are called by their place in the file
        table["sample_id"] = [str(row) for row in rows]
    order = sorted(range(len(rows)), key=lambda place: table["score"][place])
    return [{name: column[place] for name, column in table.items()} | {"row": int(rows[place])} for place in order]


def confusions(samples: Sequence[Mapping[str, Any]], most: int = 5) -> list[tuple[str, int]]:
    """The classes that samples are most often mistaken for, and how often."""
    return Counter(str(row["predicted"]) for row in samples if not row["correct"]).most_common(most)


def _weight(settings: Settings) -> float:
    return DEFAULTS.fairness_weight if settings.fairness_weight is None else settings.fairness_weight


def _options(settings: Settings, subject: Subject) -> Options:
    return Options(
        score=subject.asked.name,
        temperature=None if subject.asked.temperature is None else settings.temperature,
        fairness_weight=_weight(settings),
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


def _compute(subject: Subject, samples: Samples, options: Options, *, noise: bool) -> ModelAudit:
    """The audit, with its noise floor or without, and with radii as far as they are known by now."""
    key = ("audit", options, noise, subject.radii is None)
    return subject.kept.get(key, lambda: _audit(subject, samples, options, noise=noise))


def _audit(subject: Subject, samples: Samples, options: Options, *, noise: bool) -> ModelAudit:
    local, origin = score_samples(samples, options), Origin(subject.source, run=subject.run)
    # one temperature is fixed beforehand; another was chosen by who moved the slider, after looking
    moved = local.temperature is not None and options.divisor != DEFAULTS.divisor
    band = _band(subject, samples, options.delta) if moved else None
    asked = options if noise else replace(options, permutations=0)
    model = audit_scores(samples, local, asked, name=subject.name, origin=origin, band=band)
    if subject.radii is not None:
        model = subject.radii.added_to(model, delta=options.delta)
    if model.score.temperature is None:
        return model
    curve = subject.kept.get("curve", lambda: curve_of(samples, Options()))
    return with_calibration(model, samples, curve, options, None)


def _score(options: Options) -> Options:
    """All that changes the score of a sample."""
    return Options(score=options.score, temperature=options.temperature)


def _band(subject: Subject, samples: Samples, delta: float) -> Any:
    return subject.kept.get(("band", delta), lambda: band_of(samples, Options(delta=delta)))
