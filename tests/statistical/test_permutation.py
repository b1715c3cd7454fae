"""Do the permutation tests keep their level when all classes are equal, and do they see when they are not?"""

import numpy as np
import pytest
from scipy.stats import binomtest

from coverage_table import SATURATED_SETTINGS, TEST_SETTINGS
from gfscore.bounds import audit_intervals, noise_floor
from simulations import EQUAL_MEANS, SATURATED, SKEWED, class_sizes, count_rejections

UNEQUAL = [name for name in EQUAL_MEANS if not name.startswith("the same")]
SAID = ("RDI", "NRGC", "either")  # what is said rests on these; the others are parts of them


def pvalue(rejections, runs, side="greater"):
    return binomtest(rejections, runs, 0.05, alternative=side).pvalue


def assert_level(found, runs):
    for name in SAID:
        assert pvalue(found[name], runs) > 1e-3, (name, found)


def test_classes_of_one_distribution_are_rarely_called_different():
    runs = 100
    found = count_rejections(
        EQUAL_MEANS["the same Beta in all classes"], class_sizes(5, (10, 60)), runs=runs, permutations=99
    )
    assert_level(found, runs)


@pytest.mark.parametrize("name", SATURATED)
def test_nor_are_many_classes_of_few_saturated_scores(name):
    runs = 150
    found = count_rejections(SATURATED[name], [20] * 100, runs=runs, permutations=99)
    assert_level(found, runs)
    if name.startswith("the same 0/1"):
        assert pvalue(found["RDI studentised"], runs) < 1e-3  # which is why it does not decide alone


@pytest.mark.parametrize("name", UNEQUAL)
def test_equal_means_with_unequal_spreads_and_sizes_are_rarely_called_different(name):
    runs = 80
    found = count_rejections(EQUAL_MEANS[name], class_sizes(10, (20, 200)), runs=runs, permutations=99)
    assert_level(found, runs)


def test_the_plain_test_is_not_one_of_equal_means():
    runs = 100
    found = count_rejections(EQUAL_MEANS["0/1 and narrow Beta"], [50] * 40, runs=runs, permutations=99)
    assert pvalue(found["RDI plain"], runs) < 1e-3  # which is why it does not decide alone
    assert_level(found, runs)


def test_where_the_tests_fail_the_interval_of_the_rdi_does_not():
    """Rare mass in a small class: the tests reject too often, which is why a headline needs the interval."""
    case, runs, proved = SKEWED[0], 60, 0
    found = count_rejections(case.draw, case.sizes, runs=runs, permutations=99)
    assert pvalue(found["either"], runs) < 1e-3
    generator, codes = np.random.default_rng(0), np.repeat(np.arange(len(case.sizes)), case.sizes)
    for seed in range(runs):
        values = case.draw(generator, codes)
        proved += audit_intervals(values, codes, len(case.sizes), maximum=1.0, seed=seed).rdi[0] > 0
    assert pvalue(proved, runs) > 1e-3


@pytest.mark.parametrize(
    ("k", "n", "low", "high", "least"),
    [(2, 60, 0.3, 0.7, 0.9), (10, 50, 0.35, 0.65, 0.9), (100, 20, 0.2, 0.8, 0.9), (300, 10, 0.1, 0.9, 0.9)],
)
def test_clear_differences_are_found(k, n, low, high, least):
    generator, codes = np.random.default_rng(1), np.repeat(np.arange(k), n)
    means = np.linspace(low, high, k)[codes]
    runs, found = 30, 0
    for seed in range(runs):
        values = generator.beta(4 * means, 4 * (1 - means))
        floor = noise_floor(values, codes, k, maximum=1.0, permutations=99, seed=seed)
        found += min(floor.rdi.p_holm, floor.nrgc.p_holm) <= 0.05
    assert found >= least * runs


@pytest.mark.long
@pytest.mark.parametrize("name", EQUAL_MEANS)
@pytest.mark.parametrize(("k", "n", "share"), TEST_SETTINGS)
def test_every_setting_of_the_table_keeps_its_level(name, k, n, share):
    runs = int(400 * share)
    found = count_rejections(EQUAL_MEANS[name], class_sizes(k, n), runs=runs, permutations=199, seed=10)
    assert_level(found, runs)


@pytest.mark.long
@pytest.mark.parametrize("name", SATURATED)
@pytest.mark.parametrize(("k", "n", "share"), SATURATED_SETTINGS)
def test_every_saturated_setting_of_the_table_keeps_its_level(name, k, n, share):
    runs = int(400 * share)
    found = count_rejections(SATURATED[name], [n] * k, runs=runs, permutations=199, seed=10)
    assert_level(found, runs)
