r"""Margins of a sample at many temperatures for the price of a few.

With :math:`d_j = f_y - f_j` and :math:`b = 1/T`, a sample whose true class leads has the softmax margin

.. math:: \frac{1 - e^{-b d_{\min}}}{1 + S(b)}, \qquad S(b) = \sum_{j \ne y} e^{-b d_j}.

Exponentials are the dear part. One of them, :math:`r_j = e^{-a d_j}`, gives all others: powers of it are products, and
a sum of powers is a dot product of two smaller powers, :math:`S((m + n)\,a) = \sum_j r_j^m r_j^n`. So p powers
:math:`r^p, \ldots, r^{2p-1}` give S at 2p nodes that cover an octave of b, and their squares give the next octave.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from gfscore.samples import FloatArray, IntArray

Dot = Callable[[FloatArray, FloatArray], FloatArray]

PADDING = 0.75  # octaves beyond both ends, since a spline is worst at its own
RESTART = 12  # octaves on one exponential: each doubles its relative error, to some 1e-12 after twelve
NEGLIGIBLE = 1e-6  # entries of r^p below this add less than 1e-12 each to a sum, there and at any larger b
FEW = 0.1  # share of the entries from which it pays to leave the others out
BLAS_COLUMNS = 8192  # dot products no longer than this stay on one thread of the BLAS, so their sums are repeatable


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


def softmax_margins(gaps: FloatArray, ladder: Ladder) -> FloatArray:
    """Softmax margin at every node, ``(n, nodes)``, from the gaps d ``(n, K)``, infinite for the true class itself."""
    blocks = (gaps[:, start : start + BLAS_COLUMNS] for start in range(0, gaps.shape[1], BLAS_COLUMNS))
    with np.errstate(over="ignore"):  # huge gaps send an exponent to -inf, which is right
        total = sum(_power_sums(block, ladder) for block in blocks)
        return np.asarray(-np.expm1(-np.outer(gaps.min(axis=1), ladder.nodes)) / (1.0 + total))


def _power_sums(gaps: FloatArray, ladder: Ladder) -> FloatArray:
    """S at every node, ``(n, nodes)``."""
    (n, columns), p = gaps.shape, ladder.powers
    sums = np.empty((ladder.octaves, 2 * p, n))
    for octave in range(ladder.octaves):
        if octave % RESTART == 0:
            powers = _first_powers(gaps, ladder.first * 2.0**octave / (2 * p), p)
            dot: Dot = _row_dots
        elif dot is _row_dots and np.count_nonzero(near := powers[0] > NEGLIGIBLE) < FEW * near.size:
            near[:, 0] = True  # so that no row is left empty
            kept = np.flatnonzero(near)
            powers = powers.reshape(p, -1)[:, kept]
            dot = partial(_sparse_dots, np.flatnonzero(kept % columns == 0))
        sums[octave, 0::2] = dot(powers, powers)
        sums[octave, 1:-1:2] = dot(powers[:-1], powers[1:])
        np.square(powers[0], out=powers[0])
        sums[octave, -1] = dot(powers[0], powers[-1])
        np.square(powers[1:], out=powers[1:])
    return sums.reshape(ladder.octaves * 2 * p, n).T


def _first_powers(gaps: FloatArray, step: float, p: int) -> FloatArray:
    """``r^p`` to ``r^(2p - 1)`` with ``r = exp(-step * gaps)``, ``(p, n, K)``."""
    root = np.exp(gaps * -step)
    powers = np.empty((p, *gaps.shape))
    powers[0] = root
    for _ in range(p - 1):
        powers[0] *= root
    for i in range(1, p):
        np.multiply(powers[i - 1], root, out=powers[i])
    return powers


def _row_dots(first: FloatArray, second: FloatArray) -> FloatArray:
    """Dot product of each row ``(..., n, K)`` with its counterpart, ``(..., n)``."""
    return np.asarray(np.matmul(first[..., None, :], second[..., None])[..., 0, 0])


def _sparse_dots(starts: IntArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """The same when few entries are left, those of a row side by side; ``starts`` says where each row begins."""
    return np.asarray(np.add.reduceat(first * second, starts, axis=-1))
