"""``audit.json``: one or more models, and what was found over all of them.

The contract with whoever reads it: within ``gfscore.audit/1`` keys are only added, readers ignore keys
they do not know, and a number that does not exist is null, never 0.
"""

from typing import TYPE_CHECKING, Self

from pydantic import Field

from gfscore.errors import ResultError, require
from gfscore.results.base_result import Flag, Metric, Provenance, ResultFile
from gfscore.results.calibration_result import Calibration, ModelRanking
from gfscore.results.class_result import Atkinson, ClassResult, Disparity, Penalised, WorstCase
from gfscore.results.model_result import ModelAudit, check_consistent

if TYPE_CHECKING:
    import pandas as pd


class Audit(ResultFile):
    """Audits of one or more models; with exactly one, its numbers can be read from here directly."""

    schema_: str = Field(default="gfscore.audit/1", alias="schema", pattern=r"^gfscore\.audit/1$")
    models: tuple[ModelAudit, ...] = Field(min_length=1)
    calibration: Calibration | None = None
    ranking: ModelRanking | None = Field(
        default=None,
        description="how alike two numbers order three or more models: score and clean accuracy, and with a reference "
        "either of them and it; Spearman and Kendall with p-values and intervals",
    )
    provenance: Provenance

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what :meth:`to_json` wrote; numbers that contradict each other are refused."""
        audit = super().from_json(text)
        for model in audit.models:
            check_consistent(model)
        return audit

    def to_frame(self) -> "pd.DataFrame":
        """One row per model and class (needs pandas, from the extra ``tables``)."""
        pandas = require("pandas", extra="tables", purpose="a data frame")
        return pandas.DataFrame(
            [
                {
                    "model": model.name,
                    model.partition: entry.name,
                    "n": entry.n,
                    "score": entry.score,
                    "std": entry.std,
                    "lower": None if entry.interval is None else entry.interval[0],
                    "upper": None if entry.interval is None else entry.interval[1],
                    "accuracy": entry.accuracy,
                    "robust_accuracy": None if entry.robust_accuracy is None else entry.robust_accuracy.value,
                    "shrunken": entry.shrunken,
                    "confused_with": entry.confused_with,
                    "confused_share": entry.confused_share,
                    "abstained": entry.abstained,
                    "refuted": None if entry.refuted is None else entry.refuted.value,
                }
                for model in self.models
                for entry in model.classes
            ]
        )

    def __getitem__(self, name: str) -> ModelAudit:
        for model in self.models:
            if model.name == name:
                return model
        raise KeyError(f"no model {name!r}; there are {', '.join(repr(model.name) for model in self.models)}")

    @property
    def model(self) -> ModelAudit:
        """The only model; with several, take one by name: ``audit["name"]``."""
        if len(self.models) != 1:
            names = ", ".join(repr(model.name) for model in self.models)
            raise ResultError(f"this audit holds {len(self.models)} models ({names}). Take one: audit[name].")
        return self.models[0]

    @property
    def classes(self) -> tuple[ClassResult, ...]:
        """Classes of the only model."""
        return self.model.classes

    @property
    def accuracy(self) -> float:
        """Clean accuracy of the only model."""
        return self.model.accuracy

    @property
    def aggregate(self) -> float:
        """Mean local score of the only model: its GREAT score."""
        return self.model.aggregate

    @property
    def class_mean(self) -> float:
        """Unweighted mean of the class scores of the only model."""
        return self.model.class_mean

    @property
    def rdi(self) -> Disparity:
        """RDI of the only model."""
        return self.model.rdi

    @property
    def nrgc(self) -> Metric:
        """NRGC of the only model."""
        return self.model.nrgc

    @property
    def wcr(self) -> WorstCase:
        """WCR of the only model."""
        return self.model.wcr

    @property
    def fp_great(self) -> Penalised:
        """FP-GREAT of the only model."""
        return self.model.fp_great

    @property
    def theil(self) -> Metric:
        """Theil's index of the only model."""
        return self.model.theil

    @property
    def atkinson(self) -> Atkinson:
        """Atkinson's index of the only model."""
        return self.model.atkinson

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Flags of the only model."""
        return self.model.flags

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.models))

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return "".join(model._repr_html_() for model in self.models)
