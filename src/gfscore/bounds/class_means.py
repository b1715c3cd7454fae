"""The scores of each class (or group), and bounds of its mean that look at no more than mean, variance and count.

Hoeffding's depends on counts alone. KL, Chernoff's bound solved rather than approximated, is best for classes near 0 or
near the maximum; empirical Bernstein is narrow when the scores of a class vary little. All assume that the samples of
a class are independent draws from it, and nothing about their scores but their range.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.errors import OptionError, SamplesError

BEYOND_MAXIMUM = 1e-6  # how far past the maximum, relatively, a score computed in single precision may lie
HALVINGS = 36  # of a range in which an end is searched: to 1.5e-11 of it
KL_SLACK = 1e-9  # on the exponent, far above its rounding


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
        outside = ~((scores >= 0) & (scores <= maximum * (1 + BEYOND_MAXIMUM)))
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
            sizes=None if sizes is None else _check_sizes(sizes, all_counts)[present],
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

    def mirror(self) -> Self:
        """Scores 1 - x of these samples: a lower bound there is an upper bound here."""
        return replace(self, values=1.0 - self.values)

    def spread(self, per_part: NDArray[Any]) -> NDArray[Any]:
        """A number per part, ``(..., K)``, repeated for each of its samples."""
        return np.repeat(per_part, self.counts, axis=-1)

    def sums(self, per_sample: NDArray[Any]) -> NDArray[Any]:
        """Sum over each part, of numbers ``(..., N)``."""
        return np.asarray(np.add.reduceat(per_sample, self.starts, axis=-1))

    def running(self, per_sample: FloatArray) -> FloatArray:
        """Sum over the samples of the part up to and including each one, of numbers ``(..., N)``."""
        total = np.cumsum(per_sample, axis=-1)
        before = np.where(self.starts > 0, total[..., self.starts - 1], 0.0)
        return np.asarray(total - self.spread(before))

    def largest(self, per_sample: FloatArray) -> FloatArray:
        """Maximum over each part, of numbers ``(..., N)``."""
        return np.asarray(np.maximum.reduceat(per_sample, self.starts, axis=-1))


def _check_sizes(sizes: ArrayLike, counts: IntArray) -> IntArray:
    checked = np.asarray(sizes)
    if checked.shape != counts.shape or checked.dtype.kind not in "iu":
        raise OptionError(f"sizes of shape {checked.shape}: give one whole number for each of {len(counts)} parts.")
    if (checked < counts).any():
        part = int(np.argmax(checked < counts))
        raise OptionError(
            f"part {part} has {counts[part]} samples but a size of {checked[part]}. Give the whole set's."
        )
    return checked.astype(np.int64)


def check_level(alpha: float) -> None:
    """Refuse an error level that is none."""
    if not 0 < alpha < 1:
        raise OptionError(f"delta {alpha} is not between 0 and 1. 0.05 makes the intervals hold 95 % of the time.")


def check_counts(counts: NDArray[Any]) -> None:
    """Refuse sample sizes below 1."""
    if not (counts >= 1).all():
        raise OptionError(f"a sample size of {counts.min():g} bounds nothing. Give at least 1 per class.")


def last_excluded(
    excluded: Callable[[FloatArray], BoolArray], low: FloatArray, high: FloatArray, *, halvings: int = HALVINGS
) -> FloatArray:
    """Largest point found that a test excludes, or ``low`` when it excludes none.

    ``excluded`` holds up to some point of [low, high] and fails beyond it, for each entry on its own. What is returned
    was itself tested, so rounding only ever widens the interval that begins there.

    >>> last_excluded(lambda m: m < 0.3, np.zeros(1), np.ones(1)).round(6)
    array([0.3])
    """
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    for _ in range(halvings):
        middle = (low + high) / 2.0
        out = excluded(middle)
        low, high = np.where(out, middle, low), np.where(out, high, middle)
    return low


def known_range(means: FloatArray, counts: IntArray, sizes: IntArray | None) -> tuple[FloatArray, FloatArray]:
    r"""What needs no probability: where the mean of a fixed set lies when part of it is known.

    .. math:: \Big[\frac{n \hat\mu}{N},\; \frac{n \hat\mu + N - n}{N}\Big]

    for scores in [0, 1]; one point when all were scored. [0, 1] for a distribution (``sizes`` None).
    """
    if sizes is None:
        return np.zeros(len(means)), np.ones(len(means))
    lower = means * (counts / sizes)
    return lower, np.minimum(lower + (sizes - counts) / sizes, 1.0)


def hoeffding_lower(means: FloatArray, counts: IntArray, alpha: float, *, sizes: IntArray | None = None) -> FloatArray:
    r"""Lower bound of each mean of scores in [0, 1]; each one fails with probability at most ``alpha``.

    .. math:: \hat\mu - \sqrt{\ln(1/\alpha) / (2 n')}

    with n' = n for draws from a distribution and that of :func:`effective_counts` for samples drawn without
    replacement from a fixed set with ``sizes`` samples. Hoeffding (1963), Theorem 2.
    """
    check_level(alpha)
    check_counts(counts)
    floor, _ = known_range(means, counts, sizes)
    radius = np.sqrt(math.log(1.0 / alpha) / (2.0 * effective_counts(counts, sizes)))
    return np.asarray(np.maximum(means - radius, floor))


def effective_counts(counts: IntArray, sizes: IntArray | None) -> FloatArray:
    r"""How many independent samples are worth as much, in Hoeffding's bound, as those drawn without replacement.

    .. math:: n' = n \Big/ \min\Big\{1 - \frac{n - 1}{N},\; \Big(1 - \frac{n}{N}\Big)\Big(1 + \frac{1}{n}\Big)\Big\}

    n itself for a distribution (``sizes`` None), infinite when all N of a fixed set were drawn. The first factor bounds
    the moment generating function of the sum: Serfling, Ann. Statist. 2 (1974), Theorem 2.2. The second is the first
    one for the N - n samples that were not drawn, whose sum deviates by as much to the other side; Bardenet and
    Maillard, Bernoulli 21 (2015), Theorem 2.4.

    >>> effective_counts(np.array([10, 90, 100]), np.array([100, 100, 100])).round(1)
    array([ 11. , 890.1,   inf])
    """
    if sizes is None:
        return counts.astype(np.float64)
    share = counts / sizes
    factor = np.minimum(1.0 - (counts - 1) / sizes, (1.0 - share) * (1.0 + 1.0 / counts))
    with np.errstate(divide="ignore"):
        return np.asarray(counts / factor)


def sum_radius(squared_weights: FloatArray, inverses: FloatArray, alpha: float) -> float:
    r"""Hoeffding's radius of one weighted sum of means, :math:`\sqrt{\ln(1/\alpha) \sum_k a_k^2 / 2 n_k}`."""
    return math.sqrt(math.log(1.0 / alpha) / 2.0 * float(np.dot(squared_weights, inverses)))


def kl_lower(means: FloatArray, counts: IntArray, alpha: float, *, sizes: IntArray | None = None) -> FloatArray:
    r"""Lower bound of each mean of scores in [0, 1]; each one fails with probability at most ``alpha``.

    .. math:: \min\{\mu \le \hat\mu :\; n\,\mathrm{kl}(\hat\mu, \mu) \le \ln(1/\alpha)\}, \qquad
              \mathrm{kl}(p, q) = p \ln\tfrac{p}{q} + (1 - p) \ln\tfrac{1 - p}{1 - q}

    Chernoff's bound for a mean of independent scores in [0, 1]: Hoeffding, JASA 58 (1963), Theorem 1.

    With ``sizes`` N, for samples drawn without replacement from a fixed set. The bound holds there too (Hoeffding's
    Theorem 4: drawing without replacement makes every convex function of the sum smaller on average). It holds as well
    for the N - n samples that were *not* drawn, whose mean is then too low by as much: the event is the same one, so
    the larger exponent counts. Each exponent is convex in the mean of the set and 0 at the estimate, so the bound is
    one end of an interval.

    >>> kl_lower(np.array([0.0, 0.5]), np.array([100, 100]), 0.0125).round(3)
    array([0.   , 0.355])
    """
    check_level(alpha)
    log_level = math.log(1.0 / alpha)
    floor, _ = known_range(means, counts, sizes)

    def excluded(mean: FloatArray) -> BoolArray:
        exponent = counts * _kl(means, mean)
        if sizes is not None:
            rest = sizes - counts
            unseen = np.clip((sizes * mean - counts * means) / np.maximum(rest, 1), 0.0, 1.0)
            # where all were drawn there is nothing unseen, and its divergence may be infinite
            exponent = np.maximum(exponent, rest * _kl(np.where(rest > 0, unseen, mean), mean))
        return np.asarray(exponent > log_level + KL_SLACK)

    return last_excluded(excluded, floor, means)


def _kl(p: FloatArray, q: FloatArray) -> FloatArray:
    return np.asarray(rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q))


def bernstein_radius(variances: FloatArray, counts: IntArray, alpha: float) -> FloatArray:
    r"""How far below its estimate a mean of scores in [0, 1] may be; each fails with probability at most ``alpha``.

    .. math:: \sqrt{\frac{2 V \ln(2/\alpha)}{n}} + \frac{7 \ln(2/\alpha)}{3 (n - 1)}

    V is the sample variance with n - 1 in the denominator; one sample says nothing about it, and the radius is 1.
    Maurer and Pontil, COLT 2009, Theorem 4.
    """
    check_level(alpha)
    log_level = math.log(2.0 / alpha)
    radius = np.sqrt(2.0 * variances * log_level / counts) + 7.0 * log_level / (3.0 * np.maximum(counts - 1, 1))
    return np.where(counts > 1, radius, 1.0)
