"""The scores of each class (or group), as the intervals take them: scaled, in a recorded random order, part by part."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import OptionError, SamplesError

ROUNDING = 1e-6  # how far past the maximum, relatively, a score computed in single precision may lie


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartScores:
    """Scores in [0, 1], one part after the other; within a part in an order drawn independently of the scores.

    Only parts with samples are here, in the order of their codes, as in :class:`~gfscore.profile.ClassProfile`.

    >>> parts = PartScores.of([0.0, 1.0, 2.0], [2, 0, 2], 3, maximum=2.0)
    >>> parts.counts, parts.means
    (array([1, 2]), array([0.5, 0.5]))
    """

    values: FloatArray  # (N,)
    counts: IntArray  # (K,), all positive
    starts: IntArray  # (K,), where each part begins
    rows: IntArray  # (N,), number of each sample in what was given
    sizes: IntArray | None = None  # (K,), of the fixed set the samples were drawn from; None: a distribution
    seed: int = 0  # of the order

    @classmethod
    def of(
        cls,
        values: ArrayLike,
        codes: ArrayLike,
        n_parts: int,
        *,
        maximum: float,
        seed: int = 0,
        sizes: ArrayLike | None = None,
    ) -> Self:
        """Scale by ``maximum`` and sort by part; ``seed`` fixes the order within a part.

        ``values`` and ``codes`` are ``(N,)``. ``sizes`` is ``(n_parts,)`` when the samples are a random subset,
        drawn without replacement, of a fixed set with that many samples in each part.
        """
        scores, parts = np.asarray(values, dtype=np.float64), np.asarray(codes)
        if scores.ndim != 1 or scores.shape != parts.shape or scores.size == 0:
            raise SamplesError(
                f"scores of shape {scores.shape} with codes of shape {parts.shape}: give one per sample."
            )
        if parts.dtype.kind not in "iu" or parts.min() < 0 or parts.max() >= n_parts:
            raise SamplesError(f"codes must be whole numbers from 0 to {n_parts - 1}, one per sample.")
        outside = ~((scores >= 0) & (scores <= maximum * (1 + ROUNDING)))
        if outside.any():
            row = int(np.argmax(outside))
            raise SamplesError(f"score {scores[row]} in row {row} is outside [0, {maximum:g}]. Give its true maximum.")
        shuffled = np.random.default_rng(seed).permutation(scores.size)
        order = shuffled[np.argsort(parts[shuffled], kind="stable")]
        all_counts = np.bincount(parts, minlength=n_parts)
        present = np.flatnonzero(all_counts)
        counts = all_counts[present].astype(np.int64)
        return cls(
            values=np.minimum(scores[order] / maximum, 1.0),
            counts=counts,
            starts=np.cumsum(counts) - counts,
            rows=order,
            sizes=None if sizes is None else _checked_sizes(sizes, all_counts)[present],
            seed=seed,
        )

    @property
    def means(self) -> FloatArray:
        """Mean of each part, ``(K,)``."""
        return np.asarray(self.sums(self.values) / self.counts)

    @property
    def variances(self) -> FloatArray:
        """Variance of each part with n - 1 in the denominator, ``(K,)``; 0 where n = 1."""
        squares = self.sums((self.values - self.spread(self.means)) ** 2)
        return np.asarray(squares / np.maximum(self.counts - 1, 1))

    @property
    def positions(self) -> IntArray:
        """Place of each sample within its part, from 0, ``(N,)``."""
        return np.asarray(np.arange(self.values.size) - np.repeat(self.starts, self.counts))

    def mirrored(self) -> Self:
        """The same samples with scores 1 - x: a lower bound there is an upper bound here."""
        return replace(self, values=1.0 - self.values)

    def spread(self, per_part: NDArray[Any]) -> NDArray[Any]:
        """A number per part, repeated for each of its samples."""
        return np.repeat(per_part, self.counts)

    def sums(self, per_sample: NDArray[Any]) -> NDArray[Any]:
        """Sum over each part, of numbers ``(..., N)``."""
        return np.asarray(np.add.reduceat(per_sample, self.starts, axis=-1))

    def running(self, per_sample: FloatArray) -> FloatArray:
        """Sum over the samples of the part up to and including each one."""
        total = np.cumsum(per_sample)
        before = np.where(self.starts > 0, total[self.starts - 1], 0.0)
        return np.asarray(total - self.spread(before))

    def largest(self, per_sample: FloatArray) -> FloatArray:
        """Maximum over each part."""
        return np.asarray(np.maximum.reduceat(per_sample, self.starts))


def known_range(means: FloatArray, counts: IntArray, sizes: IntArray | None) -> tuple[FloatArray, FloatArray]:
    r"""What needs no probability: where the mean of a fixed set lies when part of it is known.

    .. math:: \Big[\frac{n \hat\mu}{N},\; \frac{n \hat\mu + N - n}{N}\Big]

    for scores in [0, 1]; one point when all were scored. [0, 1] for a distribution (``sizes`` None).
    """
    if sizes is None:
        return np.zeros(len(means)), np.ones(len(means))
    lower = means * (counts / sizes)
    return lower, np.minimum(lower + (sizes - counts) / sizes, 1.0)


def check_level(alpha: float) -> None:
    """Refuse an error level that is none."""
    if not 0 < alpha < 1:
        raise OptionError(f"delta {alpha} is not between 0 and 1. 0.05 makes the intervals hold 95 % of the time.")


def _checked_sizes(sizes: ArrayLike, counts: IntArray) -> IntArray:
    checked = np.asarray(sizes)
    if checked.shape != counts.shape or checked.dtype.kind not in "iu":
        raise OptionError(f"sizes of shape {checked.shape}: give one whole number for each of {len(counts)} parts.")
    if (checked < counts).any():
        part = int(np.argmax(checked < counts))
        raise OptionError(
            f"part {part} has {counts[part]} samples but a size of {checked[part]}. Give the whole set's."
        )
    return checked.astype(np.int64)
