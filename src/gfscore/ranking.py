"""Models against a reference: whether two scores order them alike, and how sure that is."""

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import OptionError, SamplesError
from gfscore.results import Agreement

EXACT_UP_TO = 9  # models: 362,880 orders are counted one by one
RANDOM_ORDERS = 9_999  # drawn when there are more models
BLOCK = 1 << 18  # models of random orders looked at together: few enough to stay near the processor
SAME = 1e-9  # two correlations closer than this are equal


def ranks(values: ArrayLike, *, tolerance: float = 0.0) -> FloatArray:
    """Rank of each value along the last axis, from 1 for the lowest; equal values share the mean of their ranks.

    Neighbours that are no further apart than ``tolerance`` are equal.

    >>> ranks([0.3, 0.1, 0.3])
    array([2.5, 1. , 2.5])
    """
    array = np.asarray(values, dtype=np.float64)
    order = np.argsort(array, axis=-1, kind="stable")
    ordered = np.take_along_axis(array, order, axis=-1)
    new = np.ones(array.shape, dtype=bool)  # where a run of equal values starts
    new[..., 1:] = ordered[..., 1:] > ordered[..., :-1] + tolerance
    last = np.roll(new, -1, axis=-1)  # and where it ends
    place = np.arange(array.shape[-1])
    first_place = np.maximum.accumulate(np.where(new, place, 0), axis=-1)
    last_place = np.minimum.accumulate(np.where(last, place, array.shape[-1])[..., ::-1], axis=-1)[..., ::-1]
    result = np.empty(array.shape)
    np.put_along_axis(result, order, (first_place + last_place) / 2 + 1, axis=-1)
    return result


def rank_correlations(first: ArrayLike, second: ArrayLike, *, tolerance: float = 0.0) -> FloatArray:
    """Spearman's correlation of rows ``(..., M)`` with rows of the same length; NaN where :func:`spearman` is None."""
    x, y = (ranks(values, tolerance=tolerance) - (np.shape(values)[-1] + 1) / 2 for values in (first, second))
    norm = np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))
    with np.errstate(invalid="ignore"):
        return np.asarray((x * y).sum(axis=-1) / norm)


def spearman(first: ArrayLike, second: ArrayLike) -> float | None:
    r"""Spearman's rank correlation: Pearson's correlation of the ranks.

    Both are ``(M,)``. None when either has fewer than two different values. Spearman (1904).

    >>> spearman([1, 2, 3, 4], [10, 20, 40, 30])
    0.8
    """
    x, y = _two_rows(first, second)
    value = float(rank_correlations(x, y))
    return None if math.isnan(value) else value


def kendall(first: ArrayLike, second: ArrayLike) -> float | None:
    r"""Kendall's tau-b: pairs in the same order minus pairs in opposite order, corrected for ties.

    .. math:: \tau_b = \frac{\sum_{i<j} \mathrm{sign}(x_i - x_j)\,\mathrm{sign}(y_i - y_j)}{\sqrt{n_x n_y}}

    with :math:`n_x`, :math:`n_y` the pairs not tied in either. Both are ``(M,)``. None as for :func:`spearman`.
    Kendall, Biometrika 33 (1945).

    >>> kendall([1, 2, 3, 4], [10, 20, 40, 30])
    0.6666666666666666
    """
    x, y = (_pair_signs(values) for values in _two_rows(first, second))
    norm = math.sqrt(float(x @ x) * float(y @ y))
    return None if norm == 0 else float(np.dot(x, y) / norm)


def agreement(
    score: ArrayLike, reference: ArrayLike, *, level: float = 0.95, seed: int = 0, tolerance: float = 0.0
) -> Agreement:
    """How alike a score and a reference order M models, with p-values and intervals.

    Both are ``(M,)``; values no further apart than ``tolerance`` are tied, as in :func:`ranks`. The
    p-values are two-sided, for "every order is equally likely": counted over all orders of up to 9 models, ties
    included, and over 9,999 seeded random ones beyond. The intervals are Fisher's, with the standard errors of Bonett
    and Wright (Psychometrika 65, 2000): approximate below some ten models, and absent where the formula gives none
    (fewer than 4 models for Spearman, 5 for Kendall, or a perfect correlation).

    >>> found = agreement([1, 2, 3, 4, 5], [1, 2, 3, 5, 4])
    >>> found.spearman, round(found.spearman_p, 4), found.p_method
    (0.9, 0.0833, 'exact')
    """
    if not 0 < level < 1:
        raise OptionError(f"level {level} is not between 0 and 1. 0.95 is usual.")
    x, y = (ranks(values, tolerance=tolerance) for values in _two_rows(score, reference))
    rho, tau = spearman(x, y), kendall(x, y)
    rho_p = tau_p = None
    if rho is not None and tau is not None:
        orders = _orders(len(x), seed)
        rho_p = _share_as_extreme(y[orders] @ (x - x.mean()), (x - x.mean()) @ y)
        rows = max(1, BLOCK // len(x))
        sums = [concordance(x, y[orders[start : start + rows]]) for start in range(0, len(orders), rows)]
        tau_p = _share_as_extreme(np.concatenate(sums), _pair_signs(x) @ _pair_signs(y))
    return Agreement(
        n=len(x),
        spearman=rho,
        spearman_p=rho_p,
        spearman_interval=None if rho is None else _fisher(rho, (1 + rho**2 / 2), len(x) - 3, level),
        kendall=tau,
        kendall_p=tau_p,
        kendall_interval=None if tau is None else _fisher(tau, 0.437, len(x) - 4, level),
        p_method="exact" if len(x) <= EXACT_UP_TO else "random orders",
        level=level,
    )


def _two_rows(first: ArrayLike, second: ArrayLike) -> tuple[FloatArray, FloatArray]:
    x, y = (np.asarray(values, dtype=np.float64) for values in (first, second))
    if x.shape != y.shape or x.ndim != 1:
        raise SamplesError(f"rank correlation of shapes {x.shape} and {y.shape}: give two rows of equal length.")
    if np.isnan(x).any() or np.isnan(y).any():
        place = int(np.flatnonzero(np.isnan(x) | np.isnan(y))[0])
        raise SamplesError(f"rank correlation of a missing number, at place {place}. Leave that model out.")
    return x, y


def _pair_signs(values: FloatArray) -> FloatArray:
    """Which of two is larger, for each pair along the last axis: 1, 0 or -1."""
    i, j = np.triu_indices(values.shape[-1], 1)
    return np.asarray(np.sign(values[..., i] - values[..., j]))


def concordance(first: ArrayLike, rows: ArrayLike) -> IntArray:
    r"""Pairs in the same order minus pairs in opposite order, of ``(M,)`` with each row of ``(R, M)``; ``(R,)``.

    .. math:: \sum_{i<j} \mathrm{sign}(x_i - x_j)\,\mathrm{sign}(y_i - y_j)

    The rows must hold the same values, each in an order of its own. Time grows with M log M, not with the pairs: Knight
    (J. American Statistical Association 61, 1966) sorts by x, and y among equal x, so that a pair in opposite order is
    one whose y stand in the wrong order. These are counted bit by bit of the ranks of y, from the highest: among
    values that have been alike so far, a one that stands before a zero.

    >>> concordance([1, 2, 3, 4], [[10, 20, 40, 30], [40, 30, 20, 10]])
    array([ 4, -6])
    """
    x = np.unique(np.asarray(first), return_inverse=True)[1].reshape(-1)
    values = np.unique(np.asarray(rows)[0])
    y = np.searchsorted(values, rows)
    both = np.sort(x * len(values) + y, axis=-1)  # by x, and by y where x is the same
    pairs = len(x) * (len(x) - 1) // 2
    comparable = pairs - _tied_pairs(np.sort(x)) - _tied_pairs(np.sort(y[0])) + _tied_pairs(both)
    return np.asarray(comparable - 2 * _inversions(both % len(values), len(values)))


def _tied_pairs(ordered: IntArray) -> IntArray:
    """How many pairs are equal, along the last axis, which rises."""
    place = np.arange(ordered.shape[-1])
    new = np.ones(ordered.shape, dtype=bool)
    new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    return np.asarray((place - np.maximum.accumulate(np.where(new, place, 0), axis=-1)).sum(axis=-1))


def _inversions(rows: IntArray, n_values: int) -> IntArray:
    """How many pairs of each row, of whole numbers below ``n_values``, stand in the wrong order.

    All rows hold the same numbers, so what is alike in its higher bits takes the same columns of every row.
    """
    found = np.zeros(len(rows), dtype=np.int64)
    columns, ordered = np.arange(rows.shape[-1]), np.sort(rows[0])
    for bit in reversed(range(max(n_values - 1, 0).bit_length())):
        high = ordered >> (bit + 1)
        starts = np.searchsorted(high, high)  # of the group that stands in each column
        zeros = np.searchsorted(ordered, (2 * high + 1) << bit) - starts  # how many of the group come first
        ones = (rows >> bit) & 1
        before = np.cumsum(ones, axis=-1) - ones
        before -= before[:, starts]  # within the group
        found += ((1 - ones) * before).sum(axis=-1)
        places = np.where(ones == 1, starts + zeros + before, columns - before)
        moved = np.empty_like(rows)
        np.put_along_axis(moved, places, rows, axis=-1)
        rows = moved
    return found


def _orders(n: int, seed: int) -> IntArray:
    """All orders of n things, or many random ones, ``(orders, n)``."""
    if n > EXACT_UP_TO:
        return np.random.default_rng(seed).permuted(np.tile(np.arange(n), (RANDOM_ORDERS, 1)), axis=1)
    orders = np.zeros((1, 0), dtype=np.int64)
    for item in range(n):  # put the next thing at each place of the orders so far
        orders = np.concatenate([np.insert(orders, place, item, axis=1) for place in range(item + 1)])
    return orders


def _share_as_extreme(values: FloatArray, observed: FloatArray | float) -> float:
    """How many of the orders reach as far from 0; among random ones the observed order counts as one more."""
    extreme = int((np.abs(values) >= np.abs(observed) - SAME).sum())
    drawn = len(values) == RANDOM_ORDERS
    return (drawn + extreme) / (drawn + len(values))


def _fisher(value: float, variance: float, degrees: int, level: float) -> tuple[float, float] | None:
    """Interval of a correlation on the scale where it is nearly normal."""
    if degrees < 1 or abs(value) > 1 - SAME:
        return None
    reach = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(variance / degrees)
    return math.tanh(math.atanh(value) - reach), math.tanh(math.atanh(value) + reach)


def rank_intervals(lower: ArrayLike, upper: ArrayLike) -> tuple[IntArray, IntArray]:
    r"""The best and the worst rank that each of M models may have, from 1 for the highest, ``(M,)`` each.

    .. math:: 1 + \#\{j : l_j > u_i\} \;\le\; 1 + \#\{j : \theta_j > \theta_i\} \;\le\;
              M - \#\{j : \theta_j < \theta_i\} \;\le\; M - \#\{j : u_j < l_i\}

    where :math:`\theta_j \in [l_j, u_j]` for all j: a model whose interval lies above that of i is truly above i. So
    all ranks, of ties the best and the worst they may take, lie in their intervals whenever all intervals hold
    together: with probability at least :math:`1 - \sum_j \delta_j`, were those of model j to fail with
    :math:`\delta_j`. ``lower`` and ``upper`` are ``(M,)``. Compare Mohamad, Goeman and van Zwet, "Simultaneous
    confidence intervals for ranks" (2019).

    >>> first, last = rank_intervals([0.5, 0.4, 0.1], [0.7, 0.6, 0.2])
    >>> first.tolist(), last.tolist()
    ([1, 1, 3], [2, 2, 3])
    """
    low, high = (np.asarray(ends, dtype=np.float64) for ends in (lower, upper))
    if low.ndim != 1 or low.shape != high.shape or not (low <= high).all():
        raise SamplesError("ranks need a lower and an upper end of each model, the lower one first.")
    above, below = low[:, None] > high[None, :], high[:, None] < low[None, :]  # of j against i
    return 1 + above.sum(axis=0), len(low) - below.sum(axis=0)
