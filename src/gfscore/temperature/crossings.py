"""Where curves cross: between two crossings no order changes, so a rank correlation is constant there.

A spline is a polynomial between its knots. Written in Bernstein's basis, a polynomial has no zero in its interval when
its coefficients have one sign; when they have not, the interval is halved and each half looked at again. So nothing is
missed, but crossings closer than 1e-6 in log T count as one: curves are not known better than that. Curves that meet
and stay together, as those of two classes of equal accuracy do at low T, are tied from where they are 1e-12 apart.
"""

from collections.abc import Sequence
from math import comb, factorial
from typing import Any

import numpy as np

from gfscore.arrays import FloatArray

HALVINGS = 34  # of a piece between two knots, some 0.1 wide in log T
TIED = 1e-12  # scores no further apart than this are equal: what is left is rounding
MERGED = 1e-6  # crossings closer than this in log T are one


def crossings(splines: Sequence[Any], low: float, high: float) -> FloatArray:
    """All places in ``(low, high)``, rising, where two curves cross, meet or part. A spline may hold several curves.

    Places where two curves merely touch may be among them; the order on both sides is then the same.

    >>> from scipy.interpolate import make_interp_spline
    >>> x = np.linspace(0, 4, 9)
    >>> crossings([make_interp_spline(x, np.stack([x, 2 - x, 3 - x], axis=1), k=3)], 0, 4).round(6)
    array([1. , 1.5])
    """
    knots = np.unique(np.concatenate([spline.t for spline in splines]))
    ends = np.concatenate([[low], knots[(knots > low) & (knots < high)], [high]])
    starts, widths = ends[:-1], np.diff(ends)
    pieces = np.concatenate([_bernstein(spline, starts, widths) for spline in splines], axis=1)
    found: list[FloatArray] = [np.empty(0)]
    for first in range(pieces.shape[1] - 1):
        apart = pieces[:, first, None] - pieces[:, first + 1 :]  # (pieces, curves after the first, degree + 1)
        both = _is_mixed(apart)
        piece = np.nonzero(both)[0]
        found.append(_zeros(apart[both], starts[piece], widths[piece]))
    places = np.sort(np.concatenate(found))
    places = places[(places > low + MERGED) & (places < high - MERGED)]
    return np.asarray(places[np.diff(places, prepend=-np.inf) > MERGED])


def _bernstein(spline: Any, starts: FloatArray, widths: FloatArray) -> FloatArray:
    """Bernstein coefficients of the polynomial on each interval, ``(intervals, curves, degree + 1)``."""
    k = int(spline.k)
    taylor = [spline(starts), *(spline.derivative(m)(starts) for m in range(1, k + 1))]
    scaled = [values * widths[:, None] ** m / factorial(m) for m, values in enumerate(taylor)]
    basis = np.array([[comb(j, m) / comb(k, m) for m in range(k + 1)] for j in range(k + 1)])
    return np.asarray(np.einsum("mpc,jm->pcj", np.stack(scaled), basis))


def _is_mixed(coefficients: FloatArray) -> Any:
    """Whether the polynomial may change between above, tied and below."""
    above, below = coefficients > TIED, coefficients < -TIED
    return (above.any(axis=-1) & ~above.all(axis=-1)) | (below.any(axis=-1) & ~below.all(axis=-1))


def _zeros(coefficients: FloatArray, starts: FloatArray, widths: FloatArray) -> FloatArray:
    """Zeros of polynomials given by Bernstein coefficients ``(n, k + 1)``, each on its own interval."""
    for _ in range(HALVINGS):
        left, right = _halves(coefficients)
        widths = widths / 2
        coefficients = np.concatenate([left, right])
        starts, widths = np.concatenate([starts, starts + widths]), np.concatenate([widths, widths])
        alive = _is_mixed(coefficients)
        coefficients, starts, widths = coefficients[alive], starts[alive], widths[alive]
    return starts + widths / 2


def _halves(coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same polynomials on the left and on the right half of their intervals (de Casteljau)."""
    left, right = np.empty_like(coefficients), np.empty_like(coefficients)
    for j in range(coefficients.shape[1]):
        left[:, j], right[:, -1 - j] = coefficients[:, 0], coefficients[:, -1]
        coefficients = (coefficients[:, :-1] + coefficients[:, 1:]) / 2
    return left, right
