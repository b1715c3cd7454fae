"""The noise floor and the shrunken scores."""

import numpy as np
import pytest
from timing import quickest

from gfscore.bounds import noise, noise_floor, normal_floor, shrunken_scores
from gfscore.errors import OptionError, SamplesError
from gfscore.metrics import formulas


def test_equal_classes_make_the_rdi_that_shuffling_predicts():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(10), 200)
    floors = [noise_floor(rng.random(2000), codes, 10, maximum=1.0, permutations=200, seed=s) for s in range(5)]
    true = [formulas.rdi(rng.random((10, 200)).mean(axis=1)) for _ in range(2000)]
    assert np.mean([floor.rdi.null_mean for floor in floors]) == pytest.approx(np.mean(true), rel=0.05)
    assert np.mean([floor.rdi.null_q95 for floor in floors]) == pytest.approx(np.quantile(true, 0.95), rel=0.1)


def test_spread_classes_make_more_noise_than_the_plain_shuffle_says():
    rng = np.random.default_rng(4)  # one in which the mean of the spread class is off, as it is by chance
    codes = np.repeat(np.arange(20), 50)
    values = np.where(codes == 0, rng.integers(0, 2, 1000), 0.5 + 0.1 * rng.random(1000) - 0.05)
    floor = noise_floor(values, codes, 20, maximum=1.0)
    plain = [np.ptp(rng.permutation(values).reshape(20, 50).mean(axis=1)) for _ in range(1000)]
    assert floor.rdi.test == "studentised"  # what is shown is of the test that gave the larger p-value
    assert floor.rdi.null_q95 > 1.5 * np.quantile(plain, 0.95)


def test_a_plain_difference_has_the_smallest_p_value():
    values = np.concatenate((np.random.default_rng(0).random(100) / 2, 0.5 + np.random.default_rng(1).random(100) / 2))
    floor = noise_floor(values, np.repeat([0, 1], 100), 2, maximum=1.0, permutations=99)
    assert floor.rdi.p_value == 0.01
    assert floor.nrgc.p_value == 0.01


def test_saturated_scores_are_shown_the_plain_floor_which_is_that_of_shuffled_means():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(100), 20)
    values = (rng.random(2000) < 0.9).astype(float)
    floor = noise_floor(values, codes, 100, maximum=1.0)
    assert floor.rdi.test == "plain"
    assert floor.rdi.p_value == floor.rdi.p_plain > floor.rdi.p_studentised
    ranges = [np.ptp(rng.permutation(values).reshape(100, 20).mean(axis=1)) for _ in range(2000)]
    assert floor.rdi.null_mean == pytest.approx(np.mean(ranges), rel=0.02)
    assert floor.rdi.p_plain == pytest.approx(
        np.mean(ranges >= np.ptp(values.reshape(100, 20).mean(axis=1)) - 1e-9), abs=0.06
    )


@pytest.mark.parametrize("draw", [noise_floor, "normal"])
def test_the_larger_p_value_counts_and_both_indices_share_one_level(draw):
    """Holm by its definition: the smaller of two is doubled, the larger is at least that."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        codes = np.repeat(np.arange(6), 15)
        values = rng.beta(2, 2, 90) * np.linspace(0.75, 1, 6)[codes]
        if draw == "normal":
            groups = values.reshape(6, 15)
            floor = normal_floor(groups.mean(axis=1), groups.var(axis=1, ddof=1), [15] * 6, maximum=1.0, draws=99)
        else:
            floor = noise_floor(values, codes, 6, maximum=1.0, permutations=99, seed=seed)
        for null in (floor.rdi, floor.nrgc):
            assert null.p_value == max(null.p_plain, null.p_studentised)
            assert null.p_value == (null.p_plain if null.test == "plain" else null.p_studentised)
        small, large = sorted([floor.rdi, floor.nrgc], key=lambda null: null.p_value)
        assert small.p_holm == min(1, 2 * small.p_value)
        assert large.p_holm == max(large.p_value, small.p_holm)


def test_constant_scores_differ_by_nothing():
    floor = noise_floor(np.full(30, 0.3), np.repeat([0, 1, 2], 10), 3, maximum=1.0, permutations=20)
    assert floor.rdi.p_value == 1.0
    assert floor.rdi.null_q95 == pytest.approx(0, abs=1e-12)
    assert floor.nrgc.p_value == 1.0


def test_zeros_have_no_nrgc_and_single_samples_are_enough():
    assert noise_floor(np.zeros(4), np.array([0, 0, 1, 1]), 2, maximum=1.0, permutations=5).nrgc is None
    floor = noise_floor(np.array([0.1, 0.5, 0.9]), np.array([0, 1, 2]), 3, maximum=1.0, permutations=50)
    assert floor.rdi.p_value == 1.0  # dealt out anew, three samples in three classes are the same three


def test_the_seed_decides_and_units_carry_over():
    values, codes = np.random.default_rng(0).random(100), np.repeat(np.arange(5), 20)
    one, again, other = (noise_floor(values, codes, 5, maximum=1.0, permutations=50, seed=s) for s in (1, 1, 2))
    assert one == again
    assert one.rdi.null_mean != other.rdi.null_mean
    scaled = noise_floor(3 * values, codes, 5, maximum=3.0, permutations=50, seed=1)
    assert scaled.rdi.null_mean == pytest.approx(3 * one.rdi.null_mean)
    assert scaled.nrgc.null_mean == pytest.approx(one.nrgc.null_mean)
    with pytest.raises(OptionError, match="permutations"):
        noise_floor(values, codes, 5, maximum=1.0, permutations=0)


def test_a_thousand_permutations_of_a_thousand_classes_are_fast():
    values, codes = np.random.default_rng(0).random(50_000), np.repeat(np.arange(1000), 50)
    assert quickest(lambda: noise_floor(values, codes, 1000, maximum=1.0), 5) < 5


def test_shrinking_brings_scores_closer_to_the_truth():
    rng = np.random.default_rng(0)
    truth = rng.normal(0.5, 0.05, 500)
    counts = rng.integers(3, 60, 500)
    samples = [rng.normal(mean, 0.2, n) for mean, n in zip(truth, counts, strict=True)]
    raw = np.array([scores.mean() for scores in samples])
    shrunken = shrunken_scores(raw, [scores.std(ddof=1) for scores in samples], counts)
    known = 0.5 + 0.05**2 / (0.05**2 + 0.2**2 / counts) * (raw - 0.5)  # with the true spreads: nothing is better
    errors = [((scores - truth) ** 2).mean() for scores in (known, shrunken.scores, raw)]
    assert errors[1] < 1.1 * errors[0]
    assert errors[1] < 0.6 * errors[2]
    assert shrunken.spread == pytest.approx(0.05, rel=0.2)
    assert (np.abs(shrunken.scores - shrunken.centre) <= np.abs(raw - shrunken.centre) + 1e-12).all()
    fewest, most = counts.argmin(), counts.argmax()
    assert shrunken.weights[fewest] < shrunken.weights[most]


def test_classes_that_differ_less_than_their_noise_shrink_to_one_value():
    shrunken = shrunken_scores([0.49, 0.5, 0.51], [0.4, 0.4, 0.4], [10, 10, 10])
    assert shrunken.spread == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(shrunken.scores, 0.5, atol=1e-9)


def test_scores_without_noise_or_with_one_sample_stay_usable():
    np.testing.assert_array_equal(shrunken_scores([0.2, 0.8], [0.0, 0.0], [5, 5]).scores, [0.2, 0.8])
    shrunken = shrunken_scores([0.2, 0.8, 0.9], [np.nan, 0.1, 0.1], [1, 50, 50])
    assert np.isfinite(shrunken.scores).all()
    assert shrunken.weights[0] < shrunken.weights[1]
    with pytest.raises(SamplesError, match="two classes"):
        shrunken_scores([0.2], [0.1], [5])


def test_shuffles_that_are_remembered_for_the_next_model_change_nothing(monkeypatch):
    values, codes = np.random.default_rng(3).random((2, 300)), np.repeat(np.arange(6), 50)
    remembered = [noise_floor(row, codes, 6, maximum=1.0, permutations=400, seed=5) for row in values]
    monkeypatch.setattr(noise, "REMEMBERED", 0)
    assert remembered == [noise_floor(row, codes, 6, maximum=1.0, permutations=400, seed=5) for row in values]
