"""Do the worst set, the upper end of the RDI and the averages hold at their own levels, where it is hardest?"""

import numpy as np
import pytest
from test_coverage import assert_no_more_than

from gfscore.bounds import Method, PartScores
from gfscore.bounds.averages import Spread, mean_interval, nrgc_interval
from gfscore.bounds.extremes import may_be_worst, rdi_upper
from gfscore.bounds.methods import PartBounds
from gfscore.metrics import formulas

# how scores of a class with a given mean are drawn, and the means
LAWS = {
    "coins, equal": (lambda rng, means: 1.0 * (rng.random(len(means)) < means), (0.5, 0.5)),
    "coins, nearly equal": (lambda rng, means: 1.0 * (rng.random(len(means)) < means), (0.6, 0.65)),
    "rare mass": (lambda rng, means: 1.0 * (rng.random(len(means)) < means), (0.03, 0.03)),
    "Beta, equal": (lambda rng, means: rng.beta(4 * means, 4 * (1 - means)), (0.4, 0.4)),
    "uniform, apart": (lambda rng, means: rng.random(len(means)) * 2 * means, (0.1, 0.5)),
}
COUNTS = {"equal": (60,) * 6, "unequal": (5, 20, 80, 300), "two": (40, 40), "ones": (1, 1, 2, 30)}


def failures(law, counts, runs, alpha, finite, seed=0):
    """In how many runs the worst class was ruled out, and each bound was wrong; each at level alpha by itself."""
    draw, (low, high) = LAWS[law]
    k, rng, missed = len(counts), np.random.default_rng(seed), np.zeros(7, dtype=np.int64)
    means, codes = np.linspace(low, high, k), np.repeat(np.arange(k), counts)
    for run in range(runs):
        sizes = 2 * np.array(counts) if finite else np.array(counts)
        whole = draw(rng, np.repeat(means, sizes))
        truth = np.array([x.mean() for x in np.split(whole, np.cumsum(sizes)[:-1])]) if finite else means
        columns = [rng.permutation(x)[:n] for x, n in zip(np.split(whole, np.cumsum(sizes)[:-1]), counts, strict=True)]
        values = np.concatenate(columns)
        parts = PartScores.of(values, codes, k, maximum=1.0, seed=10**6 + run, sizes=sizes if finite else None)
        found, equal = PartBounds.of_scores(parts, Method.BETTING), np.full(k, 1 / k)
        mean = mean_interval(found, equal, alpha)
        radius = Spread.of(found).radius(equal, alpha)
        nrgc = nrgc_interval(found, alpha)
        gini = formulas.nrgc(truth)
        missed += [
            not may_be_worst(parts, alpha)[truth.argmin()],
            rdi_upper(parts, alpha, (0.0, 1.0), (0.0, 1.0)) < np.ptp(truth) - 1e-9,
            mean[0] > truth.mean() + 1e-9,
            mean[1] < truth.mean() - 1e-9,
            abs(found.means.mean() - truth.mean()) > radius + 1e-9,
            nrgc is not None and gini is not None and nrgc[0] > gini + 1e-9,
            nrgc is not None and gini is not None and nrgc[1] < gini - 1e-9,
        ]
    return missed


def check(law, counts, runs, alpha, finite, seed=0):
    for what, count in enumerate(failures(law, COUNTS[counts], runs, alpha, finite, seed)):
        assert_no_more_than(2 * alpha if what == 4 else alpha, count, runs, what)  # the fifth has two sides


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("counts", COUNTS)
def test_each_bound_holds_at_its_own_level(law, counts):
    check(law, counts, 25, 0.1, finite=False)


@pytest.mark.parametrize("law", ["coins, equal", "uniform, apart"])
def test_each_bound_holds_for_a_fixed_set(law):
    check(law, "unequal", 25, 0.1, finite=True)


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("finite", [False, True])
def test_each_bound_holds_in_many_runs(law, counts, finite):
    check(law, counts, 2000, 0.05, finite, seed=3)
