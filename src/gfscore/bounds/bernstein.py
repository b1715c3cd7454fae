"""The empirical Bernstein interval: narrow when the scores of a class vary little, from three numbers a class."""

import math

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import FloatArray, IntArray
from gfscore.bounds.parts import check_level
from gfscore.scores.great import SCORE_MAX


def bernstein_intervals(
    scores: ArrayLike, stds: ArrayLike, counts: ArrayLike, delta: float, *, maximum: float = SCORE_MAX
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends for all classes at once, ``(K,)`` each, with probability at least 1 - ``delta``.

    ``stds`` are standard deviations with n - 1 in the denominator; what stands where n = 1 is not used.

    >>> lower, upper = bernstein_intervals([0.5, 0.5], [0.1, 0.0], [1000, 1], 0.05, maximum=1.0)
    >>> lower.round(3), upper.round(3)
    (array([0.478, 0.   ]), array([0.522, 1.   ]))
    """
    means = np.asarray(scores, dtype=np.float64) / maximum
    samples = np.asarray(counts, dtype=np.int64)
    variances = np.where(samples > 1, np.asarray(stds, dtype=np.float64) / maximum, 0.0) ** 2
    alpha = delta / (2 * len(means))
    lower = bernstein_lower(means, variances, samples, alpha)
    upper = 1.0 - bernstein_lower(1.0 - means, variances, samples, alpha)
    return maximum * lower, maximum * upper


def bernstein_lower(means: FloatArray, variances: FloatArray, counts: IntArray, alpha: float) -> FloatArray:
    """Lower bound of each mean of scores in [0, 1]; each one fails with probability at most ``alpha``."""
    return np.maximum(means - bernstein_radius(variances, counts, alpha), 0.0)


def bernstein_radius(variances: FloatArray, counts: IntArray, alpha: float) -> FloatArray:
    r"""How far below its estimate a mean of scores in [0, 1] may be; each fails with probability at most ``alpha``.

    .. math:: \sqrt{\frac{2 V \ln(2/\alpha)}{n}} + \frac{7 \ln(2/\alpha)}{3 (n - 1)}

    V is the sample variance with n - 1 in the denominator; one sample says nothing about it, and the radius is 1.
    Maurer and Pontil, COLT 2009, Theorem 4.
    """
    check_level(alpha)
    log_level = math.log(2.0 / alpha)
    radius = np.sqrt(2.0 * variances * log_level / counts) + 7.0 * log_level / (3.0 * np.maximum(counts - 1, 1))
    return np.where(counts > 1, radius, 1.0)
