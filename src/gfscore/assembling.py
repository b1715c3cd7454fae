"""Profile, metrics, intervals and flags, put together into a result; and what made it."""

import math
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
import scipy

from gfscore import disparity
from gfscore.__about__ import __version__
from gfscore.bounds import AuditIntervals, shrunken_scores
from gfscore.places.addresses import shown
from gfscore.profile import ClassProfile
from gfscore.ranking import agreement
from gfscore.results import (
    Atkinson,
    Claim,
    ClassResult,
    Disparity,
    Flag,
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
    robust: tuple[Metric | None, tuple[Metric | None, ...] | None] = (None, None),
) -> ModelAudit:
    """Everything about one model, put together."""
    scores, weight = profile.scores, fairness_weight
    highest, lowest = disparity.rdi_classes(scores)
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
        aggregate=profile.aggregate,
        aggregate_interval=None if profile.weighted_by == "unequal_draws" else intervals.aggregate,
        class_mean=profile.class_mean,
        class_mean_interval=intervals.class_mean,
        classes=_class_results(profile, intervals, robust[1]),
        absent_classes=profile.absent,
        worst_set=tuple(profile.names[k] for k in intervals.worst_set),
        rdi=Disparity(
            value=disparity.rdi(scores),
            interval=intervals.rdi,
            classes=(profile.names[highest], profile.names[lowest]),
        ),
        nrgc=Metric(value=disparity.nrgc(scores), interval=intervals.nrgc),
        wcr=WorstCase(value=disparity.wcr(scores), interval=intervals.wcr, class_=profile.names[lowest]),
        fp_great=Penalised(value=disparity.fp_great(scores, weight), interval=intervals.fp_great, weight=weight),
        theil=Metric(value=disparity.theil(scores), interval=intervals.theil),
        atkinson=Atkinson(
            value=disparity.atkinson(scores),
            interval=intervals.atkinson,
            adjusted_mean=disparity.atkinson_adjusted_mean(scores),
        ),
        abstained=abstained,
        robust_accuracy=robust[0],
        noise=noise,
        flags=flags,
        claim=claim,
    )


def make_provenance(*, command: str | None = None, inputs: Mapping[str, str] | None = None) -> Provenance:
    """What made the result: versions, command and hashes of the input files."""
    return Provenance(
        gfscore=__version__,
        python=platform.python_version(),
        numpy=np.__version__,
        scipy=scipy.__version__,
        command=None if command is None else shown(command),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        inputs={shown(name): digest for name, digest in (inputs or {}).items()},
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


def _class_results(
    profile: ClassProfile, intervals: AuditIntervals, robust: Sequence[Metric | None] | None
) -> tuple[ClassResult, ...]:
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
            robust_accuracy=None if robust is None else robust[k],
        )
        for k, name in enumerate(profile.names)
    )
