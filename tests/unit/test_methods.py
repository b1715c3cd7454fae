"""The interval of a class mean: each method at its edges, and against a slower form of itself."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binomtest

from gfscore.bounds import (
    Method,
    PartScores,
    class_intervals,
    clopper_pearson,
    hoeffding_intervals,
    hoeffding_radius,
    lower_bounds,
)
from gfscore.bounds.betting import CLIP, betting_lower
from gfscore.bounds.class_means import hoeffding_lower, kl_lower
from gfscore.bounds.methods import PartBounds
from gfscore.errors import EmptyIntervalError, OptionError, SamplesError

ALL = list(Method)


def class_box(parts, delta, method):
    return PartBounds.of_scores(parts, method).box(delta, len(parts.counts))


FINITE = [Method.BETTING, Method.KL, Method.HOEFFDING]


def make_parts(*classes, sizes=None):
    """Parts in exactly the given order."""
    counts = np.array([len(scores) for scores in classes])
    return PartScores(
        values=np.concatenate([np.asarray(scores, dtype=float) for scores in classes]),
        counts=counts,
        starts=np.cumsum(counts) - counts,
        rows=np.concatenate([np.arange(n) for n in counts]),  # each class numbered as if it were alone
        sizes=None if sizes is None else np.asarray(sizes),
    )


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("n", [1, 2, 7, 300])
def test_all_zero_all_maximum_and_all_equal(method, n):
    lower, upper = class_box(make_parts(np.zeros(n), np.ones(n), np.full(n, 0.3)), 0.05, method)
    assert lower[0] == 0
    assert upper[1] == 1
    assert (lower <= upper).all()
    assert lower[2] <= 0.3 <= upper[2]
    assert lower[1] == pytest.approx(1 - upper[0], abs=1e-9)  # mirrored scores have the mirrored interval
    if n == 300:
        assert upper[0] < 0.15


def test_one_sample_says_nothing_to_bernstein_and_little_to_the_others():
    lower, upper = class_box(make_parts([0.4], [0.9]), 0.05, Method.BERNSTEIN)
    assert lower.tolist() == [0, 0]
    assert upper.tolist() == [1, 1]
    for method in ALL:
        lower, upper = class_box(make_parts([0.4]), 0.05, method)
        assert upper - lower > 0.9


@pytest.mark.parametrize("method", ALL)
def test_classes_of_any_size_are_bounded_as_if_each_were_alone(method):
    rng = np.random.default_rng(0)
    classes = [rng.random(n) for n in (1, 40, 3, 500, 2)]
    together = lower_bounds(make_parts(*classes), 0.01, method)
    alone = [lower_bounds(make_parts(scores), 0.01, method)[0] for scores in classes]
    np.testing.assert_allclose(together, alone, atol=1e-9)


@pytest.mark.parametrize("method", ALL)
def test_a_stricter_level_gives_a_wider_interval(method):
    parts = make_parts(np.random.default_rng(0).beta(2, 5, 200))
    bounds = [lower_bounds(parts, alpha, method)[0] for alpha in (0.2, 0.05, 0.01, 1e-4)]
    assert bounds == sorted(bounds, reverse=True)


@pytest.mark.parametrize("seed", range(8))
def test_betting_agrees_with_the_game_played_step_by_step(seed):
    rng = np.random.default_rng(seed)
    n, alpha = int(rng.integers(1, 60)), 0.02
    scores = rng.beta(0.6, 0.9, n)

    def wins_against(m):
        log_capital, total, squares, best = 0.0, 0.5, 0.25, 0.0
        for i, x in enumerate(scores):
            bet = min(np.sqrt(2 * np.log(1 / alpha) / (n * squares / (i + 1))), CLIP / m)
            log_capital += np.log(1 + bet * (x - m))
            best = max(best, log_capital)
            total += x
            squares += (x - total / (i + 2)) ** 2
        return best >= np.log(1 / alpha)

    bound = betting_lower(make_parts(scores), alpha)[0]
    grid = np.linspace(0.0005, 0.9995, 1000)
    beaten = np.array([wins_against(m) for m in grid])
    assert (beaten == (grid <= bound)).all()  # all candidates below the bound are beaten, none above
    assert wins_against(bound - 1e-6) or bound == 0  # rounded outward: what it leaves out is really excluded


@pytest.mark.parametrize("seed", range(5))
def test_betting_without_replacement_agrees_with_the_game_played_step_by_step(seed):
    rng = np.random.default_rng(seed)
    size, n, alpha = 60, int(rng.integers(2, 60)), 0.02
    scores = rng.permutation(rng.beta(0.6, 0.9, size))[:n]

    def wins_against(m):
        log_capital, total, squares, best = 0.0, 0.5, 0.25, 0.0
        for i, x in enumerate(scores):
            expected = (size * m - scores[:i].sum()) / (size - i)
            bet = min(np.sqrt(2 * np.log(1 / alpha) / (n * squares / (i + 1))), CLIP / max(expected, 1e-300))
            log_capital += np.log(1 + bet * (x - expected))
            best = max(best, log_capital)
            total += x
            squares += (x - total / (i + 2)) ** 2
        return best >= np.log(1 / alpha)

    bound = betting_lower(make_parts(scores, sizes=[size]), alpha)[0]
    low, high = scores.sum() / size, (scores.sum() + size - n) / size
    grid = np.linspace(low, high, 201)[1:-1]
    assert ([wins_against(m) for m in grid] == (grid <= bound)).all()


def test_kl_solves_its_equation():
    mean, n, delta = 0.3, 200, 0.1
    counts = np.array([n])
    lower, upper = kl_lower(np.array([mean]), counts, delta / 2), 1 - kl_lower(np.array([1 - mean]), counts, delta / 2)

    def excess(q):
        return n * (mean * np.log(mean / q) + (1 - mean) * np.log((1 - mean) / (1 - q))) - np.log(2 / delta)

    assert lower[0] == pytest.approx(brentq(excess, 1e-9, mean), abs=1e-8)
    assert upper[0] == pytest.approx(brentq(excess, mean, 1 - 1e-9), abs=1e-8)
    assert excess(lower[0]) >= 0  # outward
    assert excess(upper[0]) >= 0


def test_kl_is_never_wider_than_hoeffding():
    means, counts = np.linspace(0, 1, 21), np.full(21, 30)
    for scores in (means, 1 - means):
        assert (kl_lower(scores, counts, 0.001) >= hoeffding_lower(scores, counts, 0.001) - 1e-9).all()


@pytest.mark.parametrize("method", ALL)
def test_the_intervals_of_the_classes_are_the_box_in_score_units(method):
    rng = np.random.default_rng(1)
    values, codes = 2.0 * rng.random(60), np.repeat([0, 1, 2], [10, 20, 30])
    lower, upper = class_intervals(values, codes, 3, 0.05, method=method, maximum=2.0)
    box = class_box(PartScores.of(values, codes, 3, maximum=2.0), 0.05, method)
    np.testing.assert_allclose(lower, 2 * box[0], atol=1e-9)
    np.testing.assert_allclose(upper, 2 * box[1], atol=1e-9)


def test_published_means_and_counts_have_the_interval_of_the_samples():
    values, codes = 2.0 * np.random.default_rng(1).random(60), np.repeat([0, 1, 2], [10, 20, 30])
    means = [values[codes == k].mean() for k in range(3)]
    ends = hoeffding_intervals(means, [10, 20, 30], 0.05, maximum=2.0)
    np.testing.assert_allclose(ends, class_intervals(values, codes, 3, 0.05, method="hoeffding", maximum=2.0))


def test_bernstein_is_its_radius_below_the_mean():
    scores = np.random.default_rng(1).random(30)
    expected = scores.mean() - np.sqrt(2 * scores.var(ddof=1) * np.log(2 / 0.05) / 30) - 7 * np.log(2 / 0.05) / (3 * 29)
    assert lower_bounds(make_parts(scores), 0.05, Method.BERNSTEIN)[0] == pytest.approx(max(expected, 0))
    assert expected > 0


def test_hoeffding_interval_is_its_radius_around_the_mean():
    lower, upper = hoeffding_intervals([0.6, 0.7], [500, 100], 0.05)
    radius = hoeffding_radius([500, 100], 0.05, n_classes=2)
    np.testing.assert_allclose((upper - lower) / 2, radius)


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 20), (20, 20), (3, 50), (499, 1000)])
def test_clopper_pearson_agrees_with_scipy(successes, n):
    expected = binomtest(successes, n).proportion_ci(0.9, method="exact")
    lower, upper = clopper_pearson([successes], [n], 0.1)
    np.testing.assert_allclose([lower[0], upper[0]], [expected.low, expected.high], atol=1e-9)


@pytest.mark.parametrize("method", FINITE)
def test_a_fixed_set_that_was_scored_whole_is_known(method):
    rng = np.random.default_rng(0)
    classes = [*(rng.random(n) for n in (1, 5, 40)), np.ones(7), np.zeros(7)]
    parts = make_parts(*classes, sizes=[1, 5, 40, 7, 7])
    lower, upper = class_box(parts, 0.05, method)
    np.testing.assert_allclose(lower, parts.means, atol=1e-12)
    np.testing.assert_allclose(upper, parts.means, atol=1e-12)


@pytest.mark.parametrize("method", FINITE)
def test_a_fixed_set_is_bounded_at_least_by_what_is_known_of_it(method):
    scores = np.random.default_rng(0).random(50)
    widths = []
    for size in (10**7, 1000, 100, 55, 51):
        lower, upper = class_box(make_parts(scores, sizes=[size]), 0.05, method)
        assert lower[0] >= scores.sum() / size - 1e-9
        assert upper[0] <= (scores.sum() + size - 50) / size + 1e-9
        widths.append(upper[0] - lower[0])
    assert (np.diff(widths) <= 1e-9).all()  # KL gains nothing until half of the set was scored
    population = class_box(make_parts(scores), 0.05, method)
    assert widths[0] == pytest.approx(population[1][0] - population[0][0], rel=1e-3)


def test_a_sorted_order_can_leave_nothing_and_that_is_an_error():
    scores = np.sort(np.random.default_rng(0).random(2000))
    # The first half shows a mean of a quarter beyond doubt; then the bets made on that lose nothing that counts.
    with pytest.raises(EmptyIntervalError, match="index 0 is empty"):
        class_box(make_parts(scores), 0.05, Method.BETTING)


@pytest.mark.parametrize("order", [np.arange(2000), np.arange(2000)[::-1]])
def test_sorted_scores_are_shuffled_at_the_door(order):
    scores = np.sort(np.random.default_rng(0).random(2000))[order]
    lower, upper = class_intervals(scores, np.zeros(2000, dtype=int), 1, 0.05, maximum=1.0)
    assert lower[0] < 0.5 < upper[0]
    assert upper[0] - lower[0] < 0.06


def test_parts_without_samples_are_left_out():
    parts = PartScores.of([0.1, 0.2, 0.3], [4, 1, 4], 6, maximum=1.0)
    np.testing.assert_array_equal(parts.counts, [1, 2])
    np.testing.assert_allclose(parts.means, [0.2, 0.2])


@pytest.mark.parametrize(
    ("values", "codes", "options", "message"),
    [
        ([0.1, 1.2], [0, 0], {}, "score 1.2 in row 1"),
        ([0.1, np.nan], [0, 0], {}, "score nan in row 1"),
        ([-0.1, 0.2], [0, 0], {}, "score -0.1 in row 0"),
        ([0.1], [0, 0], {}, "one per sample"),
        ([], [], {}, "one per sample"),
        ([0.1], [2], {}, "from 0 to 1"),
        ([0.1], [0.0], {}, "whole numbers"),
        ([0.1, 0.2], [0, 0], {"sizes": [1, 1]}, "part 0 has 2 samples but a size of 1"),
        ([0.1, 0.2], [0, 0], {"sizes": [5]}, "one whole number for each of 2"),
    ],
)
def test_unusable_scores_are_refused(values, codes, options, message):
    with pytest.raises((SamplesError, OptionError), match=message):
        PartScores.of(np.array(values), np.array(codes), 2, maximum=1.0, **options)


def test_options_outside_their_domain_are_refused():
    parts = make_parts([0.1, 0.2], sizes=[5])
    with pytest.raises(OptionError, match="betting for a fixed set"):
        class_box(parts, 0.05, Method.BERNSTEIN)
    with pytest.raises(OptionError, match="not between 0 and 1"):
        class_box(parts, 0.0, Method.KL)
    with pytest.raises(OptionError, match="betting, kl, bernstein, hoeffding"):
        Method.named("normal")
    with pytest.raises(SamplesError, match="no more successes"):
        clopper_pearson(3, 2, 0.05)
