"""``comparison.json``: two versions of a model, class by class."""

from typing import Literal

from pydantic import Field

from gfscore.results.base_result import Flag, Metric, Result
from gfscore.results.origin_result import ScoreInfo
from gfscore.results.result_file import Provenance, ResultFile
from gfscore.results.verdict_result import Verdict

COMPARISON_SCHEMA = "gfscore.comparison/1"


class ClassChange(Result):
    """A class (or group) in two versions of a model."""

    name: str
    n: int = Field(description="samples behind the change; of the new version where they are not shared")
    old: float
    new: float
    change: Metric = Field(description="new minus old; all intervals of a comparison hold together")
    accuracy: tuple[float, float] = Field(description="old and new")
    p_value: float | None = Field(default=None, description="of 'no worse'; null where samples are not shared")
    p_holm: float | None = Field(default=None, description="the same, corrected for all classes")
    verdict: Literal["worse", "better", "within", "unclear"] = Field(
        description="within: where a tolerance was given, shown to have fallen by no more"
    )


class MetricChange(Metric):
    """A metric of the whole model in two versions; value and interval are of the change, new minus old."""

    old: float | None
    new: float | None
    reason: str | None = Field(default=None, description="why there is no change, where both versions have a value")


class Comparison(ResultFile):
    """Two versions of a model, class by class."""

    schema_: str = Field(default=COMPARISON_SCHEMA, alias="schema", pattern=r"^gfscore\.comparison/1$")
    old: str
    new: str
    score: ScoreInfo | None = Field(default=None, description="which local score is compared, and how it was made")
    paired: bool
    pairing: str = Field(description="how samples were matched, or why they were not")
    n: int = Field(ge=1, description="samples compared; of the new version where they are not shared")
    partition: Literal["class", "group"] = "class"
    delta: float = Field(gt=0, lt=1, description="anything below is wrong with at most this probability")
    tolerance: float | None = Field(default=None, ge=0, description="a fall that is accepted")
    classes: tuple[ClassChange, ...]
    not_compared: tuple[str, ...] = Field(
        default=(), description="classes that a version has samples of, but that could not be compared"
    )
    metrics: dict[str, MetricChange]
    accuracy: tuple[float, float] = Field(description="old and new")
    worse: tuple[str, ...] = Field(description="classes that fell: Holm's procedure, or disjoint intervals")
    better: tuple[str, ...] = Field(description="classes whose interval lies above 0")
    hidden: str | None = Field(description="what a better mean hides, in a sentence; null when it hides nothing")
    verdict: Verdict = Field(
        description="FAIL: a class is worse; UNDECIDED: where a tolerance was given, or a class was not compared"
    )
    reason: str
    flags: tuple[Flag, ...] = ()
    provenance: Provenance
