"""A model and a data set in a few lines, for tests of what runs them."""

import time
from dataclasses import dataclass, field

import numpy as np

LOOKED_AT = 2 * 12 + 4  # rows that a model sees before a run: the first images twice, and noise
LOOKS = 5  # calls that these take


@dataclass
class FakeModel:
    """A linear classifier that counts the rows it saw."""

    name: str = "fake"
    fingerprint: str | None = "fake-weights"
    fixed_batch: int | None = None
    layout: str = "NCHW"
    n_classes: int = 4
    delay: float = 0.0  # seconds a call
    batches: list[int] = field(default_factory=list)

    def __call__(self, inputs):
        time.sleep(self.delay)
        self.batches.append(len(inputs))
        flat = inputs.reshape(len(inputs), -1)
        weights = np.random.default_rng(0).normal(0, 1, (flat.shape[1], self.n_classes)).astype(np.float32)
        return np.stack([row @ weights for row in flat])  # row by row: the same bytes in any batch


@dataclass
class FakeData:
    """Random images, always the same."""

    n: int = 50
    source: str = "fake data"
    class_names: tuple | None = ("a", "b", "c", "d")
    sample_ids: tuple | None = None
    layout: str = "NHWC"
    seed: int | None = None
    fingerprint: str = "fake-images"
    class_sizes: np.ndarray | None = None

    def __post_init__(self):
        rng = np.random.default_rng(1)
        self.all = rng.integers(0, 256, (self.n, 3, 3, 1), dtype=np.uint8)
        self.labels = np.arange(self.n) % 4

    def images(self, rows):
        return self.all[rows]
