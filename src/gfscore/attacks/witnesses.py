"""Witnesses against a claimed radius from forward passes alone.

Without gradients, one walks towards an image that the model labels otherwise.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import FloatArray, IntArray
from gfscore.inputs.preprocessing import Pixels
from gfscore.measures.targets import Targets, Witnesses, distance, verify

NEIGHBOURS = 3  # images predicted otherwise, towards each of which is bisected
HALVINGS = 10  # of each segment: the boundary is found to a thousandth of its length
WALK_STEPS = 100  # along the boundary
FIRST_ANGLE, WIDEST_ANGLE = 0.3, 1.2  # radians, of a step
WIDER, NARROWER = 1.3, 0.85  # the angle after a step that was taken, and after one that was not


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pool:
    """Images to walk towards."""

    pixels: Pixels  # (m, ...) float32 in [0, 1]
    predicted: IntArray  # (m,)


def bisect(targets: Targets, pool: Pool, *, steps: int = WALK_STEPS, seed: int = 0) -> Witnesses:
    """Witnesses from forward passes alone; no gradient is asked for.

    From each target, the segments to the nearest images of the pool with another prediction are bisected down to the
    decision boundary, and the nearest crossing is kept. Where it lies outside the radius, a random walk along the
    boundary follows (:func:`_walk`). Finding nothing proves nothing.
    """
    near, rows = _nearest_otherwise(targets, pool)
    witnesses = Witnesses.none(targets)
    if len(rows) == 0:  # the pool holds nothing that is predicted otherwise
        return witnesses
    some = targets.select(rows)
    points = _walk(some, _crossings(some, pool.pixels, near), steps, np.random.default_rng(seed))
    return witnesses.merge(rows, verify(some, points))


def _nearest_otherwise(targets: Targets, pool: Pool) -> tuple[IntArray, IntArray]:
    """The nearest in L2 that are predicted otherwise, (rows, neighbours), and the targets that have any, (rows,)."""
    ours, theirs = (images.reshape(len(images), -1) for images in (targets.pixels, pool.pixels))
    # |a - b|² without |a|², which is the same for all of a row; rounding only changes which of two equals is taken
    apart = np.einsum("md,md->m", theirs, theirs) - 2 * (ours @ theirs.T)
    apart[targets.labels[:, None] == pool.predicted] = np.inf
    near = np.argsort(apart, axis=1)[:, :NEIGHBOURS]
    missing = np.isinf(np.take_along_axis(apart, near, axis=1))
    near = np.where(missing, near[:, :1], near)
    rows = np.flatnonzero(~missing[:, 0])
    return near[rows], rows


def _crossings(targets: Targets, pool: Pixels, near: IntArray) -> Pixels:
    """For each target the nearest point found on the far side of the boundary, bisecting each of its segments."""
    best, nearest = targets.pixels, np.full(len(targets.radii), np.inf)
    for ends in near.T:
        towards = pool[ends] - targets.pixels
        low, high = np.zeros(len(ends), np.float32), np.ones(len(ends), np.float32)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            beyond = targets.classify(_along(targets.pixels, towards, middle)).argmax(axis=1) != targets.labels
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        points = _along(targets.pixels, towards, high)
        far = distance(points, targets.pixels, targets.norm)
        best = np.where(_per_image(far < nearest, best), points, best)
        nearest = np.minimum(far, nearest)
    return best


def _walk(targets: Targets, points: Pixels, steps: int, rng: np.random.Generator) -> Pixels:
    r"""Come nearer along the boundary, for targets whose point is not inside the radius yet.

    The point at distance d in direction u is moved to :math:`x + d \cos\theta\,(\cos\theta\, u \pm \sin\theta\, v)`
    with a random v orthogonal to u: every point of that circle is nearer to x. The step is taken where the label stays
    changed. After Maho, Furon and Le Merrer, "SurFree", CVPR 2021, with Gaussian directions.
    """
    points = points.copy()
    angles = np.full(len(points), FIRST_ANGLE)
    far = distance(points, targets.pixels, targets.norm)
    for _ in range(steps):
        rows = np.flatnonzero(far >= targets.radii)
        if len(rows) == 0:
            break
        origins, labels, angle = targets.pixels[rows], targets.labels[rows], angles[rows]
        u = (points[rows] - origins).reshape(len(rows), -1).astype(np.float64)
        d = np.linalg.norm(u, axis=1, keepdims=True)
        u /= d
        v = rng.standard_normal(u.shape)
        v -= np.einsum("nd,nd->n", u, v)[:, None] * u
        v /= np.linalg.norm(v, axis=1, keepdims=True)
        taken = np.zeros(len(rows), dtype=bool)
        for sign in (1, -1):
            left = np.flatnonzero(~taken)
            if len(left) == 0:
                break
            cos, sin = np.cos(angle[left])[:, None], sign * np.sin(angle[left])[:, None]
            moved = (d[left] * cos * (cos * u[left] + sin * v[left])).reshape(-1, *origins.shape[1:])
            tried = np.clip(origins[left] + moved, 0, 1).astype(np.float32)
            nearer = distance(tried, origins[left], targets.norm) < far[rows[left]]
            kept = nearer & (targets.classify(tried).argmax(axis=1) != labels[left])
            points[rows[left[kept]]] = tried[kept]
            taken[left[kept]] = True
        far[rows] = distance(points[rows], origins, targets.norm)
        angles[rows] = np.where(taken, np.minimum(angle * WIDER, WIDEST_ANGLE), angle * NARROWER)
    return points


def _along(start: Pixels, towards: Pixels, share: FloatArray) -> Pixels:
    """Points part of the way along each segment."""
    return np.clip(start + _per_image(share, start) * towards, 0, 1).astype(np.float32)


def _per_image(values: NDArray[Any], like: Pixels) -> NDArray[Any]:
    """A value per image, in a shape that broadcasts over the images."""
    return values.reshape(-1, *[1] * (like.ndim - 1))
