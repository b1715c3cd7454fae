"""What the numbers of a model come from: the local score, the samples, the run that made them, the kind of interval."""

from typing import Literal

from pydantic import Field

from gfscore.results.base_result import Interval, Result

WeightedBy = Literal["samples", "class_sizes", "unequal_draws"]
Setting = float | int | str | bool | None


class ScoreInfo(Result):
    """Which local score was used, and how."""

    name: str = Field(description="great, or another local score")
    range: Interval = Field(description="smallest and largest value a sample can have")
    activation: Literal["softmax", "sigmoid"] | None = None
    temperature: float | None = None
    norm: str | None = None
    eps: float | None = None
    settings: dict[str, Setting] | None = Field(
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


class ModelInfo(Result):
    """A model that was run."""

    name: str
    fingerprint: str | None = Field(
        description="changes whenever its outputs may; null for a function in memory, of which nothing tells that"
    )


class DataInfo(Result):
    """Data that a model was run on."""

    source: str
    fingerprint: str = Field(description="changes whenever images or labels may")
    seed: int | None = Field(default=None, description="of the generator that drew them, if one did")


class PreprocessingInfo(Result):
    """What happened to the pixels before the model saw them; by default nothing."""

    mean: tuple[float, ...] = Field(default=(0.0,), description="taken off each channel, of pixels in [0, 1]")
    std: tuple[float, ...] = Field(default=(1.0,), description="that each channel is then divided by")
    resize: int | tuple[int, int] | None = Field(default=None, description="shorter side, or height and width")
    crop: int | tuple[int, int] | None = Field(default=None, description="of the middle: side, or height and width")
    interpolation: str = Field(default="bilinear", description="of resize")
    grey: bool = False
    value_range: Interval | None = Field(
        default=None, description="that is mapped to [0, 1]; null: 0 to 255 for whole numbers, else 0 to 1"
    )
    layout: str | None = Field(default=None, description="NCHW or NHWC, of the stored images, where it was said")


class RunInfo(Result):
    """How a model was run: all that decides its outputs."""

    model: ModelInfo
    data: DataInfo
    preprocessing: PreprocessingInfo
    batch_size: int | None = Field(default=None, description="null in files of versions that did not record it")


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
