"""The betting interval without an order: for scores that arrive in pieces and are merged in any order.

A mixture of fixed bets instead of bets that learn. Its capital is a product over samples, so the logarithms of the
pieces add up; all that is kept of the samples is a table of sums on a fixed grid of candidate means. The price is an
interval somewhat wider than that of :mod:`gfscore.bounds.betting`.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from gfscore.bounds.parts import PartScores, check_level
from gfscore.bounds.search import last_excluded
from gfscore.errors import OptionError
from gfscore.samples import FloatArray, IntArray
from gfscore.scores.great import SCORE_MAX

STAKES = 0.95 * 0.5 ** np.arange(9.0)  # f, shares of the capital: for 5 samples and for a million
INVERSES = 1.1 ** np.arange(80.0)  # v = 1/m, the grid of candidate means from 1 down to 0.0005
SLACK = 1e-7  # on the logarithm of the capital, far above its rounding


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BettingSums:
    r"""What a piece of the data adds to the intervals; pieces are added with ``+``, in any order.

    For each part, grid point :math:`m = 1/v` and stake f, of the scores x in [0, 1] and of 1 - x:

    .. math:: s(v, f) = \sum_i \ln\big(1 + f (x_i v - 1)\big)

    >>> one = BettingSums.of([0.2, 0.4], [0, 1], 2, maximum=1.0)
    >>> two = BettingSums.of([0.3], [1], 2, maximum=1.0)
    >>> (one + two).counts
    array([1, 2])
    """

    sums: FloatArray  # (2, n_parts, grid points, stakes)
    counts: IntArray  # (n_parts,), 0 where a part has no sample yet
    maximum: float

    @classmethod
    def of(cls, values: ArrayLike, codes: ArrayLike, n_parts: int, *, maximum: float = SCORE_MAX) -> Self:
        """The sums of one piece; ``values`` and ``codes`` are ``(N,)``."""
        parts = PartScores.of(values, codes, n_parts, maximum=maximum)
        counts = np.bincount(np.asarray(codes), minlength=n_parts).astype(np.int64)
        sums = np.zeros((2, n_parts, len(INVERSES), len(STAKES)))
        for side, one in enumerate((parts, parts.mirrored())):
            for g, inverse in enumerate(INVERSES):
                for j, stake in enumerate(STAKES):
                    sums[side, counts > 0, g, j] = one.sums(np.log1p(stake * (one.values * inverse - 1.0)))
        return cls(sums=sums, counts=counts, maximum=maximum)

    def __add__(self, other: Self) -> Self:
        if self.sums.shape != other.sums.shape or self.maximum != other.maximum:
            raise OptionError("sums of different parts or score ranges cannot be merged. Give both the same.")
        return type(self)(sums=self.sums + other.sums, counts=self.counts + other.counts, maximum=self.maximum)

    def intervals(self, delta: float) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends, ``(n_parts,)`` each, of all parts at once with probability at least 1 - ``delta``.

        A part without samples has the whole range. The sample mean always lies between the ends.
        """
        alpha = delta / (2 * max(1, int(np.count_nonzero(self.counts))))
        return self.maximum * _lower(self.sums[0], alpha), self.maximum * (1.0 - _lower(self.sums[1], alpha))


def _lower(sums: FloatArray, alpha: float) -> FloatArray:
    r"""Lower bound of each mean; each one fails with probability at most ``alpha``.

    At m = 1/v equal to or above the mean, :math:`\prod_i (1 + f (x_i v - 1))` has expectation at most 1 for each f in
    [0, 1), and so has the average over the stakes; by Markov's inequality it reaches 1/alpha with probability at most
    alpha. Between two grid points nothing was summed, but each s(v, f) is concave in v: the chord lies below it, and
    what the chord excludes is excluded. s also grows with v, so all means below an excluded one are excluded.
    """
    check_level(alpha)
    log_level = math.log(1.0 / alpha) + SLACK
    out = logsumexp(sums, axis=2) - math.log(len(STAKES)) >= log_level  # (K, G)
    last = np.where(out.any(axis=1), out.argmax(axis=1), 0)  # the largest mean on the grid that is excluded
    cell = np.maximum(last, 1)
    rows = np.arange(len(sums))
    left, right = sums[rows, cell - 1], sums[rows, cell]  # (K, stakes)

    def excluded(mean: FloatArray) -> NDArray[np.bool_]:
        near = (1.0 / mean - INVERSES[cell - 1]) / (INVERSES[cell] - INVERSES[cell - 1])
        chord: NDArray[Any] = left + near[:, None] * (right - left)
        return np.asarray(logsumexp(chord, axis=1) - math.log(len(STAKES)) >= log_level)

    found = last_excluded(excluded, 1.0 / INVERSES[cell], 1.0 / INVERSES[cell - 1])
    return np.where(out.any(axis=1), found, 0.0)
