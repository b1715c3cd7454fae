"""Choosing a temperature by an objective: all that maximise it, and what the choice is worth."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.errors import OptionError, SamplesError
from gfscore.ranking import agreement, spearman
from gfscore.results import AgainstReference, Baselines, Calibration, Flag, GridOptimum, LeftOut, ObjectiveSteps
from gfscore.temperature.curve import TemperatureCurve
from gfscore.temperature.objectives import (
    EXACT_CLASSES,
    RESOLUTION,
    SAME,
    TIED,
    ClassAgreement,
    ClassStability,
    MeanOverModels,
    Objective,
    OverModels,
    Steps,
)

PER_CLASS = (Objective.CLASSES, Objective.STABILITY)
FEWEST_MODELS = 3  # two models agree or disagree: nothing to maximise
COARSE, FINE = 0.1, 0.001  # steps of the grid of the paper
GRID_BLOCK = 1000  # temperatures of the grid tried together
REACH = 0.1  # of the fine grid, to either side of the best coarse temperature


def calibrate(
    curves: Mapping[str, TemperatureCurve],
    objective: Objective | str,
    *,
    accuracies: Mapping[str, float] | None = None,
    reference: Mapping[str, float] | None = None,
) -> Calibration:
    """Find all temperatures that maximise an objective, and what speaks for and against the choice.

    ``curves`` has one curve per model, over the same range. ``accuracies`` are clean accuracies by model, from the
    curves' own samples unless given; ``reference`` is what ``given`` maximises the agreement with (more is better),
    and for the other objectives something to compare with afterwards. Accuracies that neither the objective nor a
    reference is compared with are refused.

    A rank correlation is a step function of T, so a maximum is a union of open intervals: all are given. At a single
    crossing point a tie can score higher than both sides; it does not count. What the objectives are:
    :mod:`gfscore.temperature.objectives`.

    >>> from gfscore import Samples
    >>> from gfscore.temperature import temperature_curve
    >>> models = {"a": [[3, 0], [0, 3], [0.5, 0]], "b": [[2, 0], [0, 2], [1.5, 0]], "c": [[1.8, 0], [0, 1.8], [0, 0.5]]}
    >>> curves = {name: temperature_curve(Samples.of(logits, [0, 1, 0])) for name, logits in models.items()}
    >>> found = calibrate(curves, "given", reference={"a": 2, "b": 3, "c": 1})
    >>> found.value, [(round(low, 3), round(high, 3)) for low, high in found.intervals], found.flags[0].code
    (1.0, [(0.018, 1.251)], 'one_as_good')
    """
    objective = check_request(objective, reference=reference is not None, accuracies=accuracies is not None)
    names, temperature_range = _check_curves(curves)
    models = tuple(curves.values())
    own = {name: curve.accuracy for name, curve in curves.items()}
    clean = _align(names, own if accuracies is None else accuracies, "clean accuracy")
    outside = None if reference is None else _align(names, reference, "reference")
    target = clean if objective is not Objective.GIVEN or outside is None else outside
    criterion, undefined = _criterion(objective, models, target), _why_undefined(objective, target)
    nowhere = Steps(edges=np.array(temperature_range), values=np.array([np.nan]))
    steps = criterion.steps if undefined is None else nowhere
    value, intervals = steps.highest() or (None, ())
    temperature = representative(intervals) if intervals else None
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
        grid=None if value is None else two_phase_grid(criterion.values, *temperature_range),
        baselines=Baselines() if value is None else _baselines(objective, criterion, clean, target, temperature_range),
        left_out=tuple(_leave_out(criterion, names, temperature)),
        reference=None if outside is None else _compare(objective, models, clean, outside, temperature),
    )
    return found.model_copy(update={"flags": tuple(_flags(found, undefined or _why_nowhere(objective)))})


def _baselines(
    objective: Objective,
    criterion: OverModels | MeanOverModels,
    clean: FloatArray,
    target: FloatArray,
    temperature_range: tuple[float, float],
) -> Baselines:
    """The objective at T = 1, and with clean accuracy in the place of the score: 1 when that is the target itself."""
    alone = None if objective is Objective.STABILITY else 1.0
    if objective not in PER_CLASS:
        alone = spearman(clean, target)
    inside = temperature_range[0] <= 1 <= temperature_range[1]
    at_one = _known(float(criterion.values(np.array([1.0]))[0])) if inside else None
    return Baselines(at_one=at_one, clean_accuracy=alone)


def _compare(
    objective: Objective,
    models: tuple[TemperatureCurve, ...],
    clean: FloatArray,
    outside: FloatArray,
    temperature: float | None,
) -> AgainstReference:
    """How scores at the chosen temperature, at T = 1, and clean accuracies order the models like the reference."""
    low, high = models[0].temperature_range
    at_one = 1.0 if low <= 1 <= high else None
    scores = [None if t is None else [curve.aggregate(t) for curve in models] for t in (temperature, at_one)]
    calibrated, uncalibrated = (None if row is None else agreement(row, outside, tolerance=TIED) for row in scores)
    if objective is Objective.GIVEN and calibrated is not None:
        calibrated = calibrated.without_chance()
    return AgainstReference(calibrated=calibrated, at_one=uncalibrated, clean_accuracy=agreement(clean, outside))


def _criterion(
    objective: Objective, models: tuple[TemperatureCurve, ...], target: FloatArray
) -> OverModels | MeanOverModels:
    match objective:
        case Objective.MODELS | Objective.GIVEN:
            return OverModels.of(models, target)
        case Objective.CLASSES:
            return MeanOverModels(tuple(ClassAgreement(curve) for curve in models))
        case Objective.STABILITY:
            return MeanOverModels(tuple(ClassStability(curve) for curve in models))


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


def _leave_out(
    criterion: OverModels | MeanOverModels, names: tuple[str, ...], temperature: float | None
) -> Iterator[LeftOut]:
    if temperature is None:
        return
    fewest = FEWEST_MODELS if isinstance(criterion, OverModels) else 1
    for place, name in enumerate(names):
        steps = criterion.without(place).steps if len(names) > fewest else None
        highest = None if steps is None else steps.highest()
        if steps is None or highest is None:
            yield LeftOut(model=name, temperature=None, value=None, at_full=None)
        else:
            value, intervals = highest
            at_full = _known(float(steps.at(temperature)))
            yield LeftOut(model=name, temperature=representative(intervals), value=value, at_full=at_full)


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
                message=f"Clean accuracy alone ranks the models like the reference with a rank correlation of "
                f"{alone:.3f}, the calibrated score with {own:.3f}.",
            )


def check_request(objective: Objective | str, *, reference: bool, accuracies: bool) -> Objective:
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


def _check_curves(curves: Mapping[str, TemperatureCurve]) -> tuple[tuple[str, ...], tuple[float, float]]:
    if not curves:
        raise OptionError("there is no model to calibrate. Give at least one curve.")
    ranges = {curve.temperature_range for curve in curves.values()}
    if len(ranges) > 1:
        raise OptionError("the curves span different ranges of temperature. Compute them over the same one.")
    return tuple(curves), ranges.pop()


def _align(names: tuple[str, ...], values: Mapping[str, float], what: str) -> FloatArray:
    """The values in the order of the models."""
    missing = [name for name in names if name not in values]
    if missing:
        raise SamplesError(f"there is no {what} for model {missing[0]!r}. Give one for each model.")
    aligned = np.array([values[name] for name in names], dtype=np.float64)
    if not np.isfinite(aligned).all():
        raise SamplesError(f"the {what} of model {names[int(np.argmin(np.isfinite(aligned)))]!r} is no number.")
    return aligned


def representative(intervals: Sequence[tuple[float, float]]) -> float:
    """Geometric middle of the interval that is widest in log T, the first of several.

    >>> representative([(0.1, 0.2), (1.0, 4.0)])
    2.0
    """
    low, high = max(intervals, key=lambda ends: ends[1] / ends[0])
    return math.sqrt(low * high)


def two_phase_grid(objective: Callable[[FloatArray], FloatArray], low: float = 0.01, high: float = 10.0) -> GridOptimum:
    r"""The search of the paper, exactly as written, to compare with the exact answer.

    First maximum over :math:`T \in \{0.01, 0.11, \ldots\}` up to 10, then in steps of 0.001 within 0.1 of it.
    ``objective`` takes temperatures ``(n,)`` and gives values ``(n,)``, NaN where there is none. The fine grid is
    cut to the range. Shah et al. (2026), Section 3.4.

    >>> found = two_phase_grid(lambda t: -np.abs(t - 2.7))
    >>> round(found.temperature, 3), found.tried
    (2.7, 301)
    """
    coarse = _grid(low, high, COARSE)
    coarse_values = _values(objective, coarse)
    if np.isnan(coarse_values).all():
        raise OptionError("the objective has no value at any temperature of the grid. Choose another objective.")
    best = float(coarse[np.nanargmax(coarse_values)])
    fine = _grid(max(low, best - REACH), min(high, best + REACH), FINE)
    fine_values = _values(objective, fine)
    first = int(np.nanargmax(fine_values))
    tried = len(coarse) + len(fine)
    return GridOptimum(temperature=float(fine[first]), value=float(fine_values[first]), tried=tried)


def _values(objective: Callable[[FloatArray], FloatArray], temperatures: FloatArray) -> FloatArray:
    """In blocks: at each temperature the objective may look at a thousand classes."""
    return np.concatenate(
        [objective(temperatures[i : i + GRID_BLOCK]) for i in range(0, len(temperatures), GRID_BLOCK)]
    )


def _grid(low: float, high: float, step: float) -> FloatArray:
    """From ``low`` in equal steps, up to ``high`` at most."""
    return low + step * np.arange(int((high - low) / step + 1e-9) + 1)
