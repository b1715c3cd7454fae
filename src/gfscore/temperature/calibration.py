"""Choosing a temperature by an objective: all that maximise it, and what the choice is worth."""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.errors import OptionError, SamplesError
from gfscore.ranking import agreement, spearman
from gfscore.results import AgainstReference, Baselines, Calibration, Flag, LeftOut, ObjectiveSteps
from gfscore.temperature.crossings import TIED
from gfscore.temperature.curve import TemperatureCurve
from gfscore.temperature.grid import two_phase_grid
from gfscore.temperature.objectives import (
    EXACT_CLASSES,
    RESOLUTION,
    WINDOW,
    ClassAgreement,
    ClassStability,
    MeanOverModels,
    Objective,
    OverModels,
)
from gfscore.temperature.steps import SAME, Steps, representative

PER_CLASS = (Objective.CLASSES, Objective.STABILITY)
FEWEST_MODELS = 3  # two models agree or disagree: nothing to maximise


def calibrate(
    curves: Mapping[str, TemperatureCurve],
    objective: Objective | str,
    *,
    accuracies: Mapping[str, float] | None = None,
    reference: Mapping[str, float] | None = None,
    window: float = WINDOW,
) -> Calibration:
    r"""Find all temperatures that maximise an objective, and what speaks for and against the choice.

    ``curves`` has one curve per model, over the same range. ``accuracies`` are clean accuracies by model, from the
    curves' own samples unless given; ``reference`` is what ``given`` maximises the agreement with (more is better),
    and for the other objectives something to compare with afterwards. Accuracies that neither the objective nor a
    reference is compared with are refused. ``window`` is the half-width of ``stability``.

    A rank correlation is a step function of T, so a maximum is a union of open intervals: all are given. At a single
    crossing point a tie can score higher than both sides; it does not count. What the objectives are:
    :mod:`gfscore.temperature.objectives`.

    >>> from gfscore.samples import Samples
    >>> from gfscore.temperature.curve import temperature_curve
    >>> shapes = {"a": [3.0, 0.5], "b": [2.0, 1.5], "c": [1.8, -0.5]}
    >>> curves = {
    ...     name: temperature_curve(Samples.of([[x, 0], [y, 0], [0, x]], [0, 0, 1])) for name, (x, y) in shapes.items()
    ... }
    >>> found = calibrate(curves, "given", reference={"a": 2, "b": 3, "c": 1})
    >>> found.value, [(round(low, 3), round(high, 3)) for low, high in found.intervals]
    (1.0, [(0.018, 1.251)])
    >>> [flag.code for flag in found.flags]
    ['one_as_good']
    """
    objective = checked_request(objective, reference=reference is not None, accuracies=accuracies is not None)
    names, temperature_range = _checked_curves(curves)
    models = tuple(curves.values())
    clean = np.array([curve.accuracy for curve in models])
    if accuracies is not None:
        clean = _aligned(names, accuracies, "clean accuracy")
    outside = None if reference is None else _aligned(names, reference, "reference")
    target = clean if objective is not Objective.GIVEN or outside is None else outside

    criterion = _criterion(objective, models, target, window)
    reason = _why_undefined(objective, target)
    steps = criterion.steps if reason is None else _nowhere(temperature_range)
    value, intervals = steps.highest() or (None, ())
    if value is None:
        temperature = grid = None
        reason = reason or _why_nowhere(objective)
    else:
        temperature = representative(intervals)
        grid = two_phase_grid(criterion.values, *temperature_range)
    has_one = temperature_range[0] <= 1 <= temperature_range[1]
    baselines = Baselines(
        at_one=_known(float(criterion.values(np.array([1.0]))[0])) if has_one and value is not None else None,
        clean_accuracy=_clean_alone(objective, clean, target) if value is not None else None,
    )
    left_out: tuple[LeftOut, ...] = ()
    if temperature is not None:
        left_out = tuple(_leave_out(criterion, place, name, temperature) for place, name in enumerate(names))
    against = None
    if outside is not None:
        scores = [
            np.array([curve.aggregate(t) for curve in models]) if t is not None else None
            for t in (temperature, 1.0 if has_one else None)
        ]
        calibrated, at_one = (None if row is None else agreement(row, outside, tolerance=TIED) for row in scores)
        if objective is Objective.GIVEN and calibrated is not None:
            calibrated = calibrated.without_chance()
        against = AgainstReference(calibrated=calibrated, at_one=at_one, clean_accuracy=agreement(clean, outside))
    gridded = objective in PER_CLASS and any(len(curve.names) > EXACT_CLASSES for curve in models)
    found = Calibration(
        objective=str(objective),
        models=names,
        temperature=temperature,
        value=value,
        intervals=intervals,
        temperature_range=temperature_range,
        curve=ObjectiveSteps(edges=tuple(steps.edges.tolist()), values=tuple(map(_known, steps.values.tolist()))),
        resolution=RESOLUTION if gridded else None,
        grid=None if grid is None else grid.optimum,
        baselines=baselines,
        left_out=left_out,
        reference=against,
    )
    return found.model_copy(update={"flags": tuple(_flags(found, reason))})


def _criterion(
    objective: Objective, models: tuple[TemperatureCurve, ...], target: FloatArray, window: float
) -> OverModels | MeanOverModels:
    match objective:
        case Objective.MODELS | Objective.GIVEN:
            return OverModels.of(models, target)
        case Objective.CLASSES:
            return MeanOverModels(tuple(ClassAgreement(curve) for curve in models))
        case Objective.STABILITY:
            return MeanOverModels(tuple(ClassStability(curve, window) for curve in models))


def _why_undefined(objective: Objective, target: FloatArray) -> str | None:
    """Why an objective over models has no value at any temperature, if it has none."""
    if objective in PER_CLASS:
        return None
    if len(target) < FEWEST_MODELS:
        return f"an order of {len(target)} model(s) says nothing; at least {FEWEST_MODELS} are needed"
    if np.ptp(target) <= TIED:
        what = "clean accuracies" if objective is Objective.MODELS else "reference values"
        return f"all {what} are equal, so no order can agree with them"
    return None


def _why_nowhere(objective: Objective) -> str:
    """Why a step function has no value at any temperature although its target is sound."""
    if objective in PER_CLASS:
        return "no model has classes that differ, so there is nothing to correlate"
    return "all models score the same at every temperature, so they have no order"


def _nowhere(temperature_range: tuple[float, float]) -> Steps:
    return Steps(edges=np.array(temperature_range), values=np.array([np.nan]))


def _clean_alone(objective: Objective, clean: FloatArray, target: FloatArray) -> float | None:
    """The objective with clean accuracy in the place of the score: 1 when that is the target itself."""
    if objective is Objective.STABILITY:
        return None
    return 1.0 if objective is Objective.CLASSES else spearman(clean, target)


def _leave_out(criterion: OverModels | MeanOverModels, place: int, name: str, temperature: float) -> LeftOut:
    others = criterion.without(place)
    enough = len(others.models) >= (FEWEST_MODELS if isinstance(others, OverModels) else 1)
    steps = others.steps if enough else None
    highest = None if steps is None else steps.highest()
    if steps is None or highest is None:
        return LeftOut(model=name, temperature=None, value=None, at_full=None)
    value, intervals = highest
    at_full = _known(float(steps.at(temperature)))
    return LeftOut(model=name, temperature=representative(intervals), value=value, at_full=at_full)


def _known(value: float) -> float | None:
    """A value of an objective; None where it has none, which numpy says by NaN."""
    return None if math.isnan(value) else value


def _flags(found: Calibration, undefined: str | None) -> Iterator[Flag]:
    """What makes the temperature less trustworthy than it looks."""
    if found.value is None or found.temperature is None:
        yield Flag(code="calibration_undefined", message=f"Objective {found.objective} is undefined: {undefined}.")
        return
    low, high = found.temperature_range
    ends = [end for end, touched in ((low, found.intervals[0][0]), (high, found.intervals[-1][1])) if end == touched]
    if ends:
        named = " and ".join(f"{end:g}" for end in ends)
        yield Flag(
            code="edge_of_range",
            message=f"The maximum reaches the edge of the range searched, T = {named}"
            + (": beyond it may lie a higher one." if found.value < 1 - SAME else "."),
        )
    if found.resolution is not None:
        yield Flag(
            code="grid_resolution",
            message=f"More than {EXACT_CLASSES} classes: the intervals are known to a factor of {found.resolution:g}.",
        )
    one = found.baselines.at_one
    if one is not None and one >= found.value - SAME:
        yield Flag(code="one_as_good", message=f"T = 1 gives {one:.3f} as well: there is no reason to change it.")
    dearest = max(found.left_out, key=lambda entry: entry.loss)
    if dearest.loss > SAME:
        yield Flag(
            code="unstable_temperature",
            message=f"T* depends on model {dearest.model!r}: without it T* gives {dearest.at_full:.3f}, and "
            f"T = {dearest.temperature:.3g} gives {dearest.value:.3f}.",
        )
    if found.reference is not None and found.reference.calibrated is not None:
        own, alone = found.reference.calibrated.spearman, found.reference.clean_accuracy.spearman
        if own is not None and alone is not None and alone >= own - SAME:
            yield Flag(
                code="baseline_as_good",
                message=f"Clean accuracy alone ranks the models like the reference with ρ = {alone:.3f}, "
                f"the calibrated score with {own:.3f}.",
            )


def checked_request(objective: Objective | str, *, reference: bool, accuracies: bool) -> Objective:
    """The objective by its name; refused without the reference it needs, or with accuracies that it never looks at."""
    try:
        wanted = Objective(objective)
    except ValueError:
        choices = ", ".join(Objective)
        raise OptionError(f"objective {objective!r} is not known. Choose one of: {choices}.") from None
    if wanted is Objective.GIVEN and not reference:
        raise OptionError(
            "objective 'given' needs a reference, a number for each model. "
            "Give one (--reference; in Python reference=)."
        )
    if wanted in PER_CLASS and accuracies and not reference:
        raise OptionError(
            f"objective {str(wanted)!r} is about classes, and accuracies by model change nothing. "
            "Leave the accuracies out."
        )
    return wanted


def _checked_curves(curves: Mapping[str, TemperatureCurve]) -> tuple[tuple[str, ...], tuple[float, float]]:
    if not curves:
        raise OptionError("there is no model to calibrate. Give at least one curve.")
    ranges = {curve.temperature_range for curve in curves.values()}
    if len(ranges) > 1:
        raise OptionError("the curves span different ranges of temperature. Compute them over the same one.")
    return tuple(curves), ranges.pop()


def _aligned(names: tuple[str, ...], values: Mapping[str, float], what: str) -> FloatArray:
    """The values in the order of the models."""
    missing = [name for name in names if name not in values]
    if missing:
        raise SamplesError(f"there is no {what} for model {missing[0]!r}. Give one for each model.")
    aligned = np.array([values[name] for name in names], dtype=np.float64)
    if not np.isfinite(aligned).all():
        raise SamplesError(f"the {what} of model {names[int(np.argmin(np.isfinite(aligned)))]!r} is no number.")
    return aligned
