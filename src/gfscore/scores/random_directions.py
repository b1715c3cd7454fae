"""Random directions that belong to a sample, and the slopes of logits along them."""

import hashlib
import math
from collections.abc import Callable, Sequence

import numpy as np

from gfscore.arrays import FloatArray

ROUNDING = 4 * float(np.finfo(np.float32).eps)  # of the largest logit: a difference within it is none

Forward = Callable[[FloatArray], FloatArray]  # [0, 1] pixels (n, ...) to logits (n, K)


def generator_of(seed: int, sample_id: object) -> np.random.Generator:
    """What the directions of a sample are drawn with: some now and some later are those of one draw."""
    return np.random.default_rng([seed, hash_part(sample_id, slice(0, 8))])


def draw_units(rng: np.random.Generator, count: int, dimensions: int, *, cauchy: bool) -> tuple[FloatArray, FloatArray]:
    """Directions (count, dimensions) of length 1, and the lengths (count,) they were drawn with."""
    drawn = (rng.standard_cauchy if cauchy else rng.standard_normal)((count, dimensions))
    lengths = np.linalg.norm(drawn, axis=1)
    return (drawn / lengths[:, None]).astype(np.float32), lengths


def slopes_ahead(
    model: Forward,
    pixels: FloatArray,
    here: FloatArray,
    draws: Sequence[np.random.Generator],
    *,
    step: float,
    count: int,
    cauchy: bool,
) -> FloatArray:
    """Slope of each logit of each image along the next ``count`` of its directions, (n, count, K).

    Differences go one way, from the logits ``here`` (n, K) at the image: shares of radii came as near to accuracy under
    PGD as with differences both ways, which take twice the passes (docs/scores.md).
    """
    shape, dimensions = pixels.shape, math.prod(pixels.shape[1:])
    moved = np.empty((len(pixels), count, dimensions), dtype=np.float32)
    lengths = np.empty((len(pixels), count))
    for row, draw in enumerate(draws):
        units, lengths[row] = draw_units(draw, count, dimensions, cauchy=cauchy)
        units *= step
        np.add(pixels[row].reshape(dimensions), units, out=moved[row], casting="same_kind")
    returned = model(moved.reshape(-1, *shape[1:])).astype(np.float64)
    ends, middle = returned.reshape(len(pixels), count, -1), here[:, None].astype(np.float64)
    differences = ends - middle
    largest = np.maximum(np.abs(ends).max(axis=2), np.abs(middle).max(axis=2))
    differences[np.abs(differences) <= ROUNDING * largest[..., None]] = 0.0
    return np.asarray(differences * (lengths / step)[..., None])


def hash_part(sample_id: object, part: slice) -> int:
    """Some bytes of the hash of an id, as a number."""
    return int.from_bytes(hashlib.sha256(str(sample_id).encode()).digest()[part], "little")
