"""Is a classifier any better than guessing? If not, whatever is said of its classes is about nothing."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from gfscore.arrays import IntArray
from gfscore.bounds import clopper_pearson
from gfscore.samples import Samples
from gfscore.scores.local import LocalScores
from gfscore.summaries import Summary

LEVEL = 0.05  # of the Clopper-Pearson interval
DOUBT = 0.001  # of that which must lie above guessing before nothing more is looked at: it was not fixed when to stop
NEAR = (0.05, 0.5)  # of what is left above guessing, and of guessing itself: an accuracy so little above it is near it
FAR = 4.0  # times that is clearly above it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Decisions:
    r"""What a model decides, by class: ``(K,)`` each, absent classes too.

    Classes are weighed equally. Decisions that do not depend on the labels have then the same accuracy on average
    whatever they are: :math:`\frac1K`, or less where some are for absent classes. So a model that always names the
    largest class is not taken for a good one, nor a good one on uneven classes for a bad one.

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

        def counted(classes: IntArray) -> IntArray:
            return np.bincount(classes, minlength=samples.n_classes).astype(np.int64)

        named = local.predicted if local.abstained is None else local.predicted[~local.abstained]
        return cls(
            names=samples.class_names,
            counts=counted(samples.labels),
            correct=counted(samples.labels[local.correct(samples.labels)]),
            taken=counted(named),
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

        def added(counts: IntArray, classes: IntArray) -> IntArray:
            return counts + np.bincount(classes, minlength=len(self.names)).astype(np.int64)

        return replace(
            self,
            counts=added(self.counts, labels),
            correct=added(self.correct, labels[labels == decided]),
            taken=added(self.taken, decided),
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
        lower, _ = clopper_pearson(self.accuracy * self.worth, self.worth, DOUBT)
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
    _, upper = clopper_pearson(accuracy * n, n, LEVEL)
    return accuracy <= guess + near and float(upper) <= guess + FAR * near


def _near(guess: float) -> float:
    """By how much an accuracy may be above guessing and be near it."""
    return min(NEAR[0] * (1.0 - guess), NEAR[1] * guess)
