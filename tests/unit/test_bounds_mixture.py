"""The intervals of merged scores, blocks and mixture: what they exclude is excluded, and little is lost."""

import numpy as np
import pytest

from gfscore.bounds import Method
from gfscore.bounds.blocks import _deal
from gfscore.bounds.methods import lower_bounds
from gfscore.bounds.mixture import CLIP, STAKES
from gfscore.bounds.parts import PartScores
from gfscore.bounds.table import ScoreTable
from gfscore.errors import OptionError
from gfscore.summaries.bins import CEILINGS, FLOORS, N_BINS, WIDEST, bins_of
from simulations import POPULATIONS

ORDER_FREE = [Method.BLOCKS, Method.MIXTURE]


def as_parts(values, codes, k, seed=0):
    return PartScores.of(values, codes, k, maximum=1.0, seed=seed)


def widths(parts, alpha, method):
    return 1 - lower_bounds(parts.mirrored(), alpha, method) - lower_bounds(parts, alpha, method)


@pytest.mark.parametrize("method", ORDER_FREE)
def test_the_order_of_the_samples_changes_nothing(method):
    rng = np.random.default_rng(0)
    values, codes = rng.random(500), rng.integers(0, 3, 500)
    expected = lower_bounds(as_parts(values, codes, 3), 0.01, method)
    for order in (np.argsort(values), np.argsort(-values), rng.permutation(500)):
        found = lower_bounds(as_parts(values[order], codes[order], 3), 0.01, method)
        np.testing.assert_allclose(found, expected, atol=1e-12)  # means are summed in another order


def test_every_score_lies_between_the_floor_and_the_ceiling_of_its_bin():
    rng = np.random.default_rng(1)
    ends = [0.0, 5e-324, 1e-12, 1 - 1e-16, 1.0, *FLOORS, *np.nextafter(CEILINGS[:-1], 2)[1:]]
    values = np.concatenate((rng.random(10_000), np.array(ends).clip(0, 1)))
    bins = bins_of(values)
    assert (FLOORS[bins] <= values).all()
    assert (values <= CEILINGS[bins]).all()
    assert bins.max() < N_BINS
    assert np.diff(FLOORS).min() >= 0
    assert WIDEST < 0.0031


def test_dealing_keeps_every_sample():
    table = ScoreTable.of_parts(as_parts(np.random.default_rng(2).random(2000), np.arange(2000) % 7 // 2, 4))
    blocks = _deal(table)
    np.testing.assert_array_equal(blocks.sum(axis=0), table.weights)
    sizes = table.sums(blocks)
    assert (sizes[-1] > 0.4 * table.counts).all()  # about half of each part is in the last block
    assert (sizes[-1] < 0.6 * table.counts).all()


@pytest.mark.parametrize("n", [1, 5, 50, 2000])
@pytest.mark.parametrize("scores", ["uniform", "zeros", "ones", "constant", "tiny"])
def test_the_mixture_leaves_out_only_what_its_capital_excludes(n, scores):
    rng = np.random.default_rng(n)
    values = {
        "uniform": rng.random(n),
        "zeros": np.zeros(n),
        "ones": np.ones(n),
        "constant": np.full(n, 0.37),
        "tiny": np.full(n, 1e-5),
    }[scores]
    alpha = 0.025
    lower = float(lower_bounds(as_parts(values, np.zeros(n, dtype=int), 1), alpha, Method.MIXTURE)[0])
    assert 0 <= lower <= values.mean()
    if lower > 0:  # the capital of the scores themselves, which is larger than that of their floors
        stakes = np.minimum(STAKES, CLIP / lower)
        log_capital = [np.log1p(stake * (values - lower)).sum() for stake in stakes]
        assert np.logaddexp.reduce(log_capital) - np.log(len(STAKES)) >= np.log(1 / alpha) - 1e-3


@pytest.mark.parametrize(("k", "n"), [(10, 1000), (1000, 50), (10, 20_000)])
def test_blocks_are_at_most_15_percent_wider_than_betting(k, n):
    alpha = 0.7 * 0.05 / (2 * k)
    for population in POPULATIONS:
        rng = np.random.default_rng(0)
        means = np.repeat(np.linspace(population.lowest, population.highest, 4), 5)
        parts = as_parts(population.draw(rng, np.repeat(means, n)), np.repeat(np.arange(20), n), 20)
        blocks, betting = widths(parts, alpha, Method.BLOCKS), widths(parts, alpha, Method.BETTING)
        assert blocks.mean() < 1.15 * betting.mean(), (population.name, blocks.mean() / betting.mean())


def test_counts_have_no_order_to_bet_in():
    table = ScoreTable.of_parts(as_parts([0.5, 0.5], [0, 0], 1))
    with pytest.raises(OptionError, match="betting needs the scores in an order"):
        lower_bounds(table, 0.05, Method.BETTING)


@pytest.mark.parametrize("method", ORDER_FREE)
def test_a_fixed_set_is_refused(method):
    parts = PartScores.of([0.5, 0.5], [0, 0], 1, maximum=1.0, sizes=[4])
    with pytest.raises(OptionError, match=f"the {method} interval is for draws from a distribution"):
        lower_bounds(parts, 0.05, method)
