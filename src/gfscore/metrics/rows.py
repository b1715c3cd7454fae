"""The formulas of the metrics for many profiles at once, such as those of every temperature of a curve.

Every function takes ``(T, K)`` scores, none negative, and gives ``(T,)``: NaN where a number does not exist. What each
means, and who it is from: :mod:`gfscore.metrics.formulas`, whose functions are these for one profile.
"""

import numpy as np

from gfscore.arrays import FloatArray


def gaps(profiles: FloatArray) -> FloatArray:
    """RDI of each profile: its highest score minus its lowest."""
    return np.asarray(np.ptp(profiles, axis=1))


def penalised_means(profiles: FloatArray, weight: float) -> FloatArray:
    """FP-GREAT of each profile."""
    return np.asarray(profiles.mean(axis=1) - weight * gaps(profiles))


def ginis(profiles: FloatArray) -> FloatArray:
    """NRGC of each profile; NaN for one of nothing but zeros.

    From the gaps between sorted scores, in O(K log K): one between the i-th and the next separates i(K - i) pairs.
    """
    ordered = np.sort(_relative(profiles), axis=1)
    k = ordered.shape[1]
    totals, below = ordered.sum(axis=1), np.arange(1.0, k)
    return _divided(np.diff(ordered, axis=1) @ (below * (k - below)), k * totals)


def entropies(profiles: FloatArray, alpha: float) -> FloatArray:
    """Generalised entropy index of each profile; NaN where the mean is 0, or a score is and ``alpha`` is not above."""
    ratios, logs = _to_mean(profiles)
    # Shares r average to 1, so the sum of r^a - 1 is also the sum of r (r^(a-1) - 1): near 0 and near 1 one of the
    # two forms loses no digits, and its limit is the index's.
    with np.errstate(invalid="ignore"):
        if alpha == 0:
            terms = -logs
        elif alpha == 1:
            terms = ratios * logs
        elif alpha < 0.5:
            terms = np.expm1(alpha * logs) / (alpha * (alpha - 1))
        else:
            terms = ratios * np.expm1((alpha - 1) * logs) / (alpha * (alpha - 1))
    if alpha <= 0:
        terms[ratios == 0] = np.nan
    elif alpha >= 0.5:
        terms[ratios == 0] = 0.0  # 0 ln 0 = 0
    return np.asarray(np.maximum(0.0, terms.mean(axis=1)))  # rounding may leave -1e-17 for equal classes


def lost_shares(profiles: FloatArray, aversion: float) -> FloatArray:
    """Atkinson's index of each profile; NaN where all scores are 0."""
    ratios, logs = _to_mean(profiles)
    power = 1.0 - aversion
    with np.errstate(invalid="ignore"):
        if power == 0:
            log_equivalents = logs.mean(axis=1)
        else:
            exponents = power * logs
            largest = exponents.max(axis=1)  # so that no exponential overflows, and none is lost when power is tiny
            sums = np.expm1(exponents - largest[:, None]).mean(axis=1)
            log_equivalents = (largest + np.log1p(sums)) / power
    lost = np.clip(-np.expm1(log_equivalents), 0.0, 1.0)
    if aversion >= 1:
        lost[(ratios == 0).any(axis=1)] = 1.0
    lost[np.isnan(ratios).any(axis=1)] = np.nan
    return np.asarray(lost)


def _to_mean(profiles: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Scores as shares of their profile's mean, and the logarithms of these; NaN where the mean is 0."""
    relative = _relative(profiles)
    means = relative.mean(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return relative / means, np.log(relative) - np.log(means)


def _relative(profiles: FloatArray) -> FloatArray:
    """Scores as shares of their profile's largest: no sum overflows or vanishes, and no index depends on the scale."""
    largest = profiles.max(axis=1, keepdims=True)
    return np.asarray(np.divide(profiles, largest, out=np.zeros_like(profiles), where=largest > 0))


def _divided(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(above, below, out=np.full_like(below, np.nan), where=below > 0)
