r"""Scores of each part as counts on a grid: all that the order-free intervals look at.

A score x is its floor on the grid plus a small rest, and the mean of x is the sum of the means of both. The floors are
bounded by betting on their counts. The rest lies in [0, w] with w = 0.003, so its mean, which is known exactly in the
sample, is known in the population up to a fraction of w.

Each block that samples were dealt to is counted by itself: :mod:`~gfscore.score_grid`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import FloatArray, IntArray, map_chunks
from gfscore.bounds.parts import PartScores
from gfscore.score_grid import CEILINGS, FLOORS, N_BINS, N_BLOCKS, Cells, bins_of, deal
from gfscore.summaries import Summary

REST_SHARE = 0.02  # of the error level of an end, for the mean of the rests
CHUNK_ENTRIES = 1 << 15  # entries worked on together: with some 20 stakes, a few MB


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreTable:
    """Cells with samples, part after part; only parts with samples are here, in the order of their codes.

    >>> table = ScoreTable.of_parts(PartScores.of([0.0, 1.0, 0.0], [2, 0, 2], 3, maximum=1.0))
    >>> whole = table.undealt()
    >>> whole.counts, whole.weights, whole.floors
    (array([1, 2]), array([1, 2]), array([1., 0.]))
    """

    counts: IntArray  # (K,), samples of each part, all positive
    means: FloatArray  # (K,), of the scores themselves, not of their floors
    variances: FloatArray  # (K,), likewise; n - 1 in the denominator, 0 where n = 1
    starts: IntArray  # (K,), where the entries of each part begin
    blocks: IntArray  # (entries,), that the samples of the cell were dealt to
    bins: IntArray  # (entries,), that their scores are in
    floors: FloatArray  # (entries,)
    ceilings: FloatArray  # (entries,)
    weights: IntArray  # (entries,), samples in the cell
    below: FloatArray  # (K,), mean squared distance of the scores to their floors
    above: FloatArray  # (K,), to their ceilings

    @classmethod
    def of_parts(cls, parts: PartScores) -> Self:
        """Count the scores of each part, dealt by their row numbers as those of a summary are."""
        codes, bins = np.repeat(np.arange(len(parts.counts)), parts.counts), bins_of(parts.values)
        blocks = deal(parts.rows, parts.seed).blocks
        keys, weights = np.unique(Cells(codes, blocks, bins).keys, return_counts=True)
        return cls(
            counts=parts.counts,
            means=parts.means,
            variances=parts.variances,
            weights=weights.astype(np.int64),
            below=parts.sums((parts.values - FLOORS[bins]) ** 2) / parts.counts,
            above=parts.sums((CEILINGS[bins] - parts.values) ** 2) / parts.counts,
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
            weights=summary.cell_counts,
            below=summary.mean_of("below")[present],
            above=summary.mean_of("above")[present],
            **_entries(cells._replace(parts=place[cells.parts]), len(present)),
        )

    def undealt(self) -> Self:
        """The same with all blocks counted together: no more than one entry per bin, for what needs no blocks."""
        n_parts = len(self.counts)
        keys, first, place = np.unique(self.parts * N_BINS + self.bins, return_index=True, return_inverse=True)
        return replace(
            self,
            starts=np.searchsorted(keys, np.arange(n_parts) * N_BINS).astype(np.int64),
            blocks=np.zeros_like(keys),
            bins=self.bins[first],
            floors=self.floors[first],
            ceilings=self.ceilings[first],
            weights=np.bincount(place, weights=self.weights).astype(np.int64),  # below 2^53: exact
        )

    def mirrored(self) -> Self:
        """The same samples with scores 1 - x: a lower bound there is an upper bound here."""
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
        return np.repeat(np.arange(len(self.counts)), np.diff(self.starts, append=len(self.floors)))

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
        n_blocks = len(self.counts) * N_BLOCKS
        keys = self.parts * N_BLOCKS + self.blocks
        sums = np.bincount(keys, weights=per_entry.astype(np.float64), minlength=n_blocks)
        return np.asarray(sums, dtype=np.float64).reshape(-1, N_BLOCKS)

    def spread(self, per_part: FloatArray) -> FloatArray:
        """A number per part, along the last axis, repeated for each of its entries."""
        return np.repeat(per_part, np.diff(self.starts, append=len(self.floors)), axis=-1)

    def part_range(self, parts: slice) -> Self:
        """The table of some consecutive parts."""
        ends = np.append(self.starts, len(self.floors))
        rows = slice(int(ends[parts.start]), int(ends[parts.stop]))
        return replace(
            self,
            counts=self.counts[parts],
            means=self.means[parts],
            variances=self.variances[parts],
            below=self.below[parts],
            above=self.above[parts],
            starts=self.starts[parts] - rows.start,
            floors=self.floors[rows],
            blocks=self.blocks[rows],
            bins=self.bins[rows],
            ceilings=self.ceilings[rows],
            weights=self.weights[rows],
        )

    def map_parts(self, function: Callable[[Self], FloatArray]) -> FloatArray:
        """Numbers per part, ``(K,)``, found for a few parts at a time on all cores."""
        chunk = self.starts // CHUNK_ENTRIES
        edges = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist(), len(self.counts)]
        chunks = [slice(first, last) for first, last in pairwise(edges)]
        return np.concatenate(list(map_chunks(lambda parts: function(self.part_range(parts)), chunks)))


def _entries(cells: Cells, n_parts: int) -> dict[str, Any]:
    """Where each part begins, and block, bin, floor and ceiling of each entry, from sorted cells."""
    return {
        "starts": np.searchsorted(cells.parts, np.arange(n_parts)).astype(np.int64),
        "blocks": cells.blocks,
        "bins": cells.bins,
        "floors": FLOORS[cells.bins],
        "ceilings": CEILINGS[cells.bins],
    }
