"""What every result is made of: frozen models, numbers with intervals, and remarks.

A number that does not exist is null, never 0. Readers ignore keys that they do not know.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Interval = tuple[float, float]
Share = Annotated[float, Field(ge=0, le=1)]


class Result(BaseModel):
    """Base of everything in a result file."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        validate_by_name=True,
        serialize_by_alias=True,
        allow_inf_nan=False,
    )


class Metric(Result):
    """A number of a model or class, and how far it may be from the truth."""

    value: float | None = Field(description="null when it does not exist, as the Gini coefficient of zeros")
    interval: Interval | None = Field(default=None, description="null when no bound was computed")


class Flag(Result):
    """Something that makes a number less trustworthy than it looks."""

    code: str
    message: str
