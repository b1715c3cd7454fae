"""What attacked images say of each class: accuracies, losses, margins and who is taken for whom."""

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from gfscore.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassStatistics:
    """Of each class, (K,) unless said otherwise; a class without images has 0 everywhere, and ``counts`` tells it."""

    counts: FloatArray
    clean_accuracy: FloatArray
    robust_accuracy: FloatArray  # of attacked images
    boundary_error: FloatArray  # share of images that are right before the attack and wrong after it
    clean_loss: FloatArray  # cross-entropy
    boundary_loss: FloatArray  # KL(f(x) || f(x'))
    robust_loss: FloatArray  # cross-entropy of attacked images
    margins: FloatArray  # of attacked images: probability of the strongest rival minus that of the class
    confusion: FloatArray  # (K, K): share of the attacked images of a row's class that are taken for a column's
    probabilities: FloatArray  # (K, K): mean probability of a column's class for the attacked images of a row's

    @property
    def present(self) -> Any:
        """Whether a class has images."""
        return self.counts > 0


@dataclass(slots=True, eq=False)
class Tally:
    """Sums over images, from which :class:`ClassStatistics` follow; pieces add up."""

    sums: FloatArray  # (K, 8): a column for each of COLUMNS
    confusion: FloatArray
    probabilities: FloatArray

    @classmethod
    def empty(cls, n_classes: int) -> Self:
        """Of no images."""
        square = np.zeros((n_classes, n_classes))
        return cls(np.zeros((n_classes, len(COLUMNS))), square, square.copy())

    def add(self, labels: IntArray, clean: FloatArray, attacked: FloatArray) -> None:
        """Count images (n,) with their logits (n, K) before and after the attack."""
        rows = np.arange(len(labels))
        log_clean, log_attacked = log_softmax(clean), log_softmax(attacked)
        probabilities = np.exp(log_attacked)
        is_clean, is_robust = clean.argmax(axis=1) == labels, attacked.argmax(axis=1) == labels
        per_image = [
            np.ones(len(labels)),
            is_clean,
            is_robust,
            is_clean & ~is_robust,
            -log_clean[rows, labels],
            (np.exp(log_clean) * (log_clean - log_attacked)).sum(axis=1),
            -log_attacked[rows, labels],
            rival_margins(probabilities, labels),
        ]
        np.add.at(self.sums, labels, np.stack(per_image, axis=1).astype(np.float64))
        np.add.at(self.confusion, (labels, attacked.argmax(axis=1)), 1.0)
        np.add.at(self.probabilities, labels, probabilities)

    def statistics(self) -> ClassStatistics:
        """Means of what was counted."""
        counts = self.sums[:, 0]
        some = np.maximum(counts, 1.0)[:, None]
        means = dict(zip(COLUMNS, (self.sums / some).T, strict=True)) | {"counts": counts}
        return ClassStatistics(**means, confusion=self.confusion / some, probabilities=self.probabilities / some)


COLUMNS = tuple(field.name for field in fields(ClassStatistics))[:-2]


def log_softmax(logits: FloatArray) -> FloatArray:
    """Logarithms of probabilities, in double precision."""
    wide = np.asarray(logits, dtype=np.float64)
    shifted = wide - wide.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def rival_margins(probabilities: FloatArray, labels: IntArray) -> FloatArray:
    """Probability of the strongest other class minus that of the label: positive where a rival leads, (n,)."""
    rows, rivals = np.arange(len(labels)), np.array(probabilities)
    rivals[rows, labels] = -np.inf
    return np.asarray(rivals.max(axis=1) - probabilities[rows, labels])


def class_means(values: FloatArray, labels: IntArray, n_classes: int) -> tuple[FloatArray, Any]:
    """Means of values (n,) of each class, (K,), and which classes are there at all."""
    counts = np.bincount(labels, minlength=n_classes)
    return np.bincount(labels, weights=values, minlength=n_classes) / np.maximum(counts, 1), counts > 0
