"""The betting interval: the default. It adapts to the spread of the scores, at any sample size.

For each candidate m of a class mean somebody who doubts that the mean is as low as m bets on the next score being
larger. If m is the mean, or above it, the game is fair or worse, and the capital rarely grows large: beyond
1/alpha with probability at most alpha, at any time. Each m at which it does is excluded.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import FloatArray
from gfscore.bounds.parts import PartScores, check_level, known_range
from gfscore.bounds.search import last_excluded
from gfscore.errors import EmptyIntervalError
from gfscore.scores.great import SCORE_MAX

CLIP = 0.9  # the share of the capital that one score can lose at most; the authors use 1/2 or 3/4
PRIOR_MEAN, PRIOR_VARIANCE = 0.5, 0.25  # what is believed before the first score; worth one sample
SLACK = 1e-7  # on the logarithm of the capital, far above its rounding
TINY = 1e-300  # so that no bet is divided by 0


def betting_intervals(
    values: ArrayLike,
    codes: ArrayLike,
    n_parts: int,
    delta: float,
    *,
    maximum: float = SCORE_MAX,
    seed: int = 0,
    sizes: ArrayLike | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends for all classes with samples at once, with probability at least 1 - ``delta``.

    ``values`` and ``codes`` are the score and the class index of each sample, ``(N,)``. The samples of a class are
    taken in a random order that ``seed`` fixes, because the interval depends on it. ``sizes`` is ``(n_parts,)`` when
    the samples were drawn without replacement from a fixed set.

    >>> rng = np.random.default_rng(1)
    >>> lower, upper = betting_intervals(rng.beta(20, 20, 500), np.zeros(500, dtype=int), 1, 0.05, maximum=1.0)
    >>> lower.round(3), upper.round(3)
    (array([0.495]), array([0.512]))
    """
    parts = PartScores.of(values, codes, n_parts, maximum=maximum, seed=seed, sizes=sizes)
    alpha = delta / (2 * len(parts.counts))
    lower, upper = betting_lower(parts, alpha), 1.0 - betting_lower(parts.mirrored(), alpha)
    if (lower > upper).any():
        raise EmptyIntervalError(f"the part at index {int(np.argmax(lower > upper))}")
    return maximum * lower, maximum * upper


def betting_lower(parts: PartScores, alpha: float) -> FloatArray:
    r"""Lower bound of each part's mean, ``(K,)`` in [0, 1]; each one fails with probability at most ``alpha``.

    .. math:: \sup\Big\{m :\; \max_{t \le n} \prod_{i \le t} \big(1 + \lambda_i(m) (x_i - m_i)\big)
              \ge \frac{1}{\alpha}\Big\}, \qquad
              \lambda_i(m) = \min\Big\{\sqrt{\frac{2 \ln(1/\alpha)}{n\,\hat\sigma^2_{i-1}}},\; \frac{c}{m_i}\Big\}

    where :math:`m_i = m`, or, for the mean m of a fixed set of N samples drawn from without replacement, what the rest
    of the set has on average if m is right: :math:`m_i = (N m - \sum_{j<i} x_j) / (N - i + 1)`.

    Why it holds. Each bet is at least 0 and depends on earlier scores only, and c < 1 keeps the capital positive; so at
    m equal to or above the mean the capital is a non-negative supermartingale that starts at 1, and Ville's inequality
    bounds the chance that it ever reaches 1/alpha. Each factor falls as m grows, at :math:`\lambda` and at
    :math:`c/m_i` alike, so the excluded m are all those below one point, and bisection finds it.

    Waudby-Smith and Ramdas, JRSS-B 86 (2024), Sections 4 and 5: hedged capital, one side of it. Both sides together,
    each at half the level, are their interval.
    """
    check_level(alpha)
    capital = _largest_capital(parts, alpha)
    floor, ceiling = known_range(parts.means, parts.counts, parts.sizes)
    return last_excluded(lambda mean: capital(mean) >= math.log(1.0 / alpha) + SLACK, floor, ceiling)


def betting_p_values(parts: PartScores, means: FloatArray, alpha: float) -> FloatArray:
    r"""P-value of each hypothesis "the mean is at most this", ``(K,)``.

    .. math:: p = \min\Big\{1,\; 1 \Big/ \max_{t \le n} \prod_{i \le t} \big(1 + \lambda_i (x_i - m_i)\big)\Big\}

    Valid for any scores in [0, 1]: under the hypothesis the capital ever reaches 1/p with probability at most p
    (Ville). ``alpha`` is the level the bets are made for, which must not depend on the scores; a p-value far from it
    is less sharp, and as valid.

    >>> parts = PartScores.of([0.6, 0.7, 0.8, 0.7, 0.6, 0.7], [0] * 6, 1, maximum=1.0)
    >>> betting_p_values(parts, np.array([0.2]), 0.05).round(3), betting_p_values(parts, np.array([0.9]), 0.05)
    (array([0.003]), array([1.]))
    """
    check_level(alpha)
    return np.asarray(np.exp(-np.maximum(_largest_capital(parts, alpha)(means) - SLACK, 0.0)))


def _largest_capital(parts: PartScores, alpha: float) -> Callable[[FloatArray], FloatArray]:
    """The logarithm of the largest capital, over time, against each part's mean being at most a given one."""
    values = parts.values
    bets = np.sqrt(2.0 * math.log(1.0 / alpha) / (parts.spread(parts.counts) * _earlier_variances(parts)))
    if parts.sizes is not None:
        drawn = parts.running(values) - values
        left = parts.spread(parts.sizes) - parts.positions

    def largest(mean: FloatArray) -> FloatArray:
        expected = parts.spread(mean)
        if parts.sizes is not None:
            expected = np.clip((parts.spread(parts.sizes * mean) - drawn) / left, 0.0, 1.0)
        gains = np.log1p(np.minimum(bets, CLIP / np.maximum(expected, TINY)) * (values - expected))
        return parts.largest(parts.running(gains))

    return largest


def _earlier_variances(parts: PartScores) -> FloatArray:
    """For each sample, the variance estimated from those before it in its part; ``(N,)``, all positive."""
    seen = parts.positions + 1.0
    means = (PRIOR_MEAN + parts.running(parts.values)) / (seen + 1.0)
    variances = (PRIOR_VARIANCE + parts.running((parts.values - means) ** 2)) / (seen + 1.0)
    earlier = np.empty_like(variances)
    earlier[1:] = variances[:-1]
    earlier[parts.starts] = PRIOR_VARIANCE
    return earlier
