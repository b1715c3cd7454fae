"""Recomputes the GF-Score paper from its own published numbers, and judges what it says by them."""

from gfscore.reference import Dataset, Published, published, sources
from gfscore.reproduction.as_audit import published_audit
from gfscore.reproduction.calibration import calibration_claims
from gfscore.reproduction.certainty import certainty_claims
from gfscore.reproduction.classes import class_claims
from gfscore.reproduction.facts import TITLES, Facts
from gfscore.reproduction.printed import printed_claims
from gfscore.reproduction.rankings import ranking_claims
from gfscore.reproduction.reranking import reranking_claims
from gfscore.reproduction.result import Origin, PaperClaim, Reproduction, Verdict
from gfscore.reproduction.statements import statement_claims
from gfscore.reproduction.tables import tables

__all__ = ["LITERATURE", "PaperClaim", "Reproduction", "Verdict", "published_audit", "recompute", "reproduce"]

TOPICS = (
    printed_claims,
    class_claims,
    ranking_claims,
    reranking_claims,
    calibration_claims,
    certainty_claims,
    statement_claims,
)
LITERATURE = (
    Origin(name="Shah et al. 2026", what="the paper", origin="Shah, Visavadiya, Padala, GF-Score, arXiv 2604.12757"),
    Origin(
        name="authors' code",
        what="how images are read, what is searched",
        origin="github.com/aryashah2k/gf-score, data/download_data.py and evaluation/run_evaluation.py in gf_score",
    ),
    Origin(
        name="Li et al. 2024",
        what="the GREAT score",
        origin="Li, Chen, Ho, GREAT Score, NeurIPS 2024, arXiv 2304.09875",
    ),
    Origin(
        name="original code",
        what="ρ = 0.6618 for generated samples; scores by group of faces",
        origin="github.com/IBM/GREAT-Score, src/figures_code/rank_correlation.py and src/face_code/GREAT_SCORE_FACE.py",
    ),
    Origin(
        name="RobustBench",
        what="5,000 random ImageNet images; how they are resized",
        origin="github.com/RobustBench/robustbench, issue 47 and robustbench/data.py",
    ),
    Origin(
        name="Tsipras et al. 2019",
        what="robustness against accuracy",
        origin="Tsipras et al., Robustness May Be at Odds with Accuracy, ICLR 2019, arXiv 1805.12152",
    ),
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
        sources=(
            *(Origin(name=source.file, what=source.what, origin=source.origin) for source in sources(facts.dataset)),
            *LITERATURE,
        ),
    )
