"""Hoeffding's bound for class scores and the RDI: the paper's, and its inverse.

It assumes that the samples of a class are independent draws from that class, and nothing about their scores but
their range.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from gfscore.errors import OptionError
from gfscore.samples import FloatArray
from gfscore.scores.great import SCORE_MAX


def hoeffding_radius(n: ArrayLike, delta: float, *, n_classes: int = 1, maximum: float = SCORE_MAX) -> FloatArray:
    r"""Half-width that holds for all ``n_classes`` at once with probability at least 1 - ``delta``.

    .. math:: \epsilon_k = B \sqrt{\ln(2K/\delta) / (2 n_k)}

    ``n`` is the number of samples of each class, a number or ``(K,)``; ``maximum`` is B, the largest score.
    Hoeffding, JASA 58 (1963); Shah et al. (2026), Proposition 1.

    >>> hoeffding_radius(1000, 0.05, n_classes=10).round(4)
    np.float64(0.0686)
    """
    counts = np.asarray(n, dtype=np.float64)
    if not (counts >= 1).all():
        raise OptionError(f"a sample size of {counts.min():g} bounds nothing. Give at least 1 per class.")
    return maximum * np.sqrt(_log_term(delta, n_classes) / (2.0 * counts))


def hoeffding_sample_size(radius: float, delta: float, *, n_classes: int = 1, maximum: float = SCORE_MAX) -> int:
    """Smallest number of samples per class for which :func:`hoeffding_radius` is at most ``radius``.

    >>> hoeffding_sample_size(0.05, 0.05, n_classes=10)
    1883
    """
    if not (math.isfinite(radius) and radius > 0):
        raise OptionError(f"radius {radius} is not a positive number. Give the half-width you want.")
    log_term = _log_term(delta, n_classes)
    n = max(1, math.ceil((maximum / radius) ** 2 * log_term / 2.0))
    while n > 1 and hoeffding_radius(n - 1, delta, n_classes=n_classes, maximum=maximum) <= radius:
        n -= 1  # the quotient above was rounded up past a whole number
    while hoeffding_radius(n, delta, n_classes=n_classes, maximum=maximum) > radius:
        n += 1  # or down past it
    return n


def hoeffding_intervals(
    scores: FloatArray, counts: ArrayLike, delta: float, *, maximum: float = SCORE_MAX
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends for all classes at once, ``(K,)`` each, cut to the range of the score."""
    radius = hoeffding_radius(counts, delta, n_classes=len(scores), maximum=maximum)
    return np.maximum(scores - radius, 0.0), np.minimum(scores + radius, maximum)


def rdi_radius(n_min: int, delta: float, *, n_classes: int, maximum: float = SCORE_MAX) -> float:
    r"""How far the estimated RDI may be from the true one, with probability at least 1 - ``delta``.

    Twice the radius of the class with the fewest samples, ``n_min``. Shah et al. (2026), Proposition 2.

    >>> round(rdi_radius(50, 0.05, n_classes=1000), 3)
    0.816
    """
    return 2.0 * float(hoeffding_radius(n_min, delta, n_classes=n_classes, maximum=maximum))


def rdi_sample_size(radius: float, delta: float, *, n_classes: int, maximum: float = SCORE_MAX) -> int:
    """Smallest number of samples per class for which :func:`rdi_radius` is at most ``radius``.

    >>> rdi_sample_size(0.35, 0.05, n_classes=1000)
    272
    """
    return hoeffding_sample_size(radius / 2.0, delta, n_classes=n_classes, maximum=maximum)


def checked_delta(delta: float) -> float:
    """The error level, if it is one."""
    if not 0 < delta < 1:
        raise OptionError(f"delta {delta} is not between 0 and 1. 0.05 makes the intervals hold 95 % of the time.")
    return float(delta)


def _log_term(delta: float, n_classes: int) -> float:
    checked_delta(delta)
    if n_classes < 1:
        raise OptionError(f"{n_classes} classes cannot be bounded. Give at least 1.")
    return math.log(2 * n_classes / delta)
