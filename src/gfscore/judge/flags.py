"""Flags: facts that make a number less trustworthy than it looks, each with what to do about it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from gfscore.errors import PLURALS, first_few
from gfscore.judge.accuracies import Decisions, is_at_chance
from gfscore.judge.mistakes import Pairs, label_flag
from gfscore.judge.policy import ABSENT
from gfscore.metrics.formulas import worst_classes
from gfscore.probabilities import PERCENT, RowSums, places
from gfscore.profile import ClassProfile
from gfscore.results import ONE_TAKES_ALL, Flag, ModelAudit
from gfscore.samples import NO_TABLE, Samples, TableNotes
from gfscore.scores import LocalScores
from gfscore.scores.sample_scores import SATURATED
from gfscore.summaries import Summary

DEFAULT_MIN_N = 30  # the usual rule of thumb; Hoeffding's interval at n = 30, K = 10 is +-0.4, a third of the range
ALL_ZERO = Flag(
    code="all_zero",
    message="every score is 0, so NRGC, Theil and Atkinson do not exist: no sample leads in its class. Check that "
    "labels and logits belong together.",
)
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
    pairs: Pairs | None = None  # of labels and decisions; None where only sums by group were kept
    row_sums: RowSums | None = None  # of probabilities
    table: TableNotes = NO_TABLE  # how the columns of a table were read
    halved_batches: int = 0  # of the model, that did not fit into memory

    @classmethod
    def of(cls, samples: Samples, local: LocalScores) -> Self:
        """From the samples themselves."""
        return cls(
            decisions=Decisions.of(samples, local),
            pairs=Pairs.of(samples, local),
            n_classes=samples.n_classes,
            n_samples=samples.n_samples,
            tied=int((local.tied & (local.predicted == samples.labels)).sum()),
            saturated=int(local.saturated.sum()),
            total=float(local.values.sum()),
            centred=float(local.centred.sum()),
            value_range=samples.value_range,
            probabilities=samples.probabilities,
            row_sums=samples.row_sums,
            table=samples.table,
            halved_batches=samples.halved_batches + local.halved_batches,
        )

    @classmethod
    def of_summary(cls, summary: Summary, table: TableNotes = NO_TABLE) -> Self:
        """From what is left of them."""
        return cls(
            decisions=Decisions.of_summary(summary),
            pairs=Pairs.of_summary(summary),
            n_classes=len(summary.class_names),
            n_samples=summary.n_samples,
            tied=int(summary.column("tied").sum()),
            saturated=int(summary.column("saturated").sum()),
            total=summary.kind.maximum * summary.total("x"),
            centred=summary.kind.maximum * summary.total("centred"),
            value_range=summary.value_range,
            probabilities=summary.kind.probabilities,
            row_sums=summary.row_sums,
            table=table,
            halved_batches=summary.halved_batches,
        )


def audit_flags(facts: Facts, profile: ClassProfile, *, min_n: int) -> tuple[Flag, ...]:
    """All flags that apply, in a fixed order."""
    found = (
        absent_flag(profile.absent),
        _label_flag(facts),
        *_profile_flags(profile, min_n),
        _at_chance(facts, profile),
        _one_class_takes_all(facts),
        *_score_flags(facts),
        None if facts.probabilities else bounded_flag(*facts.value_range),
        *_input_flags(facts),
    )
    return tuple(flag for flag in found if flag is not None)


def absent_flag(absent: tuple[str, ...]) -> Flag | None:
    """The flag of classes without a sample."""
    if not absent:
        return None
    return Flag(
        code=ABSENT,
        message=f"classes without a sample ({first_few(absent)}; {len(absent):,} in all) have no score and "
        "are left out of every metric.",
    )


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


def bounded_flag(low: float, high: float) -> Flag | None:
    """The flag of logits between ``low`` and ``high`` that may be no logits."""
    if low < 0 or high > 1 or np.isclose(low, high):
        return None
    return Flag(
        code="bounded_logits",
        message=f"all logits lie in [{low:.3g}, {high:.3g}], and rows do not sum to 1: if these are sigmoid "
        "outputs p or normalised scores, they are no logits and the score means nothing. Save what comes before the "
        "sigmoid, log(p / (1 - p)), and say --activation sigmoid if classes are judged one by one.",
    )


def known_flags(model: ModelAudit) -> tuple[Flag, ...]:
    """The flags of an audit that was made before, and those that void a verdict where its classes show them.

    Earlier versions knew fewer flags, and a file may have lost them.
    """
    classes, found = model.classes, {flag.code for flag in model.flags}
    void: list[Flag | None] = []
    if ALL_ZERO.code not in found and all(entry.score == 0 for entry in classes):
        void.append(ALL_ZERO)
    if "at_chance" not in found and model.partition == "class":
        accuracy = sum(entry.accuracy for entry in classes) / len(classes)
        worth = len(classes) ** 2 / sum(1 / entry.n for entry in classes)
        void.append(chance_flag(accuracy, worth, 1 / (len(classes) + len(model.absent_classes))))
    return (*model.flags, *(flag for flag in void if flag is not None))


def _profile_flags(profile: ClassProfile, min_n: int) -> Iterator[Flag]:
    """What makes the scores of classes, or of groups, less than they look."""
    names, parts = profile.names, PLURALS[profile.partition]
    if profile.weighted_by == "unequal_draws":
        why = "a class of it has no sample"
        if profile.partition == "group":
            why = "within a group classes are mixed otherwise than in the data set, and so are its score and accuracy"
        yield Flag(
            code="unequal_draws",
            message="classes were not drawn in proportion to their numbers in the data set, and cannot be weighed: "
            f"{why}. Score and accuracy of the whole are those of the samples drawn, and have no interval.",
        )
    if few := [name for name, n in zip(names, profile.counts, strict=True) if n < min_n]:
        yield Flag(
            code="few_samples",
            message=f"{len(few)} of {len(names)} {parts} have fewer than {min_n} samples ({first_few(few)}): their "
            "scores are mostly chance; read the intervals, not the points.",
        )
    worst = worst_classes(profile.scores)
    if len(worst) > 1:
        yield Flag(
            code="tied_worst",
            message=f"{len(worst)} {parts} share the lowest score {profile.scores[worst[0]]:.4g} "
            f"({first_few([names[k] for k in worst])}): the one named as worst is only the first of them.",
        )
    zero = [names[k] for k in np.flatnonzero(profile.scores == 0)]
    if len(zero) == len(names):
        yield ALL_ZERO
    elif zero:
        yield Flag(
            code="zero_classes",
            message=f"{len(zero)} of {len(names)} {parts} score exactly 0 ({first_few(zero)}): no sample of theirs has "
            "its own class in front. Atkinson is then 1, and its adjusted mean 0, by definition.",
        )


def _at_chance(facts: Facts, profile: ClassProfile) -> Flag | None:
    if facts.decisions is None:
        return chance_flag(profile.accuracy, float(facts.n_samples), 1.0 / facts.n_classes)
    return chance_flag(facts.decisions.accuracy, facts.decisions.worth, facts.decisions.guess)


def _label_flag(facts: Facts) -> Flag | None:
    if facts.pairs is None or facts.decisions is None:
        return None
    return label_flag(facts.pairs, facts.decisions.names)


def _one_class_takes_all(facts: Facts) -> Flag | None:
    decided = facts.decisions
    if decided is None:
        return None
    top = int(decided.taken.argmax())
    taken, own = decided.taken[top] / facts.n_samples, decided.counts[top] / facts.n_samples
    if taken < TAKEN_SHARE or own > OWN_SHARE:
        return None
    return Flag(
        code=ONE_TAKES_ALL,
        message=f"{100 * taken:.1f} % of the samples are decided for {decided.names[top]}, which is the label of "
        f"{100 * own:.1f} %. Inputs on the wrong scale do this (check --mean and --std or --preset, and --range), and "
        "so does a column that is no class (--ignore-columns).",
    )


def _score_flags(facts: Facts) -> Iterator[Flag]:
    """What makes the scores of samples less than they look."""
    if facts.tied:
        yield Flag(
            code="tied_logits",
            message=f"{facts.tied:,} samples count as correct only because their class comes first among equal logits: "
            "they score 0. Coarse logits (float16, int8) do this.",
        )
    share = facts.saturated / facts.n_samples
    if share > SATURATED_SHARE:
        yield Flag(
            code="saturated",
            message=f"{100 * share:.1f} % of the samples score above {SATURATED:g} of the maximum: the profile repeats "
            "the class accuracies. A higher temperature (of a radius: a higher cap, more noise samples) spreads it "
            "out.",
        )
    if facts.total < SHIFT_KEPT * facts.centred:  # a common shift of all logits changes no decision
        yield Flag(
            code="sigmoid_shift",
            message=f"sigmoid keeps {100 * facts.total / facts.centred:.1f} % of the score that the same logits would "
            "have if shifted to their middle: the level of the logits, which decides nothing, sets the score. Use "
            "softmax.",
        )


def _input_flags(facts: Facts) -> Iterator[Flag]:
    """How tables and probabilities were read, and models run."""
    if left_out := facts.table.left_out:
        columns = "1 column of the table was" if len(left_out) == 1 else f"{len(left_out)} columns of the table were"
        yield Flag(
            code="left_out_columns",
            message=f"{columns} taken for no class and left out "
            f"({first_few([name or 'one without a name' for name in left_out])}).",
        )
    if facts.table.decimal_comma:
        yield Flag(
            code="decimal_comma",
            message="numbers of the table were read with a decimal comma: 1,234 is a little more than 1. If it stands "
            "between thousands, leave it out of the file.",
        )
    if facts.probabilities and facts.row_sums is not None:
        yield from _probability_flags(facts.row_sums, facts.n_samples * facts.n_classes)
    if facts.halved_batches:
        yield Flag(
            code="halved_batches",
            message=f"{facts.halved_batches:,} batches did not fit into memory and were run in halves: numbers may "
            "differ by up to 1e-5 from those of a run that had the memory. A smaller --batch-size avoids it.",
        )


def _probability_flags(sums: RowSums, n_values: int) -> Iterator[Flag]:
    found = sums.reading()
    if found is None:
        return
    if found.whole == PERCENT:
        yield Flag(code="percentages", message="rows sum to 100, so the probabilities were read as percentages.")
    hidden = 2 if found.whole == PERCENT else 0  # a percentage is two decimals longer as a share
    if found.decimals is not None and found.decimals + hidden <= SHOWN_DECIMALS:
        yield Flag(
            code="rounded_probabilities",
            message=f"probabilities have {places(found.decimals)}: classes that rounding made equal are ties, which "
            f"score 0; {100 * sums.zeros / n_values:.1f} % of the values are 0, which no temperature changes; and each "
            f"row was divided by its sum, which is up to {100 * found.excess:.2g} % off. Save more decimals, or the "
            "logits.",
        )
