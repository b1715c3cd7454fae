"""Models ranked by the robust accuracy of their worst class, with the ranks that the data allow."""

from typing import Any, Literal

from pydantic import Field

from gfscore.results.base_result import Metric, Provenance, Result, ResultFile, Share

Kind = Literal["attacked", "bounded", "certified", "estimated"]


class RankedModel(Result):
    """A model and its place."""

    name: str
    rank: int = Field(ge=1, description="by the estimate, from 1 for the highest; models that are equal share it")
    ranks: tuple[int, int] = Field(description="best and worst rank that the intervals of all models allow")
    worst: Metric = Field(description="robust accuracy of the worst class; the interval is the one that ranks rest on")
    worst_class: str
    worst_set: tuple[str, ...] = Field(description="classes whose interval allows them to be the worst")
    whole: Share | None = Field(description="robust accuracy of all samples; null where it is not known")
    accuracy: Share = Field(description="clean")
    n: int = Field(ge=0, description="samples with a radius, or attacked")
    delta: float = Field(gt=0, lt=1, description="what the intervals of this model fail with at most")


class UnrankedModel(Result):
    """A model that has no place beside the others, and why: it is not the last of them."""

    name: str
    reason: str


class Leaderboard(ResultFile):
    """What ``gfscore leaderboard`` says."""

    schema_: str = Field(default="gfscore.leaderboard/1", alias="schema", pattern=r"^gfscore\.leaderboard/1$")
    kind: Kind = Field(
        description="where robust accuracy comes from: attacks on all samples, attacks on few of them (bounded), "
        "proofs, or radii (first-order, refined at midpoints where gradients allow), which bound nothing"
    )
    norm: str
    eps: float = Field(gt=0, description="size of the attacks, in [0, 1] pixels")
    data: str | None = Field(description="what the models were run on; null where that is not known")
    partition: str = "class"
    n_classes: int = Field(ge=2)
    delta: float = Field(gt=0, lt=1, description="all intervals and all ranks hold together with probability 1 - delta")
    models: tuple[RankedModel, ...] = Field(min_length=2, description="the highest first")
    unranked: tuple[UnrankedModel, ...] = ()
    provenance: Provenance

    def plot(self) -> Any:
        """The models with the ranks that the data allow: an Altair chart."""
        return self._ask("plot")
