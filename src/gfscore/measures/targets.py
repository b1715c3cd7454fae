"""Images with a radius that a model is claimed to keep, and what counts as a witness against it: looked at twice."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.inputs.preprocessing import Pixels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Targets:
    """Images, and for each the radius within which a model is claimed to keep to its label."""

    classify: Callable[[Pixels], FloatArray]  # the model that the claim is about, as it is deployed: logits (n, K)
    pixels: Pixels  # (n, ...) float32 in [0, 1], in the layout of the model
    labels: IntArray  # (n,), the true class, which the model predicts
    radii: FloatArray  # (n,) float64, positive
    norm: str = "l2"  # of the radii: l2 or linf

    def select(self, rows: IntArray) -> Self:
        """The targets of these rows."""
        return replace(self, pixels=self.pixels[rows], labels=self.labels[rows], radii=self.radii[rows])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Witnesses:
    """For each target an image inside its radius that the model labels otherwise, where one was found."""

    pixels: Pixels  # (n, ...) float32; the target itself where none was found
    distances: FloatArray  # (n,) float64; infinite where none was found
    predicted: IntArray  # (n,), what the model says about the witness; the label where none was found

    @classmethod
    def none(cls, targets: Targets) -> Self:
        """No witness at all."""
        return cls(pixels=targets.pixels, distances=np.full(len(targets.radii), np.inf), predicted=targets.labels)

    @property
    def found(self) -> BoolArray:
        """Which targets are refuted, (n,) bool."""
        return np.isfinite(self.distances)

    def merge(self, rows: IntArray, others: Self) -> Self:
        """These, and the witnesses that others found for some rows, where those are nearer."""
        better = others.distances < self.distances[rows]
        pixels, distances, predicted = self.pixels.copy(), self.distances.copy(), self.predicted.copy()
        pixels[rows[better]] = others.pixels[better]
        distances[rows[better]] = others.distances[better]
        predicted[rows[better]] = others.predicted[better]
        return type(self)(pixels=pixels, distances=distances, predicted=predicted)


def distance(first: Pixels, second: Pixels, norm: str) -> FloatArray:
    """Distance of each image to its counterpart, (n,) float64.

    >>> one, other = np.zeros((1, 1, 1, 2), np.float32), np.full((1, 1, 1, 2), 0.5, np.float32)
    >>> distance(one, other, "l2").round(3), distance(one, other, "linf")
    (array([0.707]), array([0.5]))
    """
    apart = (first.astype(np.float64) - second.astype(np.float64)).reshape(len(first), -1)
    return np.asarray(np.abs(apart).max(axis=1) if norm == "linf" else np.sqrt(np.einsum("nd,nd->n", apart, apart)))


def verify(targets: Targets, candidates: FloatArray) -> Witnesses:
    """Those candidates that are what a witness must be; whatever found them is not believed.

    A witness holds as stored, in float32: each pixel is in [0, 1], the distance to the target, computed in float64, is
    below the radius, and the model, given this one image alone, prefers another class: a tie does not count.
    """
    stored = np.ascontiguousarray(candidates, dtype=np.float32)
    inside = ((stored >= 0) & (stored <= 1)).reshape(len(stored), -1).all(axis=1)  # NaN is neither
    far = distance(np.where(np.isnan(stored), np.float32(0), stored), targets.pixels, targets.norm)
    rows = np.flatnonzero(inside & (far < targets.radii))
    witnesses = Witnesses.none(targets)
    if len(rows) == 0:
        return witnesses
    logits = np.concatenate([targets.classify(stored[row : row + 1]) for row in rows])
    own = logits[np.arange(len(rows)), targets.labels[rows]]
    distances = np.where(logits.max(axis=1) > own, far[rows], np.inf)
    found = Witnesses(pixels=stored[rows], distances=distances, predicted=logits.argmax(axis=1).astype(np.int64))
    return witnesses.merge(rows, found)
