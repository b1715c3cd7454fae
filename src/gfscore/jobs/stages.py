"""From samples to the audit of a model: local scores, profile, metrics, intervals, flags, put in order."""

from typing import NamedTuple

import numpy as np

from gfscore.arrays import IntArray
from gfscore.assemble import assembled
from gfscore.bounds import Method, audit_intervals, noise_floor, normal_floor, summary_intervals
from gfscore.errors import OptionError
from gfscore.jobs.options import Options, ProfileOptions
from gfscore.judge import check_accuracy
from gfscore.judge.flags import Facts, audit_flags
from gfscore.judge.robust_accuracy import count_radii, summed_robustness, with_robustness
from gfscore.probabilities import refuse_others, refuse_resembling
from gfscore.profile import ClassProfile, class_profile, drawn_from, drawn_samples, summary_profile
from gfscore.results import Claim, Flag, ModelAudit, NoiseFloor, RunInfo, SamplesInfo, ScoreInfo
from gfscore.samples import NO_TABLE, Samples, TableNotes, refuse_groups_of_one
from gfscore.score_titles import FIRST_ORDER, GREAT, title_of
from gfscore.scores import SCORE_MAX, LocalScores, compute_scores
from gfscore.summaries import Summary
from gfscore.temperature import TemperatureBand, stored_curves, temperature_band, temperature_curve

SHARE_OF_SHARES = 0.5  # of delta, for all shares of radii above eps, where they are asked for

NORMAL_NOISE = Flag(
    code="normal_noise",
    message="the noise floor is drawn from a normal approximation: shuffling needs the samples, and only their sums "
    "were kept. With many classes of few samples, or scores nearly all 0 or at the maximum, it calls chance a "
    "difference too often: audit the samples themselves to be sure.",
)


class Origin(NamedTuple):
    """Where samples come from, for the result."""

    source: str = "arrays"
    seed: int | None = None  # of data that were drawn by a generator
    run: RunInfo | None = None  # of the model, where gfscore made its logits


ARRAYS = Origin()


def score_samples(samples: Samples, options: Options) -> LocalScores:
    """A local score per sample, which samples alone decide."""
    return compute_scores(samples, options.score, activation=options.softmax_or_sigmoid, temperature=options.divisor)


def audit_scores(
    samples: Samples,
    local: LocalScores,
    options: ProfileOptions,
    *,
    name: str,
    origin: Origin = ARRAYS,
    finite: bool = False,
    band: TemperatureBand | None = None,
) -> ModelAudit:
    """Everything that follows from local scores with a known range.

    With ``finite`` intervals are about the very set whose class sizes the samples know, not the world behind it. With
    ``band`` they are those of a temperature that was chosen on the same samples.
    """
    draw, profile = drawn_samples(samples), class_profile(samples, local)
    if options.expect_accuracy is not None:
        _check_accuracy(samples, local, options.expect_accuracy)
    if finite and draw.sizes is None:
        raise OptionError("groups have no sizes in a fixed set, of which parts were drawn by class. Leave one out.")
    codes, n_parts = samples.partition
    sizes = draw.sizes if finite else None
    for_shares = 0.0 if local.eps is None else SHARE_OF_SHARES * options.delta
    if band is not None and local.temperature is not None:
        intervals = band.intervals(local.temperature, profile.scores, fairness_weight=options.fairness_weight)
    else:
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
    audited = assembled(
        profile,
        intervals,
        delta=options.delta,
        fairness_weight=options.fairness_weight,
        name=name,
        score=score_info(samples, local),
        samples=SamplesInfo(source=origin.source, n=samples.n_samples, seed=origin.seed),
        run=origin.run,
        noise=_noise(samples, local, options),
        flags=audit_flags(Facts.of(samples, local), profile, min_n=options.min_n) + local.flags,
        claim=Claim(premise=local.premise, certified=local.certified),
        abstained=_abstained(local, profile),
    )
    return with_robustness(audited, count_radii(local, samples, audited, delta=for_shares)) if for_shares else audited


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


def asked_score(options: Options) -> ScoreInfo:
    """The local score that is asked for, before any sample is scored."""
    radius = options.radius
    if radius is not None:
        return ScoreInfo(name=FIRST_ORDER, range=(0.0, radius.largest), norm=str(radius.kind), eps=radius.eps)
    if options.score != GREAT:
        return ScoreInfo(name=options.score, range=(0.0, title_of(options.score).maximum or 1.0))
    return ScoreInfo(
        name=GREAT, range=(0.0, SCORE_MAX), activation=options.softmax_or_sigmoid, temperature=options.divisor
    )


def audit_summary(
    summary: Summary,
    options: Options,
    *,
    name: str = "model",
    origin: Origin = ARRAYS,
    class_sizes: IntArray | None = None,
    table: TableNotes = NO_TABLE,
    flags: tuple[Flag, ...] = (),
) -> ModelAudit:
    """The stages after scoring, from a summary of the scores: of samples that were merge_summaries, and not kept.

    Betting, which needs an order, is replaced by blocks; the noise floor, which needs samples to shuffle, by its normal
    approximation, and a flag says so. The activation and temperature are those of the summary; the seed must be, as its
    samples were dealt with it. ``class_sizes`` are what score and accuracy of the whole weigh the classes by, where
    these were not drawn in proportion. ``table`` says how the columns of tables were read, ``flags`` what else was
    noticed. Scores that are radii come with their counts above a ladder of eps, and so with robust accuracy.

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
    method, radii = Method.named(options.interval), summary.radii
    for_shares = 0.0 if radii is None or radii.eps is None else SHARE_OF_SHARES * options.delta
    intervals = summary_intervals(
        summary,
        delta=options.delta - for_shares,
        method=Method.BLOCKS if method is Method.BETTING else method,
        fairness_weight=options.fairness_weight,
        weights=profile.weights,
    )
    noise = _summary_noise(summary, options)
    audited = assembled(
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
                "norm": kind.norm,
                "eps": None if radii is None else radii.eps,
                "settings": None if radii is None else radii.all_settings(),
            }
        ),
        samples=SamplesInfo(source=origin.source, n=n_samples, seed=origin.seed),
        run=origin.run,
        noise=noise,
        flags=audit_flags(Facts.of_summary(summary, table), profile, min_n=options.min_n)
        + (() if noise is None else (NORMAL_NOISE,))
        + flags,
        claim=Claim(premise=kind.premise),
    )
    if radii is None or not for_shares:
        return audited
    return with_robustness(audited, summed_robustness(radii, summary.counts, audited, delta=for_shares))


def with_curves(audited: ModelAudit, samples: Samples, options: Options) -> ModelAudit:
    """The audit with class scores and metrics by temperature, where its score has one: another pass over the logits."""
    if audited.score.temperature is None:
        return audited
    curve = temperature_curve(samples, activation=options.softmax_or_sigmoid)
    return audited.model_copy(update={"curves": stored_curves(curve, audited)})


def band_of(samples: Samples, options: Options, *, finite: bool = False) -> TemperatureBand:
    """Intervals that hold at every temperature at once, as the options say: for one that is chosen on the samples."""
    draw, (codes, n_parts) = drawn_samples(samples), samples.partition
    sizes = draw.sizes if draw.weighted_by == "class_sizes" else None
    totals = np.bincount(codes, minlength=n_parts) if sizes is None else sizes
    totals = totals[np.bincount(codes, minlength=n_parts) > 0]
    return temperature_band(
        samples,
        activation=options.softmax_or_sigmoid,
        delta=options.delta,
        method=options.interval,
        seed=options.seed,
        sizes=draw.sizes if finite else None,
        weights=totals / totals.sum(),
    )


def _abstained(local: LocalScores, profile: ClassProfile) -> float | None:
    """Share of what the whole is of for which no class was named."""
    if local.abstained is None or profile.abstained is None:
        return None
    weighed = profile.weighted_by == "class_sizes"
    return float(profile.weights @ profile.abstained if weighed else local.abstained.mean())


def _check_accuracy(samples: Samples, local: LocalScores, expected: float) -> None:
    """Hold the accuracy against what was expected of the set: class by class, also where the profile is of groups."""
    counts = np.bincount(samples.labels, minlength=samples.n_classes)
    correct = np.bincount(samples.labels, weights=local.correct(samples.labels), minlength=samples.n_classes)
    draw, present = drawn_from(samples.class_sizes, counts), counts > 0
    if draw.weighted_by == "unequal_draws":
        raise OptionError("the accuracy of a set is not known when a class of it has no sample. Expect none.")
    totals = None if draw.sizes is None else draw.sizes[present]
    check_accuracy(correct[present] / counts[present], counts[present], expected, totals=totals)


def _noise(samples: Samples, local: LocalScores, options: ProfileOptions) -> NoiseFloor | None:
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


def _summary_noise(summary: Summary, options: ProfileOptions) -> NoiseFloor | None:
    """The noise floor where the samples are gone."""
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
