"""Averages over classes by their spread: the formula, what it may never exceed, and the rounds that are bet on."""

import math
from itertools import permutations

import numpy as np
import pytest

from gfscore.bounds import Method, PartScores
from gfscore.bounds.averages import Spread, deal_rounds, mean_interval, nrgc_interval, rank_weights
from gfscore.bounds.class_means import sum_radius
from gfscore.bounds.methods import PartBounds


def bounds(counts, seed=0, low=0.0, high=1.0):
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(counts)), counts)
    values = rng.uniform(low, high, len(codes))
    return PartBounds.of_scores(PartScores.of(values, codes, len(counts), maximum=1.0), Method.BETTING)


def radius_by_definition(found, weights, alpha):
    """The theorem, class by class, with the classes' own samples."""
    parts = np.split(found.scores.values, found.scores.starts[1:])
    noise = doubt = largest = 0.0
    for a, x in zip(weights, parts, strict=True):
        n = len(x)
        noise += a * a * (np.var(x, ddof=1) if n > 1 else 0.25) / n
        doubt = max(doubt, a * a / (n * (n - 1)) if n > 1 else 0.0)
        largest = max(largest, abs(a) / n)
    level, doubted = math.log(1 / (0.9 * alpha)), math.log(1 / (0.1 * alpha))
    by_variance = (
        math.sqrt(2 * level) * (math.sqrt(noise + doubt * doubted / 2) + math.sqrt(doubt * doubted / 2))
        + largest * level / 3
    )
    by_range = math.sqrt(level / 2 * sum(a * a / len(x) for a, x in zip(weights, parts, strict=True)))
    return min(by_range, by_variance)


@pytest.mark.parametrize("counts", [(400, 300, 500), (1, 40, 7), (1, 1), (60,) * 50])
@pytest.mark.parametrize("alpha", [0.1, 0.001])
def test_the_radius_is_that_of_the_theorem(counts, alpha):
    found = bounds(counts, low=0.4, high=0.6)
    weights = np.random.default_rng(1).dirichlet(np.ones(len(counts)))
    expected = radius_by_definition(found, weights, alpha)
    assert Spread.of(found).radius(weights, alpha) == pytest.approx(expected, rel=1e-12)


def test_ranked_weights_have_the_radius_of_the_least_favourable_ranking():
    found = bounds((5, 60, 200, 9), seed=2)
    weights = rank_weights(4) - 0.05
    of_all = Spread.of(found)
    every = [of_all.radius(np.array(order), 0.01) for order in permutations(weights.tolist())]
    worst = of_all.worst_dealt().ranked_radii(weights, 0.01)
    assert min(worst) >= max(every) - 1e-15


def test_no_radius_is_wider_than_hoeffdings_by_more_than_its_share():
    coins = np.random.default_rng(0).integers(0, 2, 200 * 40).astype(float)  # as much spread as there can be
    parts = PartScores.of(coins, np.repeat(np.arange(200), 40), 200, maximum=1.0)
    found, weights = PartBounds.of_scores(parts, Method.BETTING), np.full(200, 1 / 200)
    before = sum_radius(weights**2, 1.0 / parts.counts, 0.001)
    assert Spread.of(found).radius(weights, 0.001) <= 1.01 * before


def test_a_fixed_set_has_hoeffdings_radius():
    values, codes = np.random.default_rng(0).random(60), np.repeat([0, 1, 2], 20)
    parts = PartScores.of(values, codes, 3, maximum=1.0, sizes=[30, 40, 20])
    found, weights = PartBounds.of_scores(parts, Method.BETTING), np.full(3, 1 / 3)
    assert Spread.of(found).noise is None
    low, high = mean_interval(found, weights, 0.01)
    assert high - low < 2 * sum_radius(weights**2, 1.0 / parts.counts, 0.01)


@pytest.mark.parametrize("counts", [(3, 3), (4, 9, 30), (1, 50)])
def test_every_round_has_a_sample_of_every_class_and_their_mean_is_kept(counts):
    parts = bounds(counts).scores
    weights = np.arange(1.0, len(counts) + 1)
    weights /= weights.sum()
    rounds = deal_rounds(parts, weights)
    assert rounds.counts.tolist() == [min(counts)]
    expected = []
    for r in range(min(counts)):
        samples = np.split(parts.values, parts.starts[1:])
        rows = [[x for i, x in enumerate(of) if i * min(counts) // len(of) == r] for of in samples]
        expected.append(sum(a * np.mean(row) for a, row in zip(weights, rows, strict=True)))
    np.testing.assert_allclose(rounds.values, expected, rtol=1e-12)


def test_class_mean_and_nrgc_are_narrower_where_scores_vary_little():
    rng = np.random.default_rng(0)
    widths = {}
    for k, n in ((10, 1000), (100, 100), (1000, 50)):
        codes = np.repeat(np.arange(k), n)
        values = rng.beta(12, 3, k)[codes] * rng.beta(8, 8, k * n)
        found = PartBounds.of_scores(PartScores.of(values, codes, k, maximum=1.0), Method.BETTING)
        low, high = mean_interval(found, np.full(k, 1 / k), 0.001)
        widths[k] = (high - low) / (2 * sum_radius(np.full(k, k**-2.0), 1.0 / found.counts, 0.001))
        assert nrgc_interval(found, 0.001)[0] < nrgc_interval(found, 0.001)[1]
    assert max(widths.values()) < 0.45
