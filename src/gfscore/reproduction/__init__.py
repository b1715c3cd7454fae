"""Recomputes the GF-Score paper from its own published numbers, and judges what it says by them."""

from gfscore.paper.published_numbers import Dataset, Published, origins, published
from gfscore.reproduction.as_audit import published_audit
from gfscore.reproduction.calibration import calibration_claims
from gfscore.reproduction.certainty import certainty_claims
from gfscore.reproduction.classes import class_claims
from gfscore.reproduction.facts import TITLES, Facts
from gfscore.reproduction.printed import printed_claims
from gfscore.reproduction.rankings import ranking_claims
from gfscore.reproduction.reranking import reranking_claims
from gfscore.reproduction.result import PaperClaim, Reproduction, Verdict
from gfscore.reproduction.statements import statement_claims
from gfscore.reproduction.tables import tables

__all__ = ["PaperClaim", "Reproduction", "Verdict", "published_audit", "recompute", "reproduce"]

TOPICS = (
    printed_claims,
    class_claims,
    ranking_claims,
    reranking_claims,
    calibration_claims,
    certainty_claims,
    statement_claims,
)


def reproduce(dataset: Dataset) -> Reproduction:
    """Recompute one of the paper's two experiments from the numbers published with it.

    Shah, Visavadiya and Padala, "GF-Score" (2026).

    >>> claim = reproduce("cifar10").claim("calibrated-rho")
    >>> claim.published, claim.recomputed, claim.verdict.value
    ('ρ = 0.871', 'ρ = 0.520', 'fails')
    """
    return recompute(published(dataset))


def recompute(numbers: Published) -> Reproduction:
    """The same from any numbers of that form; the verdicts follow the numbers."""
    facts = Facts.of(numbers)
    return Reproduction(
        dataset=facts.dataset,
        title=f"{TITLES[facts.dataset]} ({numbers.threat})",
        setup=f"{facts.n_models} models from RobustBench, {facts.n_classes:,} classes, {facts.n_min:,} samples in "
        f"each, {numbers.activation}; T = 1 and T = {facts.temperature:.2f}",
        tables=tables(facts),
        claims=tuple(claim for topic in TOPICS for claim in topic(facts)),
        sources=origins(facts.dataset),
    )
