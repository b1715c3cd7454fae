"""``audit.json``: one or more models, and what was found over all of them.

The contract with whoever reads it: within ``gfscore.audit/1`` keys are only added, readers ignore keys
they do not know, and a number that does not exist is null, never 0.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from pydantic import Field

from gfscore.errors import NoSuchNameError, ResultError, require
from gfscore.results.base_result import Flag, Metric, Provenance, ResultFile
from gfscore.results.calibration_result import Calibration, ModelRanking
from gfscore.results.class_result import Atkinson, ClassResult, Disparity, Penalised, Robustness, WorstCase, find_named
from gfscore.results.model_result import ModelAudit, check_consistent

if TYPE_CHECKING:
    import pandas as pd

    from gfscore.results.verdict_result import Comparison, GateResult


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

    def __getitem__(self, name: str) -> Any:
        """A model by its name, or the class of that name of the only model."""
        models = [model for model in self.models if model.name == name]
        inside = [entry for entry in self.models[0].classes if entry.name == name] if len(self.models) == 1 else []
        if models and inside:
            raise ResultError(
                f"{name!r} is a model and one of its classes. Say which: audit.model, audit.model[{name!r}]."
            )
        if models or inside:
            return models[0] if models else inside[0]
        if len(self.models) == 1:
            return self.models[0][name]
        if any(entry.name == name for model in self.models for entry in model.classes):
            raise NoSuchNameError(f"{name!r} is a class of several models. Take a model first: audit[model][{name!r}].")
        return find_named(self.models, name, "model")

    def plot(self) -> Any:
        """An Altair chart: robust accuracy over eps by class, or by model; where it is unknown, the scores."""
        return self._ask("plot")

    def report(self, path: str | Path, **words: Any) -> Path:
        """Write a report to a file that ends in .html, .md or .pdf.

        ``words`` are those of its author: ``title``, ``author``, ``subject``, ``date`` and ``notes``.
        """
        return Path(self._ask("report", path, **words))

    def gate(self, policy: Any = None, **rules: Any) -> "GateResult":
        """Judge by rules, such as ``wcr=0.1``: see :func:`gfscore.gate`."""
        return cast("GateResult", self._ask("gate", policy, **rules))

    def compare(self, new: Any, **words: Any) -> "Comparison":
        """Compare with a later version: see :func:`gfscore.compare`."""
        return cast("Comparison", self._ask("compare", new, **words))

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
    def robust_accuracy(self) -> Metric | None:
        """Of the one model, at the eps of its headline; None where no radii were measured."""
        return self.model.robust_accuracy

    @property
    def robustness(self) -> Robustness | None:
        """Of the one model: robust accuracy at a ladder of eps; None where no radii were measured."""
        return self.model.robustness

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
