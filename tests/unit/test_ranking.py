"""Ranks and rank correlations against SciPy, and p-values against counting every order."""

import time
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binomtest, kendalltau, rankdata, spearmanr

from gfscore.errors import OptionError, SamplesError
from gfscore.ranking import (
    EXACT_UP_TO,
    RANDOM_ORDERS,
    agreement,
    concordance,
    kendall,
    rank_correlations,
    ranks,
    spearman,
)

few_values = st.sampled_from([-1.0, 0.0, 0.25, 2.0, 7.0])  # so that ties are common


def pairs(smallest, largest):
    return st.integers(smallest, largest).flatmap(
        lambda n: st.tuples(arrays(np.float64, n, elements=few_values), arrays(np.float64, n, elements=few_values))
    )


@given(pairs(2, 30))
def test_agree_with_scipy(data):
    x, y = data
    np.testing.assert_array_equal(ranks(x), rankdata(x))
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert spearman(x, y) is None
        assert kendall(x, y) is None
    else:
        assert spearman(x, y) == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
        assert kendall(x, y) == pytest.approx(kendalltau(x, y).statistic, abs=1e-12)


@given(arrays(np.float64, (6, 9), elements=few_values), arrays(np.float64, 9, elements=few_values))
def test_rows_are_ranked_and_correlated_each_by_itself(rows, reference):
    np.testing.assert_array_equal(ranks(rows), rankdata(rows, axis=1))
    each = [spearman(row, reference) for row in rows]
    np.testing.assert_allclose(rank_correlations(rows, reference), np.array(each, dtype=float), atol=1e-12)


def test_values_within_the_tolerance_are_tied():
    assert ranks([1.0, 1.0 + 1e-13, 2.0], tolerance=1e-12).tolist() == [1.5, 1.5, 3.0]
    assert ranks([1.0, 1.0 + 1e-13, 2.0]).tolist() == [1.0, 2.0, 3.0]


@given(pairs(3, 5))
def test_p_values_count_every_order(data):
    x, y = data
    found = agreement(x, y)
    if found.spearman is None:
        assert found.spearman_p is None
        assert found.kendall_interval is None
        return
    orders = [np.array(order) for order in permutations(y)]
    for function, value, p_value in (
        (spearman, found.spearman, found.spearman_p),
        (kendall, found.kendall, found.kendall_p),
    ):
        as_far = [abs(function(x, order)) >= abs(value) - 1e-9 for order in orders]
        assert p_value == pytest.approx(np.mean(as_far), abs=1e-12)
    assert found.p_method == "exact"


def pair_by_pair(x, y):
    """Concordant minus discordant pairs, as they are defined."""
    return sum(np.sign(x[i] - x[j]) * np.sign(y[i] - y[j]) for i in range(len(x)) for j in range(i))


@given(pairs(1, 20), st.integers(0, 5))
def test_concordance_is_its_definition(data, seed):
    x, y = data
    rows = np.random.default_rng(seed).permuted(np.tile(y, (3, 1)), axis=1)
    assert concordance(x, rows).tolist() == [pair_by_pair(x, row) for row in rows]


@pytest.mark.parametrize("n", [2, 3, 64, 65, 100])
def test_concordance_of_many_models_is_its_definition(n):
    rng = np.random.default_rng(n)
    x, y = rng.integers(0, n // 2 + 2, n), rng.permutation(n)  # ties in one
    rows = rng.permuted(np.tile(y, (4, 1)), axis=1)
    assert concordance(x, rows).tolist() == [pair_by_pair(x, row) for row in rows]
    assert concordance(y, rng.permuted(np.tile(x, (1, 1)), axis=1)).dtype == np.int64


def test_p_values_of_many_models_are_those_of_all_pairs():
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 8, 12).astype(float), rng.integers(0, 9, 12).astype(float)
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(12), (RANDOM_ORDERS, 1)), axis=1)
    i, j = np.triu_indices(12, 1)
    signs = np.sign(x[i] - x[j])
    sums = np.sign(y[orders][:, i] - y[orders][:, j]) @ signs
    as_far = (np.abs(sums) >= abs(np.sign(y[i] - y[j]) @ signs)).sum()
    assert agreement(x, y).kendall_p == (1 + as_far) / (1 + RANDOM_ORDERS)


def test_time_does_not_grow_with_all_pairs():
    """Four times the models take some five times as long; with all pairs of each random order it would be 16 times."""
    rng = np.random.default_rng(3)
    x = rng.random(800)

    def seconds(n):
        start = time.process_time()
        concordance(x[:n], rng.permuted(np.tile(x[:n], (600, 1)), axis=1))
        return time.process_time() - start

    seconds(100)
    assert min(seconds(800) for _ in range(3)) < 9 * min(seconds(200) for _ in range(3))


@pytest.mark.parametrize("n", [5, 8, EXACT_UP_TO])
def test_exact_p_values_of_kendall_are_scipys_without_ties(n):
    rng = np.random.default_rng(n)
    x, y = rng.random(n), rng.random(n)
    assert agreement(x, y).kendall_p == pytest.approx(kendalltau(x, y, method="exact").pvalue, abs=1e-12)


def test_random_orders_are_seeded_and_close_to_exact():
    rng = np.random.default_rng(4)
    x = rng.random(17)
    y = x + rng.normal(0, 0.4, 17)
    found, again, other = agreement(x, y), agreement(x, y), agreement(x, y, seed=1)
    assert found == again
    assert found.p_method == "random orders"
    exact = kendalltau(x, y, method="exact").pvalue
    error = 5 * np.sqrt(exact * (1 - exact) / RANDOM_ORDERS)  # five standard deviations of the share
    assert found.kendall_p == pytest.approx(exact, abs=error)
    assert found.kendall_p != other.kendall_p


def test_no_p_value_is_zero():
    found = agreement(np.arange(30), np.arange(30))
    assert found.spearman_p == found.kendall_p == 1 / (1 + RANDOM_ORDERS)
    assert found.spearman_interval is None  # the formula has none for a perfect order


def test_intervals_are_those_of_bonett_and_wright():
    rng = np.random.default_rng(0)
    x = rng.random(20)
    found = agreement(x, x + rng.normal(0, 0.3, 20))
    reach = 1.959963984540054 * np.sqrt((1 + found.spearman**2 / 2) / 17)
    expected = np.tanh(np.arctanh(found.spearman) + np.array([-reach, reach]))
    np.testing.assert_allclose(found.spearman_interval, expected, rtol=1e-12)
    reach = 1.959963984540054 * np.sqrt(0.437 / 16)
    expected = np.tanh(np.arctanh(found.kendall) + np.array([-reach, reach]))
    np.testing.assert_allclose(found.kendall_interval, expected, rtol=1e-12)


def test_intervals_cover():
    """Seeded draws of 20 models from a bivariate normal with a known rank correlation."""
    rng, rho, runs = np.random.default_rng(1), 0.6, 150
    truth = 6 / np.pi * np.arcsin(rho / 2)  # Spearman's of a bivariate normal
    hits = 0
    for _ in range(runs):
        x = rng.standard_normal(20)
        low, high = agreement(x, rho * x + np.sqrt(1 - rho**2) * rng.standard_normal(20), level=0.9).spearman_interval
        hits += low <= truth <= high
    assert binomtest(hits, runs, 0.9, alternative="less").pvalue > 1e-3


def test_what_cannot_be_ranked_is_refused():
    with pytest.raises(SamplesError, match=r"rank correlation of shapes \(2,\) and \(3,\)"):
        spearman([1, 2], [1, 2, 3])
    with pytest.raises(SamplesError, match="a missing number, at place 1"):
        kendall([1, float("nan")], [1, 2])
    with pytest.raises(OptionError, match="level 95 is not between 0 and 1"):
        agreement([1, 2, 3], [1, 2, 3], level=95)


def test_an_agreement_that_was_chosen_keeps_its_correlations_alone():
    found = agreement([1, 2, 3, 4, 5, 6], [1, 2, 3, 5, 4, 6])
    alone = found.without_chance()
    assert (alone.n, alone.spearman, alone.kendall) == (6, found.spearman, found.kendall)
    assert None not in (found.spearman_p, found.spearman_interval, found.kendall_p, found.kendall_interval)
    assert {alone.spearman_p, alone.spearman_interval, alone.kendall_p, alone.kendall_interval} == {None}


def test_agreement_ties_what_is_within_the_tolerance():
    nearly, tied, reference = [1.0, 1.0 + 1e-14, 2.0, 3.0], [1.0, 1.0, 2.0, 3.0], [2, 1, 3, 4]
    assert agreement(nearly, reference, tolerance=1e-12) == agreement(tied, reference)
    assert agreement(nearly, reference).spearman != agreement(tied, reference).spearman
