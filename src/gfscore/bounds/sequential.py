r"""Evidence that grows one score at a time: is a mean above a threshold, or below it? May be looked at whenever.

Against each of the two answers somebody bets, with a capital of 1 to begin with. If the answer is right, no strategy
wins on average: the chance that the capital *ever* reaches 1/alpha is at most alpha (Ville's inequality). So one may
stop at any time, for any reason, and may choose which class to draw from next by what was seen so far.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import OptionError, SamplesError

STAKES = np.array([0.9, 0.6, 0.3, 0.12, 0.04, 0.01])  # shares of the capital: for 5 scores a class and for 10,000
TINY = 1e-12  # what the rest of a fixed set has on average is not let nearer to 0 or 1: no stake is divided by 0
ROUNDING = 1e-6  # how far past the maximum, relatively, a score computed in single precision may lie


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
        if not ((scores >= 0) & (scores <= 1 + ROUNDING)).all():
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
        sizes, sums = np.empty_like(scores), np.empty_like(scores)
        sizes[order], sums[order] = _before(scores[order], parts[order])
        left = self.sizes[parts] - self.counts[parts] - sizes
        rest = (self.sizes[parts] * self.threshold - self.totals[parts] - sums) / np.maximum(left, 1)
        return np.clip(rest, TINY, 1.0 - TINY)

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


def _before(scores: FloatArray, parts: IntArray) -> tuple[FloatArray, FloatArray]:
    """How many scores of the same part come before each, and their sum; parts are in ascending order."""
    starts = np.searchsorted(parts, parts)
    sums = np.concatenate(([0.0], np.cumsum(scores)))
    return np.arange(len(parts), dtype=np.float64) - starts, sums[:-1] - sums[starts]
