"""Temperatures: curves over them, the calibrated one, and all metrics at it."""

from typing import Any

from pydantic import Field

from gfscore.results.base_result import Flag, Interval, Metric, Result
from gfscore.results.class_result import Atkinson, ClassResult, Disparity, Penalised, WorstCase


class Curves(Result):
    """Scores over a range of temperatures; with many classes only the lowest ones are kept."""

    temperature: tuple[float, ...]
    aggregate: tuple[float, ...]
    scores: dict[str, tuple[float, ...]] = Field(description="by class")
    metrics: dict[str, tuple[float | None, ...]] = Field(
        default_factory=dict, description="class_mean, wcr, rdi, nrgc, fp_great, theil and atkinson of all classes"
    )
    error: float = Field(
        description="estimate of how far a value is from the score at that temperature at most, not a bound"
    )


class Calibrated(Result):
    """The metrics at the calibrated temperature, beside those at the temperature of the audit.

    All intervals here hold together at the audit's level for a temperature fixed beforehand. This one was chosen on the
    same samples, which they do not account for, and they do not hold together with those of the audit itself. There is
    no noise floor: audit other samples at this temperature to have both.
    """

    temperature: float = Field(description="T*, chosen on these samples")
    aggregate: float
    class_mean: float
    classes: tuple[ClassResult, ...] = Field(description="intervals as if T* had been fixed beforehand")
    worst_set: tuple[str, ...] = Field(description="from these intervals")
    rdi: Disparity
    nrgc: Metric
    wcr: WorstCase
    fp_great: Penalised
    theil: Metric
    atkinson: Atkinson


class Calibration(Result):
    """All temperatures that maximise an objective over some models, and what the choice is worth."""

    objective: str
    models: tuple[str, ...]
    temperature: float | None = Field(description="T*, the middle of the widest interval; null when undefined")
    value: float | None = Field(description="of the objective, anywhere in the intervals")
    intervals: tuple[Interval, ...] = Field(description="all temperatures that maximise it: open intervals")
    temperature_range: Interval = Field(description="what was searched")
    resolution: float | None = Field(default=None, description="of the intervals' ends, as a factor; null: exact")
    curve: dict[str, tuple[float | None, ...]] = Field(description="the objective, a step function of T: edges, values")
    grid: dict[str, Any] | None = Field(default=None, description="what the paper's two-phase grid search finds")
    baselines: dict[str, float | None] = Field(description="the objective at T = 1, and by clean accuracy alone")
    left_out: tuple[dict[str, Any], ...] = Field(
        default=(),
        description="without each model: T* and value of the others (temperature, value), and their value at the T* "
        "of all models (at_full), which is lower where T* depends on the model",
    )
    reference: dict[str, Any] | None = Field(
        default=None,
        description="agreement with a reference, if one was given; p-values and intervals of calibrated are null with "
        "the objective given, since T* was chosen to make that agreement large",
    )
    flags: tuple[Flag, ...] = ()

    def to_json(self) -> str:
        """As ``calibrate --json`` prints it."""
        return self.model_dump_json(indent=1) + "\n"
