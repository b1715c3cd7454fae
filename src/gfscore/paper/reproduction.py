"""The paper recomputed from its own published numbers: tables, every claim judged, and the numbers as an audit."""

import numpy as np
from pydantic import Field

from gfscore import results
from gfscore.arrays import FloatArray
from gfscore.assemble import make_provenance, metric_block
from gfscore.bounds import box, hoeffding_intervals
from gfscore.metrics import ClassScores, all_metrics
from gfscore.paper.claims_on_classes import ON_CLASSES, Judgement, Standing, grade
from gfscore.paper.claims_on_models import ON_MODELS
from gfscore.paper.published_numbers import (
    DATASETS,
    ClaimRow,
    Dataset,
    Origin,
    Published,
    PublishedModel,
    origins,
    published,
)
from gfscore.paper.recomputed import DELTA, TITLES, PaperFacts, Table, recomputed_tables
from gfscore.results import Result
from gfscore.score_titles import GREAT
from gfscore.scores import SCORE_MAX
from gfscore.scores.great import PREMISE

SOURCE = "published with Shah, Visavadiya, Padala (2026), arXiv 2604.12757"
JUDGES = ON_CLASSES | ON_MODELS  # by the id of the claim


class PaperClaim(Result):
    """A statement of the paper, in our words, beside what its published numbers give."""

    id: str
    datasets: tuple[Dataset, ...] = Field(description="the experiments it is about")
    where: str | None = Field(default=None, description="where in the paper; null for a finding about the whole")
    statement: str
    published: str | None = Field(default=None, description="what the paper says; null when it says nothing")
    recomputed: str
    verdict: Standing
    explanation: str


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
    ('rank correlation 0.871', 'rank correlation 0.520', 'fails')
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
        claims=tuple(_judge(row, facts) for row in numbers.claims),
        sources=origins(facts.dataset),
    )


def _judge(row: ClaimRow, facts: PaperFacts) -> PaperClaim:
    """A claim with its verdict, in the words of its row."""
    values, standing, case = Judgement({}, Standing(row.verdict)) if row.verdict else JUDGES[row.id](facts)
    recomputed = row.recomputed.format(f=facts, **values)
    if standing is None:
        standing = Standing.FINDING if row.published is None else grade(recomputed == row.published)
    texts = {"otherwise": row.explanation} if isinstance(row.explanation, str) else row.explanation
    explanation = texts.get(case or standing) or texts["otherwise"]
    return PaperClaim(
        id=row.id,
        datasets=DATASETS if row.verdict else (facts.dataset,),
        where=row.where,
        statement=row.statement.format(f=facts),
        published=row.published,
        recomputed=recomputed,
        verdict=standing,
        explanation=explanation.format(f=facts, **values),
    )


def published_audit(dataset: Dataset) -> results.Audit:
    """An audit of the paper's models at T = 1, from the numbers published with it.

    Intervals are Hoeffding's, the paper's own bound: means and counts are all it needs. Those of the metrics are what
    the class intervals allow. What takes the samples themselves (the noise floor, confusions) is None.

    >>> audit = published_audit("cifar10")
    >>> model = audit["Rebuffi_extra"]
    >>> len(audit.models), model.wcr.class_, round(model.rdi.value, 3)
    (17, 'cat', 0.333)
    """
    numbers = published(dataset)
    words = numbers.readable_names  # of some WordNet ids
    names = tuple(f"{name} {words[name]}" if name in words else name for name in numbers.class_names)
    return results.Audit(
        models=tuple(_model(model, names, numbers.activation) for model in numbers.models),
        calibration=_calibration(numbers),
        provenance=make_provenance(),
    )


def _model(model: PublishedModel, names: tuple[str, ...], activation: str) -> results.ModelAudit:
    scores, counts = model.scores, model.counts
    lower, upper = hoeffding_intervals(scores, counts, DELTA)
    shares: FloatArray = counts / counts.sum()
    profile = ClassScores(scores=scores, weights=shares)
    return results.ModelAudit(
        name=model.short_name,
        score=results.ScoreInfo(name=GREAT, range=(0.0, SCORE_MAX), activation=activation, temperature=1.0),
        samples=results.SamplesInfo(source=SOURCE, n=int(counts.sum())),
        interval=results.IntervalInfo(method="hoeffding", delta=DELTA, target="population"),
        accuracy=model.accuracy,
        classes=tuple(
            results.ClassResult(
                name=name,
                n=int(counts[k]),
                score=float(scores[k]),
                std=float(model.stds[k]),
                accuracy=float(model.accuracies[k]),
                interval=(float(lower[k]), float(upper[k])),
                confused_with=None,
            )
            for k, name in enumerate(names)
        ),
        absent_classes=(),
        worst_set=tuple(names[k] for k in np.flatnonzero(lower <= upper.min())),
        **metric_block(profile, names, _intervals(profile, lower, upper)),
        flags=(),
        claim=results.Claim(premise=PREMISE),
    )


def _intervals(profile: ClassScores, lower: FloatArray, upper: FloatArray) -> dict[str, results.Interval | None]:
    """What the class intervals leave of each metric."""
    found = {key: metric.between(profile, lower, upper) for key, metric in all_metrics().items()}
    found["rdi"] = box.rdi_range(lower, upper)
    found["fp_great"] = box.fp_great_range(lower, upper, profile.fairness_weight)
    found["nrgc"] = box.nrgc_range(lower, upper)
    found["theil"] = box.theil_range(lower, upper)
    found["atkinson"] = box.atkinson_range(lower, upper)
    return found


def _calibration(numbers: Published) -> results.Calibration:
    """The published search for a temperature, as it was sampled; what it does not say is absent."""
    temperatures, values = numbers.trace.points
    order = np.argsort(temperatures, kind="stable")
    starts = temperatures[order].tolist()
    return results.Calibration(
        objective="classes",  # our name of what the paper searched
        models=tuple(model.short_name for model in numbers.models),
        temperature=numbers.models[0].temperature,
        value=float(values.max()),
        intervals=(),
        temperature_range=(starts[0], starts[-1]),
        curve=results.ObjectiveSteps(edges=(*starts, starts[-1]), values=tuple(values[order].tolist())),
        baselines=results.Baselines(),
    )
