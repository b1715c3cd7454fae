"""Extremes of the metrics over the box of class intervals, against brute force and linear programming."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linprog

from gfscore.bounds.box import atkinson_range, fp_great_range, mean_range, nrgc_range, rdi_range, theil_range, wcr_range
from gfscore.metrics import formulas

SEEDS = range(25)
INDICES = {
    "nrgc": (nrgc_range, formulas.nrgc),
    "theil": (theil_range, formulas.theil),
    "atkinson": (atkinson_range, formulas.atkinson),
}


def random_box(seed, *, alike=False):
    """A small box; with some ends at 0, some of no width, and some shared."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 7))
    lower = np.round(rng.random(k) * (rng.random(k) < 0.8), 1 if seed % 3 == 0 else 6)
    upper = np.minimum(lower + rng.random(k) * rng.integers(0, 2, k).clip(seed % 2), 1.0)
    upper[0] = max(upper[0], 0.1)
    return (np.sort(lower), np.sort(upper)) if alike else (lower, upper)


def vertices(lower, upper):
    return np.array(list(product(*zip(lower, upper, strict=True))))


def inside(lower, upper, seed, draws=300):
    return lower + np.random.default_rng(seed).random((draws, len(lower))) * (upper - lower)


def defined(index, profiles):
    return [value for value in map(index, profiles) if value is not None]


@pytest.mark.parametrize("seed", SEEDS)
def test_mean_and_wcr_are_attained_at_the_ends(seed):
    lower, upper = random_box(seed)
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(lower)))
    corners = vertices(lower, upper)
    assert mean_range(lower, upper, weights) == pytest.approx(((corners @ weights).min(), (corners @ weights).max()))
    assert wcr_range(lower, upper) == pytest.approx((corners.min(axis=1).min(), corners.min(axis=1).max()))


@pytest.mark.parametrize("seed", SEEDS)
def test_rdi_range_agrees_with_linear_programming_and_corners(seed):
    lower, upper = random_box(seed)
    k = len(lower)
    low, high = rdi_range(lower, upper)
    assert high == pytest.approx(max(map(formulas.rdi, vertices(lower, upper))))  # convex: largest at a corner
    # Smallest: minimise M - m with m <= x <= M over the box.
    sides = np.block([[np.eye(k), np.zeros((k, 1)), -np.ones((k, 1))], [-np.eye(k), np.ones((k, 1)), np.zeros((k, 1))]])
    bounds = [*zip(lower, upper, strict=True), (0, 1), (0, 1)]
    solved = linprog(np.r_[np.zeros(k), -1.0, 1.0], A_ub=sides, b_ub=np.zeros(2 * k), bounds=bounds)
    assert low == pytest.approx(solved.fun, abs=1e-9)


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 2.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_fp_great_range_agrees_with_linear_programming_and_corners(seed, weight):
    lower, upper = random_box(seed)
    k = len(lower)
    low, high = fp_great_range(lower, upper, weight)
    corners = [formulas.fp_great(corner, weight) for corner in vertices(lower, upper)]
    assert low == pytest.approx(min(corners), abs=1e-12)  # concave: smallest at a corner
    # Largest: maximise mean(x) - weight (M - m) with m <= x <= M over the box.
    sides = np.block([[np.eye(k), np.zeros((k, 1)), -np.ones((k, 1))], [-np.eye(k), np.ones((k, 1)), np.zeros((k, 1))]])
    bounds = [*zip(lower, upper, strict=True), (0, 1), (0, 1)]
    solved = linprog(np.r_[np.full(k, -1 / k), -weight, weight], A_ub=sides, b_ub=np.zeros(2 * k), bounds=bounds)
    assert high == pytest.approx(-solved.fun, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_smallest_nrgc_agrees_with_linear_fractional_programming(seed):
    lower, upper = random_box(seed)
    k, pairs = len(lower), list(combinations(range(len(lower)), 2))
    # Variables y = t x, t, and d_ij >= |y_i - y_j|; with the sum of y fixed to 1 the NRGC is sum(d) / K.
    n_variables = k + 1 + len(pairs)
    rows = []
    for p, (i, j) in enumerate(pairs):
        for sign in (1.0, -1.0):
            row = np.zeros(n_variables)
            row[i], row[j], row[k + 1 + p] = sign, -sign, -1.0
            rows.append(row)
    for i in range(k):
        for sign, end in ((-1.0, lower[i]), (1.0, upper[i])):
            row = np.zeros(n_variables)
            row[i], row[k] = sign, -sign * end
            rows.append(row)
    total = np.r_[np.ones(k), np.zeros(n_variables - k)][None]
    cost = np.r_[np.zeros(k + 1), np.full(len(pairs), 1 / k)]
    solved = linprog(cost, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=total, b_eq=[1.0])
    assert nrgc_range(lower, upper)[0] == pytest.approx(solved.fun, abs=1e-9)


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("seed", SEEDS)
def test_largest_index_is_a_corner_when_the_ends_sort_alike(seed, name):
    index_range, index = INDICES[name]
    lower, upper = random_box(seed, alike=True)
    assert index_range(lower, upper)[1] == pytest.approx(max(defined(index, vertices(lower, upper))), abs=1e-9)


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_profile_of_the_box_has_an_index_outside_its_range(seed, name):
    index_range, index = INDICES[name]
    lower, upper = random_box(seed)
    low, high = index_range(lower, upper)
    values = defined(index, [*vertices(lower, upper), *inside(lower, upper, seed)])
    assert low <= min(values)
    assert max(values) <= high


@pytest.mark.parametrize("name", ["theil", "atkinson"])
@pytest.mark.parametrize("seed", SEEDS)
def test_smallest_index_is_that_of_the_best_level(seed, name):
    index_range, index = INDICES[name]
    lower, upper = random_box(seed)
    levels = np.linspace(0, 1, 4001)[1:]
    best = min(defined(index, [np.clip(level, lower, upper) for level in levels]))
    assert index_range(lower, upper)[0] == pytest.approx(best, abs=1e-5)
    assert index_range(lower, upper)[0] <= best


@pytest.mark.parametrize("name", INDICES)
def test_a_box_of_nothing_but_zero_has_no_index_and_one_from_zero_has_all(name):
    index_range, _ = INDICES[name]
    assert index_range(np.zeros(3), np.zeros(3)) is None
    low, high = index_range(np.zeros(3), np.ones(3))
    assert low == 0
    assert high == pytest.approx({"nrgc": 2 / 3, "theil": np.log(3), "atkinson": 1.0}[name])


def test_a_point_has_ranges_without_width():
    point = np.array([0.2, 0.5, 0.9])
    assert rdi_range(point, point) == pytest.approx((0.7, 0.7))
    assert fp_great_range(point, point, 0.5) == pytest.approx((formulas.fp_great(point),) * 2)
    for index_range, index in INDICES.values():
        assert index_range(point, point) == pytest.approx((index(point),) * 2, abs=1e-9)
