"""Votes under Gaussian noise, shard by shard into the store; a run that was killed goes on where it was.

The noise of a sample is drawn from the seed and its id alone, so its votes do not depend on the batch size, on the
order of the samples, or on what else is run.
"""

import hashlib
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from gfscore.arrays import FloatArray, IntArray
from gfscore.engines.batches import Batched
from gfscore.engines.local import Progress, check_run, fill
from gfscore.errors import ModelError
from gfscore.inputs.pixels import PixelModel
from gfscore.inputs.protocols import Dataset
from gfscore.inputs.reading import rows_together
from gfscore.inputs.safetensors_file import halved_batches
from gfscore.inputs.store import Recipe, Store
from gfscore.scores.smoothing import Noise

NAME = "votes"  # of what is stored
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


def compute_votes(
    model: PixelModel,
    data: Dataset,
    noise: Noise,
    store: Store,
    *,
    progress: Progress = lambda _done, _total: None,
) -> Batched:
    """:func:`noise_votes` of a model on data, (N, 2) int64: from the store where they are there, computed where not."""
    n_samples, batch_size = len(data.labels), model.model.fixed_batch or model.batch_size
    ids = data.sample_ids or tuple(map(str, range(n_samples)))
    recipe = Recipe(
        model=model.model.fingerprint or f"unknown-{uuid.uuid4().hex}",  # found by nobody again
        data=data.fingerprint,
        n_samples=n_samples,
        preprocessing=model.preprocessing.describe(),
        batch_size=batch_size,
        shard_rows=rows_together(data, SHARD_PASSES // (noise.n0 + noise.n)),
        measure={"name": NAME, **asdict(noise), "ids": hashlib.sha256("\n".join(ids).encode()).hexdigest()},
    )
    recipe = store.probed(recipe, model.model, check_run(model.model, data, model.preprocessing).probe)
    about = {"model": model.model.name, "data": f"{data.source}, noise {noise.sigma:g} x {noise.n:,}", "n": n_samples}
    entry = store.entry(recipe, about)

    def count(rows: slice) -> Batched:
        before = sum(model.halved)
        votes = noise_votes(
            model,
            model.pixels(data, rows),
            ids[rows],
            noise,
            batch_size=batch_size,
            progress=partial(_report, progress, rows.start, n_samples),
        )
        # the store's type: counts below 16 million are exact in it
        return Batched(votes.astype(np.float32), sum(model.halved) - before)

    with safe_open(fill(entry, recipe, model.model, data, count, progress), framework="np") as file:
        return Batched(file.get_tensor(NAME).astype(np.int64), halved_batches(file.metadata()))


def _report(progress: Progress, before: int, total: int, done: int) -> None:
    progress(before + done, total)


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
