"""Puts the stages in order: samples, local scores, profile, metrics, intervals, flags. Knows all of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gfscore.arrays import FloatArray, IntArray
from gfscore.assembling import assembled, make_provenance, ranking_of
from gfscore.bounds import (
    Method,
    audit_intervals,
    check_level,
    noise_floor,
    normal_floor,
    share_intervals,
    summary_intervals,
)
from gfscore.errors import OptionError
from gfscore.judge import DEFAULT_MIN_N, Facts, audit_flags, check_accuracy, check_expectation, judge_interval
from gfscore.metrics import formulas
from gfscore.probabilities import refuse_others, refuse_resembling
from gfscore.profile import ClassProfile, Draw, class_profile, drawn_from, drawn_samples, summary_profile
from gfscore.results import (
    Audit,
    Claim,
    Flag,
    Metric,
    ModelAudit,
    NoiseFloor,
    RunInfo,
    SamplesInfo,
    ScoreInfo,
    Verdict,
)
from gfscore.samples import Samples, refuse_groups_of_one
from gfscore.score_titles import FIRST_ORDER, GREAT, title_of
from gfscore.scores import (
    SCORE_MAX,
    Activation,
    check_score,
    compute_scores,
    first_order_scores,
    forward_only_norms,
    gradient_norms,
    strongest_rivals,
)
from gfscore.scores import FirstOrder as FirstOrder  # commands take them from here: they import no mathematics
from gfscore.scores import LocalScores as LocalScores
from gfscore.scores import scores_of_samples as scores_of_samples
from gfscore.scores.great import check_activation, check_temperature
from gfscore.scores.margin_slopes import Forward
from gfscore.summaries import Summary
from gfscore.temperature import stored_curves, temperature_curve

SHARE_OF_SHARES = 0.5  # of delta, for all shares of radii above eps, where they are asked for

NORMAL_NOISE = Flag(
    code="normal_noise",
    message="the noise floor is drawn from a normal approximation: shuffling needs the samples, and only their sums "
    "were kept. With many classes of few samples, or scores nearly all 0 or at the maximum, it calls chance a "
    "difference too often: audit the samples themselves to be sure.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to audit, the same for every model of an audit; checked when made."""

    score: str = GREAT  # or the name of another that samples alone decide
    activation: Activation | str = Activation.SOFTMAX  # of the GREAT score, as the temperature
    temperature: float = 1.0
    fairness_weight: float = formulas.DEFAULT_FAIRNESS_WEIGHT  # lambda of FP-GREAT
    delta: float = 0.05  # all intervals of a model hold together with probability 1 - delta
    interval: Method | str = Method.BETTING
    permutations: int = 1000  # of the noise floor; 0 leaves it out
    seed: int = 0  # of everything random: the order of betting, the deal of blocks, the shuffles of the noise floor
    min_n: int = DEFAULT_MIN_N  # classes with fewer samples are flagged
    expect_accuracy: float | None = None  # the audit stops when the clean accuracy is off by more than chance

    def __post_init__(self) -> None:
        check_score(self.score)
        check_activation(self.activation)
        check_temperature(self.temperature)
        formulas.checked_weight(self.fairness_weight)
        check_level(self.delta)
        Method.named(self.interval)
        if self.permutations < 0 or self.seed < 0:
            raise OptionError("the number of permutations and the seed must be 0 or more.")
        if self.min_n < 1:
            raise OptionError(f"min_n {self.min_n} is not a number of samples. Give at least 1.")
        if self.expect_accuracy is not None:
            check_expectation(self.expect_accuracy)


def audit(
    logits: ArrayLike,
    labels: ArrayLike,
    *,
    class_names: Sequence[str] | None = None,
    groups: ArrayLike | Mapping[str, ArrayLike] | None = None,
    sample_ids: Sequence[object] | NDArray[Any] | None = None,
    probabilities: bool = False,
    score: str = GREAT,
    activation: Activation | str = Activation.SOFTMAX,
    temperature: float = 1.0,
    fairness_weight: float = formulas.DEFAULT_FAIRNESS_WEIGHT,
    delta: float = 0.05,
    interval: Method | str = Method.BETTING,
    seed: int = 0,
    min_n: int = DEFAULT_MIN_N,
    expect_accuracy: float | None = None,
    class_sizes: ArrayLike | None = None,
    finite: bool = True,
    name: str = "model",
) -> Audit:
    r"""Audit how evenly a local score of one model, by default the GREAT score, is spread over its classes.

    .. math:: \Omega_k = \text{mean of } g(x) \text{ over class } k, \qquad
              \mathrm{RDI} = \max_k \Omega_k - \min_k \Omega_k, \quad \ldots

    ``logits`` is ``(N, K)``, ``labels`` is ``(N,)``. With ``groups``, one name per sample (or several attributes
    by name, which are intersected), the profile is over groups; the label stays what the margin is measured
    against. All intervals hold together with probability 1 - ``delta``.

    When a random part of each class of a fixed set was scored, ``class_sizes`` (K,) are those of the set. Score and
    accuracy of the whole then weigh classes by them, and the intervals are about that very set; with ``finite`` False
    about the distributions behind its classes. ``score`` may name one that was registered with
    :func:`gfscore.scores.register_score`. Several models: :func:`audit_models`.

    Shah, Visavadiya and Padala, "GF-Score" (2026).

    >>> result = audit([[3, 0], [2, 0], [0, 1], [1, 0]], [0, 0, 1, 1], class_names=["cat", "dog"])
    >>> result.wcr.class_, round(result.wcr.value, 3), round(result.rdi.value, 3)
    ('dog', 0.29, 0.755)
    """
    options = Options(
        score=score,
        activation=activation,
        temperature=temperature,
        fairness_weight=fairness_weight,
        delta=delta,
        interval=interval,
        seed=seed,
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
    local = score_samples(samples, options)
    audited = audit_scores(samples, local, options, name=name, class_sizes=class_sizes, finite=finite)
    audited = with_curves(audited, samples, options, class_sizes=class_sizes)
    return Audit(models=(audited,), provenance=make_provenance())


def audit_models(models: Mapping[str, Samples], options: Options | None = None) -> Audit:
    """Audit several models alike, each from its own :class:`~gfscore.Samples`.

    With three or more, ``ranking`` says how alike their scores and their clean accuracies order them.

    >>> samples = {"a": Samples.of([[1, 0], [0, 2]], [0, 1]), "b": Samples.of([[0, 0.1], [0, 2]], [0, 1])}
    >>> [(model.name, model.wcr.class_) for model in audit_models(samples).models]
    [('a', '0'), ('b', '0')]
    """
    if not models:
        raise OptionError("there is no model to audit. Give at least one set of samples.")
    options = options or Options()
    audited = []
    for name, samples in models.items():
        scored = audit_scores(samples, score_samples(samples, options), options, name=name)
        audited.append(with_curves(scored, samples, options))
    return Audit(models=tuple(audited), ranking=ranking_of(tuple(audited)), provenance=make_provenance())


def audit_first_order(
    logits: Forward,
    pixels: ArrayLike,
    labels: ArrayLike,
    *,
    norm: str,
    eps: float | None = None,
    gradients: Callable[[FloatArray, IntArray, IntArray], FloatArray] | None = None,
    class_names: Sequence[str] | None = None,
    sample_ids: Sequence[object] | None = None,
    name: str = "model",
    options: Options | None = None,
    **settings: Any,
) -> Audit:
    r"""Audit how evenly the first-order radius of one model is spread over its classes.

    ``logits`` is a function from pixels (n, ...) in [0, 1] to logits (n, K), ``pixels`` are the images and ``labels``
    (N,) their classes; all of it is held in memory. ``gradients``, if there is such a function, gives the gradients
    (n, R, D) of :math:`f_y - f_j` with respect to the pixels for images, labels (n,) and rivals j (n, R); without it
    the radii are forward-only estimates. ``settings`` are the other fields of :class:`FirstOrder`. With ``eps``,
    ``robust_accuracy`` is the share of radii above it.

    >>> weights, images = 4 * np.eye(2), np.array([[0.8, 0.2], [0.6, 0.5], [0.1, 0.9], [0.5, 0.4]])
    >>> found = audit_first_order(lambda x: x @ weights, images, [0, 0, 1, 1], norm="linf", max_radius=1, eps=0.2,
    ...                           gradients=lambda x, y, rivals: weights[y][:, None] - weights[rivals])
    >>> [(entry.name, round(entry.score, 2), entry.robust_accuracy.value) for entry in found.classes]
    [('0', 0.18, 0.5), ('1', 0.2, 0.5)]
    """
    how, images = FirstOrder(norm=norm, eps=eps, **settings), np.asarray(pixels)
    samples = Samples.of(logits(images), labels, class_names=class_names, sample_ids=sample_ids)
    rivals = strongest_rivals(samples.logits, samples.labels, how.rivals)
    halved = None
    if gradients is not None:
        norms = gradient_norms(gradients(images, samples.labels, rivals), how.kind)
    else:
        norms, halved = forward_only_norms(logits, images, samples, rivals, how)
    local = first_order_scores(samples, norms, how, gradients=gradients is not None, halved=halved)
    audited = audit_scores(samples, local, options or Options(), name=name)
    return Audit(models=(audited,), provenance=make_provenance())


def score_samples(samples: Samples, options: Options) -> LocalScores:
    """The first stage: a local score per sample."""
    return compute_scores(samples, options.score, activation=options.activation, temperature=options.temperature)


def sample_table(samples: Samples, local: LocalScores, *, name: str) -> dict[str, list[Any]]:
    """A row per sample, as columns: what was decided and how it scored."""
    names = np.asarray(samples.class_names, dtype=object)  # not text, which is as wide as the longest name for all
    table = {
        "model": [name] * samples.n_samples,
        "sample_id": list(samples.sample_ids or map(str, range(samples.n_samples))),
        "label": names[samples.labels].tolist(),
        "predicted": names[local.predicted].tolist(),
        "correct": local.correct(samples.labels).tolist(),
        "score": local.values.tolist(),
    }
    if local.abstained is not None:
        table["abstained"] = local.abstained.tolist()
    if local.errors is not None:
        table["standard_error"] = local.errors.tolist()
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
    data_seed: int | None = None,
    run: RunInfo | None = None,
    class_sizes: ArrayLike | None = None,
    finite: bool = True,
) -> ModelAudit:
    """The stages after scoring, for any local score with a known range; ``class_sizes`` as in :func:`audit`."""
    draw = drawn_samples(samples, class_sizes)
    profile = class_profile(samples, local, class_sizes=class_sizes)
    if options.expect_accuracy is not None:
        _check_accuracy(samples, local, class_sizes, options.expect_accuracy)
    codes, n_parts = samples.partition
    sizes = _fixed_sizes(draw) if finite and class_sizes is not None else None
    for_shares = 0.0 if local.eps is None else SHARE_OF_SHARES * options.delta
    intervals = audit_intervals(
        local.values,
        codes,
        n_parts,
        maximum=local.maximum,
        delta=options.delta - for_shares,
        method=options.interval,
        fairness_weight=options.fairness_weight,
        seed=options.seed,
        failure_rate=local.failure_rate,
        sizes=sizes,
        weights=profile.weights,
    )
    return assembled(
        profile,
        intervals,
        delta=options.delta,
        fairness_weight=options.fairness_weight,
        name=name,
        score=score_info(samples, local),
        samples=SamplesInfo(source=source, n=samples.n_samples, seed=data_seed),
        run=run,
        noise=_noise(samples, local, options),
        flags=audit_flags(Facts.of(samples, local), profile, min_n=options.min_n) + local.flags,
        claim=Claim(premise=local.premise, certified=local.certified),
        abstained=_abstained(local, profile),
        robust=_robust_accuracy(local, samples, profile, for_shares, sizes),
    )


def score_info(samples: Samples, local: LocalScores) -> ScoreInfo:
    """Which local score it is, and how it was made, for a result."""
    return ScoreInfo(
        name=local.name,
        range=(0.0, local.maximum),
        activation=local.activation,
        temperature=local.temperature,
        norm=local.norm,
        eps=local.eps,
        settings=None if local.settings is None else dict(local.settings),
        probabilities=samples.probabilities,
    )


def asked_score(options: Options, radius: FirstOrder | None = None) -> ScoreInfo:
    """The local score that is asked for, before any sample is scored; ``radius`` where it is a first-order one."""
    if radius is not None:
        return ScoreInfo(name=FIRST_ORDER, range=(0.0, radius.largest), norm=str(radius.kind), eps=radius.eps)
    if options.score != GREAT:
        return ScoreInfo(name=options.score, range=(0.0, title_of(options.score).maximum or 1.0))
    activation = check_activation(options.activation)
    return ScoreInfo(name=GREAT, range=(0.0, SCORE_MAX), activation=activation, temperature=options.temperature)


def audit_summary(
    summary: Summary,
    options: Options,
    *,
    name: str = "model",
    source: str = "arrays",
    data_seed: int | None = None,
    run: RunInfo | None = None,
    class_sizes: ArrayLike | None = None,
    left_out: tuple[str, ...] = (),
) -> ModelAudit:
    """The stages after scoring, from a summary of the scores: of samples that were merged, and not kept.

    Betting, which needs an order, is replaced by blocks; the noise floor, which needs samples to shuffle, by its normal
    approximation, and a flag says so. The activation and temperature are those of the summary; the seed must be, as its
    samples were dealt with it. ``class_sizes`` are what score and accuracy of the whole weigh the classes by, where
    these were not drawn in proportion. ``left_out`` names the columns of tables that were taken for no class.

    >>> from gfscore.summaries import merge_summaries
    >>> samples = Samples.of([[3, 0], [2, 0], [0, 1], [1, 0]], [0, 0, 1, 1])
    >>> summary = Summary.of(samples, score_samples(samples, Options()))
    >>> audited = audit_summary(merge_summaries([summary, summary]), Options())
    >>> audited.samples.n, round(audited.wcr.value, 3), audited.interval.method
    (8, 0.29, 'blocks')
    """
    if summary.kind.probabilities:
        refuse_others(summary.row_sums)
    else:
        refuse_resembling(summary.row_sums)
    if summary.partition == "group":
        refuse_groups_of_one(len(summary.names), summary.n_samples)
    if summary.seed != options.seed:
        raise OptionError(
            f"the samples were dealt into blocks with seed {summary.seed} when they were summed up, and seed "
            f"{options.seed} is asked for now. Give the same seed, or summarise again."
        )
    profile, kind, n_samples = summary_profile(summary, class_sizes=class_sizes), summary.kind, summary.n_samples
    if options.expect_accuracy is not None:
        totals = profile.sizes if profile.weighted_by == "class_sizes" else None
        check_accuracy(profile.accuracies, profile.counts, options.expect_accuracy, totals=totals)
    method = Method.named(options.interval)
    intervals = summary_intervals(
        summary,
        delta=options.delta,
        method=Method.BLOCKS if method is Method.BETTING else method,
        fairness_weight=options.fairness_weight,
        weights=profile.weights,
    )
    noise = _summary_noise(summary, options)
    return assembled(
        profile,
        intervals,
        delta=options.delta,
        fairness_weight=options.fairness_weight,
        name=name,
        score=ScoreInfo.model_validate(
            {
                "name": kind.name,
                "range": (0.0, kind.maximum),
                "activation": kind.activation,
                "temperature": kind.temperature,
                "probabilities": kind.probabilities,
            }
        ),
        samples=SamplesInfo(source=source, n=n_samples, seed=data_seed),
        run=run,
        noise=noise,
        flags=audit_flags(Facts.of_summary(summary, left_out), profile, min_n=options.min_n)
        + (() if noise is None else (NORMAL_NOISE,)),
        claim=Claim(premise=kind.premise),
    )


def with_curves(
    audited: ModelAudit, samples: Samples, options: Options, *, class_sizes: ArrayLike | None = None
) -> ModelAudit:
    """The audit with class scores and metrics by temperature, where its score has one: another pass over the logits."""
    if audited.score.temperature is None:
        return audited
    curve = temperature_curve(samples, activation=options.activation, class_sizes=class_sizes)
    return audited.model_copy(update={"curves": stored_curves(curve, audited)})


def _robust_accuracy(
    local: LocalScores, samples: Samples, profile: ClassProfile, delta: float, sizes: IntArray | None
) -> tuple[Metric | None, tuple[Metric | None, ...] | None]:
    """Share of radii above eps, whole and per part; None where no eps was given."""
    if local.eps is None:
        return None, None
    codes, n_parts = samples.partition
    totals = profile.sizes if profile.weighted_by == "class_sizes" else profile.counts
    ends = share_intervals(local.values > local.eps, codes, n_parts, delta=delta, totals=totals, sizes=sizes)
    *parts, whole = (Metric(value=share, interval=(low, high)) for share, low, high in zip(*ends, strict=True))
    return Metric(value=whole.value) if profile.weighted_by == "unequal_draws" else whole, tuple(parts)


def _abstained(local: LocalScores, profile: ClassProfile) -> float | None:
    """Share of what the whole is of for which no class was named."""
    if local.abstained is None or profile.abstained is None:
        return None
    weighed = profile.weighted_by == "class_sizes"
    return float(profile.weights @ profile.abstained if weighed else local.abstained.mean())


def _check_accuracy(samples: Samples, local: LocalScores, class_sizes: ArrayLike | None, expected: float) -> None:
    """Hold the accuracy against what was expected of the set: class by class, also where the profile is of groups."""
    counts = np.bincount(samples.labels, minlength=samples.n_classes)
    correct = np.bincount(samples.labels, weights=local.correct(samples.labels), minlength=samples.n_classes)
    draw, present = drawn_from(class_sizes, counts), counts > 0
    if draw.weighted_by == "unequal_draws":
        raise OptionError("the accuracy of a set is not known when a class of it has no sample. Expect none.")
    totals = None if draw.sizes is None else draw.sizes[present]
    check_accuracy(correct[present] / counts[present], counts[present], expected, totals=totals)


def _fixed_sizes(draw: Draw) -> IntArray:
    """The sizes of a fixed set, where they are known of each part."""
    if draw.sizes is None:
        raise OptionError("groups have no sizes in a fixed set, of which parts were drawn by class. Leave one out.")
    return draw.sizes


def _noise(samples: Samples, local: LocalScores, options: Options) -> NoiseFloor | None:
    """What RDI and NRGC would be if all classes were equal."""
    if options.permutations == 0:
        return None
    codes, n_parts = samples.partition
    return noise_floor(
        local.values,
        codes,
        n_parts,
        maximum=local.maximum,
        permutations=options.permutations,
        seed=options.seed,
    )


def verdicts(model: ModelAudit, threshold: float) -> tuple[Verdict, tuple[Verdict, ...]]:
    """Is no class below the threshold? Of the model, by its WCR, and of each class, by its interval.

    Of a class without a sample nothing is known, so that the model then does not pass.

    >>> model = audit([[9, 0], [8, 0], [0, 1], [1, 0]] * 50, [0, 0, 1, 1] * 50).model
    >>> overall, classes = verdicts(model, 0.6)
    >>> overall.value, [verdict.value for verdict in classes]
    ('FAIL', ['PASS', 'FAIL'])
    """
    overall = judge_interval(model.wcr.interval, threshold)
    if model.absent_classes and overall is Verdict.PASS:
        overall = Verdict.UNDECIDED
    return overall, tuple(judge_interval(entry.interval, threshold) for entry in model.classes)


def _summary_noise(summary: Summary, options: Options) -> NoiseFloor | None:
    """The same where the samples are gone."""
    if options.permutations == 0:
        return None
    counts = summary.counts
    present = counts > 0
    return normal_floor(
        summary.means[present],
        summary.variances[present],
        counts[present],
        maximum=summary.kind.maximum,
        draws=options.permutations,
        seed=options.seed,
    )
