"""Puts the stages in order: samples, local scores, profile, metrics, intervals, flags. Knows all of them."""

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from gfscore import disparity
from gfscore.__about__ import __version__
from gfscore.bounds import check_level, hoeffding_intervals, rdi_radius
from gfscore.errors import OptionError
from gfscore.judge.expectation import check_accuracy, checked_expectation
from gfscore.judge.flags import DEFAULT_MIN_N, audit_flags
from gfscore.profile import ClassProfile, class_profile
from gfscore.results import (
    Atkinson,
    Audit,
    Claim,
    ClassResult,
    Disparity,
    IntervalInfo,
    Metric,
    ModelAudit,
    Penalised,
    Provenance,
    SamplesInfo,
    ScoreInfo,
    WorstCase,
)
from gfscore.samples import FloatArray, Samples
from gfscore.scores import Activation, LocalScores, great_scores
from gfscore.scores.great import checked_activation, checked_temperature

PREMISE = (
    "The GREAT score bounds the distance to the nearest adversarial example only where the margin of confidences is "
    "sqrt(2/pi)-Lipschitz around the sample. Nothing here checks that; and T changes the score, but no decision."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to audit, the same for every model of an audit; checked when made."""

    activation: Activation | str = Activation.SOFTMAX
    temperature: float = 1.0
    fairness_weight: float = disparity.DEFAULT_FAIRNESS_WEIGHT  # lambda of FP-GREAT
    delta: float = 0.05  # all intervals of a model hold together with probability 1 - delta
    min_n: int = DEFAULT_MIN_N  # classes with fewer samples are flagged
    expect_accuracy: float | None = None  # the audit stops when the clean accuracy is off by more than chance

    def __post_init__(self) -> None:
        checked_activation(self.activation)
        checked_temperature(self.temperature)
        disparity.checked_weight(self.fairness_weight)
        check_level(self.delta)
        if self.min_n < 1:
            raise OptionError(f"min_n {self.min_n} is not a number of samples. Give at least 1.")
        if self.expect_accuracy is not None:
            checked_expectation(self.expect_accuracy)


def audit(
    logits: ArrayLike,
    labels: ArrayLike,
    *,
    class_names: Sequence[str] | None = None,
    groups: ArrayLike | Mapping[str, ArrayLike] | None = None,
    sample_ids: Sequence[object] | NDArray[Any] | None = None,
    probabilities: bool = False,
    activation: Activation | str = Activation.SOFTMAX,
    temperature: float = 1.0,
    fairness_weight: float = disparity.DEFAULT_FAIRNESS_WEIGHT,
    delta: float = 0.05,
    min_n: int = DEFAULT_MIN_N,
    expect_accuracy: float | None = None,
    name: str = "model",
) -> Audit:
    r"""Audit how evenly the GREAT score of one model is spread over its classes.

    .. math:: \Omega_k = \text{mean of } g(x) \text{ over class } k, \qquad
              \mathrm{RDI} = \max_k \Omega_k - \min_k \Omega_k, \quad \ldots

    ``logits`` is ``(N, K)``, ``labels`` is ``(N,)``. With ``groups``, one name per sample (or several attributes
    by name, which are intersected), the profile is over groups; the label stays what the margin is measured
    against. All intervals hold together with probability 1 - ``delta``. Several models: :func:`audit_models`.

    Shah, Visavadiya and Padala, "GF-Score" (2026).

    >>> result = audit([[3, 0], [2, 0], [0, 1], [1, 0]], [0, 0, 1, 1], class_names=["cat", "dog"])
    >>> result.wcr.class_, round(result.wcr.value, 3), round(result.rdi.value, 3)
    ('dog', 0.29, 0.755)
    """
    options = Options(
        activation=activation,
        temperature=temperature,
        fairness_weight=fairness_weight,
        delta=delta,
        min_n=min_n,
        expect_accuracy=expect_accuracy,
    )
    samples = Samples.of(
        logits,
        labels,
        class_names=class_names,
        groups=groups,
        sample_ids=sample_ids,
        probabilities=probabilities,
    )
    return audit_models({name: samples}, options)


def audit_models(models: Mapping[str, Samples], options: Options | None = None) -> Audit:
    """Audit several models alike, each from its own :class:`~gfscore.Samples`.

    >>> samples = {"a": Samples.of([[1, 0], [0, 2]], [0, 1]), "b": Samples.of([[0, 0.1], [0, 2]], [0, 1])}
    >>> [(model.name, model.wcr.class_) for model in audit_models(samples).models]
    [('a', '0'), ('b', '0')]
    """
    if not models:
        raise OptionError("there is no model to audit. Give at least one set of samples.")
    options = options or Options()
    audited = tuple(
        audit_scores(samples, score_samples(samples, options), options, name=name) for name, samples in models.items()
    )
    return Audit(models=audited, provenance=make_provenance())


def score_samples(samples: Samples, options: Options) -> LocalScores:
    """The first stage: a local score per sample."""
    return great_scores(samples, activation=options.activation, temperature=options.temperature)


def sample_table(samples: Samples, local: LocalScores, *, name: str) -> dict[str, list[Any]]:
    """A row per sample, as columns: what was decided and how it scored."""
    names = np.asarray(samples.class_names, dtype=object)  # not text, which is as wide as the longest name for all
    table = {
        "model": [name] * samples.n_samples,
        "sample_id": list(samples.sample_ids or map(str, range(samples.n_samples))),
        "label": names[samples.labels].tolist(),
        "predicted": names[local.predicted].tolist(),
        "correct": (local.predicted == samples.labels).tolist(),
        "score": local.values.tolist(),
    }
    if samples.groups is not None:
        table["group"] = np.asarray(samples.groups.names, dtype=object)[samples.groups.codes].tolist()
    return table


def audit_scores(
    samples: Samples,
    local: LocalScores,
    options: Options,
    *,
    name: str,
    source: str = "arrays",
    seed: int | None = None,
    run: Mapping[str, Any] | None = None,
) -> ModelAudit:
    """The stages after scoring, for any local score with a known range."""
    delta, weight = options.delta, options.fairness_weight
    profile = class_profile(samples, local)
    if options.expect_accuracy is not None:
        check_accuracy(profile.accuracy, samples.n_samples, options.expect_accuracy)
    scores = profile.scores
    lower, upper = hoeffding_intervals(scores, profile.counts, delta, maximum=local.maximum)
    highest, lowest = disparity.rdi_classes(scores)
    gap = disparity.rdi(scores)
    gap_radius = rdi_radius(int(profile.counts.min()), delta, n_classes=len(scores), maximum=local.maximum)
    return ModelAudit(
        name=name,
        score=ScoreInfo(
            name=local.name,
            range=(0.0, local.maximum),
            activation=local.activation,
            temperature=local.temperature,
            probabilities=samples.probabilities,
        ),
        samples=SamplesInfo(source=source, n=samples.n_samples, seed=seed),
        run=None if run is None else dict(run),
        interval=IntervalInfo(method="hoeffding", delta=delta, target="population"),
        partition=profile.partition,
        accuracy=profile.accuracy,
        aggregate=profile.aggregate,
        class_mean=profile.class_mean,
        classes=_class_results(profile, lower, upper),
        absent_classes=profile.absent,
        worst_set=tuple(profile.names[k] for k in np.flatnonzero(lower <= upper.min())),
        rdi=Disparity(
            value=gap,
            interval=(max(0.0, gap - gap_radius), min(local.maximum, gap + gap_radius)),
            classes=(profile.names[highest], profile.names[lowest]),
        ),
        nrgc=Metric(value=disparity.nrgc(scores)),
        wcr=WorstCase(
            value=disparity.wcr(scores),
            interval=(float(lower.min()), float(upper.min())),
            class_=profile.names[lowest],
        ),
        fp_great=Penalised(value=disparity.fp_great(scores, weight), weight=weight),
        theil=Metric(value=disparity.theil(scores)),
        atkinson=Atkinson(value=disparity.atkinson(scores), adjusted_mean=disparity.atkinson_adjusted_mean(scores)),
        flags=audit_flags(samples, local, profile, min_n=options.min_n),
        claim=Claim(premise=PREMISE),
    )


def make_provenance(*, command: str | None = None, inputs: Mapping[str, str] | None = None) -> Provenance:
    """What made the result: versions, command and hashes of the input files."""
    return Provenance(
        gfscore=__version__,
        python=platform.python_version(),
        numpy=np.__version__,
        scipy=scipy.__version__,
        command=command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        inputs=dict(inputs or {}),
    )


def _class_results(profile: ClassProfile, lower: FloatArray, upper: FloatArray) -> tuple[ClassResult, ...]:
    return tuple(
        ClassResult(
            name=name,
            n=int(profile.counts[k]),
            score=float(profile.scores[k]),
            std=None if math.isnan(profile.stds[k]) else float(profile.stds[k]),
            accuracy=float(profile.accuracies[k]),
            interval=(float(lower[k]), float(upper[k])),
            confused_with=profile.confused_with[k],
            confused_share=float(profile.confused_shares[k]),
        )
        for k, name in enumerate(profile.names)
    )
