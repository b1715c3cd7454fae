"""A number per class, or per group: what the scores of its samples have in common."""

from dataclasses import dataclass

import numpy as np

from gfscore.errors import TooFewClassesError
from gfscore.samples import FloatArray, IntArray, Samples
from gfscore.scores.local import BoolArray, LocalScores
from gfscore.summaries import Summary


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassProfile:
    """Mean score per part of a partition (classes or groups), with what is needed to bound it.

    All arrays are ``(K,)`` over the parts that have samples. Absent parts have no score: they are listed.
    """

    partition: str  # "class" or "group"
    names: tuple[str, ...]
    scores: FloatArray  # the means of the local scores, estimates of Omega_k
    stds: FloatArray  # standard deviations with n - 1 in the denominator; NaN where n = 1
    counts: IntArray  # samples behind each estimate, all positive
    accuracies: FloatArray
    confused_with: tuple[str | None, ...]  # the class most often predicted by mistake
    confused_shares: FloatArray  # its share of the part's samples
    absent: tuple[str, ...]
    aggregate: float  # mean score over all samples
    accuracy: float  # over all samples
    abstained: FloatArray | None = None  # share of the samples for which no class was named

    @property
    def class_mean(self) -> float:
        """Unweighted mean over the parts; differs from the aggregate when they are unbalanced."""
        return float(self.scores.mean())


def class_profile(samples: Samples, local: LocalScores) -> ClassProfile:
    r"""Profile over the classes, or over the groups when the samples have any.

    .. math:: \Omega_k = \frac{1}{n_k} \sum_{i \in S_k} g(x_i),
              \qquad \Omega = \sum_k \frac{n_k}{N}\,\Omega_k = \frac{1}{N} \sum_i g(x_i)
    """
    groups = samples.groups
    codes, names = (samples.labels, samples.class_names) if groups is None else (groups.codes, groups.names)
    partition = "class" if groups is None else "group"
    all_counts = np.bincount(codes, minlength=len(names))
    present = np.flatnonzero(all_counts)
    if len(present) < 2:
        raise TooFewClassesError(tuple(names[k] for k in present), kind=partition)
    counts = all_counts[present].astype(np.int64)

    def class_sums(values: FloatArray | BoolArray) -> FloatArray:
        return np.bincount(codes, weights=values, minlength=len(names)).astype(np.float64)

    all_means = class_sums(local.values) / np.maximum(all_counts, 1)
    squares = class_sums((local.values - all_means[codes]) ** 2)[present]
    correct = local.correct(samples.labels).astype(np.float64)
    wrong = local.predicted != samples.labels
    if local.abstained is not None:
        wrong &= ~local.abstained  # who names no class mistakes it for none
    pairs, pair_counts = np.unique(codes[wrong] * samples.n_classes + local.predicted[wrong], return_counts=True)
    confused_with, confused_shares = _confusions(pairs, pair_counts, samples.class_names, present, counts)
    return ClassProfile(
        partition=partition,
        names=tuple(names[k] for k in present),
        scores=all_means[present],
        stds=np.where(counts > 1, np.sqrt(squares / np.maximum(counts - 1, 1)), np.nan),
        counts=counts,
        accuracies=class_sums(correct)[present] / counts,
        confused_with=confused_with,
        confused_shares=confused_shares,
        abstained=None if local.abstained is None else class_sums(local.abstained)[present] / counts,
        absent=tuple(name for name, count in zip(names, all_counts, strict=True) if count == 0),
        aggregate=float(np.dot(counts, all_means[present]) / counts.sum()),
        accuracy=float(correct.mean()),
    )


def summary_profile(summary: Summary) -> ClassProfile:
    """The same from a summary of the scores."""
    all_counts = summary.counts
    present = np.flatnonzero(all_counts)
    names = tuple(summary.names[k] for k in present)
    if len(present) < 2:
        raise TooFewClassesError(names, kind=summary.partition)
    counts, correct = all_counts[present], summary.column("correct")[present]
    confused_with, confused_shares = _confusions(
        summary.confusions, summary.confusion_counts, summary.class_names, present, counts
    )
    maximum = summary.kind.maximum
    return ClassProfile(
        partition=summary.partition,
        names=names,
        scores=maximum * summary.means[present],
        stds=np.where(counts > 1, maximum * np.sqrt(summary.variances[present]), np.nan),
        counts=counts,
        accuracies=correct / counts,
        confused_with=confused_with,
        confused_shares=confused_shares,
        absent=tuple(name for name, count in zip(summary.names, all_counts, strict=True) if count == 0),
        aggregate=maximum * summary.total("x") / int(counts.sum()),
        accuracy=float(correct.sum() / counts.sum()),
    )


def _confusions(
    pairs: IntArray, pair_counts: IntArray, class_names: tuple[str, ...], present: IntArray, counts: IntArray
) -> tuple[tuple[str | None, ...], FloatArray]:
    """For each present part the class most often predicted by mistake (lowest index of several), and its share.

    ``pairs`` are part * K + predicted class, sorted, each once.
    """
    n_classes = len(class_names)
    order = np.argsort(-pair_counts, kind="stable")  # most frequent first; equals stay in order of class index
    parts, first = np.unique(pairs[order] // n_classes, return_index=True)
    top = {int(part): order[position] for part, position in zip(parts, first, strict=True)}
    names: list[str | None] = []
    shares = np.zeros(len(present))
    for position, part in enumerate(present.tolist()):
        pair = top.get(part)
        names.append(None if pair is None else class_names[pairs[pair] % n_classes])
        shares[position] = 0.0 if pair is None else pair_counts[pair] / counts[position]
    return tuple(names), shares
