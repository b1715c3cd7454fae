"""What a run would take: a dry run, printed, or read by programs."""

from typing import Literal

from pydantic import Field

from gfscore.results.base_result import Interval, Result, ResultFile


class PlannedMeasure(Result):
    """One thing that would be asked of a model."""

    what: str = Field(description="logits, sums, radii, sums of radii, votes or attacks")
    images: int = Field(ge=0, description="that it is asked of, those in the store too")
    stored: int = Field(ge=0, description="images of which the store has it already")
    forward_passes: int = Field(ge=0, description="images that would still go through the model")
    backward_passes: int = Field(ge=0, description="gradients of an image that would still be computed")
    most_forward_passes: int | None = Field(
        default=None, ge=0, description="at most, where an attack may break less than is estimated; null: none more"
    )
    most_backward_passes: int | None = Field(default=None, ge=0, description="the same of gradients")
    most_seconds: float | None = Field(default=None, ge=0, description="the same of the time")
    passes_are: Literal["exact", "estimated", "at most"] = Field(
        description="estimated, where they depend on which images are classified correctly, which is not known yet; at "
        "most, where the run ends as soon as it is sure"
    )
    bytes_written: int = Field(ge=0, description="to the store, about")
    seconds: float = Field(ge=0, description="that it would still take, from the trial")
    seconds_range: Interval = Field(description="by the slowest and the quickest piece of the trial")
    cpu_seconds: float = Field(ge=0, description="of all cores together")
    tried: int = Field(ge=0, description="images of the trial")


class PlannedModel(Result):
    """What would be asked of one model on one data set."""

    name: str
    data: str
    n: int = Field(description="images")
    classes: int
    measures: tuple[PlannedMeasure, ...]
    start_seconds: float = Field(description="that opening, hashing and looking at model and data took")
    memory: int = Field(description="bytes: of this process after the trial, and arrays that the run would hold")
    seconds: float
    seconds_range: Interval
    cpu_seconds: float


class DryRun(ResultFile):
    """What a command would compute, and how long that would take; nothing of it was computed.

    Times are of measuring, on this machine and in one process, while the trial ran: not of intervals and reports, which
    come after it.
    """

    schema_: Literal["gfscore.dry_run/1"] = Field(default="gfscore.dry_run/1", alias="schema")
    job: str = Field(description="audit, gate, ...")
    models: tuple[PlannedModel, ...]

    @property
    def seconds(self) -> float:
        """Of all models, one after the other."""
        return sum(model.seconds for model in self.models)

    @property
    def forward_passes(self) -> int:
        """Of all models."""
        return sum(measure.forward_passes for model in self.models for measure in model.measures)
