"""The betting interval for scores that were merged in any order: block by block, from how often each score came.

Betting needs an order that has nothing to do with the scores. Where the scores are gone and only counts are left, it is
enough to know which block of such an order each of them was in. Within a block the stake stays the same, so the capital
after it needs no more than the counts in it.
"""

import math

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import FloatArray
from gfscore.bounds.bernstein import bernstein_radius
from gfscore.bounds.betting import CLIP, PRIOR_MEAN, PRIOR_VARIANCE, SLACK, TINY
from gfscore.bounds.parts import check_level
from gfscore.bounds.search import last_excluded
from gfscore.bounds.table import REST_SHARE, ScoreTable
from gfscore.score_grid import WIDEST

STEPS = 24  # halvings of a bracket that is twice as wide as the usual bound


def blocks_lower(table: ScoreTable, alpha: float) -> FloatArray:
    r"""Lower bound of each part's mean, ``(K,)`` in [0, 1]; each one fails with probability at most ``alpha``.

    .. math:: \sup\Big\{m :\; \max_{b} \prod_{b' \le b} \prod_{i \in b'} \big(1 + \lambda_{b'}(m) (a_i - m)\big)
              \ge \frac{1}{0.98\,\alpha}\Big\} + \max\{\bar r - \epsilon,\; 0\}

    with the floors :math:`a_i` of the scores on the grid, the mean rest :math:`\bar r = \bar x - \bar a`, its
    Bernstein radius :math:`\epsilon` at level 0.02 alpha, and stakes as in
    :func:`~gfscore.bounds.betting.betting_lower` from the blocks before.

    **Theorem.** Let the scores of a part be independent draws from one distribution on [0, 1] in the order of their row
    numbers. Then for *every* seed the bound exceeds their mean with probability at most alpha.

    Proof. Row numbers and seed decide the block of each sample (:mod:`~gfscore.score_grid`); the scores have no
    part in it. So fix them, and with them the number n of samples and the size of each block. Given those, the floors,
    read block by block, are independent draws with some mean :math:`\mu_a`. Take :math:`m \ge \mu_a`. The stake of a
    block is at least 0 and a function of the blocks before, and within a block of q samples the expected product of
    independent factors is :math:`(1 + \lambda (\mu_a - m))^q \le 1`; each factor is at least 1 - c > 0. So the capital
    after each block is a non-negative supermartingale that starts at 1, and by Ville's inequality it ever reaches
    1/(0.98 alpha) with probability at most 0.98 alpha. As each factor falls in m, a bound of the floors above
    :math:`\mu_a` means just that, at :math:`m = \mu_a`. The rests lie in [0, w], their mean is
    :math:`\mu - \mu_a`, and empirical Bernstein's bound of it fails with probability at most 0.02 alpha. Both together:
    alpha. Of the seed nothing was needed, nor that row numbers differ. It matters only for rows that are numbered by
    their scores, as in a sorted file: then the coins of different numbers must be random, and the bound holds on
    average over seeds.
    """
    check_level(alpha)
    log_level = math.log(1.0 / ((1.0 - REST_SHARE) * alpha)) + SLACK
    rest, variances = table.rests
    radius = WIDEST * bernstein_radius(variances / WIDEST**2, table.counts, REST_SHARE * alpha)
    return np.asarray(
        table.map_parts(lambda chunk: _floors_lower(chunk, log_level)) + np.maximum(rest - radius - SLACK * WIDEST, 0.0)
    )


def _floors_lower(table: ScoreTable, log_level: float) -> FloatArray:
    stakes = np.sqrt(2.0 * log_level / (table.counts[:, None] * _earlier_variances(table)))  # (K, blocks)
    stake_of, part_of = stakes[table.parts, table.blocks], table.parts  # (entries,)

    def excluded(mean: FloatArray) -> NDArray[np.bool_]:
        expected = mean[part_of]
        bets = np.minimum(stake_of, CLIP / np.maximum(expected, TINY))
        gains = table.block_sums(table.weights * np.log1p(bets * (table.floors - expected)))
        return np.asarray(np.cumsum(gains, axis=1).max(axis=1) >= log_level)

    # A bracket near the answer saves halvings; where it misses, the whole range serves.
    high = table.floor_means
    usual = np.sqrt(2.0 * log_level * high * (1.0 - high) / table.counts) + 2.0 * log_level / table.counts
    near = np.maximum(high - 2.0 * usual, 0.0)
    return last_excluded(excluded, np.where(excluded(near), near, 0.0), high, steps=STEPS)


def _earlier_variances(table: ScoreTable) -> FloatArray:
    """For each part and block the variance estimated from the blocks before, ``(K, blocks)``, all positive."""

    def before(per_entry: FloatArray) -> FloatArray:
        sums = table.block_sums(per_entry)
        return np.asarray(np.cumsum(sums, axis=1) - sums)

    weights = table.weights.astype(np.float64)
    seen = before(weights)
    means = (PRIOR_MEAN + before(weights * table.floors)) / (seen + 1.0)
    from_half = before(weights * (table.floors - PRIOR_MEAN) ** 2)  # squares around a point that no block moves
    squares = from_half - (means - PRIOR_MEAN) ** 2 * (seen + 1.0)
    return np.maximum((PRIOR_VARIANCE + squares) / (seen + 1.0), TINY)
