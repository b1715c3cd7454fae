"""Bounds of the mean of each class by any method, from the scores or from a summary."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.bounds.betting import betting_lower
from gfscore.bounds.class_means import (
    PartScores,
    bernstein_radius,
    hoeffding_lower,
    kl_lower,
)
from gfscore.bounds.score_table import ScoreTable, blocks_lower, mixture_lower
from gfscore.errors import EmptyIntervalError, OptionError
from gfscore.score_grid import ratios
from gfscore.scores.great import SCORE_MAX
from gfscore.summaries import Summary

WITHOUT_REPLACEMENT = ("betting", "kl", "hoeffding")  # methods that know what a fixed set leaves open
CROSSING = 1e-9  # by which two ends may cross without contradicting each other


class Method(StrEnum):
    """How the interval of a class mean is found. All hold for any scores in [0, maximum]."""

    BETTING = "betting"  # narrow, whatever the scores; depends on a recorded random order
    KL = "kl"  # narrow near 0 and near the maximum; needs only means and counts
    BERNSTEIN = "bernstein"  # narrow for many samples of little spread; needs means, deviations and counts
    HOEFFDING = "hoeffding"  # the paper's: depends on nothing but counts
    BLOCKS = "blocks"  # betting on blocks that samples were dealt to: for scores that were merged in any order
    MIXTURE = "mixture"  # holds at every moment of a stream, whatever made one look; wider

    @property
    def order_free(self) -> bool:
        """Whether it looks at nothing but how often each score came (blocks: in each block)."""
        return self in (Method.BLOCKS, Method.MIXTURE)

    @property
    def anytime(self) -> bool:
        """Whether it holds when the number of samples was chosen by what they showed."""
        return self is Method.MIXTURE

    @classmethod
    def named(cls, name: str) -> "Method":
        """The method of that name, or an error that lists them."""
        try:
            return cls(name)
        except ValueError:
            raise OptionError(f"no interval is called {name!r}. Choose one of {', '.join(cls)}.") from None


def lower_bounds(scores: PartScores | ScoreTable, alpha: float, method: Method) -> FloatArray:
    """Lower bound of each part's mean, ``(K,)`` in [0, 1]; each one fails with probability at most ``alpha``."""
    sizes = scores.sizes if isinstance(scores, PartScores) else None
    if sizes is not None and method not in WITHOUT_REPLACEMENT:
        raise OptionError(f"the {method} interval is for draws from a distribution. Use betting for a fixed set.")
    match method:
        case Method.BETTING:
            if isinstance(scores, ScoreTable):
                raise OptionError("betting needs the scores in an order, which counts do not have. Use blocks.")
            return betting_lower(scores, alpha)
        case Method.KL:
            return kl_lower(scores.means, scores.counts, alpha, sizes=sizes)
        case Method.HOEFFDING:
            return hoeffding_lower(scores.means, scores.counts, alpha, sizes=sizes)
        case Method.BERNSTEIN:
            return np.maximum(scores.means - bernstein_radius(scores.variances, scores.counts, alpha), 0.0)
        case Method.BLOCKS | Method.MIXTURE:
            table = scores if isinstance(scores, ScoreTable) else ScoreTable.of_parts(scores)
            return blocks_lower(table, alpha) if method is Method.BLOCKS else mixture_lower(table, alpha)


class Half(NamedTuple):
    """About half of the samples of each part, chosen without looking at their scores."""

    counts: IntArray  # (K,)
    means: FloatArray  # (K,), 0 where there is no sample


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartBounds:
    """Parts with samples, K of them, and one-sided bounds of their means, of scores in [0, 1]."""

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
        """Upper bound of each mean, ``(K,)``; each one fails with probability at most ``alpha``."""
        return 1.0 - lower_bounds(self.scores.mirror(), alpha, self.method)

    def box(self, delta: float, n_parts: int) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends for all parts at once, ``(K,)`` each, with probability at least 1 - ``delta``.

        Each end of each of ``n_parts`` parts fails with probability at most delta / (2 n_parts). The estimate always
        lies between them: an interval may be widened, and one that leaves its own estimate out, as betting rarely does,
        helps nobody.
        """
        alpha = delta / (2 * n_parts)
        lower, upper = self.lower(alpha), self.upper(alpha)
        empty = lower > upper + CROSSING
        if empty.any():
            raise EmptyIntervalError(f"the part at index {int(np.argmax(empty))}")
        return np.minimum(lower, self.means), np.maximum(upper, self.means)


def _half(parts: PartScores, chosen: BoolArray) -> Half:
    counts = parts.sums(chosen.astype(np.int64))
    return Half(counts, parts.sums(np.where(chosen, parts.values, 0.0)) / np.maximum(counts, 1))


def class_intervals(
    values: ArrayLike,
    codes: ArrayLike,
    n_parts: int,
    delta: float,
    *,
    method: Method | str = Method.BETTING,
    maximum: float = SCORE_MAX,
    seed: int = 0,
    sizes: ArrayLike | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends for all classes with samples at once, with probability at least 1 - ``delta``.

    ``values`` and ``codes`` are the score and the class index of each sample, ``(N,)``. Betting takes the samples of a
    class in a random order that ``seed`` fixes. ``sizes`` is ``(n_parts,)`` when the samples were drawn without
    replacement from a fixed set.

    >>> rng = np.random.default_rng(1)
    >>> lower, upper = class_intervals(rng.beta(20, 20, 500), np.zeros(500, dtype=int), 1, 0.05, maximum=1.0)
    >>> lower.round(3), upper.round(3)
    (array([0.495]), array([0.512]))
    """
    parts = PartScores.of(values, codes, n_parts, maximum=maximum, seed=seed, sizes=sizes)
    lower, upper = PartBounds.of_scores(parts, Method.named(method)).box(delta, len(parts.counts))
    return maximum * lower, maximum * upper
