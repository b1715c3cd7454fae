"""Votes under Gaussian noise.

The noise of a sample is drawn from the seed and its id alone, so its votes do not depend on the batch size, on the
order of the samples, or on what else is run.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import ModelError
from gfscore.measures.run import RowMeasure, RowsDone, Run, rows_together
from gfscore.scores.smoothing import Noise

SHARD_PASSES = 1 << 15  # forward passes after which something is kept, about

Classify = Callable[[NDArray[np.float32]], FloatArray]  # [0, 1] pixels (m, ...) in, logits (m, K) out


def noise_votes(
    classify: Classify,
    pixels: NDArray[np.float32],
    ids: Sequence[str],
    noise: Noise,
    *,
    batch_size: int = 128,
    progress: Callable[[int], None] = lambda _done: None,
) -> IntArray:
    """The class that ``n0`` noisy copies of each image give most often, and how many of ``n`` others give it; (N, 2).

    ``pixels`` is (N, ...) in [0, 1]; the noise is added as it is, and not cut off at 0 and 1. The n copies that are
    counted had no part in choosing the class: Cohen, Rosenfeld and Kolter, ICML 2019.

    >>> bright = lambda images: np.stack([1 - images.mean(axis=(1, 2, 3)), images.mean(axis=(1, 2, 3))], axis=1)
    >>> noise_votes(bright, np.full((1, 1, 8, 8), 0.9, np.float32), ["white"], Noise(n=500))
    array([[  1, 500]])
    """
    found = np.empty((len(pixels), 2), dtype=np.int64)
    for row, (image, name) in enumerate(zip(pixels, ids, strict=True)):
        generator = np.random.default_rng([noise.seed, *hashlib.sha256(name.encode()).digest()])
        chosen = int(_tally(classify, image, noise.n0, noise.sigma, generator, batch_size).argmax())
        found[row] = chosen, _tally(classify, image, noise.n, noise.sigma, generator, batch_size)[chosen]
        progress(row + 1)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes(RowMeasure):
    """:func:`noise_votes` of a model, (n, 2); the names of the samples decide their noise."""

    name = "votes"
    noise: Noise
    ids: tuple[str, ...]  # of all samples

    @classmethod
    def of(cls, run: Run, noise: Noise) -> "Votes":
        """The votes of the samples of a run, by their names or numbers."""
        return cls(noise=noise, ids=run.data.sample_ids or tuple(map(str, range(run.n_samples))))

    @property
    def settings(self) -> Mapping[str, Any]:
        """The noise, and whose it is."""
        return {**asdict(self.noise), "ids": hashlib.sha256("\n".join(self.ids).encode()).hexdigest()}

    def sent(self) -> dict[str, Any]:
        """The noise; a worker knows the names."""
        return asdict(self.noise)

    @classmethod
    def received(cls, said: Mapping[str, Any], run: Run, rows: slice, payload: bytes) -> "Votes":
        """The votes of the run's samples."""
        del rows, payload
        return cls.of(run, Noise(**said))

    def rows_per_shard(self, run: Run) -> int:
        """As many as take some ten thousand forward passes, unless images are large."""
        return rows_together(run.data, SHARD_PASSES // (self.noise.n0 + self.noise.n))

    def columns(self, run: Run) -> int:
        """The class, and how many voted for it."""
        del run
        return 2

    def about(self, run: Run) -> dict[str, Any]:
        """What an entry of votes says to people."""
        data = f"{run.data.source}, noise {self.noise.sigma:g} x {self.noise.n:,}"
        return {"model": run.model.name, "data": data, "n": run.n_samples}

    def compute(self, run: Run, rows: slice, done: RowsDone = lambda _rows: None) -> FloatArray:
        """Votes of some rows, in the store's type: counts below 16 million are exact in it."""
        pixels, ids = run.pixels(rows), self.ids[rows]
        votes = noise_votes(run.logits_of, pixels, ids, self.noise, batch_size=run.batch_size, progress=done)
        return votes.astype(np.float32)


def _tally(
    classify: Classify,
    image: NDArray[np.float32],
    n: int,
    sigma: float,
    generator: np.random.Generator,
    batch_size: int,
) -> IntArray:
    """Votes of n noisy copies of an image for each class, (K,)."""
    total: IntArray = np.zeros(1, dtype=np.int64)
    for start in range(0, n, batch_size):
        noisy = generator.standard_normal((min(batch_size, n - start), *image.shape), dtype=np.float32)
        noisy *= np.float32(sigma)
        noisy += image
        logits = classify(noisy)
        if not np.isfinite(logits).all():
            raise ModelError("gives logits that are not finite on noisy images. Look for an overflow in it.")
        total = total + np.bincount(logits.argmax(axis=1), minlength=logits.shape[1])
    return total
