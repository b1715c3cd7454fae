"""Profile, metrics, intervals and flags, put together into a result; and what made it."""

import math
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy

from gfscore.__about__ import __version__
from gfscore.bounds import AuditIntervals, shrunken_scores
from gfscore.metrics import BUILT_IN, ClassScores, all_metrics, formulas
from gfscore.profile import ClassProfile
from gfscore.ranking import agreement
from gfscore.results import (
    Atkinson,
    Claim,
    ClassResult,
    Disparity,
    Flag,
    Interval,
    IntervalInfo,
    Metric,
    ModelAudit,
    ModelRanking,
    NoiseFloor,
    Penalised,
    Provenance,
    RunInfo,
    SamplesInfo,
    ScoreInfo,
    WorstCase,
)
from gfscore.storage import redact


def assembled(
    profile: ClassProfile,
    intervals: AuditIntervals,
    *,
    delta: float,
    fairness_weight: float,
    name: str,
    score: ScoreInfo,
    samples: SamplesInfo,
    run: RunInfo | None,
    noise: NoiseFloor | None,
    flags: tuple[Flag, ...],
    claim: Claim,
    abstained: float | None = None,
) -> ModelAudit:
    """Everything about one model, put together."""
    classes = ClassScores(scores=profile.scores, weights=profile.weights, fairness_weight=fairness_weight)
    block = metric_block(classes, profile.names, {key: intervals.of(key) for key in all_metrics()})
    block["aggregate"] = profile.aggregate  # the mean over samples, without the rounding of the way by classes
    if profile.weighted_by == "unequal_draws":
        block["aggregate_interval"] = None
    return ModelAudit(
        name=name,
        score=score,
        samples=samples.model_copy(update={"weighted_by": profile.weighted_by}),
        run=run,
        interval=IntervalInfo(
            method=intervals.method,
            delta=delta,
            target=intervals.target,
            seed=intervals.seed,
            # groups are known only once they came, so how many there will be cannot be allowed for before
            anytime=intervals.method.anytime and profile.partition == "class",
        ),
        partition=profile.partition,
        accuracy=profile.accuracy,
        classes=_class_results(profile, intervals),
        absent_classes=profile.absent,
        worst_set=tuple(profile.names[k] for k in intervals.worst_set),
        **block,
        abstained=abstained,
        noise=noise,
        flags=flags,
        claim=claim,
    )


def metric_block(
    classes: ClassScores, names: Sequence[str], intervals: Mapping[str, Interval | None] | None = None
) -> dict[str, Any]:
    """Every metric of a model as the fields of a result: the values, their intervals where given, and who makes them.

    ``names`` are those of the classes. Metrics from outside the package are together in the field ``metrics``.
    """
    found = {
        key: {"value": metric.of(classes), "interval": None if intervals is None else intervals.get(key)}
        for key, metric in all_metrics().items()
    }
    highest, lowest = formulas.rdi_classes(classes.scores)
    block: dict[str, Any] = {key: Metric(**found[key]) for key in BUILT_IN}
    for key in ("aggregate", "class_mean"):  # plain numbers in a result, with their intervals beside them
        block[key], block[f"{key}_interval"] = found[key]["value"], found[key]["interval"]
    block["rdi"] = Disparity(**found["rdi"], classes=(names[highest], names[lowest]))
    block["wcr"] = WorstCase(**found["wcr"], class_=names[lowest])
    block["fp_great"] = Penalised(**found["fp_great"], weight=classes.fairness_weight)
    adjusted = formulas.atkinson_adjusted_mean(classes.scores)
    block["atkinson"] = Atkinson(**found["atkinson"], adjusted_mean=adjusted)
    block["metrics"] = {key: Metric(**entry) for key, entry in found.items() if key not in BUILT_IN}
    return block


def make_provenance(*, command: str | None = None, inputs: Mapping[str, str] | None = None) -> Provenance:
    """What made the result: versions, command and hashes of the input files."""
    return Provenance(
        gfscore=__version__,
        python=platform.python_version(),
        numpy=np.__version__,
        scipy=scipy.__version__,
        command=None if command is None else redact(command),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        inputs={redact(name): digest for name, digest in (inputs or {}).items()},
    )


def ranking_of(models: tuple[ModelAudit, ...], reference: Mapping[str, float] | None = None) -> ModelRanking | None:
    """How the scores of several models rank beside their clean accuracies, and beside a reference if there is one."""
    if len(models) < 3:  # two models agree or disagree: no correlation
        return None
    scores, accuracies = [model.aggregate for model in models], [model.accuracy for model in models]
    wanted = None if reference is None else [reference[model.name] for model in models]
    return ModelRanking(
        score_and_clean_accuracy=agreement(scores, accuracies),
        score_and_reference=None if wanted is None else agreement(scores, wanted),
        clean_accuracy_and_reference=None if wanted is None else agreement(accuracies, wanted),
    )


def _class_results(profile: ClassProfile, intervals: AuditIntervals) -> tuple[ClassResult, ...]:
    shrunken = shrunken_scores(profile.scores, profile.stds, profile.counts)
    return tuple(
        ClassResult(
            name=name,
            n=int(profile.counts[k]),
            size=None if profile.sizes is None else int(profile.sizes[k]),
            score=float(profile.scores[k]),
            std=None if math.isnan(profile.stds[k]) else float(profile.stds[k]),
            accuracy=float(profile.accuracies[k]),
            interval=(float(intervals.lower[k]), float(intervals.upper[k])),
            shrunken=float(shrunken.scores[k]),
            confused_with=profile.confused_with[k],
            confused_share=float(profile.confused_shares[k]),
            abstained=None if profile.abstained is None else float(profile.abstained[k]),
        )
        for k, name in enumerate(profile.names)
    )
