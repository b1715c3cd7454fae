r"""Weights of classes that make a mean cost worst, within a ball around equal weights: what fair training optimises.

.. math:: \max_p \sum_k p_k c_k \quad \text{for } p \text{ on the simplex with } D(p, u) \le r, \; u_k = 1/K

Each ball has a solution in closed form, or by one root: no solver is needed.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.errors import OptionError

FAR = 60.0  # in logarithms: where weights are equal to the last digit


class Ball(StrEnum):
    """What a distance from equal weights is, and what its radius means."""

    KL = "kl"  # KL(u || p) <= radius
    CHI_SQUARE = "chi-square"  # sum_k (p_k - u)^2 / u <= radius
    TOTAL_VARIATION = "total-variation"  # half of sum_k |p_k - u| <= radius
    CVAR = "cvar"  # p_k <= u / radius: the mean of the worst share of the classes
    EXPONENTIATED = "exponentiated"  # p_k proportional to exp(radius * cost_k): Hedge, no ball but a step


def worst_weights(cost: Any, ball: Ball | str, radius: float) -> FloatArray:
    """The weights (K,), which sum to 1, that make ``sum_k p_k cost_k`` largest; classes of equal cost weigh alike.

    >>> worst_weights([0.0, 0.0, 1.0], "total-variation", 0.2).round(3)
    array([0.233, 0.233, 0.533])
    >>> worst_weights([0.0, 1.0, 2.0], "kl", 0.1).round(3)
    array([0.185, 0.275, 0.54 ])
    """
    costs = np.asarray(cost, dtype=np.float64)
    if costs.ndim != 1 or not len(costs) or not np.isfinite(costs).all():
        raise OptionError("the costs of classes must be a list of finite numbers.")
    if not (0 <= radius < np.inf) or (Ball(ball) is Ball.CVAR and not 0 < radius <= 1):
        raise OptionError(f"radius {radius} is not one of a {Ball(ball)} ball.")
    spread = float(costs.max() - costs.min())
    if spread == 0 or (radius == 0):
        return np.full(len(costs), 1 / len(costs))
    if Ball(ball) is Ball.EXPONENTIATED:  # the only one whose answer depends on the unit of the costs
        raised = np.exp(radius * (costs - costs.max()))
        return np.asarray(raised / raised.sum())
    return _WORST[Ball(ball)]((costs - costs.max()) / spread, radius)


def _worst_kl(costs: FloatArray, radius: float) -> FloatArray:
    r""":math:`p_k = u s / (\nu - c_k)`, where s makes the sum 1 and :math:`\nu > \max c` the divergence ``radius``.

    The divergence falls from infinity to 0 while :math:`\nu` grows, so there is one root; costs end at 0 here.
    """
    from scipy.optimize import brentq  # takes some time to load, and only one ball needs it

    def excess(log_gap: float) -> float:
        gaps = np.exp(log_gap) - costs
        return float(np.log(gaps).mean() + np.log((1 / gaps).mean()) - radius)

    lowest = -(radius * len(costs) / (len(costs) - 1) + FAR)
    gaps = np.exp(brentq(excess, max(lowest, -700.0), FAR, xtol=1e-14, rtol=1e-14)) - costs
    return np.asarray((1 / gaps) / (1 / gaps).sum())


def _worst_chi_square(costs: FloatArray, radius: float) -> FloatArray:
    r""":math:`p_k = u (1 + \sqrt{\rho} z_k)` with standardised costs z; classes that would fall below 0 get nothing.

    Of the m classes that have weight, :math:`p_k = 1/m + b (c_k - \bar c)`, with the b that spends the whole radius.
    """
    order, n = np.argsort(-costs, kind="stable"), len(costs)
    for m in range(n, 0, -1):
        top = costs[order[:m]]
        spent = n * m * (1 / m - 1 / n) ** 2 + (n - m) / n  # by leaving the others out
        variation = float(((top - top.mean()) ** 2).sum())
        if spent > radius + 1e-12:
            break
        if variation <= 0:  # the best that there is: all of them cost the same
            return _on(order[:m], np.full(m, 1 / m), n)
        weights = 1 / m + np.sqrt((radius - spent) / (n * variation)) * (top - top.mean())
        if weights.min() >= -1e-12:
            return _on(order[:m], np.maximum(weights, 0.0), n)
    raise AssertionError("one class alone always has weight 1")  # pragma: no cover


def _on(places: Any, weights: FloatArray, n: int) -> FloatArray:
    found = np.zeros(n)
    found[places] = weights / weights.sum()
    return found


def _worst_total_variation(costs: FloatArray, radius: float) -> FloatArray:
    """A mass of ``radius`` goes from the classes of the lowest cost to those of the highest."""
    n = len(costs)
    weights, left = np.full(n, 1 / n), min(radius, 1.0)
    highest = costs == costs.max()
    for value in np.unique(costs[~highest]):
        some = costs == value
        taken = min(left, float(weights[some].sum()))
        weights[some] -= taken / some.sum()
        weights[highest] += taken / highest.sum()
        left -= taken
    return np.asarray(np.maximum(weights, 0.0))


def _worst_cvar(costs: FloatArray, radius: float) -> FloatArray:
    """Classes of the highest cost have the most they may have, until all is given."""
    weights, left, most = np.zeros(len(costs)), 1.0, 1 / (len(costs) * radius)
    for value in np.unique(costs)[::-1]:
        some = costs == value
        given = min(left, most * int(some.sum()))
        weights[some] = given / some.sum()
        left -= given
    return weights


_WORST: dict[Ball, Callable[[FloatArray, float], FloatArray]] = {
    Ball.KL: _worst_kl,
    Ball.CHI_SQUARE: _worst_chi_square,
    Ball.TOTAL_VARIATION: _worst_total_variation,
    Ball.CVAR: _worst_cvar,
}
