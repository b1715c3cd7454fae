"""The intervals of merged scores, blocks and mixture: what they exclude is excluded, and little is lost."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency, chisquare

from gfscore.bounds import Method, PartScores, lower_bounds
from gfscore.bounds.score_table import MIXTURE_CLIP, STAKES, ScoreTable
from gfscore.errors import OptionError
from gfscore.score_grid import CEILINGS, FLOORS, N_BINS, N_BLOCKS, WIDEST, bins_of, deal
from simulations import POPULATIONS

ORDER_FREE = [Method.BLOCKS, Method.MIXTURE]


def as_parts(values, codes, k, seed=0):
    return PartScores.of(values, codes, k, maximum=1.0, seed=seed)


def widths(parts, alpha, method):
    return 1 - lower_bounds(parts.mirror(), alpha, method) - lower_bounds(parts, alpha, method)


def test_the_order_of_the_samples_does_not_change_the_mixture():
    rng = np.random.default_rng(0)
    values, codes = rng.random(500), rng.integers(0, 3, 500)
    expected = lower_bounds(as_parts(values, codes, 3), 0.01, Method.MIXTURE)
    for order in (np.argsort(values), np.argsort(-values), rng.permutation(500)):
        found = lower_bounds(as_parts(values[order], codes[order], 3), 0.01, Method.MIXTURE)
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


def test_a_table_counts_every_sample_in_the_block_its_row_was_dealt_to():
    values, codes = np.random.default_rng(2).integers(0, 5, 2000) / 4, np.arange(2000) % 7 // 2
    table = ScoreTable.of_parts(as_parts(values, codes, 4, seed=9))
    blocks = deal(np.arange(2000), 9).blocks
    expected = [np.bincount(blocks[codes == code], minlength=N_BLOCKS) for code in range(4)]
    np.testing.assert_array_equal(table.block_sums(table.weights), expected)
    whole = table.pool_blocks()
    np.testing.assert_array_equal(
        whole.weights, [((codes == c) & (values == v / 4)).sum() for c in range(4) for v in range(5)]
    )
    np.testing.assert_allclose(whole.floor_means, table.floor_means)


def test_half_of_the_rows_are_dealt_to_the_last_block_and_half_of_the_others_to_the_one_before():
    n = 1 << 18
    shares = np.append(0.5**7, 0.5 ** np.arange(7, 0, -1))
    for seed in (0, 1, 82, 10**30):
        found = deal(np.arange(n), seed)
        assert chisquare(np.bincount(found.blocks), n * shares).pvalue > 1e-3
        both = np.bincount(2 * found.blocks + found.halves).reshape(-1, 2)
        assert chi2_contingency(both).pvalue > 1e-3  # halves and blocks are different coins
        neighbours = np.bincount(N_BLOCKS * found.blocks[1:] + found.blocks[:-1], minlength=N_BLOCKS**2)
        assert chi2_contingency(neighbours.reshape(N_BLOCKS, -1)).pvalue > 1e-3
    seeds = np.stack([deal(np.arange(1000), seed).blocks for seed in range(50)])
    assert (np.corrcoef(seeds) - np.eye(50)).max() < 0.2


def test_the_deal_is_a_matter_of_the_row_number_alone():
    rows = np.array([5, 0, 5, 10**12])
    found = deal(rows, 3)
    assert found.blocks[0] == found.blocks[2]
    for row, block, half in zip(rows, *found, strict=True):
        alone = deal(np.array([row]), 3)
        assert (alone.blocks[0], alone.halves[0]) == (block, half)


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
        stakes = np.minimum(STAKES, MIXTURE_CLIP / lower)
        log_capital = [np.log1p(stake * (values - lower)).sum() for stake in stakes]
        assert np.logaddexp.reduce(log_capital) - np.log(len(STAKES)) >= np.log(1 / alpha) - 1e-3


@pytest.mark.parametrize(("k", "n"), [(10, 1000), (1000, 50), pytest.param(10, 20_000, marks=pytest.mark.long)])
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
