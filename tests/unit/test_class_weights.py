"""Worst weights of classes, against convex solvers and definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from gfscore.errors import OptionError
from gfscore.training import Ball, worst_weights

costs = st.lists(st.floats(-3, 3), min_size=2, max_size=12).map(lambda each: np.round(np.array(each), 3))


def by_slsqp(cost, divergence, radius):
    """The largest mean cost within a ball, by a solver that knows nothing of closed forms."""
    n = len(cost)
    found = minimize(
        lambda p: -cost @ p,
        np.full(n, 1 / n) + 1e-4 * (cost - cost.mean()) / max(np.ptp(cost), 1e-9) / n,
        jac=lambda _p: -cost,
        bounds=[(1e-9, 1)] * n,
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - 1},
            {"type": "ineq", "fun": lambda p: radius - divergence(p)},
        ],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )
    return found.x


@pytest.mark.parametrize("seed", range(8))
def test_kl_weights_are_those_of_a_convex_solver(seed):
    rng = np.random.default_rng(seed)
    cost, radius = rng.normal(size=10), rng.uniform(0.05, 0.6)
    found = worst_weights(cost, "kl", radius)
    divergence = np.log(0.1 / found).mean()
    assert divergence == pytest.approx(radius, rel=1e-9)
    expected = by_slsqp(cost, lambda p: np.log(0.1 / p).mean(), radius)
    assert found == pytest.approx(expected, abs=2e-4)
    assert cost @ found >= cost @ expected - 1e-8  # and nothing within the ball costs more


@pytest.mark.parametrize("seed", range(6))
def test_chi_square_weights_are_those_of_a_convex_solver(seed):
    rng = np.random.default_rng(seed)
    cost, radius = rng.normal(size=8), (0.1, 0.5, 1.0, 2.0, 4.0, 20.0)[seed]
    found = worst_weights(cost, "chi-square", radius)
    assert (8 * (found - 1 / 8) ** 2).sum() <= radius + 1e-9
    expected = by_slsqp(cost, lambda p: (8 * (p - 1 / 8) ** 2).sum(), radius)
    assert cost @ found == pytest.approx(cost @ expected, abs=1e-5)
    assert cost @ found >= cost @ expected - 1e-7


def test_chi_square_weights_are_standardised_costs_where_none_is_clipped():
    cost = np.array([0.3, 0.1, -0.2, 0.5])
    z = (cost - cost.mean()) / cost.std()
    assert worst_weights(cost, "chi-square", 0.2) == pytest.approx((1 + np.sqrt(0.2) * z) / 4)
    objective = cost @ worst_weights(cost, "chi-square", 0.2)  # what is minimised: mean plus a multiple of the spread
    assert objective == pytest.approx(cost.mean() + np.sqrt(0.2) * cost.std())


@pytest.mark.parametrize("ball", ["total-variation", "cvar"])
@given(cost=costs, radius=st.floats(0.05, 0.95))
@settings(max_examples=40, deadline=None)
def test_linear_balls_are_those_of_a_linear_programme(ball, cost, radius):
    n = len(cost)
    found = worst_weights(cost, ball, radius)
    assert found.sum() == pytest.approx(1)
    assert found.min() >= -1e-12
    if ball == "cvar":
        solved = linprog(-cost, A_eq=np.ones((1, n)), b_eq=[1], bounds=[(0, 1 / (n * radius))] * n)
    else:  # p - u = up - down, with up + down at most twice the radius
        rows = np.concatenate([np.zeros(n), np.full(2 * n, 0.5)])[None]
        equal = np.block([[np.eye(n), -np.eye(n), np.eye(n)], [np.ones((1, n)), np.zeros((1, 2 * n))]])
        solved = linprog(
            np.concatenate([-cost, np.zeros(2 * n)]), A_ub=rows, b_ub=[radius],
            A_eq=equal, b_eq=np.append(np.full(n, 1 / n), 1), bounds=[(0, None)] * (3 * n),
        )  # fmt: skip
    assert cost @ found == pytest.approx(-solved.fun, abs=1e-7)


@given(cost=costs, step=st.floats(0, 3))
def test_exponentiated_weights_are_their_definition(cost, step):
    raised = np.exp(step * cost)
    assert worst_weights(cost, Ball.EXPONENTIATED, step) == pytest.approx(raised / raised.sum())


@pytest.mark.parametrize("ball", [each for each in Ball if each is not Ball.EXPONENTIATED])
@given(cost=costs)
@settings(max_examples=30, deadline=None)
def test_weights_follow_costs_and_ignore_their_unit(ball, cost):
    found = worst_weights(cost, ball, 0.4)
    assert found.sum() == pytest.approx(1)
    assert cost @ found >= cost.mean() - 1e-9
    if np.ptp(cost) > 0.01:
        assert worst_weights(3 * cost + 7, ball, 0.4) == pytest.approx(found, abs=1e-6)


def test_bad_costs_and_radii_are_refused():
    with pytest.raises(OptionError, match="the costs of classes must be a list of finite numbers"):
        worst_weights([1.0, np.nan], "kl", 0.5)
    with pytest.raises(OptionError, match="radius 0 is not one of a cvar ball"):
        worst_weights([1.0, 2.0], "cvar", 0)
    assert worst_weights([1.0, 2.0], "kl", 0).tolist() == [0.5, 0.5]
    assert worst_weights([2.0, 2.0], "kl", 0.5).tolist() == [0.5, 0.5]
