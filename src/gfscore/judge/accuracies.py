"""Clean accuracy, the first thing to know of a model: whether it is as expected, more than guessing, and how sure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import IntArray
from gfscore.bounds import Strata, clopper_pearson
from gfscore.errors import InvalidInputError, OptionError
from gfscore.judge.policy import EVERY
from gfscore.results import ClassResult, Interval, ModelAudit
from gfscore.samples import Samples
from gfscore.scores import LocalScores
from gfscore.summaries import Summary

STOPPED_BY_CHANCE = 0.001  # how often a sound run may be stopped because its accuracy was not the expected one
GUESS_LEVEL = 0.05  # of the Clopper-Pearson interval that rules out more than guessing
DOUBT_LEVEL = 0.001  # of that which must lie above guessing before nothing more is looked at: no size was fixed before
NEAR = (0.05, 0.5)  # of what is left above guessing, and of guessing itself: an accuracy so little above it is near it
FAR = 4.0  # times that is clearly above it


class AccuracyError(InvalidInputError):
    """The clean accuracy is not what was expected."""


def check_expectation(expected: float) -> None:
    """Refuse an expected accuracy that is none."""
    if not 0 <= expected <= 1:
        raise OptionError(f"expected accuracy {expected} is not between 0 and 1. Write 0.9173 for 91.73 %.")


def check_accuracy(accuracy: ArrayLike, n: ArrayLike, expected: float, *, totals: ArrayLike | None = None) -> None:
    """Stop when the clean accuracy is further from what was expected than sampling explains.

    ``accuracy`` and ``n`` are of all samples, or of each class, ``(K,)``; ``totals`` are then the sizes of the classes
    in the set whose accuracy was expected, where they were not drawn in proportion. Part of a fixed set is judged as
    draws from a distribution are: that allows a little more, and what was expected is rounded anyway.
    """
    counts = np.atleast_1d(np.asarray(n, dtype=np.int64))
    strata = Strata.of(np.rint(np.atleast_1d(accuracy) * counts), counts, totals=totals)
    lower, upper = strata.whole_ends(STOPPED_BY_CHANCE / 2)
    if not lower <= expected <= upper:
        weighed = "" if strata.proportional else ", with each class weighed by its size in the data set"
        raise AccuracyError(
            f"clean accuracy is {strata.whole:.4f} on {counts.sum():,} samples{weighed}, not the expected "
            f"{expected:.4f} (sampling alone allows {lower:.4f} to {upper:.4f}). Check preprocessing, label order and "
            "evaluation mode."
        )


def accuracy_intervals(
    model: ModelAudit, asked: Collection[str | None], level: float
) -> tuple[Interval | None, dict[str, Interval]]:
    """Of the whole (None among ``asked``) and of the classes that are asked about (``*``: of every one), by name.

    They hold together with probability 1 - ``level``, and are about what the other intervals of the audit are about: a
    distribution, or a fixed set. In the whole each class weighs as much as in the model's accuracy
    (:class:`~gfscore.bounds.Strata`); it has no interval where the classes could not be weighed.
    """
    entries = [entry for entry in model.classes if EVERY in asked or entry.name in asked]
    shares = len(entries) + (None in asked)
    if shares == 0:
        return None, {}
    alpha, whole, classes = level / (2 * shares), None, dict[str, Interval]()
    if None in asked and model.samples.weighted_by != "unequal_draws":
        whole = _strata(model, model.classes).whole_ends(alpha)
    if entries:
        lower, upper = _strata(model, entries).part_ends(alpha)
        ends = zip(lower.tolist(), upper.tolist(), strict=True)
        classes = dict(zip([entry.name for entry in entries], ends, strict=True))
    return whole, classes


def _strata(model: ModelAudit, entries: Sequence[ClassResult]) -> Strata:
    """The correct decisions of some classes."""
    counts = np.array([entry.n for entry in entries])
    sizes = [entry.size for entry in entries if entry.size is not None]
    known = sizes if len(sizes) == len(entries) else None  # a file of an earlier version does not say
    return Strata.of(
        np.rint([entry.accuracy * entry.n for entry in entries]),
        counts,
        totals=known if model.samples.weighted_by == "class_sizes" else counts,
        sizes=known if model.interval.target == "finite" else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Decisions:
    r"""What a model decides, by class: ``(K,)`` each, absent classes too.

    Classes are weighed equally. Decisions that do not depend on the labels have then one accuracy on average, whatever
    they are: :math:`\frac1K`, or less where some are for absent classes. So a model that always names the largest
    class is not taken for a good one, nor a good one on uneven classes for a bad one.

    >>> always = Decisions(names=("a", "b"), counts=np.array([90, 10]), correct=np.array([90, 0]),
    ...                    taken=np.array([100, 0]))
    >>> always.accuracy, always.guess, always.worth
    (0.5, 0.5, 36.0)
    """

    names: tuple[str, ...]
    counts: IntArray  # samples whose label it is
    correct: IntArray  # of these, decided rightly
    taken: IntArray  # samples that are decided for it

    @classmethod
    def of(cls, samples: Samples, local: LocalScores) -> Self:
        """From the samples themselves; where no class was named, none is taken."""
        k, named = samples.n_classes, local.predicted
        return cls(
            names=samples.class_names,
            counts=_count(samples.labels, k),
            correct=_count(samples.labels[local.correct(samples.labels)], k),
            taken=_count(named if local.abstained is None else named[~local.abstained], k),
        )

    @classmethod
    def of_summary(cls, summary: Summary) -> Self | None:
        """From sums by class; None where they are by group, which do not tell the classes of what is right."""
        if summary.partition == "group":
            return None
        correct, taken = summary.column("correct"), summary.column("correct").copy()
        np.add.at(taken, summary.confusions % len(summary.class_names), summary.confusion_counts)
        return cls(names=summary.class_names, counts=summary.counts, correct=correct, taken=taken)

    def with_more(self, labels: IntArray, decided: IntArray) -> Self:
        """These and some more samples, of which the labels and the decisions are ``(n,)``."""
        k = len(self.names)
        return replace(
            self,
            counts=self.counts + _count(labels, k),
            correct=self.correct + _count(labels[labels == decided], k),
            taken=self.taken + _count(decided, k),
        )

    @property
    def accuracy(self) -> float:
        """The mean of the accuracies of the classes that have samples."""
        there = self.counts > 0
        return float((self.correct[there] / self.counts[there]).mean())

    @property
    def worth(self) -> float:
        r"""The samples that this mean is worth, :math:`K^2 / \sum_k \frac1{n_k}`: all, where classes are even."""
        counts = self.counts[self.counts > 0]
        return float(len(counts) ** 2 / (1.0 / counts).sum())

    @property
    def guess(self) -> float:
        """What this mean would be were the labels shuffled, but at least 1/K."""
        there = self.counts > 0
        return max(1.0 / len(self.counts), float(self.taken[there].sum() / self.counts.sum() / there.sum()))

    @property
    def is_doubtful(self) -> bool:
        """Whether these samples leave it open that the model does no better than guessing."""
        lower, _ = clopper_pearson(self.accuracy * self.worth, self.worth, DOUBT_LEVEL)
        return float(lower) <= self.guess + _near(self.guess)


def is_at_chance(accuracy: float, n: float, guess: float) -> bool:
    r"""Whether an accuracy, from ``n`` samples, is that of guessing, which gives ``guess``.

    .. math:: a \le g + m \text{ and } u \le g + 4m, \qquad m = \min\{\tfrac1{20}(1 - g),\; \tfrac12\,g\}

    with u the upper end of the Clopper-Pearson interval. Were it to ask for u to be at most g, only one guesser in
    forty would be found: their accuracies lie about g, and half of them above. So the estimate must be near, and the
    samples so many that an accuracy clearly above guessing is ruled out: ten samples show nothing.

    >>> is_at_chance(0.125, 10_000, 0.1), is_at_chance(0.16, 10_000, 0.1), is_at_chance(0.1, 10, 0.1)
    (True, False, False)
    """
    near = _near(guess)
    _, upper = clopper_pearson(accuracy * n, n, GUESS_LEVEL)
    return accuracy <= guess + near and float(upper) <= guess + FAR * near


def _near(guess: float) -> float:
    """By how much an accuracy may be above guessing and be near it."""
    return min(NEAR[0] * (1.0 - guess), NEAR[1] * guess)


def _count(classes: IntArray, n_classes: int) -> IntArray:
    return np.bincount(classes, minlength=n_classes).astype(np.int64)
