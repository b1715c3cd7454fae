"""Shares of unbalanced classes of which equally many were tried: against definitions, exact probabilities and laws."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom, binomtest

from gfscore.bounds import share_intervals, stratified_intervals
from gfscore.bounds.shares import stratified_lower
from gfscore.errors import SamplesError


def samples(times, tried):
    """Samples of parts of which so many were tried, and so many of those count."""
    counted = np.concatenate([np.arange(n) < k for k, n in zip(times, tried, strict=True)])
    return counted, np.repeat(np.arange(len(tried)), tried)


def whole(times, tried, totals, delta=0.05):
    share, lower, upper = (ends[-1] for ends in stratified_intervals(*samples(times, tried), totals, delta=delta))
    return share, lower, upper


def test_the_whole_weighs_parts_by_their_totals_and_not_by_what_was_tried():
    """950 samples, none refuted, and 50, all refuted: trying 50 of each says 5 %, as trying all does."""
    share, lower, upper = whole([0, 50], [50, 50], [950, 50])
    assert share == 0.05 == whole([0, 50], [950, 50], [950, 50])[0]
    assert lower < 0.05 < upper < 0.2


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 200), st.floats(0, 1)), min_size=1, max_size=6))
def test_ends_enclose_the_estimate_and_mirror_each_other(parts):
    tried = [n for n, _, _ in parts]
    totals = [n + more for n, more, _ in parts]
    times = [round(n * share) for n, _, share in parts]
    estimate, lower, upper = stratified_intervals(*samples(times, tried), totals, delta=0.1)
    expected = sum(total * k / n for total, k, n in zip(totals, times, tried, strict=True)) / sum(totals)
    assert estimate[-1] == pytest.approx(expected, abs=1e-12)
    assert ((lower >= 0) & (lower <= estimate) & (estimate <= upper) & (upper <= 1)).all()
    others = [n - k for k, n in zip(times, tried, strict=True)]
    _, below, above = stratified_intervals(*samples(others, tried), totals, delta=0.1)
    np.testing.assert_allclose(above, 1 - lower, atol=1e-9)
    np.testing.assert_allclose(below, 1 - upper, atol=1e-9)


def test_parts_have_the_intervals_of_clopper_and_pearson():
    times, tried = [3, 10, 0], [10, 10, 4]
    _, lower, upper = stratified_intervals(*samples(times, tried), [100, 10, 50], delta=0.1)
    for part, (k, n) in enumerate(zip(times, tried, strict=True)):
        exact = binomtest(k, n).proportion_ci(1 - 0.1 / 4, method="exact")  # four intervals share the level
        assert (lower[part], upper[part]) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_what_was_tried_in_proportion_has_the_interval_of_clopper_and_pearson():
    times, tried = [1, 7, 3], [4, 20, 8]
    found = stratified_intervals(*samples(times, tried), [40, 200, 80], delta=0.05)
    np.testing.assert_array_equal(found, share_intervals(*samples(times, tried), 3, delta=0.05))


@pytest.mark.parametrize("share", [0.0, 0.03, 0.4, 0.9, 1.0])
@pytest.mark.parametrize("ratio", [1.0, 1.3, 4.0])
def test_the_lower_bound_is_where_the_better_exponent_reaches_the_level(share, ratio):
    n, alpha = 60, 0.02

    def kl(p, q):
        return sum(a * np.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)

    def exponent(theta):
        counting = kl(share / ratio, theta / ratio)
        others = kl((1 - share) / ratio, (1 - theta) / ratio)
        return n * max(counting, others) - np.log(1 / alpha)

    expected = 0.0 if share == 0 else brentq(exponent, 1e-15, share) if exponent(1e-15) > 0 else 0.0
    assert stratified_lower(share, n, ratio, alpha) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(
    ("tried", "totals"), [((8, 4), (8, 40)), ((5, 5), (95, 5)), ((12, 2), (13, 2)), ((3, 9), (900, 9))]
)
def test_the_promise_holds_exactly(tried, totals):
    """Every outcome of two parts, with its probability for many true shares: no simulation, no tolerance."""
    delta, weights = 0.2, np.array(totals) / sum(totals)
    outcomes = list(itertools.product(*(range(n + 1) for n in tried)))
    found = [stratified_intervals(*samples(times, tried), totals, delta=delta)[1:] for times in outcomes]
    lower, upper = (np.array(ends) for ends in zip(*found, strict=True))  # (outcomes, 3)
    for shares in itertools.product(np.linspace(0, 1, 21), repeat=2):
        truth = np.append(shares, np.dot(weights, shares))
        missed = ((lower > truth + 1e-12) | (upper < truth - 1e-12)).any(axis=1)
        chances = np.outer(*(binom.pmf(np.arange(n + 1), n, p) for n, p in zip(tried, shares, strict=True))).ravel()
        assert chances[missed].sum() <= delta, shares


@pytest.mark.parametrize(
    ("codes", "totals"), [([0, 0], [5, 5]), ([0, 1, 1], [5, 1]), ([0, 1], [5, 0]), ([0, 2], [5, 5])]
)
def test_a_part_of_which_nothing_was_tried_is_no_share_of_0(codes, totals):
    with pytest.raises(SamplesError, match="at least one must be looked at"):
        stratified_intervals(np.ones(len(codes), dtype=bool), np.array(codes), totals, delta=0.05)


def test_a_class_without_samples_has_no_share():
    share, _, _ = stratified_intervals(np.array([True, False]), np.array([0, 2]), [3, 0, 1], delta=0.05)
    np.testing.assert_allclose(share, [1, 0, 0.75])
