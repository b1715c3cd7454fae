"""How unevenly a profile of class scores is spread: the formulas of the metrics.

Every function takes the scores of the K classes that have samples, ``(K,)`` (K at least 2, none negative). A number
that does not exist, such as a Gini coefficient of nothing but zeros, is None.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import OptionError, SamplesError
from gfscore.metrics import rows

DEFAULT_FAIRNESS_WEIGHT = 0.5  # lambda of the paper
DEFAULT_AVERSION = 1.0  # epsilon of Atkinson's index; 1 is what the inequality-adjusted development index uses


def rdi(scores: ArrayLike) -> float:
    r"""Robustness Disparity Index: the best class minus the worst.

    .. math:: \mathrm{RDI} = \max_k \Omega_k - \min_k \Omega_k

    ``scores`` is ``(K,)``. 0 exactly when all classes are equal. Shah et al. (2026), Definition 2.

    >>> rdi([0.2, 0.5, 0.4])
    0.3
    """
    return float(np.ptp(_check(scores)))


def rdi_classes(scores: ArrayLike) -> tuple[int, int]:
    """Indices of the two classes that make the RDI: highest and lowest (the first of several).

    >>> rdi_classes([0.2, 0.5, 0.4])
    (1, 0)
    """
    profile = _check(scores)
    return int(profile.argmax()), int(profile.argmin())


def nrgc(scores: ArrayLike) -> float | None:
    r"""Normalised Robustness Gini Coefficient.

    .. math:: \mathrm{NRGC} = \frac{\sum_{i,j} |\Omega_i - \Omega_j|}{2 K^2 \bar\Omega}

    ``scores`` is ``(K,)``; the result is in :math:`[0, 1 - 1/K]`, or None when all scores are 0. Shah et al.
    (2026), Definition 3.

    >>> nrgc([0.0, 0.0, 1.0])
    0.6666666666666666
    """
    return _existing(rows.ginis(_one_row(scores)))


def wcr(scores: ArrayLike) -> float:
    r"""Worst-Case Class Robustness: the lowest class score.

    .. math:: \mathrm{WCR} = \min_k \Omega_k

    ``scores`` is ``(K,)``. Which class it is: :func:`worst_classes`. Shah et al. (2026), Definition 4.

    >>> wcr([0.2, 0.5, 0.4])
    0.2
    """
    return float(_check(scores).min())


def worst_classes(scores: ArrayLike) -> IntArray:
    """Indices of all classes that attain the WCR; more than one is a tie.

    >>> worst_classes([0.2, 0.5, 0.2])
    array([0, 2])
    """
    profile = _check(scores)
    return np.flatnonzero(profile == profile.min()).astype(np.int64)


def fp_great(scores: ArrayLike, weight: float = DEFAULT_FAIRNESS_WEIGHT) -> float:
    r"""Fairness-penalised GREAT score.

    .. math:: \text{FP-GREAT} = \bar\Omega - \lambda\,\mathrm{RDI}

    ``scores`` is ``(K,)``, ``weight`` is :math:`\lambda \ge 0`. Uses the unweighted class mean; may be negative.
    Shah et al. (2026), Definition 5.

    >>> round(fp_great([0.2, 0.5, 0.5]), 12)
    0.25
    """
    return float(fp_great_curve(scores, [weight])[0])


def fp_great_curve(scores: ArrayLike, weights: ArrayLike) -> FloatArray:
    r"""FP-GREAT at each of several fairness weights: a straight line down from the class mean.

    .. math:: \lambda \mapsto \bar\Omega - \lambda\,\mathrm{RDI}

    ``scores`` is ``(K,)``, ``weights`` and the result are ``(L,)``. After Shah et al. (2026), Definition 5.

    >>> fp_great_curve([0.2, 0.5, 0.5], [0.0, 0.5, 1.0]).round(12)
    array([0.4 , 0.25, 0.1 ])
    """
    profile = _check(scores)
    penalties = np.array([checked_weight(weight) for weight in np.atleast_1d(weights).tolist()])
    return np.asarray(profile.mean() - penalties * rdi(profile))


def checked_weight(weight: float) -> float:
    """The fairness weight, if it is one."""
    if not (math.isfinite(weight) and weight >= 0):
        raise OptionError(f"fairness weight {weight} is not a number of at least 0. The paper uses 0.5.")
    return float(weight)


def generalised_entropy(scores: ArrayLike, alpha: float) -> float | None:
    r"""Generalised entropy index: 0 for equal classes, larger with more inequality.

    .. math:: GE_\alpha = \frac{1}{K \alpha (\alpha - 1)} \sum_k \left[(\Omega_k/\bar\Omega)^\alpha - 1\right]

    with the limits :math:`GE_1` (Theil) and :math:`GE_0` (mean log deviation). ``scores`` is ``(K,)``. None when the
    mean is 0, and when ``alpha`` is at most 0 and any class is 0. Shorrocks, Econometrica 48 (1980).

    >>> round(generalised_entropy([1.0, 3.0], 2.0), 12)
    0.125
    """
    if not math.isfinite(alpha):
        raise OptionError(f"alpha {alpha} is not a number. 1 gives Theil's index, 0 the mean log deviation.")
    return _existing(rows.entropies(_one_row(scores), alpha))


def theil(scores: ArrayLike) -> float | None:
    r"""Theil's index, the generalised entropy at alpha 1.

    .. math:: \frac{1}{K} \sum_k \frac{\Omega_k}{\bar\Omega} \ln \frac{\Omega_k}{\bar\Omega},
              \qquad 0 \ln 0 = 0

    ``scores`` is ``(K,)``; the result is in :math:`[0, \ln K]`, or None when all scores are 0. Theil (1967).

    >>> round(theil([0.0, 1.0]), 6)
    0.693147
    """
    return generalised_entropy(scores, 1.0)


def atkinson(scores: ArrayLike, aversion: float = DEFAULT_AVERSION) -> float | None:
    r"""Atkinson's index: the share of the mean that one would give up for equal classes.

    .. math:: A_\varepsilon = 1 - \frac{1}{\bar\Omega}
              \left(\frac{1}{K}\sum_k \Omega_k^{1-\varepsilon}\right)^{1/(1-\varepsilon)},
              \qquad A_1 = 1 - \frac{1}{\bar\Omega} \left(\prod_k \Omega_k\right)^{1/K}

    ``scores`` is ``(K,)``; the result is in [0, 1]: 1 when ``aversion`` is at least 1 and any class is 0, None when all
    are. Atkinson, J. Econ. Theory 2 (1970).

    >>> round(atkinson([1.0, 4.0]), 12)
    0.2
    """
    if not (math.isfinite(aversion) and aversion >= 0):
        raise OptionError(f"inequality aversion {aversion} must be a number of at least 0. 1 is usual.")
    return _existing(rows.lost_shares(_one_row(scores), aversion))


def atkinson_adjusted_mean(scores: ArrayLike, aversion: float = DEFAULT_AVERSION) -> float | None:
    r"""Class mean discounted by Atkinson's index, which is what the inequality-adjusted development index does.

    .. math:: \bar\Omega\,(1 - A_\varepsilon)

    ``scores`` is ``(K,)``. At ``aversion`` 1 it is the geometric mean of the classes: 0 when any class is. None when
    all are 0. UNDP, Human Development Report, technical note 2; Atkinson (1970).

    >>> round(atkinson_adjusted_mean([1.0, 4.0]), 12)
    2.0
    """
    index = atkinson(scores, aversion)
    return None if index is None else float(_check(scores).mean() * (1.0 - index))


def _one_row(scores: ArrayLike) -> FloatArray:
    return _check(scores)[None, :]


def _existing(numbers: FloatArray) -> float | None:
    """The number of the one profile there is, None where it does not exist."""
    return None if np.isnan(numbers[0]) else float(numbers[0])


def _check(scores: ArrayLike) -> FloatArray:
    try:
        profile = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SamplesError(f"class scores are no numbers ({error}). Give one for each class.") from error
    if profile.ndim != 1 or profile.size < 2:
        raise SamplesError(f"class scores have shape {profile.shape}; at least two in one row are needed.")
    broken = ~(np.isfinite(profile) & (profile >= 0))
    if broken.any():
        index = int(np.argmax(broken))
        raise SamplesError(
            f"class score {profile[index]} at index {index} is not a number of at least 0. Leave absent classes out."
        )
    return profile
