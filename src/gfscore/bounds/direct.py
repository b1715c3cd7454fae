r"""Bounds on averages over all classes, straight from the samples: far narrower than the box when K is large.

An average over K classes is known from all N samples together, and its bound has no K in it. Everything here is
Hoeffding's inequality for one weighted sum of class means: for fixed weights a, and independent samples,

.. math:: P\Big(\sum_k a_k (\hat\Omega_k - \Omega_k) \ge \epsilon\Big) \le \alpha, \qquad
          \epsilon = \sqrt{\frac{\ln(1/\alpha)}{2} \sum_k \frac{a_k^2}{n_k}}

for scores in [0, 1]. Samples drawn without replacement count as :func:`~gfscore.bounds.hoeffding.effective_counts`.
"""

import math

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import FloatArray, IntArray
from gfscore.bounds.box import Interval
from gfscore.bounds.hoeffding import effective_counts
from gfscore.bounds.part_bounds import Half, PartBounds
from gfscore.bounds.parts import check_level
from gfscore.bounds.search import last_excluded

ROUNDING = 1e-12  # by which each end is moved outward, for the rounding of sums


def mean_interval(found: PartBounds, weights: FloatArray, alpha: float, failure_rate: float = 0.0) -> Interval:
    """Interval of the mean with fixed ``weights``, ``(K,)``; each end fails with probability at most ``alpha``.

    With ``failure_rate`` the class means may be that much lower than those of the scores.
    """
    check_level(alpha)
    mean = float(np.dot(weights, found.means))
    radius = _radius(weights**2, 1.0 / effective_counts(found.counts, found.sizes), alpha) + ROUNDING
    return max(0.0, mean - radius - failure_rate), min(1.0, mean + radius)


def nrgc_interval(found: PartBounds, alpha: float, failure_rate: float = 0.0) -> Interval | None:
    r"""Interval of the NRGC; each end fails with probability at most ``alpha``. None when all scores are 0.

    With the weights :math:`w_r = (2r - K - 1)/K^2` given to the classes by rank, the NRGC g of the true means satisfies
    :math:`\sum_k (w_{\pi(k)} - g/K)\,\Omega_k = 0` for their true ranking :math:`\pi`, and the sum is at most 0 for
    every other ranking (rearrangement inequality).

    *Upper end.* The estimates' own ranking gives the largest such sum, so
    :math:`\sum_k (w_{\hat\pi(k)} - g/K) \hat\Omega_k \ge \sum_k (w_{\pi(k)} - g/K) \hat\Omega_k`, and the right-hand
    side is at least :math:`-\epsilon` except with probability alpha. Each g for which the left-hand side is smaller is
    excluded. The true ranking is unknown: :math:`\epsilon` is the largest over all rankings.

    *Lower end.* The estimates' own ranking makes the NRGC too large. So one half of the samples of each class ranks
    them, and the other half gives the means: then the sum has an expectation of at most 0, and is at most
    :math:`\epsilon` except with probability alpha. The halves change roles, and the two sums are averaged, which by
    convexity of the exponential keeps the bound. Where a half of a class is empty the end is 0. Of a fixed set, the
    mean of the class is estimated by what is known of the ranking half and the estimate from the other half for the
    rest.

    With ``failure_rate`` a, each class mean may be up to a lower than that of its scores, which moves a sum with the
    weights :math:`w_r - g/K` by at most a times the sum of its positive weights (at most 1/4) upward, or of its
    negative ones (at most 1/4 + g) downward: the ends give way by that much.

    In all cases the excluded g are those beyond one point, because :math:`\epsilon` is convex in g.
    """
    check_level(alpha)
    if not found.means.any():
        return None
    k = len(found.counts)
    limit = 1.0 - 1.0 / k
    means = found.means
    spread, level = float(np.dot(_weights(k), np.sort(means))), float(means.mean())
    inverses = 1.0 / effective_counts(found.counts, found.sizes)

    def too_large(below_limit: FloatArray) -> NDArray[np.bool_]:
        g = limit - float(below_limit)
        moved = failure_rate * (0.25 + g)
        return np.asarray(spread - g * level < -_rank_radius(g, inverses, alpha) - moved - ROUNDING)

    # A convex function of g that is negative at the limit crosses 0 once; else every g up to the limit is possible.
    if not too_large(np.asarray(0.0)):
        upper = limit
    else:
        upper = limit - float(last_excluded(too_large, np.asarray(0.0), np.asarray(limit)))
    return _nrgc_lower(found, alpha, failure_rate), upper


def _nrgc_lower(found: PartBounds, alpha: float, failure_rate: float) -> float:
    one, other = found.halves
    if min(one.counts.min(), other.counts.min()) < 1:
        return 0.0
    k = len(found.counts)
    halves = [_roles(one, other, found.sizes), _roles(other, one, found.sizes)]
    spread = float(np.mean([_weights(k)[_ranks(ranking)] @ estimates for ranking, estimates, _ in halves]))
    level = float(np.mean([estimates.mean() for _, estimates, _ in halves]))

    def too_small(g: FloatArray) -> NDArray[np.bool_]:
        radius = max(_rank_radius(float(g), inverses, alpha) for _, _, inverses in halves)
        return np.asarray(spread - g * level > radius + 0.25 * failure_rate + ROUNDING)

    return float(last_excluded(too_small, np.asarray(0.0), np.asarray(1.0 - 1.0 / k)))


def _roles(ranking: Half, estimating: Half, sizes: IntArray | None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Means of the ranking half; estimates from the other half; and what stands for 1/n of these."""
    if sizes is None:
        return ranking.means, estimating.means, 1.0 / estimating.counts
    known = ranking.counts / sizes  # the share of the fixed set that the ranking half has shown
    inverses = (1.0 - known) ** 2 / effective_counts(estimating.counts, sizes - ranking.counts)
    return ranking.means, known * ranking.means + (1.0 - known) * estimating.means, inverses


def _weights(k: int) -> FloatArray:
    return (2.0 * np.arange(1, k + 1) - k - 1.0) / k**2


def _ranks(means: FloatArray) -> NDArray[np.int64]:
    ranks = np.empty(len(means), dtype=np.int64)
    ranks[np.argsort(means, kind="stable")] = np.arange(len(means))
    return ranks


def _rank_radius(g: float, inverses: FloatArray, alpha: float) -> float:
    """Radius of a sum with the weights w - g/K in the least favourable ranking."""
    k = len(inverses)
    return _radius(np.sort((_weights(k) - g / k) ** 2), np.sort(inverses), alpha)


def _radius(squared_weights: FloatArray, inverses: FloatArray, alpha: float) -> float:
    return math.sqrt(math.log(1.0 / alpha) / 2.0 * float(np.dot(squared_weights, inverses)))
