"""How steep a network is seen to be: what refutes a Lipschitz constant, and proves none."""

from collections.abc import Callable

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.inputs.preprocessing import Pixels

PLACES = 4  # images around which the slope is measured, at most
DIRECTIONS = 16  # random ones in each round, around each of them
ROUNDS = 3
STEP = 0.05  # in L2: short enough to see a slope, long enough for it not to drown in rounding
ROUNDING = 1e-5  # of the longest vector of logits: those of float32 networks are off by some 1e-7 to 1e-6


def measured_slope(classify: Callable[[Pixels], FloatArray], pixels: Pixels) -> float:
    r"""A slope that the logits are seen to have around images ``pixels`` (n, ...) in [0, 1]: a bound from below.

    .. math:: \max_{u, v} \frac{\|f(u) - f(v)\|_2 - \rho}{\|u - v\|_2} \le L

    over pairs of images, and around each image along directions: to other images, random ones, then the one in which
    all of these together are steepest, with fresh ones. ``rho`` is more than the logits are rounded by. It takes some
    two hundred forward passes and no gradient; every point lies in [0, 1].

    >>> images = np.random.default_rng(0).random((3, 1, 2, 2), dtype=np.float32)
    >>> round(measured_slope(lambda pixels: 5 * pixels.reshape(len(pixels), -1)[:, :2], images), 2)
    5.0
    """
    rng = np.random.default_rng(0)

    def logits_at(points: FloatArray) -> FloatArray:
        return classify(points.reshape(-1, *pixels.shape[1:])).astype(np.float64)

    images = pixels[:PLACES].reshape(len(pixels[:PLACES]), -1).astype(np.float32)
    ends = np.concatenate([images, rng.random(images.shape, dtype=np.float32)])
    logits = logits_at(ends)
    steepest = max(_slope_from(row, ends, logits) for row in range(len(ends)))
    for image in images:
        place = STEP + (1 - 2 * STEP) * image  # so far from black and white that no direction leads out
        directions: FloatArray = ends - place
        for _ in range(ROUNDS):
            fresh = rng.normal(size=(DIRECTIONS, len(place)))
            basis = np.linalg.qr(np.concatenate([directions, fresh]).T)[0].T
            points = np.concatenate([place[None], place + STEP * basis]).astype(np.float32)
            logits = logits_at(points)
            steepest = max(steepest, _slope_from(0, points, logits))
            along = np.linalg.svd(logits[1:] - logits[0], full_matrices=False)[0][:, 0]  # were the network linear here
            directions = (along @ basis)[None]
    return steepest


def _slope_from(row: int, points: FloatArray, logits: FloatArray) -> float:
    """The steepest way from one point to the others."""
    moved = np.linalg.norm(logits - logits[row], axis=1)
    apart = np.linalg.norm(points.astype(np.float64) - points[row], axis=1)
    rounding = ROUNDING * np.linalg.norm(logits, axis=1).max()
    return float(np.max((moved - rounding) / np.where(apart > 0, apart, np.inf)))
