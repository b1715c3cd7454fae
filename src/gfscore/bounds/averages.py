r"""Bounds of averages over all classes: class mean, aggregate, NRGC; by the spread of the scores, not their range.

An average over K classes is known from all N samples together, and its bound, straight from the samples, has no K in
it: far narrower than the box of class intervals when K is large. For fixed weights a and independent samples,

.. math:: P\Big(\sum_k a_k (\hat\Omega_k - \Omega_k) \ge \epsilon\Big) \le \alpha

with a radius :math:`\epsilon` that is Hoeffding's, or that of **Bernstein's inequality with an estimated variance**.

**Theorem.** Let the scores of class k be :math:`n_k` independent draws from a distribution on [0, 1] with mean
:math:`\Omega_k` and variance :math:`\sigma_k^2`, classes independent of each other. Put :math:`s_k^2` for the sample
variance (n - 1 in the denominator; 1/4, which no :math:`\sigma_k^2` exceeds, where :math:`n_k = 1`), and

.. math:: W = \sum_k \frac{a_k^2 s_k^2}{n_k}, \quad b = \max_k \frac{|a_k|}{n_k}, \quad
          c = \max_{k:\, n_k > 1} \frac{a_k^2}{n_k (n_k - 1)}, \quad
          L = \ln\frac{1}{0.9\,\alpha}, \quad \ell = \ln\frac{1}{0.1\,\alpha}.

Then the inequality above holds with

.. math:: \epsilon = \min\Big\{\sqrt{\tfrac L2 \sum_k a_k^2 / n_k},\;
          \sqrt{2 L}\,\big(\sqrt{W + c\,\ell/2} + \sqrt{c\,\ell/2}\big) + b L / 3\Big\}.

*Proof.* Let :math:`V = \sum_k a_k^2 \sigma_k^2 / n_k`, a number, not a random one. The sum is one of N independent,
centred terms, each at most b, with variance V. So it exceeds Hoeffding's radius, and Bernstein's
:math:`\sqrt{2 V L} + b L/3`, each with probability at most :math:`e^{-L}`; as it is no accident which of both is
smaller, it exceeds the smaller one no more often. That radius grows with V, so it is enough that
:math:`\sqrt V \le \sqrt{W + c \ell/2} + \sqrt{c \ell/2}` except with probability :math:`e^{-\ell}`. Where
:math:`n_k = 1` the term of W is at least that of V; leave those classes out. Then E W = V. For one class, changing one
sample lowers :math:`s_k^2` by at most :math:`1/n_k`, and the squares of the largest such falls sum to at most
:math:`s_k^2/(n_k - 1)` (Maurer and Pontil, proof of Theorem 10). So :math:`Z = W/c`, a function of independent samples,
falls by at most 1 when a sample is changed, and the squares of its falls sum to at most
:math:`\sum_k a_k^4 s_k^2 / (c^2 n_k^2 (n_k - 1)) \le Z`: it is self-bounding, and
:math:`P(E Z - Z \ge t) \le e^{-t^2 / 2 E Z}` (the same, Theorem 7). That is
:math:`V - W \le \sqrt{2 c \ell V}` except with probability :math:`e^{-\ell}`; solve for :math:`\sqrt V`. Both
probabilities sum to alpha. QED

For samples that are alike it is Maurer and Pontil's bound (COLT 2009, Theorem 4), up to constants. A fixed set, drawn
from without replacement, has Hoeffding's radius at level alpha, with :func:`~.class_means.effective_counts`: the
sample variance there is a function of dependent samples, to which the proof does not apply.
"""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.bounds.betting import betting_lower
from gfscore.bounds.box import Interval
from gfscore.bounds.class_means import PartScores, check_level, effective_counts, last_excluded, sum_radius
from gfscore.bounds.methods import Half, PartBounds

OUTWARD = 1e-12  # by which each end of an average is moved outward, for the rounding of sums
VARIANCE_SHARE = 0.1  # of the level of an end, for the bound of the variance
LARGEST_VARIANCE = 0.25  # of scores in [0, 1]
ENOUGH_FREEDOM = 8.0  # of stakes, from which betting on rounds is narrower; found on made-up scores
ROUNDS_SHARE = (
    0.8  # of the level of an end, for betting on rounds; the theorem has the rest, for scores that hardly vary
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """What the radius of a weighted sum of class means depends on, ``(K,)`` each; see the theorem of the module."""

    inverses: FloatArray  # 1/n, or what stands for it
    noise: FloatArray | None = None  # s^2/n; None: the variance is not asked, as of a fixed set
    doubts: FloatArray | None = None  # 1/(n (n - 1)); 0 where n = 1, whose variance is taken to be the largest

    @classmethod
    def of(cls, found: PartBounds, inverses: FloatArray | None = None) -> Self:
        """That of the means of all samples, or of sums whose 1/n is given, with the variance from all samples."""
        if inverses is None:
            inverses = 1.0 / effective_counts(found.counts, found.sizes)
        if found.sizes is not None:
            return cls(inverses=inverses)
        several = found.counts > 1
        variances = np.where(several, found.scores.variances, LARGEST_VARIANCE)
        return cls(
            inverses=inverses,
            noise=variances * inverses,
            doubts=np.where(several, inverses / np.maximum(found.counts - 1, 1), 0.0),
        )

    def radius(self, weights: FloatArray, alpha: float) -> float:
        """How far the sum with fixed ``weights``, ``(K,)``, may be off to one side, but with probability ``alpha``."""
        squares = weights**2
        if self.noise is None or self.doubts is None:
            return sum_radius(squares, self.inverses, alpha)
        by_variance = _bernstein_radius(
            float(squares @ self.noise),
            float((squares * self.doubts).max()),
            float((np.abs(weights) * self.inverses).max()),
            alpha,
        )
        return min(sum_radius(squares, self.inverses, (1.0 - VARIANCE_SHARE) * alpha), by_variance)

    def worst_dealt(self) -> Self:
        """In ascending order each, so that ascending weights are dealt to the classes in the least favourable way."""
        if self.noise is None or self.doubts is None:
            return replace(self, inverses=np.sort(self.inverses))
        return replace(self, inverses=np.sort(self.inverses), noise=np.sort(self.noise), doubts=np.sort(self.doubts))

    def ranked_radii(self, weights: FloatArray, alpha: float) -> tuple[float, ...]:
        """The same for weights dealt in the least favourable way: by Hoeffding, and by variance."""
        squares = np.sort(weights**2)
        if self.noise is None or self.doubts is None:
            return (sum_radius(squares, self.inverses, alpha),)
        noise, doubt = float(squares @ self.noise), float(squares[-1] * self.doubts[-1])
        by_variance = _bernstein_radius(noise, doubt, float(math.sqrt(squares[-1]) * self.inverses[-1]), alpha)
        return sum_radius(squares, self.inverses, (1.0 - VARIANCE_SHARE) * alpha), by_variance


def _bernstein_radius(noise: float, doubt: float, largest: float, alpha: float) -> float:
    """The second radius of the theorem: W, c and b in this order.

    >>> round(_bernstein_radius(0.0625 / 10_000, 1e-8, 1e-4, 0.01), 5)
    0.00842
    """
    level = -math.log((1.0 - VARIANCE_SHARE) * alpha)
    doubted = -math.log(VARIANCE_SHARE * alpha) * doubt / 2.0
    return math.sqrt(2.0 * level) * (math.sqrt(noise + doubted) + math.sqrt(doubted)) + largest * level / 3.0


def mean_interval(found: PartBounds, weights: FloatArray, alpha: float, failure_rate: float = 0.0) -> Interval:
    r"""Interval of the mean with fixed ``weights``, ``(K,)``; each end fails with probability at most ``alpha``.

    By the theorem above; and, where classes are few and large, also by betting on rounds, with four fifths of the
    level, as that is mostly the narrower one there; the theorem is where scores hardly vary. There are as many
    rounds as the smallest class has samples. The samples of each class are dealt to them evenly in their random order,
    and :math:`y_r = \sum_k a_k \bar x_{k,r}`, with the mean of those that class k has in round r. Each y is in [0, 1]
    and independent of those before it, with the mean that is asked for as its expectation: so
    :func:`~gfscore.bounds.betting.betting_lower` holds for them. Its stakes are limited by what one round could lose,
    which with many classes, or scores that vary little, it never does: there the theorem is narrower. Whether there are
    rounds depends on the counts and weights alone, not on the scores, so that nothing is spent on the question.

    With ``failure_rate`` the class means may be that much lower than those of the scores.
    """
    check_level(alpha)
    mean, parts = float(np.dot(weights, found.means)), found.scores
    # In rounds the stakes stay below their limit if this is large: n/K for K classes of n samples.
    freedom = float(found.counts.min() ** 2 * (weights**2 / found.counts).sum())
    in_rounds = isinstance(parts, PartScores) and parts.sizes is None and freedom >= ENOUGH_FREEDOM
    radius = Spread.of(found).radius(weights, (1.0 - ROUNDS_SHARE) * alpha if in_rounds else alpha) + OUTWARD
    low, high = mean - radius, mean + radius
    if isinstance(parts, PartScores) and in_rounds:
        rounds = deal_rounds(parts, weights)
        low = max(low, float(betting_lower(rounds, ROUNDS_SHARE * alpha)[0]) - OUTWARD)
        high = min(high, 1.0 - float(betting_lower(rounds.mirror(), ROUNDS_SHARE * alpha)[0]) + OUTWARD)
    return max(0.0, low - failure_rate), min(1.0, high)


def deal_rounds(parts: PartScores, weights: FloatArray) -> PartScores:
    """The weighted means of all classes in each round, as scores of one class; see :func:`mean_interval`.

    >>> parts = PartScores.of([0.0, 1.0, 1.0, 0.5], [0, 0, 1, 1], 2, maximum=1.0)
    >>> float(deal_rounds(parts, np.array([0.5, 0.5])).means[0])
    0.625
    """
    n_rounds = int(parts.counts.min())
    rounds = parts.positions * n_rounds // parts.spread(parts.counts)
    cells = parts.spread(np.arange(len(parts.counts))) * n_rounds + rounds
    shared = np.bincount(cells, minlength=len(parts.counts) * n_rounds)  # samples of a class in a round
    values = np.bincount(rounds, weights=parts.spread(weights) * parts.values / shared[cells], minlength=n_rounds)
    return PartScores(
        values=np.clip(values, 0.0, 1.0),
        counts=np.array([n_rounds]),
        starts=np.zeros(1, dtype=np.int64),
        rows=np.arange(n_rounds),
        seed=parts.seed,
    )


def nrgc_interval(found: PartBounds, alpha: float, failure_rate: float = 0.0) -> Interval | None:
    r"""Interval of the NRGC; each end fails with probability at most ``alpha``. None when all scores are 0.

    With the weights :math:`w_r = (2r - K - 1)/K^2` given to the classes by rank, the NRGC g of the true means satisfies
    :math:`\sum_k (w_{\pi(k)} - g/K)\,\Omega_k = 0` for their true ranking :math:`\pi`, and the sum is at most 0 for
    every other ranking (rearrangement inequality).

    *Upper end.* The estimates' own ranking gives the largest such sum, so
    :math:`\sum_k (w_{\hat\pi(k)} - g/K) \hat\Omega_k \ge \sum_k (w_{\pi(k)} - g/K) \hat\Omega_k`, and the right-hand
    side is at least :math:`-\epsilon` except with probability alpha. Each g for which the left-hand side is smaller is
    excluded. The true ranking is unknown, but it is one: :math:`\epsilon` is the largest over all rankings, also of the
    variances that were estimated.

    *Lower end.* The estimates' own ranking makes the NRGC too large. So one half of the samples of each class ranks
    them, and the other half gives the means: then the sum has an expectation of at most 0, and is at most
    :math:`\epsilon` except with probability alpha. The halves change roles, and the two sums are averaged, which by
    convexity of the exponential keeps the bound of the larger of both variances. Where a half of a class is empty the
    end is 0. Of a fixed set, the mean of the class is estimated by what is known of the ranking half and the estimate
    from the other half for the rest.

    With ``failure_rate`` a, each class mean may be up to a lower than that of its scores, which moves a sum with the
    weights :math:`w_r - g/K` by at most a times the sum of its positive weights (at most 1/4) upward, or of its
    negative ones (at most 1/4 + g) downward: the ends give way by that much.

    Both radii of the theorem above exclude g, each those beyond one point, because it is convex in g, and even.
    """
    check_level(alpha)
    if not found.means.any():
        return None
    k = len(found.counts)
    limit = 1.0 - 1.0 / k
    means = found.means
    spread, level = float(np.dot(rank_weights(k), np.sort(means))), float(means.mean())
    of_sums, weights = Spread.of(found).worst_dealt(), rank_weights(k)

    def beyond(which: int) -> float:
        def too_large(below_limit: FloatArray) -> BoolArray:
            g = limit - float(below_limit)
            radius = of_sums.ranked_radii(weights - g / k, alpha)[which]
            return np.asarray(spread - g * level < -radius - failure_rate * (0.25 + g) - OUTWARD)

        # A convex function of g that is negative at the limit crosses 0 once; else all up to the limit is possible.
        excluded = too_large(np.asarray(0.0))
        return limit - (float(last_excluded(too_large, np.asarray(0.0), np.asarray(limit))) if excluded else 0.0)

    upper = min(beyond(which) for which in range(len(of_sums.ranked_radii(weights, alpha))))
    return _nrgc_lower(found, alpha, failure_rate), upper


def _nrgc_lower(found: PartBounds, alpha: float, failure_rate: float) -> float:
    one, other = found.halves
    if min(one.counts.min(), other.counts.min()) < 1:
        return 0.0
    k = len(found.counts)
    halves = [_roles(one, other, found.sizes), _roles(other, one, found.sizes)]
    ranks = [np.argsort(np.argsort(ranking, kind="stable")) for ranking, _, _ in halves]
    spread = float(np.mean([rank_weights(k)[rank] @ half[1] for rank, half in zip(ranks, halves, strict=True)]))
    level = float(np.mean([estimates.mean() for _, estimates, _ in halves]))

    spreads = [Spread.of(found, inverses).worst_dealt() for _, _, inverses in halves]

    def too_small(g: FloatArray) -> BoolArray:
        radii = zip(*(each.ranked_radii(rank_weights(k) - float(g) / k, alpha) for each in spreads), strict=True)
        radius = min(max(of_halves) for of_halves in radii)
        return np.asarray(spread - g * level > radius + 0.25 * failure_rate + OUTWARD)

    return float(last_excluded(too_small, np.asarray(0.0), np.asarray(1.0 - 1.0 / k)))


def _roles(ranking: Half, estimating: Half, sizes: IntArray | None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Means of the ranking half; estimates from the other half; and what stands for 1/n of these."""
    if sizes is None:
        return ranking.means, estimating.means, 1.0 / estimating.counts
    known = ranking.counts / sizes  # the share of the fixed set that the ranking half has shown
    inverses = (1.0 - known) ** 2 / effective_counts(estimating.counts, sizes - ranking.counts)
    return ranking.means, known * ranking.means + (1.0 - known) * estimating.means, inverses


def rank_weights(k: int) -> FloatArray:
    """Weights of K sorted scores whose sum is the NRGC times their mean, ``(K,)``."""
    return (2.0 * np.arange(1, k + 1) - k - 1.0) / k**2
