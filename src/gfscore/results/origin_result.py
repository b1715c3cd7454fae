"""What the numbers of a model come from: the local score, the samples, and the kind of interval."""

from typing import Any, Literal

from pydantic import Field

from gfscore.results.base_result import Interval, Result

WeightedBy = Literal["samples", "class_sizes", "unequal_draws"]


class ScoreInfo(Result):
    """Which local score was used, and how."""

    name: str = Field(description="great, or another local score")
    range: Interval = Field(description="smallest and largest value a sample can have")
    activation: Literal["softmax", "sigmoid"] | None = None
    temperature: float | None = None
    norm: str | None = None
    eps: float | None = None
    settings: dict[str, Any] | None = Field(
        default=None, description="what else decides the score, such as rivals, directions or sigma"
    )
    probabilities: bool = Field(default=False, description="the input held probabilities, not logits")


class SamplesInfo(Result):
    """Where the samples came from."""

    source: str = Field(description="file, or 'arrays' when they were handed over in memory")
    n: int = Field(ge=1)
    seed: int | None = Field(default=None, description="of the generator that drew them, if one did")
    weighted_by: WeightedBy = Field(
        default="samples",
        description="what numbers of the whole (aggregate, accuracy, robust_accuracy, abstained) are means over: all "
        "samples alike; classes by their size, because they were not drawn in proportion to it; or unequal_draws: all "
        "samples alike although classes were not drawn in proportion, so that these numbers are about the draw only",
    )


class IntervalInfo(Result):
    """What all intervals of a model have in common: together they hold with probability 1 - delta."""

    method: str = Field(description="betting, kl, bernstein, hoeffding, blocks or mixture")
    delta: float = Field(gt=0, lt=1)
    target: Literal["population", "finite"] = Field(
        description="what is bounded: the distribution the samples come from, or the fixed set they were drawn from"
    )
    seed: int | None = Field(
        default=None,
        description="of the order in which betting takes the samples, or of the blocks that they were dealt to",
    )
    anytime: bool = Field(
        default=False, description="they hold together at every moment of a stream, whatever made one look or stop"
    )
