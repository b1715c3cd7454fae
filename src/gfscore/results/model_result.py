"""Everything about one model."""

from collections.abc import Callable
from html import escape
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field

from gfscore.results.base_result import Flag, Interval, Metric, Share
from gfscore.results.calibration_result import Calibrated, Curves
from gfscore.results.check_result import Claim, CrossCheck
from gfscore.results.class_result import (
    Atkinson,
    ClassResult,
    Disparity,
    MetricBlock,
    NoiseFloor,
    Penalised,
    WorstCase,
)
from gfscore.results.origin_result import IntervalInfo, RunInfo, SamplesInfo, ScoreInfo

Show = Callable[[Any], str]  # a model as text


class ModelAudit(MetricBlock):
    """Everything about one model."""

    name: str
    score: ScoreInfo
    samples: SamplesInfo
    run: RunInfo | None = Field(default=None, description="when the logits were made here")
    interval: IntervalInfo
    partition: Literal["class", "group"] = "class"
    accuracy: Share = Field(description="share of correct decisions, of what samples.weighted_by says")
    aggregate: float = Field(description="mean local score, of what samples.weighted_by says")
    aggregate_interval: Interval | None = Field(
        default=None, description="null when no bound was computed, as for unequal draws that cannot be weighed"
    )
    class_mean: float = Field(description="unweighted mean of the class scores")
    class_mean_interval: Interval | None = None
    classes: tuple[ClassResult, ...] = Field(
        min_length=2, description="in the order of the class index; groups by name"
    )
    absent_classes: tuple[str, ...] = Field(description="classes without a sample: left out of every metric")
    worst_set: tuple[str, ...] = Field(description="classes whose interval allows them to be the worst")
    rdi: Disparity
    nrgc: Metric
    wcr: WorstCase
    fp_great: Penalised
    theil: Metric
    atkinson: Atkinson
    metrics: dict[str, Metric] = Field(default_factory=dict, description="those of plug-ins, by key")
    robust_accuracy: Metric | None = Field(
        default=None, description="share of radii above eps; the interval covers sampling only: it is no bound"
    )
    abstained: Share | None = Field(default=None, description="share of all samples for which no class was named")
    noise: NoiseFloor | None = None
    flags: tuple[Flag, ...]
    claim: Claim
    cross_check: CrossCheck | None = None
    verdict: str | None = None
    curves: Curves | None = None
    calibrated: Calibrated | None = None

    _shown: ClassVar[dict[str, Show]] = {}

    @property
    def class_weights(self) -> tuple[float, ...]:
        """What each class counts for in numbers of the whole; they sum to 1."""
        by_size = self.samples.weighted_by == "class_sizes"
        totals = [(entry.size or 0) if by_size else entry.n for entry in self.classes]
        return tuple(total / sum(totals) for total in totals)

    @classmethod
    def show_as(cls, *, text: Show, html: Show) -> None:
        """Have all models show themselves so, at a prompt and in a notebook: results hold numbers and no words."""
        cls._shown.update(text=text, html=html)

    def __repr__(self) -> str:
        return self._shown.get("text", BaseModel.__repr__)(self)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return self._shown.get("html", lambda model: f"<pre>{escape(repr(model))}</pre>")(self)
