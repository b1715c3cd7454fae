"""What an audit's intervals are made from: the scores themselves, or a summary of them. Scores are in [0, 1]."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import FloatArray, IntArray
from gfscore.bounds.methods import Method, lower_bounds
from gfscore.bounds.parts import PartScores
from gfscore.bounds.table import ScoreTable
from gfscore.errors import EmptyIntervalError
from gfscore.score_grid import ratios
from gfscore.summaries import Summary

ROUNDING = 1e-9  # by which two ends may cross without contradicting each other


class Half(NamedTuple):
    """About half of the samples of each part, chosen without looking at their scores."""

    counts: IntArray  # (K,)
    means: FloatArray  # (K,), 0 where there is no sample


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartBounds:
    """Parts with samples, K of them, and one-sided bounds of their means."""

    scores: PartScores | ScoreTable
    method: Method
    halves: tuple[Half, Half]

    @classmethod
    def of_scores(cls, parts: PartScores, method: Method) -> Self:
        """All scores, in their random order; every second one is in the first half."""
        even = parts.positions % 2 == 0
        counted = method.order_free and parts.sizes is None
        return cls(
            scores=ScoreTable.of_parts(parts) if counted else parts,
            method=method,
            halves=(_half(parts, even), _half(parts, ~even)),
        )

    @classmethod
    def of_summary(cls, summary: Summary, method: Method) -> Self:
        """What a summary kept of them. Betting is not among its methods: it needs an order."""
        table = ScoreTable.of_summary(summary)
        present = summary.counts > 0
        total = [summary.column(f"x_{limb}")[present] for limb in ("high", "low")]
        count, *first = (summary.column(f"half_{limb}")[present] for limb in ("count", "high", "low"))
        rest = [whole - half for whole, half in zip(total, first, strict=True)]
        others = table.counts - count
        halves = Half(count, ratios(first[0], first[1], count)), Half(others, ratios(rest[0], rest[1], others))
        return cls(scores=table, method=method, halves=halves)

    @property
    def counts(self) -> IntArray:
        """Samples of each part, ``(K,)``, all positive."""
        return self.scores.counts

    @property
    def means(self) -> FloatArray:
        """Mean score of each part, ``(K,)``."""
        return self.scores.means

    @property
    def sizes(self) -> IntArray | None:
        """Size of the fixed set behind each part, ``(K,)``; None: a distribution."""
        return self.scores.sizes if isinstance(self.scores, PartScores) else None

    def lower(self, alpha: float) -> FloatArray:
        """Lower bound of each mean, ``(K,)``; each one fails with probability at most ``alpha``."""
        return lower_bounds(self.scores, alpha, self.method)

    def upper(self, alpha: float) -> FloatArray:
        """Upper bound of each mean, likewise."""
        return 1.0 - lower_bounds(self.scores.mirrored(), alpha, self.method)


def class_box(found: PartBounds, delta: float, n_parts: int) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends for all parts at once, ``(K,)`` each in [0, 1], with probability at least 1 - ``delta``.

    Each end of each of ``n_parts`` parts fails with probability at most delta / (2 n_parts). The estimate always lies
    between them: an interval may be widened, and one that leaves its own estimate out, as betting rarely does, helps
    nobody.
    """
    alpha = delta / (2 * n_parts)
    lower, upper = found.lower(alpha), found.upper(alpha)
    empty = lower > upper + ROUNDING
    if empty.any():
        raise EmptyIntervalError(f"the part at index {int(np.argmax(empty))}")
    return np.minimum(lower, found.means), np.maximum(upper, found.means)


def _half(parts: PartScores, chosen: NDArray[np.bool_]) -> Half:
    counts = parts.sums(chosen.astype(np.int64))
    return Half(counts, parts.sums(np.where(chosen, parts.values, 0.0)) / np.maximum(counts, 1))
