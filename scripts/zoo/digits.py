"""The data: scikit-learn's digits, split once and for all."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

N_CLASSES = 10
TEST_PER_CLASS = (
    90  # about half of the 174 to 183 images of each class: class scores need samples more than training does
)
SPLIT_SEED = 2026
LEVELS = 16  # the pixels are counts, 0 to 16


class Digits(NamedTuple):
    """Images ``(N, 1, 8, 8)`` float32 in [0, 1] and labels ``(N,)`` int64."""

    images: NDArray[np.float32]
    labels: NDArray[np.int64]


def load_split() -> tuple[Digits, Digits]:
    """Training and test set: within each class the same number of images, drawn at random, goes to the test."""
    source = load_digits()
    images = (source.images[:, None] / LEVELS).astype(np.float32)  # exact: 16 is a power of two
    labels = source.target.astype(np.int64)
    rng = np.random.default_rng(SPLIT_SEED)
    chosen = [rng.permutation(np.flatnonzero(labels == k))[:TEST_PER_CLASS] for k in range(N_CLASSES)]
    in_test = np.zeros(len(labels), dtype=bool)
    in_test[np.concatenate(chosen)] = True
    return Digits(images[~in_test], labels[~in_test]), Digits(images[in_test], labels[in_test])
