"""The paper recomputed from its own published numbers: tables, and every claim judged. Frozen, to JSON."""

from pydantic import Field

from gfscore.paper.claim_table import PaperClaim
from gfscore.paper.claims_on_classes import ON_CLASSES
from gfscore.paper.claims_on_method import COMPARISON_TABLE, ON_METHOD
from gfscore.paper.claims_on_models import ON_MODELS
from gfscore.paper.facts import TITLES, PaperFacts
from gfscore.paper.printed_tables import ON_TABLES, Table, recomputed_tables
from gfscore.paper.published_numbers import Dataset, Origin, Published, origins, published
from gfscore.results import Result

TOPICS = (ON_TABLES, ON_CLASSES, ON_MODELS, ON_METHOD)


class Reproduction(Result):
    """One of the paper's two experiments, recomputed from its published numbers."""

    schema_: str = Field(default="gfscore.reproduction/1", alias="schema")
    dataset: Dataset
    title: str
    setup: str = Field(description="what was evaluated, in one line")
    tables: tuple[Table, ...]
    claims: tuple[PaperClaim, ...]
    sources: tuple[Origin, ...]

    def to_json(self) -> str:
        """The whole reproduction, numbers in full precision."""
        return self.model_dump_json(indent=1) + "\n"

    def claim(self, identifier: str) -> PaperClaim:
        """The claim with this id."""
        return next(claim for claim in self.claims if claim.id == identifier)


def reproduce(dataset: Dataset) -> Reproduction:
    """Recompute one of the paper's two experiments from the numbers published with it.

    Shah, Visavadiya and Padala, "GF-Score" (2026).

    >>> claim = reproduce("cifar10").claim("calibrated-rho")
    >>> claim.published, claim.recomputed, claim.verdict.value
    ('ρ = 0.871', 'ρ = 0.520', 'fails')
    """
    return recompute(published(dataset))


def recompute(numbers: Published) -> Reproduction:
    """Tables and claims from any numbers of the published form; the verdicts follow the numbers."""
    facts = PaperFacts(numbers)
    return Reproduction(
        dataset=facts.dataset,
        title=f"{TITLES[facts.dataset]} ({numbers.threat})",
        setup=f"{facts.n_models} models from RobustBench, {facts.n_classes:,} classes, {facts.n_min:,} samples in "
        f"each, {numbers.activation}; T = 1 and T = {facts.temperature:.2f}",
        tables=recomputed_tables(facts),
        claims=(*(claim for topic in TOPICS for claim in topic.judge(facts)), COMPARISON_TABLE),
        sources=origins(facts.dataset),
    )
