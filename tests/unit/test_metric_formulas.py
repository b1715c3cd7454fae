"""Each metric against its definition, and the laws of order, scale and range."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gfscore import (
    SCORE_MAX,
    atkinson,
    atkinson_adjusted_mean,
    fp_great,
    fp_great_curve,
    generalised_entropy,
    nrgc,
    rdi,
    theil,
    wcr,
)
from gfscore.errors import OptionError, SamplesError
from gfscore.metrics import ClassScores, all_metrics, rows
from gfscore.metrics.formulas import rdi_classes, worst_classes

any_scores = st.just(0.0) | st.floats(1e-6, SCORE_MAX)
profiles = arrays(np.float64, st.integers(2, 50), elements=any_scores).filter(np.any)
positive_profiles = arrays(np.float64, st.integers(2, 50), elements=st.floats(1e-6, SCORE_MAX))
aversions = st.floats(0, 5)
alphas = st.floats(-3, 3)
INDICES = [nrgc, theil, atkinson, lambda scores: generalised_entropy(scores, 2.0), lambda scores: atkinson(scores, 0.5)]


@given(profiles)
def test_rdi_and_wcr_agree_with_their_definitions(scores):
    ordered = sorted(scores.tolist())
    assert rdi(scores) == ordered[-1] - ordered[0]
    assert wcr(scores) == ordered[0]
    assert 0 <= rdi(scores) <= SCORE_MAX


@given(profiles)
def test_the_classes_of_rdi_make_it(scores):
    highest, lowest = rdi_classes(scores)
    assert scores[highest] - scores[lowest] == rdi(scores)
    assert lowest == worst_classes(scores)[0]
    assert highest == scores.tolist().index(scores.max())


@given(profiles)
def test_worst_classes_are_all_that_attain_the_minimum(scores):
    expected = [index for index, score in enumerate(scores) if score == min(scores)]
    assert worst_classes(scores).tolist() == expected


@given(profiles)
def test_nrgc_agrees_with_its_definition(scores):
    pairwise = np.abs(scores[:, None] - scores[None, :]).sum()
    expected = pairwise / (2 * scores.size**2 * scores.mean())
    assert nrgc(scores) == pytest.approx(expected, abs=1e-12)
    assert 0 <= nrgc(scores) <= 1 - 1 / scores.size + 1e-12


@given(profiles, st.floats(0, 10))
def test_fp_great_agrees_with_its_definition(scores, weight):
    expected = math.fsum(scores) / scores.size - weight * (max(scores) - min(scores))
    assert fp_great(scores, weight) == pytest.approx(expected, abs=1e-12)
    curve = fp_great_curve(scores, [0.0, weight])
    assert curve[0] == pytest.approx(scores.mean(), abs=1e-15)
    assert curve[1] == fp_great(scores, weight)


@given(positive_profiles, alphas.filter(lambda alpha: min(abs(alpha), abs(alpha - 1)) > 1e-2))
def test_generalised_entropy_agrees_with_its_definition(scores, alpha):
    shares = scores / scores.mean()
    expected = (shares**alpha - 1).mean() / (alpha * (alpha - 1))
    assert generalised_entropy(scores, alpha) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(positive_profiles)
def test_generalised_entropy_at_its_limits(scores):
    shares = scores / scores.mean()
    assert generalised_entropy(scores, 0.0) == pytest.approx(-np.log(shares).mean(), abs=1e-12)
    assert generalised_entropy(scores, 1.0) == pytest.approx((shares * np.log(shares)).mean(), abs=1e-12)


@given(positive_profiles, st.sampled_from([0.0, 1.0]), st.floats(-1e-9, 1e-9))
def test_generalised_entropy_is_continuous_at_its_limits(scores, limit, step):
    # Far from the limit a plain formula would do; this close, it would have lost every digit.
    assert generalised_entropy(scores, limit + step) == pytest.approx(generalised_entropy(scores, limit), abs=1e-6)


@given(profiles)
def test_theil_takes_zero_log_zero_as_zero(scores):
    shares = scores / scores.mean()
    expected = math.fsum(share * math.log(share) for share in shares if share > 0) / scores.size
    assert theil(scores) == pytest.approx(expected, abs=1e-12)
    assert -1e-15 <= theil(scores) <= math.log(scores.size) + 1e-12


@given(positive_profiles, aversions.filter(lambda aversion: abs(aversion - 1) > 1e-2))
def test_atkinson_agrees_with_its_definition(scores, aversion):
    power = 1 - aversion
    equivalent = (scores**power).mean() ** (1 / power)
    assert atkinson(scores, aversion) == pytest.approx(1 - equivalent / scores.mean(), abs=1e-9)


@given(positive_profiles)
def test_atkinson_at_one_is_the_geometric_mean(scores):
    geometric = math.exp(np.log(scores).mean())
    assert atkinson(scores) == pytest.approx(1 - geometric / scores.mean(), abs=1e-12)
    assert atkinson_adjusted_mean(scores) == pytest.approx(geometric, abs=1e-12)


@given(positive_profiles, st.floats(-1e-9, 1e-9))
def test_atkinson_is_continuous_at_one(scores, step):
    assert atkinson(scores, 1 + step) == pytest.approx(atkinson(scores), abs=1e-6)


@given(positive_profiles, aversions, aversions)
def test_atkinson_grows_with_aversion(scores, first, second):
    low, high = sorted((first, second))
    assert atkinson(scores, low) <= atkinson(scores, high) + 1e-9


@given(profiles, aversions)
def test_atkinson_and_its_mean_stay_in_range(scores, aversion):
    assert 0 <= atkinson(scores, aversion) <= 1
    assert -1e-15 <= atkinson_adjusted_mean(scores, aversion) <= scores.mean()


@given(profiles, st.floats(0.01, 100), st.randoms())
def test_relative_indices_ignore_scale_and_order(scores, factor, random):
    shuffled = np.array(random.sample(list(scores), scores.size))
    for index in INDICES:
        assert index(factor * shuffled) == pytest.approx(index(scores), abs=1e-9)


@given(profiles, st.floats(0.01, 100), st.randoms())
def test_absolute_metrics_scale_and_ignore_order(scores, factor, random):
    shuffled = np.array(random.sample(list(scores), scores.size))
    for metric in (rdi, wcr, fp_great):
        assert metric(factor * shuffled) == pytest.approx(factor * metric(scores), abs=1e-9)


@given(st.floats(1e-6, SCORE_MAX), st.integers(2, 50))
def test_equal_classes_have_no_disparity(score, n_classes):
    scores = np.full(n_classes, score)
    assert rdi(scores) == 0
    assert nrgc(scores) == 0
    for index in INDICES:
        assert index(scores) == pytest.approx(0, abs=1e-12)


@given(positive_profiles, st.data())
def test_a_transfer_from_rich_to_poor_lowers_every_index(scores, data):
    highest, lowest = rdi_classes(scores)
    share = data.draw(st.floats(0.01, 0.49))
    moved = scores.copy()
    moved[highest] -= share * rdi(scores)
    moved[lowest] += share * rdi(scores)
    for index in INDICES:
        assert index(moved) <= index(scores) + 1e-9


class TestZeros:
    def test_nothing_relative_exists_when_all_are_zero(self):
        for index in (*INDICES, atkinson_adjusted_mean):
            assert index(np.zeros(3)) is None
        assert rdi([0, 0]) == wcr([0, 0]) == fp_great([0, 0]) == 0

    @pytest.mark.parametrize("alpha", [-1.0, 0.0])
    def test_entropy_of_low_order_does_not_exist_with_a_zero_class(self, alpha):
        assert generalised_entropy([0.0, 1.0], alpha) is None

    @pytest.mark.parametrize("alpha", [0.3, 0.7, 1.5, 2.0])
    def test_entropy_of_higher_order_exists_with_a_zero_class(self, alpha):
        shares = np.array([0.0, 2.0])
        expected = (shares**alpha - 1).mean() / (alpha * (alpha - 1))
        assert generalised_entropy([0.0, 1.0], alpha) == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("aversion", [1.0, 1.5, 3.0])
    def test_atkinson_is_one_with_a_zero_class(self, aversion):
        assert atkinson([0.0, 1.0], aversion) == 1
        assert atkinson_adjusted_mean([0.0, 1.0], aversion) == 0

    def test_atkinson_below_one_forgives_a_zero_class(self):
        assert atkinson([0.0, 1.0], 0.5) == pytest.approx(1 - 0.25 / 0.5)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0.5], r"class scores have shape \(1,\); at least two in one row are needed\."),
        ([[0.5, 0.4]], r"class scores have shape \(1, 2\)"),
        ([0.5, math.nan], r"class score nan at index 1 is not a number of at least 0\. Leave absent classes out\."),
        ([-0.1, 0.5], r"class score -0\.1 at index 0"),
        ([0.1, math.inf], r"class score inf at index 1"),
    ],
)
@pytest.mark.parametrize("metric", [rdi, nrgc, wcr, fp_great, theil, atkinson, rdi_classes, worst_classes])
def test_scores_that_are_no_profile_are_refused(metric, scores, message):
    with pytest.raises(SamplesError, match=message):
        metric(scores)


@pytest.mark.parametrize("weight", [-0.1, math.nan, math.inf])
def test_a_fairness_weight_is_a_number_of_at_least_zero(weight):
    with pytest.raises(OptionError, match="fairness weight"):
        fp_great([0.1, 0.2], weight)


@pytest.mark.parametrize("parameter", [-0.1, math.nan, math.inf])
def test_an_aversion_is_a_number_of_at_least_zero(parameter):
    with pytest.raises(OptionError, match="inequality aversion"):
        atkinson([0.1, 0.2], parameter)


def test_alpha_is_a_number():
    with pytest.raises(OptionError, match="alpha nan is not a number"):
        generalised_entropy([0.1, 0.2], math.nan)


@pytest.mark.parametrize("index", [nrgc, theil, atkinson, lambda scores: generalised_entropy(scores, 2.0)])
@pytest.mark.parametrize("scores", [[0.0, 1.0], [1.0, 3.0]])
@pytest.mark.parametrize("factor", [5e-324, 1e-310, 5e307])
def test_relative_indices_at_the_ends_of_the_number_range(index, scores, factor):
    assert index(np.multiply(scores, factor)) == pytest.approx(index(scores), rel=1e-12)


@pytest.mark.parametrize("scores", [["a", "b"], [[1, 2], [3]], [1j, 1]])
def test_scores_that_are_no_numbers_are_refused(scores):
    with pytest.raises(SamplesError, match=r"class scores are no numbers \(.*\)\. Give one for each class\."):
        rdi(scores)


several_profiles = st.integers(2, 12).flatmap(
    lambda k: arrays(np.float64, st.tuples(st.integers(1, 6), st.just(k)), elements=any_scores)
)


@given(several_profiles, alphas | st.sampled_from([0.0, 1.0, 2.0]), aversions | st.sampled_from([0.0, 1.0]))
def test_many_profiles_at_once_are_each_as_it_is_alone(several, alpha, aversion):
    pairs = [
        (rows.gaps(several), rdi),
        (rows.ginis(several), nrgc),
        (rows.penalised_means(several, 0.3), lambda scores: fp_great(scores, 0.3)),
        (rows.entropies(several, alpha), lambda scores: generalised_entropy(scores, alpha)),
        (rows.lost_shares(several, aversion), lambda scores: atkinson(scores, aversion)),
    ]
    for found, alone in pairs:
        expected = [np.nan if (number := alone(scores)) is None else number for scores in several]
        assert found == pytest.approx(expected, abs=1e-14, rel=1e-13, nan_ok=True)


@given(several_profiles)
def test_the_table_of_metrics_takes_one_profile_or_many(several):
    weights = np.full(several.shape[1], 1 / several.shape[1])
    classes = ClassScores(scores=several, weights=weights, fairness_weight=0.3)
    for metric in all_metrics().values():
        one_by_one = [metric.of(classes.at(scores)) for scores in several]
        for found, expected in zip(metric.along(classes), one_by_one, strict=True):
            assert found == (None if expected is None else pytest.approx(expected, abs=1e-14, rel=1e-13))
