"""Hoeffding's bound for class scores and the RDI: the paper's, and its inverse.

It assumes that the samples of a class are independent draws from that class, and nothing about their scores but
their range.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gfscore.arrays import FloatArray, IntArray
from gfscore.bounds.parts import check_level, known_range
from gfscore.errors import OptionError
from gfscore.scores.great import SCORE_MAX

SMALLEST_RADIUS = 1e-6  # of the largest score; far below it the sample sizes exceed what a float counts exactly


def hoeffding_radius(n: ArrayLike, delta: float, *, n_classes: int = 1, maximum: float = SCORE_MAX) -> FloatArray:
    r"""Half-width that holds for all ``n_classes`` at once with probability at least 1 - ``delta``.

    .. math:: \epsilon_k = B \sqrt{\ln(2K/\delta) / (2 n_k)}

    ``n`` is the number of samples of each class, a number or ``(K,)``; ``maximum`` is B, the largest score.
    Hoeffding, JASA 58 (1963); Shah et al. (2026), Proposition 1.

    >>> hoeffding_radius(1000, 0.05, n_classes=10).round(4)
    np.float64(0.0686)
    """
    counts = np.asarray(n, dtype=np.float64)
    _check_counts(counts)
    return maximum * np.sqrt(_log_term(delta, n_classes) / (2.0 * counts))


def hoeffding_sample_size(radius: float, delta: float, *, n_classes: int = 1, maximum: float = SCORE_MAX) -> int:
    """Smallest number of samples per class for which :func:`hoeffding_radius` is at most ``radius``.

    >>> hoeffding_sample_size(0.05, 0.05, n_classes=10)
    1883
    """
    if not (math.isfinite(radius) and radius > 0):
        raise OptionError(f"radius {radius} is not a positive number. Give the half-width you want.")
    log_term = _log_term(delta, n_classes)
    if radius < maximum * SMALLEST_RADIUS:
        raise OptionError(f"radius {radius} asks for more samples than there can be. Give a larger one.")
    n = max(1, math.ceil((maximum / radius) ** 2 * log_term / 2.0))
    while n > 1 and hoeffding_radius(n - 1, delta, n_classes=n_classes, maximum=maximum) <= radius:
        n -= 1  # the quotient above was rounded up past a whole number
    while hoeffding_radius(n, delta, n_classes=n_classes, maximum=maximum) > radius:
        n += 1  # or down past it
    return n


def hoeffding_intervals(
    scores: ArrayLike,
    counts: ArrayLike,
    delta: float,
    *,
    maximum: float = SCORE_MAX,
    sizes: IntArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends for all classes at once, ``(K,)`` each, cut to the range of the score.

    ``sizes`` as in :func:`hoeffding_lower`.
    """
    means, samples = np.asarray(scores, dtype=np.float64) / maximum, np.asarray(counts, dtype=np.int64)
    alpha = math.exp(-_log_term(delta, len(means)))
    lower = hoeffding_lower(means, samples, alpha, sizes=sizes)
    upper = 1.0 - hoeffding_lower(1.0 - means, samples, alpha, sizes=sizes)
    return maximum * lower, maximum * upper


def hoeffding_lower(means: FloatArray, counts: IntArray, alpha: float, *, sizes: IntArray | None = None) -> FloatArray:
    r"""Lower bound of each mean of scores in [0, 1]; each one fails with probability at most ``alpha``.

    .. math:: \hat\mu - \sqrt{\ln(1/\alpha) / (2 n')}

    with n' = n for draws from a distribution and that of :func:`effective_counts` for samples drawn without
    replacement from a fixed set with ``sizes`` samples. Hoeffding (1963), Theorem 2.
    """
    check_level(alpha)
    _check_counts(counts)
    floor, _ = known_range(means, counts, sizes)
    radius = np.sqrt(math.log(1.0 / alpha) / (2.0 * effective_counts(counts, sizes)))
    return np.asarray(np.maximum(means - radius, floor))


def effective_counts(counts: IntArray, sizes: IntArray | None) -> FloatArray:
    r"""How many independent samples are worth as much, in Hoeffding's bound, as those drawn without replacement.

    .. math:: n' = n \Big/ \min\Big\{1 - \frac{n - 1}{N},\; \Big(1 - \frac{n}{N}\Big)\Big(1 + \frac{1}{n}\Big)\Big\}

    n itself for a distribution (``sizes`` None), infinite when all N of a fixed set were drawn. The first factor bounds
    the moment generating function of the sum: Serfling, Ann. Statist. 2 (1974), Theorem 2.2. The second is the first
    one for the N - n samples that were not drawn, whose sum deviates by as much to the other side; Bardenet and
    Maillard, Bernoulli 21 (2015), Theorem 2.4.

    >>> effective_counts(np.array([10, 90, 100]), np.array([100, 100, 100])).round(1)
    array([ 11. , 890.1,   inf])
    """
    if sizes is None:
        return counts.astype(np.float64)
    share = counts / sizes
    factor = np.minimum(1.0 - (counts - 1) / sizes, (1.0 - share) * (1.0 + 1.0 / counts))
    with np.errstate(divide="ignore"):
        return np.asarray(counts / factor)


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


def _check_counts(counts: NDArray[Any]) -> None:
    if not (counts >= 1).all():
        raise OptionError(f"a sample size of {counts.min():g} bounds nothing. Give at least 1 per class.")


def _log_term(delta: float, n_classes: int) -> float:
    check_level(delta)
    if n_classes < 1:
        raise OptionError(f"{n_classes} classes cannot be bounded. Give at least 1.")
    return math.log(2 * n_classes / delta)
