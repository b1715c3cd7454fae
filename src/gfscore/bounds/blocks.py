"""The betting interval for scores that were merged in any order: the order is dealt anew, from their counts.

Betting needs an order that has nothing to do with the scores. Where the scores are gone and only counts are left, such
an order can still be drawn: it deals the counted scores into blocks. Within a block the stake stays the same, so the
capital after it needs no more than the counts in it.
"""

import math

import numpy as np
from numpy.typing import NDArray

from gfscore.bounds.bernstein import bernstein_radius
from gfscore.bounds.betting import CLIP, PRIOR_MEAN, PRIOR_VARIANCE, SLACK, TINY
from gfscore.bounds.parts import check_level
from gfscore.bounds.search import last_excluded
from gfscore.bounds.table import REST_SHARE, ScoreTable
from gfscore.samples import FloatArray
from gfscore.summaries.bins import WIDEST

STEPS = 24  # halvings of a bracket that is twice as wide as the usual bound


def blocks_lower(table: ScoreTable, alpha: float) -> FloatArray:
    r"""Lower bound of each part's mean, ``(K,)`` in [0, 1]; each one fails with probability at most ``alpha``.

    .. math:: \sup\Big\{m :\; \max_{b} \prod_{b' \le b} \prod_{i \in b'} \big(1 + \lambda_{b'}(m) (a_i - m)\big)
              \ge \frac{1}{0.98\,\alpha}\Big\} + \max\{\bar r - \epsilon,\; 0\}

    with the floors :math:`a_i` of the scores on the grid, the mean rest :math:`\bar r = \bar x - \bar a`, its
    Bernstein radius :math:`\epsilon` at level 0.02 alpha, and stakes as in
    :func:`~gfscore.bounds.betting.betting_lower` from the blocks before.

    Why it holds. Each sample is dealt to a block by coins that know nothing of its score: to the last with probability
    1/2, to the one before with 1/4, and so on. So block by block the floors are independent draws, the stake of a block
    depends on earlier blocks only, and the capital after each block is a non-negative supermartingale at every m at or
    above the mean floor: Ville's inequality. The two failures add up to alpha.
    """
    check_level(alpha)
    log_level = math.log(1.0 / ((1.0 - REST_SHARE) * alpha)) + SLACK
    rest, variances = table.rests
    radius = WIDEST * bernstein_radius(variances / WIDEST**2, table.counts, REST_SHARE * alpha)
    return np.asarray(
        table.map_parts(lambda chunk: _floors_lower(chunk, log_level)) + np.maximum(rest - radius - SLACK * WIDEST, 0.0)
    )


def _floors_lower(table: ScoreTable, log_level: float) -> FloatArray:
    blocks = _deal(table)  # (blocks, entries)
    stakes = np.sqrt(2.0 * log_level / (table.counts * _earlier_variances(table, blocks)))  # (blocks, K)

    def excluded(mean: FloatArray) -> NDArray[np.bool_]:
        bets = np.minimum(stakes, CLIP / np.maximum(mean, TINY))
        gains = blocks * np.log1p(table.spread(bets) * (table.floors - table.spread(mean)))
        return np.asarray(np.cumsum(table.sums(gains), axis=0).max(axis=0) >= log_level)

    # A bracket near the answer saves halvings; where it misses, the whole range serves.
    high = table.floor_means
    usual = np.sqrt(2.0 * log_level * high * (1.0 - high) / table.counts) + 2.0 * log_level / table.counts
    near = np.maximum(high - 2.0 * usual, 0.0)
    return last_excluded(excluded, np.where(excluded(near), near, 0.0), high, steps=STEPS)


def _deal(table: ScoreTable) -> FloatArray:
    """Samples of each entry in each block, ``(blocks, entries)``, the smallest block first.

    Each part is dealt with the same coins, as if it were alone: nothing here needs them to be independent.
    """
    n_blocks = int(table.counts.max()).bit_length() + 1
    blocks = np.zeros((n_blocks, len(table.weights)))
    ends = [*table.starts[1:].tolist(), len(table.weights)]
    for start, end in zip(table.starts.tolist(), ends, strict=True):
        generator, left = np.random.default_rng(table.seed), table.weights[start:end].copy()
        for block in range(n_blocks - 1, 0, -1):
            chosen = generator.binomial(left, 0.5)
            blocks[block, start:end] = chosen
            left -= chosen
            if not left.any():
                break
        blocks[0, start:end] += left
    return blocks


def _earlier_variances(table: ScoreTable, blocks: FloatArray) -> FloatArray:
    """For each block and part the variance estimated from the blocks before, ``(blocks, K)``, all positive."""

    def before(per_entry: FloatArray) -> FloatArray:
        sums = table.sums(per_entry)
        return np.asarray(np.cumsum(sums, axis=0) - sums)

    seen = before(blocks)
    means = (PRIOR_MEAN + before(blocks * table.floors)) / (seen + 1.0)
    from_half = before(blocks * (table.floors - PRIOR_MEAN) ** 2)  # squares around a point that no block moves
    squares = from_half - (means - PRIOR_MEAN) ** 2 * (seen + 1.0)
    return np.maximum((PRIOR_VARIANCE + squares) / (seen + 1.0), TINY)
