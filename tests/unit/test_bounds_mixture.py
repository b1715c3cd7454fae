"""The order-free betting interval: pieces merged in any order give what the whole gives."""

import numpy as np
import pytest

from gfscore.bounds import BettingSums, betting_intervals
from gfscore.bounds.mixture import STAKES
from gfscore.errors import OptionError


def intervals(values, codes, k=3, delta=0.05):
    return BettingSums.of(values, codes, k, maximum=1.0).intervals(delta)


@pytest.mark.parametrize("seed", range(3))
def test_any_partition_in_any_order_gives_the_intervals_of_the_whole(seed):
    rng = np.random.default_rng(seed)
    values, codes = rng.random(120), rng.integers(0, 3, 120)
    whole = intervals(values, codes)
    shuffled = rng.permutation(120)
    pieces = [BettingSums.of(values[i], codes[i], 3, maximum=1.0) for i in np.array_split(shuffled, 7)]
    for order in (range(7), reversed(range(7)), rng.permutation(7)):
        chosen = [pieces[i] for i in order]
        merged = sum(chosen[1:], start=chosen[0])
        np.testing.assert_array_equal(merged.counts, np.bincount(codes, minlength=3))
        np.testing.assert_allclose(merged.intervals(0.05), whole, atol=1e-9)


@pytest.mark.parametrize("n", [1, 5, 50, 2000])
@pytest.mark.parametrize("scores", ["uniform", "zeros", "ones", "constant", "tiny"])
def test_the_ends_enclose_the_mean_and_leave_out_only_what_is_excluded(n, scores):
    rng = np.random.default_rng(n)
    values = {
        "uniform": rng.random(n),
        "zeros": np.zeros(n),
        "ones": np.ones(n),
        "constant": np.full(n, 0.37),
        "tiny": np.full(n, 1e-5),
    }[scores]
    lower, upper = (ends[0] for ends in intervals(values, np.zeros(n, dtype=int), 1))
    assert 0 <= lower <= values.mean() <= upper <= 1

    def log_capital(x, m):
        return np.logaddexp.reduce([np.log1p(f * (x / m - 1)).sum() for f in STAKES]) - np.log(len(STAKES))

    if lower > 0:
        assert log_capital(values, lower) >= np.log(2 / 0.05)
    if upper < 1:
        assert log_capital(1 - values, 1 - upper) >= np.log(2 / 0.05)


def test_little_is_lost_against_the_form_that_learns_its_bets():
    rng = np.random.default_rng(0)
    for n in (50, 1000, 20_000):
        values, codes = rng.beta(2, 2, n), np.zeros(n, dtype=int)
        fixed, learnt = intervals(values, codes, 1), betting_intervals(values, codes, 1, 0.05, maximum=1.0)
        assert (fixed[1] - fixed[0])[0] < 1.5 * (learnt[1] - learnt[0])[0]


def test_a_part_without_samples_has_the_whole_range():
    lower, upper = intervals([0.5], [1], 2)
    assert (lower[0], upper[0]) == (0, 1)


def test_pieces_of_different_partitions_are_not_merged():
    with pytest.raises(OptionError, match="cannot be merged"):
        BettingSums.of([0.5], [0], 2, maximum=1.0) + BettingSums.of([0.5], [0], 3, maximum=1.0)
