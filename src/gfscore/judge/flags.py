"""Flags: facts that make a number less trustworthy than it looks, each with what to do about it."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from gfscore.errors import PLURALS, first_few
from gfscore.judge.chance import Decisions, is_at_chance
from gfscore.metrics.formulas import worst_classes
from gfscore.probabilities import PERCENT, Reading, RowSums, places
from gfscore.profile import ClassProfile
from gfscore.results import Flag, ModelAudit
from gfscore.samples import Samples
from gfscore.scores.local import SATURATED, LocalScores
from gfscore.summaries import Summary

DEFAULT_MIN_N = (
    30  # the usual rule of thumb; Hoeffding's interval at n = 30, K = 10 is then +-0.4, a third of the range
)
ALL_ZERO = "every score is 0, so NRGC, Theil and Atkinson do not exist: no sample leads in its class."
SATURATED_SHARE = 0.5  # of the samples: then the profile is mostly accuracy
SHIFT_KEPT = 0.5  # share of the sigmoid score left over by the common shift of the logits
SHOWN_DECIMALS = 4  # of probabilities: rounding to more is lost among the digits that scores are shown with
TAKEN_SHARE, OWN_SHARE = 0.9, 0.6  # of the samples: what a class takes at least, and what it has of the labels at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the flags need to know of the samples beside the profile."""

    n_samples: int
    tied: int  # samples that count as correct only because their class comes first among equal logits
    saturated: int  # samples that score near the maximum
    total: float  # sum of the scores
    centred: float  # sum of what sigmoid scores would be were the logits shifted to their middle; 0 for others
    value_range: tuple[float, float]  # of the logits
    probabilities: bool
    decisions: Decisions | None  # by class; None where only sums by group were kept
    n_classes: int  # of the model
    row_sums: RowSums | None = None  # of probabilities
    left_out: tuple[str, ...] = ()  # columns of a table that were taken for no class
    halved_batches: int = 0  # of the model, that did not fit into memory

    @classmethod
    def of(cls, samples: Samples, local: LocalScores) -> Self:
        """From the samples themselves."""
        return cls(
            decisions=Decisions.of(samples, local),
            n_classes=samples.n_classes,
            n_samples=samples.n_samples,
            tied=int((local.tied & (local.predicted == samples.labels)).sum()),
            saturated=int(local.saturated.sum()),
            total=float(local.values.sum()),
            centred=float(local.centred.sum()),
            value_range=samples.value_range,
            probabilities=samples.probabilities,
            row_sums=samples.row_sums,
            left_out=samples.table.left_out,
            halved_batches=samples.halved_batches + local.halved_batches,
        )

    @classmethod
    def of_summary(cls, summary: Summary, left_out: tuple[str, ...] = ()) -> Self:
        """From what is left of them."""
        return cls(
            decisions=Decisions.of_summary(summary),
            n_classes=len(summary.class_names),
            n_samples=summary.n_samples,
            tied=int(summary.column("tied").sum()),
            saturated=int(summary.column("saturated").sum()),
            total=summary.kind.maximum * summary.total("x"),
            centred=summary.kind.maximum * summary.total("centred"),
            value_range=summary.value_range,
            probabilities=summary.kind.probabilities,
            row_sums=summary.row_sums,
            left_out=left_out,
            halved_batches=summary.halved_batches,
        )


def audit_flags(facts: Facts, profile: ClassProfile, *, min_n: int) -> tuple[Flag, ...]:
    """All flags that apply, in a fixed order."""
    found = (
        absent_flag(profile.absent),
        _unequal_draws(profile),
        _few_samples(profile, min_n),
        _tied_worst(profile),
        _zero_classes(profile),
        _at_chance(facts, profile),
        _one_class_takes_all(facts),
        _tied_logits(facts),
        _saturated(facts),
        _sigmoid_shift(facts),
        None if facts.probabilities else bounded_flag(*facts.value_range),
        _left_out(facts),
        _percentages(facts),
        _rounded_probabilities(facts),
        _halved_batches(facts),
    )
    return tuple(flag for flag in found if flag is not None)


def absent_flag(absent: tuple[str, ...]) -> Flag | None:
    """The flag of classes without a sample."""
    if not absent:
        return None
    return Flag(
        code="absent_classes",
        message=f"classes without a sample ({first_few(absent)}; {len(absent):,} in all) have no score and "
        "are left out of every metric.",
    )


def _unequal_draws(profile: ClassProfile) -> Flag | None:
    if profile.weighted_by != "unequal_draws":
        return None
    why = (
        "within a group classes are mixed otherwise than in the data set, and so are its score and accuracy"
        if profile.partition == "group"
        else "a class of it has no sample"
    )
    return Flag(
        code="unequal_draws",
        message=f"classes were not drawn in proportion to their numbers in the data set, and cannot be weighed: "
        f"{why}. Score and accuracy of the whole are those of the samples drawn, and have no interval.",
    )


def _few_samples(profile: ClassProfile, min_n: int) -> Flag | None:
    few = tuple(name for name, n in zip(profile.names, profile.counts.tolist(), strict=True) if n < min_n)
    if not few:
        return None
    return Flag(
        code="few_samples",
        message=f"{len(few)} of {len(profile.names)} {_parts(profile)} have fewer than {min_n} samples "
        f"({first_few(few)}): their scores are mostly chance; read the intervals, not the points.",
    )


def _tied_worst(profile: ClassProfile) -> Flag | None:
    worst = worst_classes(profile.scores)
    if len(worst) < 2:
        return None
    names = tuple(profile.names[k] for k in worst)
    lowest = profile.scores[worst[0]]
    return Flag(
        code="tied_worst",
        message=f"{len(names)} {_parts(profile)} share the lowest score {lowest:.4g} ({first_few(names)}): "
        "the one named as worst is only the first of them.",
    )


def _zero_classes(profile: ClassProfile) -> Flag | None:
    zero = tuple(profile.names[k] for k in np.flatnonzero(profile.scores == 0))
    if not zero:
        return None
    if len(zero) == len(profile.names):
        return Flag(
            code="all_zero",
            message=f"{ALL_ZERO} Check that labels and logits belong together.",
        )
    return Flag(
        code="zero_classes",
        message=f"{len(zero)} of {len(profile.names)} {_parts(profile)} score exactly 0 ({first_few(zero)}): no sample "
        "of theirs has its own class in front. Atkinson is then 1, and its adjusted mean 0, by definition.",
    )


def _at_chance(facts: Facts, profile: ClassProfile) -> Flag | None:
    if facts.decisions is None:
        return chance_flag(profile.accuracy, float(facts.n_samples), 1.0 / facts.n_classes)
    return chance_flag(facts.decisions.accuracy, facts.decisions.worth, facts.decisions.guess)


def chance_flag(accuracy: float, n: float, guess: float) -> Flag | None:
    """The flag of a model that does no better than guessing; arguments as of :func:`is_at_chance`."""
    if not is_at_chance(accuracy, n, guess):
        return None
    return Flag(
        code="at_chance",
        message=f"accuracy, with classes weighed equally, is {100 * accuracy:.3g} %, and guessing gives "
        f"{100 * guess:.3g} %: the scores are about nothing. Check that the labels are those of these samples and in "
        "their order, that images were transposed and not reshaped, that mean and std are those of training, and that "
        "every column is a class.",
    )


def known_flags(model: ModelAudit) -> tuple[Flag, ...]:
    """The flags of an audit that was made before, and those that void a verdict where its classes show them.

    Earlier versions knew fewer flags, and a file may have lost them.
    """
    classes, found = model.classes, {flag.code for flag in model.flags}
    void: list[Flag | None] = []
    if "all_zero" not in found and all(entry.score == 0 for entry in classes):
        void.append(Flag(code="all_zero", message=f"{ALL_ZERO} Check that labels and logits belong together."))
    if "at_chance" not in found and model.partition == "class":
        accuracy = sum(entry.accuracy for entry in classes) / len(classes)
        worth = len(classes) ** 2 / sum(1 / entry.n for entry in classes)
        void.append(chance_flag(accuracy, worth, 1 / (len(classes) + len(model.absent_classes))))
    return (*model.flags, *(flag for flag in void if flag is not None))


def _one_class_takes_all(facts: Facts) -> Flag | None:
    decided = facts.decisions
    if decided is None:
        return None
    top = int(decided.taken.argmax())
    taken, own = decided.taken[top] / facts.n_samples, decided.counts[top] / facts.n_samples
    if taken < TAKEN_SHARE or own > OWN_SHARE:
        return None
    return Flag(
        code="one_class_takes_all",
        message=f"{100 * taken:.1f} % of the samples are decided for {decided.names[top]}, which is the label of "
        f"{100 * own:.1f} %. Inputs on the wrong scale do this (check mean, std and the range of the pixels), and so "
        "does a column that is no class.",
    )


def _tied_logits(facts: Facts) -> Flag | None:
    if facts.tied == 0:
        return None
    return Flag(
        code="tied_logits",
        message=f"{facts.tied:,} samples count as correct only because their class comes first among equal logits: "
        "they score 0. Coarse logits (float16, int8) do this.",
    )


def _saturated(facts: Facts) -> Flag | None:
    share = facts.saturated / facts.n_samples
    if share <= SATURATED_SHARE:
        return None
    return Flag(
        code="saturated",
        message=f"{100 * share:.1f} % of the samples score above {SATURATED:g} of the maximum: the profile repeats "
        "the class accuracies. A higher temperature (of a radius: a higher cap, more noise samples) spreads it out.",
    )


def _sigmoid_shift(facts: Facts) -> Flag | None:
    """How much of the sigmoid score a common shift of all logits, which changes no decision, has cost."""
    if facts.total >= SHIFT_KEPT * facts.centred:
        return None
    return Flag(
        code="sigmoid_shift",
        message=f"sigmoid keeps {100 * facts.total / facts.centred:.1f} % of the score that the same logits would have "
        "if shifted to their middle: the level of the logits, which decides nothing, sets the score. Use softmax.",
    )


def bounded_flag(low: float, high: float) -> Flag | None:
    """The flag of logits between ``low`` and ``high`` that may be no logits."""
    if low < 0 or high > 1 or np.isclose(low, high):
        return None
    return Flag(
        code="bounded_logits",
        message=f"all logits lie in [{low:.3g}, {high:.3g}]: if these are sigmoid outputs or normalised scores, "
        "they are no logits and the score means nothing.",
    )


def _left_out(facts: Facts) -> Flag | None:
    if not facts.left_out:
        return None
    return Flag(
        code="left_out_columns",
        message=f"{len(facts.left_out)} columns of the table were taken for no class and left out "
        f"({first_few(tuple(name or 'one without a name' for name in facts.left_out))}).",
    )


def _percentages(facts: Facts) -> Flag | None:
    found = _reading(facts)
    if found is None or found.whole != PERCENT:
        return None
    return Flag(
        code="percentages",
        message="rows sum to 100, so the probabilities were read as percentages.",
    )


def _rounded_probabilities(facts: Facts) -> Flag | None:
    """Decimals that are few enough to be seen in the score."""
    found = _reading(facts)
    if found is None or found.decimals is None or facts.row_sums is None:
        return None
    hidden = 2 if found.whole == PERCENT else 0  # a percentage is two decimals longer as a share
    if found.decimals + hidden > SHOWN_DECIMALS:
        return None
    zeros = facts.row_sums.zeros / (facts.n_samples * facts.n_classes)
    return Flag(
        code="rounded_probabilities",
        message=f"probabilities have {places(found.decimals)}: classes that rounding made equal are ties, which score "
        f"0; {100 * zeros:.1f} % of the values are 0, which no temperature changes; and each row was divided by its "
        f"sum, which is up to {100 * found.excess:.2g} % off. Save more decimals, or the logits.",
    )


def _reading(facts: Facts) -> Reading | None:
    return facts.row_sums.reading() if facts.probabilities and facts.row_sums is not None else None


def _halved_batches(facts: Facts) -> Flag | None:
    if facts.halved_batches == 0:
        return None
    return Flag(
        code="halved_batches",
        message=f"{facts.halved_batches:,} batches did not fit into memory and were run in halves: numbers may differ "
        "by up to 1e-5 from those of a run that had the memory. A smaller --batch-size avoids it.",
    )


def _parts(profile: ClassProfile) -> str:
    return PLURALS[profile.partition]
