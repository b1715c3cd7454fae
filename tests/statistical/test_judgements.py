"""Do verdicts err no more often than they say? Simulated populations, and falls planted in real scores."""

import numpy as np
import pytest
from scipy.stats import binomtest

import calibration_tables
from compare_tables import CASES, DROP, PAIR
from gate_tables import SCORES, SETTINGS
from gfscore.judge import adaptive_gate
from gfscore.results import Verdict
from gfscore.scores import great_scores
from judge_simulations import (
    CORRELATION,
    GAPS,
    THRESHOLD,
    compare_many,
    gate_many,
    means_above,
    means_below,
    two_versions,
)
from simulations import POPULATIONS

DELTA = 0.05
BY_NAME = {population.name: population for population in POPULATIONS}


def assert_no_more_than(level, count, runs, what=""):
    assert binomtest(int(count), runs, level, alternative="greater").pvalue > 1e-3, (what, int(count), runs)


def assert_errors_are_rare(population, k, n, size, gap, runs):
    below = gate_many(population, means_below(k, gap), n=n, runs=runs, size=size, delta=DELTA, seed=2)
    assert_no_more_than(DELTA, below.verdicts[Verdict.PASS], runs, "false PASS")
    above = gate_many(population, means_above(k, gap), n=n, runs=runs, size=size, delta=DELTA, seed=3)
    assert_no_more_than(DELTA, above.verdicts[Verdict.FAIL], runs, "false FAIL")
    return below, above


@pytest.mark.parametrize("name", ["Beta", "zero-inflated", "nearly 0/1"])
@pytest.mark.parametrize("gap", GAPS)
def test_the_adaptive_gate_errs_no_more_often_than_delta(name, gap):
    assert_errors_are_rare(BY_NAME[name], 10, 150, 16, gap, 200)


@pytest.mark.parametrize("gap", GAPS)
def test_a_hundred_classes_make_no_more_errors(gap):
    assert_errors_are_rare(BY_NAME["zero-inflated"], 100, 40, 128, gap, 60)


def test_a_wide_gap_is_decided():
    below, above = assert_errors_are_rare(BY_NAME["Beta"], 10, 300, 16, 0.1, 100)
    assert below.verdicts[Verdict.FAIL] == above.verdicts[Verdict.PASS] == 100


def test_a_gate_that_looks_without_paying_for_it_would_be_caught():
    """The simulation has the power to notice: at twenty times the level, errors show."""
    loose = gate_many(BY_NAME["zero-inflated"], means_above(10, 0.005), n=150, runs=200, size=16, delta=0.9, seed=3)
    assert binomtest(loose.verdicts[Verdict.FAIL], 200, DELTA, alternative="greater").pvalue < 1e-6


def test_many_gates_at_once_do_what_one_does():
    """The vectorised simulation and the gate itself: the same share of verdicts, the same cost."""
    population, k, n, runs = BY_NAME["Beta"], 4, 100, 60
    means = means_below(k, 0.1)
    labels = np.repeat(np.arange(k), n)
    used, verdicts = [], []
    for seed in range(runs):
        scores = population.draw(np.random.default_rng(seed), means[labels])
        drawn = adaptive_gate(
            lambda rows, scores=scores: (scores[rows], labels[rows]),
            labels,
            threshold=THRESHOLD,
            maximum=1.0,
            seed=seed,
        )
        used.append(drawn.used)
        verdicts.append(drawn.verdict)
    many = gate_many(population, means, n=n, runs=runs, seed=9)
    standard_error = np.hypot(np.std(used), np.std(many.used)) / np.sqrt(runs)
    assert abs(np.mean(used) - np.mean(many.used)) < 4 * standard_error
    assert abs(verdicts.count(Verdict.FAIL) - many.verdicts[Verdict.FAIL]) < 4 * np.sqrt(runs / 2)


@pytest.mark.long
@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize(("k", "n", "size"), SETTINGS)
@pytest.mark.parametrize("gap", GAPS)
def test_every_cell_of_the_table_holds(name, k, n, size, gap):
    assert_errors_are_rare(BY_NAME[name], k, n, size, gap, 1000)


@pytest.fixture(scope="module")
def networks(realdata):
    return calibration_tables.cifar(realdata, only=PAIR)[0]


def test_planted_versions_are_what_they_should_be(networks):
    scores, codes = great_scores(networks[PAIR[1]]).values, networks[PAIR[1]].labels
    old, new = two_versions(scores, codes, np.random.default_rng(0), fallen=5, drop=DROP)
    differences = (new - old)[codes == 5]
    assert differences.std() >= 0.25
    assert differences.mean() == pytest.approx(-DROP, abs=4 * differences.std() / np.sqrt(1000))
    correlations = [np.corrcoef(old[codes == k], new[codes == k])[0, 1] for k in range(10)]
    assert np.mean(correlations) == pytest.approx(CORRELATION, abs=0.03)


@pytest.mark.parametrize("runs", [200, pytest.param(1000, marks=pytest.mark.long)])
def test_a_planted_fall_is_found_and_no_other(networks, runs):
    network, fallen = CASES[0]
    scores, codes = great_scores(networks[network]).values, networks[network].labels
    done = compare_many(scores, codes, fallen=fallen, drop=DROP, runs=runs, seed=4)
    assert done.deviation >= 0.25
    assert binomtest(done.found, runs, 0.95, alternative="less").pvalue > 1e-3, done
    assert runs < 1000 or done.found >= 0.95 * runs
    assert_no_more_than(DELTA, done.false_alarms, runs)


@pytest.mark.parametrize("runs", [200, pytest.param(1000, marks=pytest.mark.long)])
def test_without_a_fall_none_is_named(networks, runs):
    network, fallen = CASES[1]
    scores, codes = great_scores(networks[network]).values, networks[network].labels
    done = compare_many(scores, codes, fallen=fallen, drop=0.0, runs=runs, seed=5)
    assert done.found == 0
    assert_no_more_than(DELTA, done.false_alarms, runs)
