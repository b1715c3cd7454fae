r"""Betting intervals for scores that were merged in any order: from how often each score came.

A score x is its floor on the grid plus a small rest, and the mean of x is the sum of the means of both. The floors are
bounded by betting on their counts. The rest lies in [0, w] with w = 0.003, so its mean, which is known exactly in the
sample, is known in the population up to a fraction of w.

Betting needs an order that has nothing to do with the scores. :func:`blocks_lower` needs to know only which block of
such an order each score was in: the stake stays the same within it, so the capital after it follows from the counts in
it. :func:`mixture_lower` has a mixture of fixed stakes instead of stakes that learn: its capital does not depend on the
order at all, and it may be looked at whenever, at the price of an interval wider than one that knows in advance how
many samples there will be.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from gfscore.arrays import BoolArray, FloatArray, IntArray, map_chunks
from gfscore.bounds.betting import CLIP, PRIOR_MEAN, PRIOR_VARIANCE, SLACK, TINY
from gfscore.bounds.class_means import PartScores, bernstein_radius, check_level, last_excluded
from gfscore.score_grid import CEILINGS, FLOORS, N_BINS, N_BLOCKS, WIDEST, Cells, bins_of, deal
from gfscore.summaries import Summary

REST_SHARE = 0.02  # of the error level of an end, for the mean of the rests
CHUNK_ENTRIES = 1 << 15  # entries worked on together: with some 20 stakes, a few MB
BLOCK_HALVINGS = 24  # of a bracket that is twice as wide as the usual bound
STAKES = 16.0 * 0.5 ** np.arange(17.0)  # lambda: the best ones from 5 samples of any spread to 10^8 of the largest
MIXTURE_CLIP = 0.95  # the share of the capital that one score can lose at most
TUNED_TO = 1000.0  # samples for which the bound of the rests is narrowest
PER_PART = ("counts", "means", "variances", "below", "above")
PER_ENTRY = ("blocks", "bins", "floors", "ceilings", "weights")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreTable:
    """Cells with samples, part after part; only parts with samples are here, in the order of their codes.

    >>> table = ScoreTable.of_parts(PartScores.of([0.0, 1.0, 0.0], [2, 0, 2], 3, maximum=1.0))
    >>> whole = table.pool_blocks()
    >>> whole.counts, whole.weights, whole.floors
    (array([1, 2]), array([1, 2]), array([1., 0.]))
    """

    counts: IntArray  # (K,), samples of each part, all positive
    means: FloatArray  # (K,), of the scores themselves, not of their floors
    variances: FloatArray  # (K,), of the scores; n - 1 in the denominator, 0 where n = 1
    below: FloatArray  # (K,), mean squared distance of the scores to their floors
    above: FloatArray  # (K,), to their ceilings
    starts: IntArray  # (K,), where the entries of each part begin
    blocks: IntArray  # (entries,), that the samples of the cell were dealt to
    bins: IntArray  # (entries,), that their scores are in
    floors: FloatArray  # (entries,)
    ceilings: FloatArray  # (entries,)
    weights: IntArray  # (entries,), samples in the cell

    @classmethod
    def of_parts(cls, parts: PartScores) -> Self:
        """Count the scores of each part, dealt by their row numbers as those of a summary are."""
        codes, bins = np.repeat(np.arange(len(parts.counts)), parts.counts), bins_of(parts.values)
        keys, weights = np.unique(Cells(codes, deal(parts.rows, parts.seed).blocks, bins).keys, return_counts=True)
        return cls(
            counts=parts.counts,
            means=parts.means,
            variances=parts.variances,
            below=parts.sums((parts.values - FLOORS[bins]) ** 2) / parts.counts,
            above=parts.sums((CEILINGS[bins] - parts.values) ** 2) / parts.counts,
            weights=weights.astype(np.int64),
            **_entries(Cells.of_keys(keys), len(parts.counts)),
        )

    @classmethod
    def of_summary(cls, summary: Summary) -> Self:
        """Take over the counts of a summary; parts without samples are left out."""
        counts = summary.counts
        present = np.flatnonzero(counts)
        place = np.cumsum(counts > 0) - 1
        cells = Cells.of_keys(summary.cells)
        return cls(
            counts=counts[present],
            means=summary.means[present],
            variances=summary.variances[present],
            below=summary.mean_of("below")[present],
            above=summary.mean_of("above")[present],
            weights=summary.cell_counts,
            **_entries(cells._replace(parts=place[cells.parts]), len(present)),
        )

    def pool_blocks(self) -> Self:
        """All blocks counted together: no more than one entry per bin, for what needs no blocks."""
        keys, first, place = np.unique(self.parts * N_BINS + self.bins, return_index=True, return_inverse=True)
        return replace(
            self,
            starts=np.searchsorted(keys, np.arange(len(self.counts)) * N_BINS).astype(np.int64),
            blocks=np.zeros_like(keys),
            bins=self.bins[first],
            floors=self.floors[first],
            ceilings=self.ceilings[first],
            weights=np.bincount(place, weights=self.weights).astype(np.int64),  # below 2^53: exact
        )

    def mirror(self) -> Self:
        """Scores 1 - x of these samples: a lower bound there is an upper bound here."""
        return replace(
            self,
            means=1.0 - self.means,
            floors=1.0 - self.ceilings,
            ceilings=1.0 - self.floors,
            below=self.above,
            above=self.below,
        )

    @property
    def parts(self) -> IntArray:
        """Part of each entry, ``(entries,)``."""
        return self.spread(np.arange(len(self.counts)))

    @property
    def floor_means(self) -> FloatArray:
        """Mean of the floors of each part, ``(K,)``."""
        return np.asarray(self.sums(self.weights * self.floors) / self.counts)

    @property
    def rests(self) -> tuple[FloatArray, FloatArray]:
        """Mean and variance (n - 1 in the denominator) of what the scores of each part lie above their floors."""
        means = np.maximum(self.means - self.floor_means, 0.0)
        variances = np.maximum(self.below - means**2, 0.0) * self.counts / np.maximum(self.counts - 1, 1)
        return means, np.asarray(variances)

    def sums(self, per_entry: NDArray[Any]) -> FloatArray:
        """Sum over the entries of each part, which stand along the last axis."""
        return np.asarray(np.add.reduceat(per_entry, self.starts, axis=-1))

    def block_sums(self, per_entry: NDArray[Any]) -> FloatArray:
        """Sum over the entries of each block of each part, ``(K, N_BLOCKS)``."""
        keys = self.parts * N_BLOCKS + self.blocks
        sums = np.bincount(keys, weights=per_entry.astype(np.float64), minlength=len(self.counts) * N_BLOCKS)
        return np.asarray(sums, dtype=np.float64).reshape(-1, N_BLOCKS)

    def spread(self, per_part: NDArray[Any]) -> NDArray[Any]:
        """A number per part, along the last axis, repeated for each of its entries."""
        return np.repeat(per_part, np.diff(self.starts, append=len(self.floors)), axis=-1)

    def map_parts(self, function: Callable[[Self], FloatArray]) -> FloatArray:
        """Numbers per part, ``(K,)``, found for a few consecutive parts at a time on all cores."""
        ends = np.append(self.starts, len(self.floors))

        def of_some(parts: slice) -> FloatArray:
            rows = slice(int(ends[parts.start]), int(ends[parts.stop]))
            chosen = {name: getattr(self, name)[parts] for name in PER_PART}
            chosen |= {name: getattr(self, name)[rows] for name in PER_ENTRY}
            return function(replace(self, starts=self.starts[parts] - rows.start, **chosen))

        chunk = self.starts // CHUNK_ENTRIES
        edges = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist(), len(self.counts)]
        return np.concatenate(list(map_chunks(of_some, [slice(first, last) for first, last in pairwise(edges)])))


def _entries(cells: Cells, n_parts: int) -> dict[str, Any]:
    """Where each part begins, and block, bin, floor and ceiling of each entry, from sorted cells."""
    return {
        "starts": np.searchsorted(cells.parts, np.arange(n_parts)).astype(np.int64),
        "blocks": cells.blocks,
        "bins": cells.bins,
        "floors": FLOORS[cells.bins],
        "ceilings": CEILINGS[cells.bins],
    }


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
    floors = table.map_parts(lambda chunk: _blocks_floors_lower(chunk, log_level))
    return np.asarray(floors + np.maximum(rest - radius - SLACK * WIDEST, 0.0))


def _blocks_floors_lower(table: ScoreTable, log_level: float) -> FloatArray:
    stakes = np.sqrt(2.0 * log_level / (table.counts[:, None] * _earlier_variances(table)))  # (K, blocks)
    stake_of, part_of = stakes[table.parts, table.blocks], table.parts  # (entries,)

    def excluded(mean: FloatArray) -> BoolArray:
        expected = mean[part_of]
        bets = np.minimum(stake_of, CLIP / np.maximum(expected, TINY))
        gains = table.block_sums(table.weights * np.log1p(bets * (table.floors - expected)))
        return np.asarray(np.cumsum(gains, axis=1).max(axis=1) >= log_level)

    # A bracket near the answer saves halvings; where it misses, the whole range serves.
    high = table.floor_means
    usual = np.sqrt(2.0 * log_level * high * (1.0 - high) / table.counts) + 2.0 * log_level / table.counts
    near = np.maximum(high - 2.0 * usual, 0.0)
    return last_excluded(excluded, np.where(excluded(near), near, 0.0), high, halvings=BLOCK_HALVINGS)


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


def mixture_lower(table: ScoreTable, alpha: float) -> FloatArray:
    r"""Lower bound of each part's mean, ``(K,)`` in [0, 1], after any number of its samples.

    For each part, the bounds after 1, 2, 3, ... samples *all* hold with probability at least 1 - ``alpha``:

    .. math:: \sup\Big\{m :\; \frac{1}{J} \sum_j \prod_i \big(1 + \min\{\lambda_j, \tfrac{c}{m}\} (a_i - m)\big)
              \ge \frac{1}{0.98\,\alpha}\Big\} + \max\{\bar r - \rho_n,\; 0\}

    Why it holds. The floors :math:`a_i` of the scores on the grid are in [0, 1]. At an m at or above their expectation
    each product is a non-negative supermartingale that starts at 1: its stake is fixed, and c < 1 keeps it positive. An
    average of such processes is one as well. By Ville's inequality it reaches 1/alpha *ever* with probability at most
    alpha; so a look at any time, even one chosen by what was seen, errs no more often. Other classes' samples in
    between change nothing: given the past, the next sample of this class is a fresh draw. The product falls as m grows,
    so the excluded m are those below one point. It depends on counts only, so pieces may be merged in any order (one
    looks at what has been merged).

    The mean rest :math:`\bar r`, of numbers in [0, w], is w/2-sub-Gaussian, and its bound
    :math:`\rho_n = \frac{w}{2n} \sqrt{(n + \tau) \ln\big((n + \tau) / (\tau \epsilon^2)\big)}` holds for all n at once
    with probability 1 - epsilon (a normal mixture; Robbins, Ann. Math. Statist. 41, 1970). Here epsilon is 0.02 alpha.

    Howard, Ramdas, McAuliffe and Sekhon, Ann. Statist. 49 (2021); Waudby-Smith and Ramdas, JRSS-B 86 (2024).
    """
    check_level(alpha)
    table = table.pool_blocks()
    log_level = math.log(1.0 / ((1.0 - REST_SHARE) * alpha)) + math.log(len(STAKES)) + SLACK

    n = table.counts + TUNED_TO
    spread = np.sqrt(n * (np.log(n / TUNED_TO) - 2.0 * math.log(REST_SHARE * alpha)))
    radius = WIDEST / 2.0 * spread / table.counts
    rest, _ = table.rests
    floors = table.map_parts(lambda chunk: _mixture_floors_lower(chunk, log_level))
    return np.asarray(floors + np.maximum(rest - radius - SLACK * WIDEST, 0.0))


def _mixture_floors_lower(table: ScoreTable, log_level: float) -> FloatArray:
    def excluded(mean: FloatArray) -> BoolArray:
        bets = np.minimum(STAKES[:, None], MIXTURE_CLIP / np.maximum(mean, TINY))  # (J, K)
        gains = table.weights * np.log1p(table.spread(bets) * (table.floors - table.spread(mean)))
        return np.asarray(logsumexp(table.sums(gains), axis=0) >= log_level)

    return last_excluded(excluded, np.zeros(len(table.counts)), table.floor_means)
