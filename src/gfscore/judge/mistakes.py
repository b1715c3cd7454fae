"""Mistakes that decisions show: labels that fit far better when they are shifted by one, or permuted.

Both are looked for in the numbers of samples by label and decision, so that a stream shows them too. Neither is raised
by chance: a network whose decisions do not depend on the labels is flagged with probability at most FALSE_ALARM.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import first_few
from gfscore.results import Flag
from gfscore.samples import Samples
from gfscore.scores import LocalScores
from gfscore.summaries import Summary

FALSE_ALARM = 0.001  # how often decisions that do not depend on the labels may be flagged by either flag
TIMES_BETTER = 2  # as many right decisions: "far better"
SHIFTED_RIGHT = 0.35  # of all samples, that are right at least when shifted: what slips in preprocessing do not reach
MOST_RIGHT = 0.5  # of the samples of permuted classes, that are then right at least
MOST_ALIKE = 0.9  # of the moved classes, that an order explains at least: a class of few samples may be found elsewhere
MOST_CLASSES = 2048  # for which all permutations are searched: a matrix of 32 MB
SHIFTS = (-1, 1)  # what a decision is from its label, where labels count from 1, or the model has a class before them


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """How many samples have a label and a decision; only pairs that occur are kept.

    >>> pairs = Pairs.of_keys(np.array([0, 1, 1, 3]), 2)  # label 0 decided for 0, label 0 for 1 twice, label 1 for 1
    >>> pairs.labels.tolist(), pairs.decided.tolist(), pairs.counts.tolist()
    ([0, 0, 1], [0, 1, 1], [1, 2, 1])
    """

    labels: IntArray
    decided: IntArray
    counts: IntArray
    n_classes: int

    @classmethod
    def of_keys(cls, keys: IntArray, n_classes: int, counts: IntArray | None = None) -> Self:
        """From ``label * n_classes + decision`` of each sample, or of each pair with its count."""
        if counts is None:
            keys, counts = np.unique(keys, return_counts=True)
        return cls(labels=keys // n_classes, decided=keys % n_classes, counts=counts, n_classes=n_classes)

    @classmethod
    def of(cls, samples: Samples, local: LocalScores) -> Self:
        """From the samples themselves; where no class was named, nothing was decided."""
        keys = samples.labels * samples.n_classes + local.predicted
        return cls.of_keys(keys if local.abstained is None else keys[~local.abstained], samples.n_classes)

    @classmethod
    def of_summary(cls, summary: Summary) -> Self | None:
        """From sums by class; None where they are by group, which do not tell the labels."""
        if summary.partition == "group":
            return None
        n_classes, correct = len(summary.class_names), summary.column("correct")
        right = np.flatnonzero(correct)
        keys = np.concatenate([right * (n_classes + 1), summary.confusions])
        return cls.of_keys(keys, n_classes, np.concatenate([correct[right], summary.confusion_counts]))

    def right(self, shift: int = 0) -> int:
        """Samples that are decided for their label plus a shift."""
        return int(self.counts[self.decided == self.labels + shift].sum())

    def matrix(self) -> FloatArray:
        """The counts as ``(K, K)``, labels in rows."""
        table = np.zeros((self.n_classes, self.n_classes))
        table[self.labels, self.decided] = self.counts
        return table


def label_flag(pairs: Pairs, names: tuple[str, ...]) -> Flag | None:
    """The flag of labels that fit far better when they are shifted, or else permuted."""
    if pairs.counts.sum() == 0:
        return None
    return _shifted(pairs) or _permuted(pairs, names)


def _shifted(pairs: Pairs) -> Flag | None:
    r"""Raised for a shift s when the labels plus s are classes, and right twice as often or more, and not by chance.

    A label that is shifted out of the classes is no label of any sample: labels from 1 have no 0. Decisions that do not
    depend on the labels are right for a share :math:`g = \sum_k p_k q_{k+s}` of the samples, with p the shares of the
    labels and q of the decisions. Chernoff's bound on more makes the false alarms rare.
    """
    n, k = int(pairs.counts.sum()), pairs.n_classes
    of_labels, of_decisions = (np.bincount(x, pairs.counts, k) / n for x in (pairs.labels, pairs.decided))
    for shift in SHIFTS:
        right, edge = pairs.right(shift), 0 if shift < 0 else k - 1
        far = right >= max(SHIFTED_RIGHT * n, TIMES_BETTER * pairs.right())
        guess = float(of_labels @ np.roll(of_decisions, -shift))
        if of_labels[edge] > 0 or not far or not beyond_guessing(right, n, guess, math.log(len(SHIFTS))):
            continue
        cause = "labels seem to count from 1. Say --labels-from 1, or subtract 1 from the labels of the data."
        if shift > 0:
            cause = (
                "the model seems to have a class before the first label, such as a background. Say --labels-from -1, "
                "or add 1 to the labels of the data."
            )
        return Flag(
            code="labels_shifted",
            message=f"{100 * pairs.right() / n:.1f} % of the decisions are right, and {100 * right / n:.1f} % are for "
            f"the class {'before' if shift < 0 else 'after'} the label: {cause}",
        )
    return None


def _permuted(pairs: Pairs, names: tuple[str, ...]) -> Flag | None:
    r"""Raised when classes are right at least twice as often, and in most samples, under the best permutation.

    Only classes that it moves are looked at. The chance that some permutation of decisions that do not depend on the
    labels is so often right is at most K! times that of one, of which the likeliest takes the largest shares together.
    """
    if pairs.n_classes > MOST_CLASSES or not _some_class_is_taken(pairs):
        return None
    from scipy.optimize import linear_sum_assignment  # takes a while to import, and is rarely needed

    table = pairs.matrix()
    _, best = linear_sum_assignment(table, maximize=True)
    moved = np.flatnonzero((best != np.arange(pairs.n_classes)) & (table.sum(axis=1) > 0))
    n, right, before = table[moved].sum(), table[moved, best[moved]].sum(), table[moved, moved].sum()
    if len(moved) < 2 or right < TIMES_BETTER * before or right < MOST_RIGHT * n:
        return None
    of_labels, of_decisions = (np.sort(table[moved].sum(axis=axis) / n)[::-1] for axis in (1, 0))
    guess = float(of_labels @ of_decisions[: len(moved)])
    if not beyond_guessing(int(right), int(n), guess, math.lgamma(pairs.n_classes + 1)):
        return None
    some = first_few([f"{names[label]} as {names[best[label]]}" for label in moved], 3)
    return Flag(
        code="labels_permuted",
        message=f"{100 * before / n:.1f} % of the decisions on {len(moved)} classes are right, and "
        f"{100 * right / n:.1f} % would be if classes were exchanged ({some}): labels and model have the "
        f"classes in different orders{_known_order(best, moved, names)}. Give labels by name, or say their "
        "order with --label-names (of an image folder: the order of the model with --class-names).",
    )


def _some_class_is_taken(pairs: Pairs) -> bool:
    """Whether most samples of some class are decided for one other, without which no permutation is right in most."""
    wrong = pairs.labels != pairs.decided
    most, sizes = np.zeros(pairs.n_classes), np.bincount(pairs.labels, pairs.counts, pairs.n_classes)
    np.maximum.at(most, pairs.labels[wrong], pairs.counts[wrong])
    return bool(((most >= MOST_RIGHT * sizes) & (sizes > 0)).any())


def _known_order(best: IntArray, moved: IntArray, names: tuple[str, ...]) -> str:
    """What is known to bring classes into another order, where that explains the permutation."""
    k = len(names)
    as_text = np.array(sorted(range(k), key=str))
    as_text_from_one = np.array(sorted(range(1, k + 1), key=str)) - 1
    by_name = np.array(sorted(range(k), key=lambda index: names[index]))
    ways = (
        (as_text, "numbers sorted as text (1, 10, 2)"),
        (as_text_from_one, "numbers sorted as text (1, 10, 2)"),
        (by_name, "names in the order of the alphabet"),
    )
    for order, what in ways:
        for found in (order, np.argsort(order)):
            if (best[moved] == found[moved]).mean() >= MOST_ALIKE:
                return f", as {what} do on one side"
    return ""


def beyond_guessing(right: int, n: int, guess: float, log_choices: float = 0.0) -> bool:
    r"""Whether chance gives so many right decisions of n with probability at most FALSE_ALARM, among several choices.

    .. math:: n \, \mathrm{KL}(\tfrac{right}{n} \,\|\, guess) \ge \log(choices) + \log\frac{2}{\text{FALSE\_ALARM}}

    by Chernoff's bound and a union over the choices; half of FALSE_ALARM is for each of the two flags.
    """
    share = right / n
    if not share > guess:
        return False
    if guess <= 0:
        return True
    divergence = share * math.log(share / guess)
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - guess))
    return n * divergence >= log_choices + math.log(2 / FALSE_ALARM)
