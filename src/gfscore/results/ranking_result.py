"""How alike two numbers order models, or classes."""

from typing import Literal, Self

from pydantic import Field

from gfscore.results.base_result import Interval, Result


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
