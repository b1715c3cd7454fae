r"""Betting against an answer: intervals that adapt to the spread of the scores, and evidence that grows with them.

For each candidate m of a class mean somebody who doubts that the mean is as low as m bets on the next score being
larger, with a capital of 1 to begin with. If m is the mean, or above it, the game is fair or worse, and the capital
rarely grows large: it *ever* reaches 1/alpha with probability at most alpha (Ville's inequality). Each m at which it
does is excluded: that gives :func:`betting_lower`, the default interval. Bets against one threshold give
:class:`Evidence`: one may stop at any time, for any reason, and may choose which class to draw from next by what was
seen so far.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import FloatArray, IntArray, row_chunks
from gfscore.bounds.class_means import BEYOND_MAXIMUM, HALVINGS, PartScores, check_level, known_range, last_excluded
from gfscore.errors import OptionError, SamplesError

CLIP = 0.9  # the share of the capital that one score can lose at most; the authors use 1/2 or 3/4
PRIOR_MEAN, PRIOR_VARIANCE = 0.5, 0.25  # what is believed before the first score; worth one sample
SLACK = 1e-7  # on the logarithm of the capital, far above its rounding
TINY = 1e-300  # so that no bet is divided by 0
STAKES = np.array([0.9, 0.6, 0.3, 0.12, 0.04, 0.01])  # shares of the capital: for 5 scores a class and for 10,000
NEAREST = 1e-12  # what the rest of a fixed set has on average is not let nearer to 0 or 1: no stake is divided by 0


def betting_lower(parts: PartScores, alpha: float, *, halvings: int = HALVINGS) -> FloatArray:
    r"""Lower bound of each part's mean, ``(K,)`` in [0, 1]; each one fails with probability at most ``alpha``.

    .. math:: \sup\Big\{m :\; \max_{t \le n} \prod_{i \le t} \big(1 + \lambda_i(m) (x_i - m_i)\big)
              \ge \frac{1}{\alpha}\Big\}, \qquad
              \lambda_i(m) = \min\Big\{\sqrt{\frac{2 \ln(1/\alpha)}{n\,\hat\sigma^2_{i-1}}},\; \frac{c}{m_i}\Big\}

    where :math:`m_i = m`, or, for the mean m of a fixed set of N samples drawn from without replacement, what the rest
    of the set has on average if m is right: :math:`m_i = (N m - \sum_{j<i} x_j) / (N - i + 1)`.

    Why it holds. Each bet is at least 0 and depends on earlier scores only, and c < 1 keeps the capital positive; so at
    m equal to or above the mean the capital is a non-negative supermartingale that starts at 1, and Ville's inequality
    bounds the chance that it ever reaches 1/alpha. Each factor falls as m grows, at :math:`\lambda` and at
    :math:`c/m_i` alike, so the excluded m are all those below one point, and bisection finds it.

    Waudby-Smith and Ramdas, JRSS-B 86 (2024), Sections 4 and 5: hedged capital, one side of it. Both sides together,
    each at half the level, are their interval.
    """
    check_level(alpha)
    capital = _largest_capital(parts, alpha)
    floor, ceiling = known_range(parts.means, parts.counts, parts.sizes)
    return last_excluded(lambda mean: capital(mean) >= math.log(1.0 / alpha) + SLACK, floor, ceiling, halvings=halvings)


def betting_p_values(parts: PartScores, means: FloatArray, alpha: float) -> FloatArray:
    r"""P-value of each hypothesis "the mean is at most this", ``(K,)``.

    .. math:: p = \min\Big\{1,\; 1 \Big/ \max_{t \le n} \prod_{i \le t} \big(1 + \lambda_i (x_i - m_i)\big)\Big\}

    Valid for any scores in [0, 1]: under the hypothesis the capital ever reaches 1/p with probability at most p
    (Ville). ``alpha`` is the level the bets are made for, which must not depend on the scores; a p-value far from it
    is less sharp, and as valid.

    >>> parts = PartScores.of([0.6, 0.7, 0.8, 0.7, 0.6, 0.7], [0] * 6, 1, maximum=1.0)
    >>> betting_p_values(parts, np.array([0.2]), 0.05).round(3), betting_p_values(parts, np.array([0.9]), 0.05)
    (array([0.003]), array([1.]))
    """
    check_level(alpha)
    return np.asarray(np.exp(-np.maximum(_largest_capital(parts, alpha)(means) - SLACK, 0.0)))


def capitals(parts: PartScores, means: FloatArray, alpha: float, *, final: bool) -> FloatArray:
    """Logarithm of the capital against each part's mean being at most each of ``means``, ``(m, K)``.

    The capital is that of :func:`betting_lower`, with stakes for the level ``alpha``: after all samples (``final``),
    when its expectation under the hypothesis is at most 1, or the largest that it was, from 1 at the start. It is
    infinite where the hypothesis contradicts what is known of a fixed set.
    """
    gains = _gains(parts, alpha)
    floor, _ = known_range(parts.means, parts.counts, parts.sizes)

    def capital(some: slice) -> FloatArray:
        gained = gains(np.repeat(means[some, None], len(parts.counts), axis=1))
        return np.asarray(parts.sums(gained) if final else np.maximum(parts.largest(parts.running(gained)), 0.0))

    found = [capital(some) for some in row_chunks(len(means), len(parts.values))]
    return np.where(means[:, None] < floor - SLACK, np.inf, np.concatenate(found))


def _largest_capital(parts: PartScores, alpha: float) -> Callable[[FloatArray], FloatArray]:
    """The logarithm of the largest capital, over time, against each part's mean being at most a given one."""
    gains = _gains(parts, alpha)
    return lambda mean: parts.largest(parts.running(gains(mean)))


def _gains(parts: PartScores, alpha: float) -> Callable[[FloatArray], FloatArray]:
    """What each sample adds to the logarithm of the capital against a given mean of its part, ``(..., N)``."""
    values = parts.values
    bets = np.sqrt(2.0 * math.log(1.0 / alpha) / (parts.spread(parts.counts) * _earlier_variances(parts)))
    if parts.sizes is not None:
        drawn = parts.running(values) - values
        left = parts.spread(parts.sizes) - parts.positions

    def gains(mean: FloatArray) -> FloatArray:
        expected = parts.spread(mean)
        if parts.sizes is not None:
            expected = np.clip((parts.spread(parts.sizes * mean) - drawn) / left, 0.0, 1.0)
        return np.asarray(np.log1p(np.minimum(bets, CLIP / np.maximum(expected, TINY)) * (values - expected)))

    return gains


def _earlier_variances(parts: PartScores) -> FloatArray:
    """For each sample, the variance estimated from those before it in its part; ``(N,)``, all positive."""
    seen = parts.positions + 1.0
    means = (PRIOR_MEAN + parts.running(parts.values)) / (seen + 1.0)
    variances = (PRIOR_VARIANCE + parts.running((parts.values - means) ** 2)) / (seen + 1.0)
    earlier = np.roll(variances, 1)
    earlier[parts.starts] = PRIOR_VARIANCE
    return earlier


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    r"""What the scores so far say about each of K means and one threshold :math:`\tau`.

    The capital against "the mean is at most :math:`\tau`" is a mixture over stakes f,

    .. math:: E = \frac{1}{J} \sum_{j=1}^{J} \prod_i \Big(1 + f_j \Big(\frac{x_i}{m_i} - 1\Big)\Big)

    for scores x in [0, 1] and :math:`m_i = \tau`; against "at least :math:`\tau`" it is the same for 1 - x and
    :math:`1 - \tau`. Each factor has expectation at most 1 under its hypothesis, given all that was seen in all
    classes; so has the mixture, which needs no tuning: it grows as the best of its stakes does, less ln J.

    With ``sizes`` the mean is that of a fixed set of N scores, drawn from without replacement, and
    :math:`m_i = (N\tau - \sum_{j<i} x_j) / (N - i + 1)`, what the rest has on average if the set has :math:`\tau`. The
    evidence is infinite once no rest could change the answer: when all is seen, the answer is known.

    Waudby-Smith and Ramdas, JRSS-B 86 (2024), Sections 4 and 5; Ville (1939).

    >>> evidence = Evidence.start(2, 0.3, maximum=1.0).add([0.8, 0.9, 0.7, 0.8, 0.1], [0, 0, 0, 0, 1])
    >>> np.exp(evidence.above).round(1), np.exp(evidence.below).round(1)
    (array([10.6,  0.8]), array([0.5, 1.1]))
    """

    threshold: float  # as a share of the maximum
    maximum: float
    gains: FloatArray  # (2, K, J): logarithms of the capitals against "at most" and against "at least"
    counts: IntArray  # (K,), scores seen
    totals: FloatArray  # (K,), their sums, as shares of the maximum
    sizes: IntArray | None = None  # (K,), of the fixed set; None: a distribution

    @classmethod
    def start(cls, n_parts: int, threshold: float, *, maximum: float, sizes: ArrayLike | None = None) -> Self:
        """Nothing seen yet."""
        if not 0 < threshold < maximum:
            raise OptionError(
                f"threshold {threshold:g} is not between 0 and the largest score there is ({maximum:.4g}). "
                "Every model is on the same side of it."
            )
        return cls(
            threshold=threshold / maximum,
            maximum=maximum,
            gains=np.zeros((2, n_parts, len(STAKES))),
            counts=np.zeros(n_parts, dtype=np.int64),
            totals=np.zeros(n_parts),
            sizes=None if sizes is None else np.asarray(sizes, dtype=np.int64),
        )

    def add(self, values: ArrayLike, codes: ArrayLike) -> Self:
        """The evidence after some more scores, ``(n,)``, of the classes ``codes``, taken in their order."""
        scores, parts = np.asarray(values, dtype=np.float64) / self.maximum, np.asarray(codes, dtype=np.int64)
        if not ((scores >= 0) & (scores <= 1 + BEYOND_MAXIMUM)).all():
            raise SamplesError(f"a score is outside [0, {self.maximum:g}]. Give its true maximum.")
        scores = np.minimum(scores, 1.0)
        expected = self._expected(scores, parts)[:, None]
        gains = self.gains.copy()
        np.add.at(gains[0], parts, np.log1p(STAKES * (scores[:, None] / expected - 1.0)))
        np.add.at(gains[1], parts, np.log1p(STAKES * ((1.0 - scores[:, None]) / (1.0 - expected) - 1.0)))
        k = len(self.counts)
        return replace(
            self,
            gains=gains,
            counts=self.counts + np.bincount(parts, minlength=k),
            totals=self.totals + np.bincount(parts, weights=scores, minlength=k),
        )

    def _expected(self, scores: FloatArray, parts: IntArray) -> FloatArray:
        """For each score what it is on average if its class has the threshold, given those before it."""
        if self.sizes is None:
            return np.full(len(scores), self.threshold)
        order = np.argsort(parts, kind="stable")
        first = np.searchsorted(parts[order], parts[order])
        sums = np.concatenate(([0.0], np.cumsum(scores[order])))
        n_before, sum_before = np.empty_like(scores), np.empty_like(scores)
        n_before[order], sum_before[order] = np.arange(len(parts)) - first, sums[:-1] - sums[first]
        left = self.sizes[parts] - self.counts[parts] - n_before
        rest = (self.sizes[parts] * self.threshold - self.totals[parts] - sum_before) / np.maximum(left, 1)
        return np.clip(rest, NEAREST, 1.0 - NEAREST)

    @property
    def above(self) -> FloatArray:
        """Logarithm of the evidence that each mean is above the threshold, ``(K,)``."""
        found = log_average(self.gains[0])
        if self.sizes is None:
            return found
        return np.where(self.totals >= self.sizes * self.threshold, np.inf, found)

    @property
    def below(self) -> FloatArray:
        """Logarithm of the evidence that each mean is below the threshold, ``(K,)``."""
        found = log_average(self.gains[1])
        if self.sizes is None:
            return found
        left = self.sizes - self.counts
        return np.where(self.totals + left < self.sizes * self.threshold, np.inf, found)

    @property
    def means(self) -> FloatArray:
        """Mean score of each class in score units, ``(K,)``; NaN where nothing was seen."""
        return np.where(self.counts > 0, self.maximum * self.totals / np.maximum(self.counts, 1), np.nan)


def log_average(logs: FloatArray) -> FloatArray:
    """Logarithm of the average over the last axis of numbers given by their logarithms.

    The average of capitals is a capital: of somebody who splits it over the classes at the start.

    >>> float(np.exp(log_average(np.log([1.0, 3.0]))).round(6))
    2.0
    """
    return np.asarray(np.logaddexp.reduce(logs, axis=-1) - np.log(logs.shape[-1]))
