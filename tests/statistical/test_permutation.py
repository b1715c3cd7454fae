"""Do the permutation tests keep their level when all class means are equal?"""

import pytest
from scipy.stats import binomtest

from coverage_table import TEST_SETTINGS
from simulations import EQUAL_MEANS, count_rejections

UNEQUAL = [name for name in EQUAL_MEANS if not name.startswith("the same")]


def pvalue(rejections, runs, side="greater"):
    return binomtest(rejections, runs, 0.05, alternative=side).pvalue


@pytest.mark.parametrize("studentised", [True, False])
def test_classes_of_one_distribution_are_rarely_called_different(studentised):
    runs = 100
    found = count_rejections(
        "the same Beta in all classes", k=5, n=(10, 60), runs=runs, permutations=99, studentised=studentised
    )
    assert pvalue(found["RDI"], runs) > 1e-3
    assert pvalue(found["NRGC"], runs) > 1e-3


@pytest.mark.parametrize("name", UNEQUAL)
def test_equal_means_with_unequal_spreads_and_sizes_are_rarely_called_different(name):
    runs = 80
    found = count_rejections(name, k=10, n=(20, 200), runs=runs, permutations=99)
    assert pvalue(found["RDI"], runs) > 1e-3
    assert pvalue(found["NRGC"], runs) > 1e-3


def test_the_plain_test_is_not_one_of_equal_means():
    runs = 100
    found = count_rejections("0/1 and narrow Beta", k=40, n=(50, 50), runs=runs, permutations=99, studentised=False)
    assert pvalue(found["RDI"], runs) < 1e-3  # which is why the studentised one is the default


@pytest.mark.long
@pytest.mark.parametrize("name", EQUAL_MEANS)
@pytest.mark.parametrize(("k", "n", "share"), TEST_SETTINGS)
def test_every_setting_of_the_table_keeps_its_level(name, k, n, share):
    runs = int(400 * share)
    found = count_rejections(name, k=k, n=n, runs=runs, permutations=199, seed=10)
    assert pvalue(found["RDI"], runs) > 1e-3
    assert pvalue(found["NRGC"], runs) > 1e-3
