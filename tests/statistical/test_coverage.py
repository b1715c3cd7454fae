"""Do the intervals hold? Simulated populations whose truth is known; misses judged by a binomial test.

A test fails when so many misses would come up less than once in a thousand runs of intervals that hold.
"""

import numpy as np
import pytest
from scipy.stats import binomtest

from coverage_table import SETTINGS
from gfscore.bounds import Method, PartScores, audit_intervals, clopper_pearson, lower_bounds, simultaneous
from gfscore.bounds.averages import mean_interval, nrgc_interval
from gfscore.bounds.methods import PartBounds
from gfscore.metrics.formulas import nrgc
from simulations import ORDER_SEED, ORDERS, POPULATIONS, count_misses

FINITE = [Method.BETTING, Method.KL, Method.HOEFFDING]
by_name = pytest.mark.parametrize("population", POPULATIONS, ids=lambda population: population.name)


def assert_no_more_than(alpha, misses, runs, what=""):
    assert binomtest(int(misses), runs, alpha, alternative="greater").pvalue > 1e-3, (what, int(misses), runs)


def draw_rows(population, mean, rows, n, seed):
    return population.draw(np.random.default_rng(seed), np.full(rows * n, mean)).reshape(rows, n)


def as_parts(rows, sizes=None):
    """Each row a part of its own, in the order drawn: an independent run of the bound."""
    count, n = rows.shape
    return PartScores(
        values=rows.ravel(),
        counts=np.full(count, n),
        starts=np.arange(count) * n,
        rows=np.tile(np.arange(n), count),
        sizes=None if sizes is None else np.full(count, sizes),
    )


@by_name
@pytest.mark.parametrize("method", list(Method))
@pytest.mark.parametrize("n", [5, 50, 400])
def test_one_sided_bounds_fail_no_more_often_than_their_level(method, population, n):
    alpha, runs = 0.1, 60_000 // max(n, 50)
    for seed, mean in enumerate((population.lowest, population.highest)):
        parts = as_parts(draw_rows(population, mean, runs, n, seed))
        too_high = lower_bounds(parts, alpha, method) > mean + 1e-9
        too_low = 1 - lower_bounds(parts.mirror(), alpha, method) < mean - 1e-9
        assert_no_more_than(alpha, too_high.sum(), runs, "lower")
        assert_no_more_than(alpha, too_low.sum(), runs, "upper")


@by_name
@pytest.mark.parametrize("method", FINITE)
@pytest.mark.parametrize(("n", "size"), [(5, 20), (40, 50), (25, 100)])
def test_one_sided_bounds_of_a_fixed_set_fail_no_more_often_than_their_level(method, population, n, size):
    alpha, runs = 0.1, 2000
    rng = np.random.default_rng(3)
    whole = population.draw(rng, np.full(size, (population.lowest + population.highest) / 2))
    drawn = rng.permuted(np.tile(whole, (runs, 1)), axis=1)[:, :n]
    parts = as_parts(drawn, size)
    assert_no_more_than(alpha, (lower_bounds(parts, alpha, method) > whole.mean() + 1e-9).sum(), runs, "lower")
    upper = 1 - lower_bounds(parts.mirror(), alpha, method)
    assert_no_more_than(alpha, (upper < whole.mean() - 1e-9).sum(), runs, "upper")


def ever_missed(population, mean, runs, looks, method, alpha, seed):
    """Which of some streams of one class had, at one of the looks at least, a bound that was wrong; one side each."""
    rows = draw_rows(population, mean, runs, looks[-1], seed)
    missed = np.zeros((2, runs), dtype=bool)
    for n in looks:
        parts = as_parts(rows[:, :n])
        missed[0] |= lower_bounds(parts, alpha, method) > mean + 1e-9
        missed[1] |= 1 - lower_bounds(parts.mirror(), alpha, method) < mean - 1e-9
    return missed


@by_name
def test_looking_all_the_time_makes_the_mixture_fail_no_more_often(population):
    alpha, runs = 0.1, 120
    looks = [*range(1, 12), *range(12, 100, 8)]
    for missed in ever_missed(population, population.lowest, runs, looks, Method.MIXTURE, alpha, 0):
        assert_no_more_than(alpha, missed.sum(), runs)


def test_looking_all_the_time_does_make_other_intervals_fail():
    alpha, runs = 0.1, 150  # what the mixture is for: otherwise the test above could not fail
    coins = next(population for population in POPULATIONS if population.name == "nearly 0/1")
    missed = ever_missed(coins, 0.5, runs, range(1, 300), Method.KL, alpha, 0)
    assert missed.any(axis=0).mean() > 2 * alpha


@pytest.mark.long
@by_name
def test_long_streams_that_are_looked_at_all_the_time_are_covered(population):
    alpha, runs = 0.05, 400
    looks = np.unique(np.geomspace(1, 5000, 200).round().astype(int))
    for seed, mean in enumerate((population.lowest, population.highest)):
        for missed in ever_missed(population, mean, runs, looks, Method.MIXTURE, alpha, 20 + seed):
            assert_no_more_than(alpha, missed.sum(), runs)


COINS = np.array([98, 95, 91, 87, *range(83, 23, -5), 24, 20, 16, 12, 9, 6]) / 100  # each class worse than the last
N_COINS = 4000  # of each: enough to tell it from the next


def sorted_streams_missed(runs, looks, delta, seed):
    """Which of some streams of coins, sorted by class, had a look at which an interval of a class was wrong.

    Looked is at those moments only at which the newest class, were it the only one, would have a bound that fails at
    the whole level of the worst class: whoever looks always sees no less.
    """
    k, missed = len(COINS), np.zeros(runs, dtype=bool)
    coins = (np.random.default_rng(seed).random((runs, k, N_COINS)) < COINS[:, None]).astype(float)
    level = simultaneous.WORST_SHARE * delta
    for n in looks:
        newest = lower_bounds(as_parts(coins[:, :, :n].reshape(runs * k, n)), level, Method.MIXTURE)
        for run, code in np.argwhere(newest.reshape(runs, k) > COINS):
            if code == 0:
                continue  # nothing to compare it with yet
            values = np.concatenate((coins[run, :code].ravel(), coins[run, code, :n]))
            codes = np.concatenate((np.repeat(np.arange(code), N_COINS), np.full(n, code)))
            found = audit_intervals(values, codes, k, maximum=1.0, delta=delta, method=Method.MIXTURE)
            truth = COINS[: code + 1]
            missed[run] |= bool((found.lower > truth).any() or (found.upper < truth).any())
    return missed


def spend_on_the_worst_class(monkeypatch, share):
    """Another split of delta: the promise is about any, and with this one a failure of it shows with few classes."""
    others = {"BOX_SHARE": 0.7, "DIRECT_SHARE": 0.2, "GAP_SHARE": 0.05, "SET_SHARE": 0.05}
    for name, value in {"WORST_SHARE": share, **{name: (1 - share) * of for name, of in others.items()}}.items():
        monkeypatch.setattr(simultaneous, name, value)


def test_classes_that_come_one_after_the_other_are_covered_at_every_look(monkeypatch):
    spend_on_the_worst_class(monkeypatch, 0.9)
    delta, runs, looks = 0.2, 40, [2, 4, 7, 12, 25, 60, 150, 400, 1000, 4000]
    assert_no_more_than(delta, sorted_streams_missed(runs, looks, delta, 0).sum(), runs)


@pytest.mark.long
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_long_streams_sorted_by_class_are_covered_at_every_look(monkeypatch, share):
    spend_on_the_worst_class(monkeypatch, share)
    delta, runs = 0.2, 200
    looks = np.unique(np.geomspace(1, N_COINS, 30).round().astype(int))
    assert_no_more_than(delta, sorted_streams_missed(runs, looks, delta, 1).sum(), runs)


@by_name
@pytest.mark.parametrize("finite", [False, True])
def test_the_direct_bounds_fail_no_more_often_than_their_level(population, finite):
    alpha, runs, k = 0.1, 150, 6
    rng = np.random.default_rng(8)
    counts = np.array([4, 6, 10, 16, 25, 40])
    sizes = counts + 10 if finite else counts
    means, everyone = population.means(k), np.repeat(np.arange(k), sizes)
    misses = np.zeros(4, dtype=int)
    for run in range(runs):
        whole = np.split(population.draw(rng, means[everyone]), np.cumsum(sizes)[:-1])
        truth = np.array([scores.mean() for scores in whole]) if finite else means
        drawn = [rng.permutation(scores)[:n] for scores, n in zip(whole, counts, strict=True)]
        codes = np.repeat(np.arange(k), counts)
        parts = PartScores.of(
            np.concatenate(drawn), codes, k, maximum=1.0, seed=ORDER_SEED + run, sizes=sizes if finite else None
        )
        found = PartBounds.of_scores(parts, Method.BETTING)
        for i, (value, ends) in enumerate(
            [
                (nrgc(truth), nrgc_interval(found, alpha)),
                (truth.mean(), mean_interval(found, np.full(k, 1 / k), alpha)),
            ]
        ):
            misses[2 * i] += ends[0] > value + 1e-9
            misses[2 * i + 1] += ends[1] < value - 1e-9
    for count in misses:
        assert_no_more_than(alpha, count, runs)


def test_many_equal_classes_of_few_samples_have_no_nrgc_to_be_sure_of():
    alpha, runs, k, n = 0.1, 20, 300, 6  # the estimated NRGC is about 0.22; classes ranked by their own luck show it
    rng, codes = np.random.default_rng(9), np.repeat(np.arange(k), n)
    parts = [PartScores.of(rng.integers(0, 2, k * n), codes, k, maximum=1.0, seed=run) for run in range(runs)]
    lower = [nrgc_interval(PartBounds.of_scores(one, Method.BETTING), alpha)[0] for one in parts]
    assert_no_more_than(alpha, np.count_nonzero(lower), runs)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5])
def test_clopper_pearson_covers(share):
    delta, n, runs = 0.1, 80, 3000
    found = np.array([np.squeeze(clopper_pearson(s, n, delta)) for s in range(n + 1)])
    drawn = found[np.random.default_rng(0).binomial(n, share, runs)]
    assert_no_more_than(delta, ((drawn[:, 0] > share) | (drawn[:, 1] < share)).sum(), runs)


@by_name
@pytest.mark.parametrize(("k", "n", "runs"), [(2, (50, 50), 40), (10, (5, 200), 40), (1000, (5, 20), 3)])
def test_all_intervals_of_an_audit_hold_together(population, k, n, runs):
    delta = 0.1
    for name, misses in count_misses(population, k=k, n=n, method=Method.BETTING, runs=runs, delta=delta).items():
        assert_no_more_than(delta, misses, runs, name)


@pytest.mark.parametrize("method", [method for method in Method if method is not Method.BETTING])
def test_all_intervals_of_an_audit_hold_together_for_every_method(method):
    delta, runs = 0.1, 40
    for population in POPULATIONS:
        misses = count_misses(population, k=5, n=(5, 100), method=method, runs=runs, delta=delta)
        assert_no_more_than(delta, misses["any"], runs, population.name)


@by_name
@pytest.mark.parametrize("order", ["by score", "by class"])
@pytest.mark.parametrize("method", [Method.BETTING, Method.BLOCKS])
def test_sorted_data_are_covered_as_well(population, method, order):
    delta, runs = 0.1, 40
    misses = count_misses(population, k=5, n=(20, 100), method=method, runs=runs, delta=delta, order=order, seed=1)
    assert_no_more_than(delta, misses["any"], runs)


@by_name
def test_intervals_of_a_fixed_set_hold_together(population):
    delta, runs = 0.1, 40
    misses = count_misses(
        population, k=10, n=(5, 60), method=Method.BETTING, runs=runs, delta=delta, finite=True, seed=2
    )
    for name, count in misses.items():
        assert_no_more_than(delta, count, runs, name)


@pytest.mark.long
@by_name
@pytest.mark.parametrize("method", list(Method))
@pytest.mark.parametrize(("k", "n", "share"), SETTINGS)
def test_every_setting_of_the_table_holds(population, method, k, n, share):
    delta, runs = 0.05, int(400 * share)
    misses = count_misses(population, k=k, n=n, method=method, runs=runs, delta=delta, seed=10)
    for name, count in misses.items():
        assert_no_more_than(delta, count, runs, name)


@pytest.mark.long
@by_name
@pytest.mark.parametrize("method", FINITE)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("finite", [False, True])
def test_every_order_and_target_holds(population, method, order, finite):
    delta, runs = 0.05, 400
    misses = count_misses(
        population, k=10, n=(20, 100), method=method, runs=runs, delta=delta, order=order, finite=finite, seed=11
    )
    assert_no_more_than(delta, misses["any"], runs)
