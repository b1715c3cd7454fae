"""Over temperatures and over models: curves, the calibrated temperature, all metrics at it, and how models rank."""

from typing import Literal, Self

from pydantic import Field

from gfscore.results.base_result import Flag, Interval, IntervalInfo, Metric, Result
from gfscore.results.class_result import Atkinson, ClassResult, Disparity, MetricBlock, Penalised, WorstCase


class Agreement(Result):
    """How alike two scores order n models or classes. What does not exist is null."""

    n: int
    spearman: float | None = Field(description="Spearman's rank correlation")
    spearman_p: float | None = Field(description="share of all orders that agree at least as much, either way")
    spearman_interval: Interval | None = Field(description="approximate")
    kendall: float | None = Field(description="Kendall's tau-b")
    kendall_p: float | None = Field(description="share of all orders that agree at least as much, either way")
    kendall_interval: Interval | None = Field(description="approximate")
    p_method: Literal["exact", "random orders"] = Field(description="whether all orders were counted, or random ones")
    level: float = Field(gt=0, lt=1, description="of both intervals")

    def without_chance(self) -> Self:
        """The correlations alone: p-values and intervals know nothing of it when the score was chosen to agree."""
        chance = ("spearman_p", "spearman_interval", "kendall_p", "kendall_interval")
        return self.model_copy(update=dict.fromkeys(chance))


class ModelRanking(Result):
    """How alike score, clean accuracy and, where one was given, a reference order the models."""

    score_and_clean_accuracy: Agreement
    score_and_reference: Agreement | None = Field(default=None, description="null without a reference")
    clean_accuracy_and_reference: Agreement | None = Field(default=None, description="null without a reference")


class Curves(Result):
    """Scores over a range of temperatures; with many classes only the lowest ones are kept."""

    temperature: tuple[float, ...]
    aggregate: tuple[float, ...]
    scores: dict[str, tuple[float, ...]] = Field(description="by class")
    metrics: dict[str, tuple[float | None, ...]] = Field(
        default_factory=dict, description="every metric but the aggregate, of all classes, by key"
    )
    error: float = Field(
        description="estimate of how far a value is from the score at that temperature at most, not a bound"
    )


class Calibrated(MetricBlock):
    """The metrics at the calibrated temperature, beside those at the temperature of the audit.

    Its temperature was chosen on the same samples. So the intervals are a band, which holds at every temperature of a
    range at once with probability 1 - delta; ``interval.temperatures`` is the range (where it is null, an earlier
    version made them as if T* had been fixed beforehand). Those of the audit itself have a level of their own. There is
    no noise floor: audit other samples at this temperature to have one.
    """

    temperature: float = Field(description="T*, chosen on these samples")
    aggregate: float
    class_mean: float
    aggregate_interval: Interval | None = None
    class_mean_interval: Interval | None = None
    interval: IntervalInfo | None = Field(default=None, description="how the intervals here were made")
    classes: tuple[ClassResult, ...] = Field(description="with intervals at T*, as interval says")
    worst_set: tuple[str, ...] = Field(description="from these intervals")
    rdi: Disparity
    nrgc: Metric
    wcr: WorstCase
    fp_great: Penalised
    theil: Metric
    atkinson: Atkinson
    metrics: dict[str, Metric] = Field(default_factory=dict, description="those of plug-ins, by key")


class ObjectiveSteps(Result):
    """An objective as a step function of the temperature: one more edge than values, rising."""

    edges: tuple[float, ...] = Field(
        default=(), description="temperatures at which a step begins, and the end of the last one"
    )
    values: tuple[float | None, ...] = Field(default=(), description="of each step; null where the objective has none")


class GridOptimum(Result):
    """The first of the best temperatures on a grid."""

    temperature: float
    value: float
    tried: int = Field(description="temperatures looked at")


class Baselines(Result):
    """What the objective gives without calibration; null where it gives nothing."""

    at_one: float | None = Field(default=None, description="at T = 1")
    clean_accuracy: float | None = Field(default=None, description="with clean accuracy in the place of the score")


class LeftOut(Result):
    """What a calibration gives when one model is left out; null where nothing is left to maximise."""

    model: str
    temperature: float | None = Field(description="where the others' objective is highest")
    value: float | None = Field(description="of the others' objective there")
    at_full: float | None = Field(
        description="of the others' objective at the T* of all models: lower where T* depends on the model"
    )

    @property
    def loss(self) -> float:
        """What the others lose at the temperature of all: 0 when it is among their best."""
        return 0.0 if self.value is None or self.at_full is None else max(0.0, self.value - self.at_full)


class AgainstReference(Result):
    """How the models rank beside a reference: by the calibrated score, uncalibrated, and by clean accuracy alone."""

    calibrated: Agreement | None = Field(
        description="at T*; with the objective given without p-values and intervals, since T* was chosen to make this "
        "agreement large"
    )
    at_one: Agreement | None = Field(description="at T = 1; null when that is out of the range searched")
    clean_accuracy: Agreement


class Calibration(Result):
    """All temperatures that maximise an objective over some models, and what the choice is worth.

    Undefined when ``temperature`` is null: the flags say why.
    """

    objective: str
    models: tuple[str, ...]
    temperature: float | None = Field(description="T*, the middle of the widest interval; null when undefined")
    value: float | None = Field(description="of the objective, anywhere in the intervals")
    intervals: tuple[Interval, ...] = Field(description="all temperatures that maximise it: open intervals")
    temperature_range: Interval = Field(description="what was searched")
    resolution: float | None = Field(default=None, description="of the intervals' ends, as a factor; null: exact")
    curve: ObjectiveSteps = Field(description="the objective, a step function of T")
    grid: GridOptimum | None = Field(default=None, description="what the paper's two-phase grid search finds")
    baselines: Baselines = Field(description="the objective at T = 1, and by clean accuracy alone")
    left_out: tuple[LeftOut, ...] = Field(default=(), description="what the others give without each model")
    reference: AgainstReference | None = Field(default=None, description="null when none was given")
    flags: tuple[Flag, ...] = ()

    def to_json(self) -> str:
        """As ``calibrate --json`` prints it."""
        return self.model_dump_json(indent=1) + "\n"
