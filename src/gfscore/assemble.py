"""Profile, metrics, intervals and flags, put together into a result; and what made it."""

import math
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy

from gfscore.__about__ import __version__
from gfscore.arrays import FloatArray
from gfscore.bounds import AuditIntervals, box, shrunken_scores
from gfscore.errors import PLURALS, ResultError
from gfscore.metrics import BUILT_IN, ClassScores, all_metrics, formulas
from gfscore.profile import ClassProfile
from gfscore.ranking import agreement
from gfscore.results import (
    Atkinson,
    Claim,
    ClassResult,
    Curves,
    Disparity,
    Flag,
    Interval,
    IntervalInfo,
    Metric,
    ModelAudit,
    ModelRanking,
    NoiseFloor,
    Penalised,
    Provenance,
    RunInfo,
    SamplesInfo,
    ScoreInfo,
    WorstCase,
)
from gfscore.storage import redact

DEGREE = 7  # of the spline through stored scores, which lie some ten to an octave
APART = 0.01  # in log T: of two stored scores nearer to each other, the spline goes through the first


def assembled(
    profile: ClassProfile,
    intervals: AuditIntervals,
    *,
    delta: float,
    fairness_weight: float,
    name: str,
    score: ScoreInfo,
    samples: SamplesInfo,
    run: RunInfo | None,
    noise: NoiseFloor | None,
    flags: tuple[Flag, ...],
    claim: Claim,
    abstained: float | None = None,
) -> ModelAudit:
    """Everything about one model, put together."""
    classes = ClassScores(scores=profile.scores, weights=profile.weights, fairness_weight=fairness_weight)
    block = metric_block(classes, profile.names, {key: intervals.of(key) for key in all_metrics()})
    block["aggregate"] = profile.aggregate  # the mean over samples, without the rounding of the way by classes
    if profile.weighted_by == "unequal_draws":
        block["aggregate_interval"] = None
    return ModelAudit(
        name=name,
        score=score,
        samples=samples.model_copy(update={"weighted_by": profile.weighted_by}),
        run=run,
        interval=IntervalInfo(
            method=intervals.method,
            delta=delta,
            target=intervals.target,
            seed=intervals.seed,
            # groups are known only once they came, so how many there will be cannot be allowed for before
            anytime=intervals.method.anytime and profile.partition == "class" and intervals.temperatures is None,
            temperatures=intervals.temperatures,
        ),
        partition=profile.partition,
        accuracy=profile.accuracy,
        classes=_class_results(profile, intervals),
        absent_classes=profile.absent,
        worst_set=tuple(profile.names[k] for k in intervals.worst_set),
        **block,
        abstained=abstained,
        noise=noise,
        flags=flags,
        claim=claim,
    )


def metric_block(
    classes: ClassScores, names: Sequence[str], intervals: Mapping[str, Interval | None] | None = None
) -> dict[str, Any]:
    """Every metric of a model as the fields of a result: the values, their intervals where given, and who makes them.

    ``names`` are those of the classes. Metrics from outside the package are together in the field ``metrics``.
    """
    found = {
        key: {"value": metric.of(classes), "interval": None if intervals is None else intervals.get(key)}
        for key, metric in all_metrics().items()
    }
    highest, lowest = formulas.rdi_classes(classes.scores)
    block: dict[str, Any] = {key: Metric(**found[key]) for key in BUILT_IN}
    for key in ("aggregate", "class_mean"):  # plain numbers in a result, with their intervals beside them
        block[key], block[f"{key}_interval"] = found[key]["value"], found[key]["interval"]
    block["rdi"] = Disparity(**found["rdi"], classes=(names[highest], names[lowest]))
    block["wcr"] = WorstCase(**found["wcr"], class_=names[lowest])
    block["fp_great"] = Penalised(**found["fp_great"], weight=classes.fairness_weight)
    adjusted = formulas.atkinson_adjusted_mean(classes.scores)
    block["atkinson"] = Atkinson(**found["atkinson"], adjusted_mean=adjusted)
    block["metrics"] = {key: Metric(**entry) for key, entry in found.items() if key not in BUILT_IN}
    return block


def make_provenance(*, command: str | None = None, inputs: Mapping[str, str] | None = None) -> Provenance:
    """What made the result: versions, command and hashes of the input files."""
    return Provenance(
        gfscore=__version__,
        python=platform.python_version(),
        numpy=np.__version__,
        scipy=scipy.__version__,
        command=None if command is None else redact(command),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        inputs={redact(name): digest for name, digest in (inputs or {}).items()},
    )


def ranking_of(models: tuple[ModelAudit, ...], reference: Mapping[str, float] | None = None) -> ModelRanking | None:
    """How the scores of several models rank beside their clean accuracies, and beside a reference if there is one."""
    if len(models) < 3:  # two models agree or disagree: no correlation
        return None
    scores, accuracies = [model.aggregate for model in models], [model.accuracy for model in models]
    wanted = None if reference is None else [reference[model.name] for model in models]
    return ModelRanking(
        score_and_clean_accuracy=agreement(scores, accuracies),
        score_and_reference=None if wanted is None else agreement(scores, wanted),
        clean_accuracy_and_reference=None if wanted is None else agreement(accuracies, wanted),
    )


def _class_results(profile: ClassProfile, intervals: AuditIntervals) -> tuple[ClassResult, ...]:
    shrunken = shrunken_scores(profile.scores, profile.stds, profile.counts)
    return tuple(
        ClassResult(
            name=name,
            n=int(profile.counts[k]),
            size=None if profile.sizes is None else int(profile.sizes[k]),
            score=float(profile.scores[k]),
            std=None if math.isnan(profile.stds[k]) else float(profile.stds[k]),
            accuracy=float(profile.accuracies[k]),
            interval=(float(intervals.lower[k]), float(intervals.upper[k])),
            shrunken=float(shrunken.scores[k]),
            confused_with=profile.confused_with[k],
            confused_share=float(profile.confused_shares[k]),
            abstained=None if profile.abstained is None else float(profile.abstained[k]),
        )
        for k, name in enumerate(profile.names)
    )


def reweighted(model: ModelAudit, weight: float) -> ModelAudit:
    r"""The audit with another fairness weight: FP-GREAT and its interval are all that depends on it.

    .. math:: \bar\Omega - \lambda\,\mathrm{RDI}

    The interval is what the class intervals allow, and those of class mean and RDI: as
    :func:`~gfscore.bounds.audit_intervals` has it, from the same numbers.
    """
    scores = np.array([entry.score for entry in model.classes])
    value = formulas.fp_great(scores, formulas.checked_weight(weight))
    fp_great = Penalised(value=value, interval=_fp_great_interval(model, weight, value), weight=weight)
    return model.model_copy(update={"fp_great": fp_great, "curves": _reweighted_curves(model.curves, weight)})


def _reweighted_curves(curves: Curves | None, weight: float) -> Curves | None:
    if curves is None or not curves.metrics:
        return curves
    pairs = zip(curves.metrics["class_mean"], curves.metrics["rdi"], strict=True)
    values = tuple(None if mean is None or rdi is None else mean - weight * rdi for mean, rdi in pairs)
    return curves.model_copy(update={"metrics": curves.metrics | {"fp_great": values}})


def _fp_great_interval(model: ModelAudit, weight: float, value: float) -> Interval | None:
    mean, rdi = model.class_mean_interval, model.rdi.interval
    known = [entry.interval for entry in model.classes if entry.interval is not None]
    if mean is None or rdi is None or len(known) < len(model.classes):
        return None
    lower, upper = np.array(known).T
    low, high = box.fp_great_range(lower, upper, weight)
    return min(max(low, mean[0] - weight * rdi[1]), value), max(min(high, mean[1] - weight * rdi[0]), value)


def at_temperature(model: ModelAudit, temperature: float) -> ModelAudit:
    """The audit at another temperature, read off the curves that were stored with it.

    Scores and metrics only: intervals and the noise floor need the samples, so they are absent, and a flag says so.
    Accuracies and confusions do not depend on the temperature.
    """
    if model.score.temperature is not None and math.isclose(temperature, model.score.temperature):
        return model
    scores, aggregate = _read_off(model, temperature)
    message = f"read off stored curves at T = {temperature:g}: no intervals and no noise floor without the samples."
    names = [entry.name for entry in model.classes]
    weights = np.array(model.class_weights)
    classes = ClassScores(scores=scores, weights=weights, fairness_weight=model.fp_great.weight)
    return model.model_copy(
        update={
            **metric_block(classes, names),
            "aggregate": aggregate,
            "score": model.score.model_copy(update={"temperature": temperature}),
            "classes": tuple(_rescored(entry, float(x)) for entry, x in zip(model.classes, scores, strict=True)),
            "worst_set": tuple(names),  # without intervals none can be ruled out
            "noise": None,
            "flags": (*model.flags, Flag(code="restated", message=message)),
            "verdict": None,
            "calibrated": None,
        }
    )


def at_eps(model: ModelAudit, eps: float) -> ModelAudit:
    """The audit with its headline at another eps of its ladder: intervals at all eps hold together, so any may be read.

    Robust accuracies of the whole and of each class follow; scores do not depend on eps.
    """
    found = model.robustness
    rung = None if found is None else found.at(eps)
    if found is None or rung is None:
        raise ResultError(f"this result has no robust accuracy at eps = {eps:g}. Audit the model with --eps {eps:g}.")
    if rung is found.headline:
        return model
    pairs = zip(model.classes, rung.classes, strict=True)
    return model.model_copy(
        update={
            "robustness": found.model_copy(update={"eps": rung.eps}),
            "robust_accuracy": rung.whole,
            "classes": tuple(entry.model_copy(update={"robust_accuracy": share}) for entry, share in pairs),
        }
    )


def _rescored(entry: ClassResult, score: float) -> ClassResult:
    return entry.model_copy(update={"score": score, "std": None, "interval": None, "shrunken": None})


def _read_off(model: ModelAudit, temperature: float) -> tuple[FloatArray, float]:
    """Scores of all classes, ``(K,)``, and of all samples."""
    from scipy.interpolate import make_interp_spline  # here: its import takes a while

    curves, parts = model.curves, PLURALS[model.partition]
    known = 0 if curves is None else sum(entry.name in curves.scores for entry in model.classes)
    if curves is None or known < len(model.classes):
        raise ResultError(
            f"this result holds the scores by temperature of {known:,} of {len(model.classes):,} {parts}, so it stays "
            "at its own temperature. Open the logits to change it."
        )
    low, high = curves.temperature[0], curves.temperature[-1]
    if not low <= temperature <= high:
        raise ResultError(f"temperature {temperature:g} is outside the stored curves, {low:g} to {high:g}.")
    places = np.log(curves.temperature)
    apart = np.diff(places, prepend=-np.inf) > APART
    columns = [*(curves.scores[entry.name] for entry in model.classes), curves.aggregate]
    spline = make_interp_spline(places[apart], np.array(columns).T[apart], k=DEGREE)
    values = np.clip(spline(math.log(temperature)), *model.score.range)
    return values[:-1], float(values[-1])
