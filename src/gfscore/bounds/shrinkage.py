"""Shrunken class scores: with many classes of few samples, the extremes are mostly luck."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gfscore.arrays import FloatArray
from gfscore.bounds.search import last_excluded
from gfscore.errors import SamplesError

STEPS = 60  # halvings of the range of the spread


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShrunkenScores:
    """Estimates of the class scores that borrow from each other. For reading beside the raw ones, not for a verdict."""

    scores: FloatArray  # (K,)
    weights: FloatArray  # (K,), how much of each estimate is the class's own: 1 unshrunk, 0 the centre
    centre: float  # what classes are drawn towards
    spread: float  # standard deviation of the true class scores, as estimated


def shrunken_scores(scores: ArrayLike, stds: ArrayLike, counts: ArrayLike) -> ShrunkenScores:
    r"""Empirical-Bayes estimates in the normal-normal model with unequal variances.

    .. math:: \tilde\Omega_k = \mu + \frac{\tau^2}{\tau^2 + v_k} (\hat\Omega_k - \mu), \qquad v_k = s_k^2 / n_k

    True scores are taken to vary around :math:`\mu` with variance :math:`\tau^2`, estimates around these with
    :math:`v_k`. :math:`\mu` is the mean weighted by :math:`1/(\tau^2 + v_k)`, and :math:`\tau^2` the value at which the
    weighted squares add up to K - 1 (0 when they never do: no sign that classes differ). Variances are mixed with the
    common one, worth one sample, so that a class of equal scores is not taken to be known exactly.

    All are ``(K,)``; ``stds`` may be NaN where n = 1. Their mean squared error over classes is smaller than that of the
    raw scores when classes are alike; there is no guarantee for a single class. Efron and Morris, JASA 70 (1975); Paule
    and Mandel, J. Res. NBS 87 (1982) for the estimate of :math:`\tau`.

    >>> shrunken = shrunken_scores([0.1, 0.5, 0.9], [0.2, 0.2, 0.2], [4, 4, 400])
    >>> shrunken.scores.round(3), shrunken.weights.round(2)
    (array([0.125, 0.501, 0.9  ]), array([0.94, 0.94, 1.  ]))
    """
    raw, n = np.asarray(scores, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    if raw.ndim != 1 or raw.shape != n.shape or raw.size < 2 or not (n >= 1).all():
        raise SamplesError(f"scores of shape {raw.shape} with counts of shape {n.shape}: give two classes or more.")
    squares = np.where(n > 1, np.asarray(stds, dtype=np.float64) ** 2 * (n - 1), 0.0)
    common = float(squares.sum() / max(1.0, (n - 1).sum()))
    noise = (squares + common) / n / n  # (squares + common) / n is the mixed variance

    def centre_of(spread: FloatArray) -> tuple[float, FloatArray]:
        precisions = 1.0 / (spread**2 + noise)
        return float(np.average(raw, weights=precisions)), precisions

    def too_small(spread: FloatArray) -> NDArray[np.bool_]:
        centre, precisions = centre_of(spread)
        return np.asarray(np.dot(precisions, (raw - centre) ** 2) > len(raw) - 1)

    if not noise.any():  # nothing varies within any class, so nothing is known to be noise
        return ShrunkenScores(
            scores=raw, weights=np.ones_like(raw), centre=float(raw.mean()), spread=float(raw.std(ddof=1))
        )
    spread = last_excluded(too_small, np.asarray(0.0), np.asarray(2.0 * (raw.max() - raw.min())), steps=STEPS)
    centre, _ = centre_of(spread)
    weights = spread**2 / (spread**2 + noise)
    return ShrunkenScores(
        scores=centre + weights * (raw - centre), weights=weights, centre=centre, spread=float(spread)
    )
