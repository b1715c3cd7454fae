"""A number per class, or per group: what the scores of its samples have in common."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.errors import OptionError, TooFewClassesError
from gfscore.results import WeightedBy
from gfscore.samples import Samples
from gfscore.scores import LocalScores
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
    weights: FloatArray  # what each part counts for in what is said of the whole; they sum to 1
    weighted_by: WeightedBy  # where the weights come from
    aggregate: float  # mean score of the whole
    accuracy: float  # likewise
    sizes: IntArray | None = None  # samples of each part in the set these were drawn from, where that is known
    abstained: FloatArray | None = None  # share of the samples for which no class was named

    @property
    def class_mean(self) -> float:
        """Unweighted mean over the parts; differs from the aggregate when they are unbalanced."""
        return float(self.scores.mean())


class Draw(NamedTuple):
    """What is known of the set that samples were drawn from."""

    sizes: IntArray | None  # (n_parts,), samples of each part in it
    weighted_by: WeightedBy

    def of(self, present: IntArray, counts: IntArray) -> tuple[FloatArray, IntArray | None]:
        """What parts with samples count for in the whole, and their sizes, ``(K,)`` each."""
        sizes = None if self.sizes is None else self.sizes[present]
        totals = sizes if sizes is not None and self.weighted_by == "class_sizes" else counts
        return totals / totals.sum(), sizes


def drawn_from(class_sizes: ArrayLike | None, counts: IntArray, *, groups: bool = False) -> Draw:
    """How samples of each class, ``counts`` (K,) of them, stand for a set in which there are ``class_sizes``.

    Drawn in proportion, each sample counts the same. Else each class counts for its size: means of the whole are then
    about the set, not about the draw. That fails where a class of the set has no sample, and for ``groups``, within
    which the classes are mixed otherwise than in the set.
    """
    if class_sizes is None:
        return Draw(None, "samples")
    sizes = np.asarray(class_sizes)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or len(sizes) > len(counts):
        raise OptionError(
            f"class sizes of shape {sizes.shape}: give one whole number for each of {len(counts)} classes."
        )
    sizes = np.pad(sizes, (0, len(counts) - len(sizes))).astype(np.int64)  # beyond the highest label there is none
    if (sizes < counts).any():
        part = int(np.argmax(sizes < counts))
        raise OptionError(f"class {part} has {counts[part]} samples but a size of {sizes[part]}. Give the whole set's.")
    in_proportion = (counts * sizes.sum() == sizes * counts.sum()).all()
    if groups:
        return Draw(None, "samples" if in_proportion else "unequal_draws")
    if in_proportion:
        return Draw(sizes, "samples")
    return Draw(sizes, "unequal_draws" if (sizes[counts == 0] > 0).any() else "class_sizes")


def drawn_samples(samples: Samples) -> Draw:
    """How samples, whose parts are their groups where they have any, stand for the set they were drawn from."""
    counts = np.bincount(samples.labels, minlength=samples.n_classes)
    return drawn_from(samples.class_sizes, counts, groups=samples.groups is not None)


def class_profile(samples: Samples, local: LocalScores) -> ClassProfile:
    r"""Profile over the classes, or over the groups when the samples have any.

    .. math:: \Omega_k = \frac{1}{n_k} \sum_{i \in S_k} g(x_i),
              \qquad \Omega = \sum_k \frac{n_k}{N}\,\Omega_k = \frac{1}{N} \sum_i g(x_i)

    Where the samples know the class sizes of the set they were drawn from, not in proportion, the sizes take the place
    of :math:`n_k` in the second formula: it is then an estimate for the set. See :func:`drawn_from`.
    """
    draw = drawn_samples(samples)
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
    weights, sizes = draw.of(present, counts)
    accuracies = class_sums(correct)[present] / counts
    in_proportion = draw.weighted_by != "class_sizes"
    return ClassProfile(
        partition=partition,
        names=tuple(names[k] for k in present),
        scores=all_means[present],
        stds=np.where(counts > 1, np.sqrt(squares / np.maximum(counts - 1, 1)), np.nan),
        counts=counts,
        accuracies=accuracies,
        confused_with=confused_with,
        confused_shares=confused_shares,
        abstained=None if local.abstained is None else class_sums(local.abstained)[present] / counts,
        absent=tuple(name for name, count in zip(names, all_counts, strict=True) if count == 0),
        weights=weights,
        weighted_by=draw.weighted_by,
        sizes=sizes,
        aggregate=float(
            np.dot(counts, all_means[present]) / counts.sum() if in_proportion else weights @ all_means[present]
        ),
        accuracy=float(correct.mean() if in_proportion else weights @ accuracies),
    )


def summary_profile(summary: Summary, *, class_sizes: ArrayLike | None = None) -> ClassProfile:
    """The same from a summary of the scores; what it is a summary of groups has no sizes."""
    all_counts = summary.counts
    draw = drawn_from(class_sizes if summary.partition == "class" else None, all_counts)
    present = np.flatnonzero(all_counts)
    names = tuple(summary.names[k] for k in present)
    if len(present) < 2:
        raise TooFewClassesError(names, kind=summary.partition)
    counts, correct = all_counts[present], summary.column("correct")[present]
    confused_with, confused_shares = _confusions(
        summary.confusions, summary.confusion_counts, summary.class_names, present, counts
    )
    maximum = summary.kind.maximum
    weights, sizes = draw.of(present, counts)
    scores, accuracies = maximum * summary.means[present], correct / counts
    in_proportion = draw.weighted_by != "class_sizes"
    return ClassProfile(
        partition=summary.partition,
        names=names,
        scores=scores,
        stds=np.where(counts > 1, maximum * np.sqrt(summary.variances[present]), np.nan),
        counts=counts,
        accuracies=accuracies,
        confused_with=confused_with,
        confused_shares=confused_shares,
        absent=tuple(name for name, count in zip(summary.names, all_counts, strict=True) if count == 0),
        weights=weights,
        weighted_by=draw.weighted_by,
        sizes=sizes,
        aggregate=maximum * summary.total("x") / int(counts.sum()) if in_proportion else float(weights @ scores),
        accuracy=float(correct.sum() / counts.sum() if in_proportion else weights @ accuracies),
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
