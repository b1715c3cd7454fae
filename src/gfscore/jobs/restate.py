"""What a stored result can answer anew without its samples: another fairness weight, another temperature."""

import math

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.assemble import metric_block
from gfscore.bounds import box
from gfscore.errors import PLURALS, ResultError
from gfscore.metrics import ClassScores, formulas
from gfscore.results import ClassResult, Curves, Flag, Interval, ModelAudit, Penalised

DEGREE = 7  # of the spline through stored scores, which lie some ten to an octave
APART = 0.01  # in log T: of two stored scores nearer to each other, the spline goes through the first


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
