r"""Margins of a sample at many temperatures for the price of a few.

With :math:`d_j = f_y - f_j` and :math:`b = 1/T`, a sample whose true class leads has the softmax margin

.. math:: \frac{1 - e^{-b d_{\min}}}{1 + S(b)}, \qquad S(b) = \sum_{j \ne y} e^{-b d_j}.

Exponentials are the dear part. One of them, :math:`r_j = e^{-a d_j}`, gives all others: powers of it are products, and
a sum of powers is a dot product of two smaller powers, :math:`S((m + n)\,a) = \sum_j r_j^m r_j^n`. So the powers
:math:`r^p, \ldots, r^{2p-1}`, each times :math:`r^p` and times :math:`r^{2p}`, give S at 2p nodes that cover an octave
of b, and their squares give the next octave. As b grows, only the nearest rivals count: the others are left out.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from gfscore.arrays import FloatArray, Scratch, row_chunks

PADDING = 0.75  # octaves beyond both ends, since a spline is worst at its own
RESTART = 12  # octaves on one exponential: each doubles its relative error, to some 1e-12 after twelve
NEGLIGIBLE = 1e-6  # entries of r^p below this add less than 1e-12 each to a sum, there and at any larger b
MANY = 64  # columns from which it pays to leave out those that have become negligible
SHARE = 16  # one in so many stays then
POWER_VALUES = 1 << 17  # gaps whose powers are made together: few calls, and the cache holds them
BLAS_ENTRIES = 9000  # a matrix no larger is multiplied on one thread of the BLAS, so that the sums are repeatable


@dataclass(frozen=True, slots=True)
class Ladder:
    """Nodes ``b = first * (n / 2p) * 2^o`` for n = 2p to 4p - 1 and each octave o."""

    first: float
    octaves: int
    powers: int  # p, half the nodes of an octave

    @classmethod
    def over(cls, low: float, high: float, powers: int) -> Self:
        """From three quarters of an octave below ``low`` to as far above ``high``, so that neither is near an end.

        >>> nodes = Ladder.over(0.1, 100.0, powers=5).nodes
        >>> len(nodes), nodes[0] < 0.1, nodes[-1] > 100
        (120, np.True_, np.True_)
        """
        return cls(low * 2**-PADDING, math.ceil(math.log2(high / low) + 2 * PADDING), powers)

    @property
    def nodes(self) -> FloatArray:
        """All b, rising."""
        steps = np.arange(2 * self.powers, 4 * self.powers) / (2 * self.powers)
        return np.asarray((self.first * np.exp2(np.arange(self.octaves))[:, None] * steps).ravel())

    def octaves_with(self, gap: float) -> int:
        """How many octaves a rival at this gap counts in."""
        farthest = -2 * math.log(NEGLIGIBLE) / self.first  # of those that count in the first
        return math.ceil(math.log2(farthest) - math.log2(gap)) if gap < farthest else 0


def softmax_margins(gaps: FloatArray, ladder: Ladder, scratch: Scratch) -> FloatArray:
    """Softmax margin at every node, ``(n, nodes)``, from the gaps d ``(n, K)``, infinite for the true class itself."""
    blocks = list(row_chunks(gaps.shape[1], ladder.powers, values=BLAS_ENTRIES))
    total = np.empty((len(gaps), len(ladder.nodes)))
    with np.errstate(over="ignore"):  # huge gaps send an exponent to -inf, which is right
        for rows in row_chunks(len(gaps), gaps.shape[1] // len(blocks), values=POWER_VALUES):
            total[rows] = sum(_power_sums(gaps[rows, columns], ladder, scratch) for columns in blocks)
        leading = np.exp(np.outer(gaps.min(axis=1), -ladder.nodes))  # not expm1: the error is absolute, and it is slow
    return np.asarray((1.0 - leading) / (1.0 + total))


def _power_sums(gaps: FloatArray, ladder: Ladder, scratch: Scratch) -> FloatArray:
    """S at every node, ``(n, nodes)``.

    Few calls, each on much: between calls, threads wait for each other.
    """
    n, p = len(gaps), ladder.powers
    sums = np.empty((n, ladder.octaves, 2, p))
    start = 0
    while start < ladder.octaves:  # once for each exponential
        end, near = min(start + RESTART, ladder.octaves), gaps.shape[1]
        if near >= MANY:
            near //= SHARE
            gaps = np.partition(gaps, near, axis=1)
            end = min(end, max(start + 1, ladder.octaves_with(gaps[:, near:].min(initial=np.inf))))
        powers = _first_powers(gaps, ladder.first * 2.0**start / (2 * p), p, scratch)
        rows = powers.transpose(1, 0, 2)
        for octave in range(start, end):
            sums[:, octave] = np.matmul(rows[:, None, :p], rows[:, ::p, :, None])[..., 0]
            np.square(powers, out=powers)
        start, gaps = end, gaps[:, :near]
    return sums.reshape(n, ladder.octaves * 2 * p)


def _first_powers(gaps: FloatArray, step: float, p: int, scratch: Scratch) -> FloatArray:
    """``r^p`` to ``r^2p`` with ``r = exp(-step * gaps)``, ``(p + 1, n, K)``."""
    root = np.multiply(gaps, -step, out=scratch.array("root", gaps.shape))
    np.exp(root, out=root)
    powers = scratch.array("powers", (p + 1, *gaps.shape))
    powers[0] = root
    for _ in range(p - 1):
        powers[0] *= root
    for i in range(p):
        np.multiply(powers[i], root, out=powers[i + 1])
    return powers
