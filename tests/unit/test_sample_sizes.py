"""From a wanted half-width to samples per class, and back; the paper's radius."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gfscore import SCORE_MAX
from gfscore.bounds import (
    Method,
    PartScores,
    Pilot,
    audit_intervals,
    hoeffding_intervals,
    hoeffding_radius,
    hoeffding_sample_size,
    lower_bounds,
    plan_radius,
    plan_samples,
    rdi_radius,
    rdi_sample_size,
)
from gfscore.bounds.class_means import kl_lower
from gfscore.bounds.sample_sizes import PLANNED, SIMULATED_CLASSES, WORST_CASE, draw_beta
from gfscore.bounds.simultaneous import BOX_SHARE
from gfscore.errors import OptionError


def by_method(plans):
    assert [plan.method for plan in plans] == list(PLANNED)
    return {plan.method: plan for plan in plans}


@pytest.mark.parametrize("pilot", [None, Pilot.of([0.2, 0.6], [0.1, 0.3])])
@pytest.mark.parametrize(("radius", "k"), [(0.05, 10), (0.3, 1000), (0.5, 2)])
def test_the_plan_is_the_smallest_that_reaches_the_radius(radius, k, pilot):
    for method, plan in by_method(plan_samples(radius, n_classes=k, maximum=1.0, pilot=pilot)).items():
        assert plan.radius <= radius
        assert by_method(plan_radius(plan.n, n_classes=k, maximum=1.0, pilot=pilot))[method] == plan
        if plan.n > 1 and method is not Method.BETTING:
            fewer = by_method(plan_radius(plan.n - 1, n_classes=k, maximum=1.0, pilot=pilot))[method]
            assert fewer.radius > radius


def test_hoeffding_is_the_papers_formula_at_the_level_of_the_box():
    plan = by_method(plan_samples(0.05, n_classes=10))[Method.HOEFFDING]
    assert plan.n == hoeffding_sample_size(0.05, BOX_SHARE * 0.05, n_classes=10)


def test_without_a_pilot_no_scores_make_kl_wider():
    plan = by_method(plan_radius(40, n_classes=1, maximum=1.0))[Method.KL]
    means = np.linspace(0, 1, 101)
    ends = [kl_lower(scores, np.full(101, 40), BOX_SHARE * 0.05 / 2) for scores in (means, 1 - means)]
    assert plan.radius == pytest.approx((1 - ends[0] - ends[1]).max() / 2, abs=1e-9)


@pytest.mark.parametrize("method", PLANNED)
def test_an_audit_finds_the_planned_half_width(method):
    rng = np.random.default_rng(5)
    k, n = 10, 400
    values, codes = rng.beta(2, 3, k * n), np.repeat(np.arange(k), n)
    pilot = Pilot.of(np.full(k, 0.4), np.full(k, 0.2))  # the mean and deviation of Beta(2, 3)
    planned = by_method(plan_radius(n, n_classes=k, maximum=1.0, pilot=pilot))[method].radius
    found = audit_intervals(values, codes, k, maximum=1.0, method=method)
    assert planned == pytest.approx(((found.upper - found.lower) / 2).mean(), rel=0.05)


def half_widths(method, n, k, mean, std, classes=300):
    """Of fresh classes with such scores, in an audit of k classes."""
    scores = draw_beta(np.random.default_rng(123), mean, std, classes * n)
    parts = PartScores.of(scores, np.repeat(np.arange(classes), n), classes, maximum=1.0, seed=9)
    alpha = BOX_SHARE * 0.05 / (2 * k)
    return (1 - lower_bounds(parts, alpha, method) - lower_bounds(parts.mirror(), alpha, method)) / 2


@pytest.mark.parametrize("spread", [None, (0.27, 0.2), (0.05, 0.1)], ids=["no pilot", "pilot", "low pilot"])
@pytest.mark.parametrize(("radius", "k"), [(0.05, 10), (0.2, 100)])
def test_the_promised_half_width_is_reached_on_average_and_where_it_is_for_any_scores_always(radius, k, spread):
    pilot = None if spread is None else Pilot.of([spread[0]], [spread[1]])
    for method, plan in by_method(plan_samples(radius, n_classes=k, maximum=1.0, pilot=pilot)).items():
        found = half_widths(method, plan.n, k, *(spread or (0.5, 0.5)))
        if plan.basis == WORST_CASE:
            assert found.max() <= radius + 1e-9
        else:
            assert "on average" in plan.basis
            errors = np.sqrt(1 / len(found) + 1 / SIMULATED_CLASSES) * found.std()  # both sides are simulated
            assert found.mean() <= radius + 3 * errors


def test_a_pilot_of_little_spread_saves_samples():
    blind = by_method(plan_samples(0.05, n_classes=10))
    told = by_method(plan_samples(0.05, n_classes=10, pilot=Pilot.of([0.3], [0.1])))
    assert told[Method.BETTING].n < blind[Method.BETTING].n / 4
    assert told[Method.HOEFFDING].n == blind[Method.HOEFFDING].n
    assert "pilot" in told[Method.BETTING].basis
    assert "simulated" in blind[Method.BETTING].basis


def test_a_pilot_leaves_out_what_it_does_not_know():
    pilot = Pilot.of([0.3, 0.5], [np.nan, 0.1])
    assert pilot.scores.tolist() == [0.5]
    with pytest.raises(OptionError, match="no class with a standard deviation"):
        Pilot.of([0.3], [np.nan])
    with pytest.raises(OptionError, match="mean and std per class"):
        Pilot.of([0.3, 0.4], [0.1])


def test_what_cannot_be_planned_is_refused():
    with pytest.raises(OptionError, match="not a positive number"):
        plan_samples(0.0, n_classes=10)
    with pytest.raises(OptionError, match="buy nothing"):
        plan_radius(0, n_classes=10)
    with pytest.raises(OptionError, match="0 classes"):
        plan_radius(10, n_classes=0)
    with pytest.raises(OptionError, match="million"):
        plan_samples(1e-9, n_classes=10)


deltas = st.floats(1e-6, 0.5)


@given(st.integers(1, 10**7), deltas, st.integers(1, 10**4))
def test_radius_solves_the_papers_equation(n, delta, n_classes):
    radius = float(hoeffding_radius(n, delta, n_classes=n_classes))
    # Proposition 1 of the paper: the tail at the radius, summed over the classes, is delta.
    tail = 2 * math.exp(-2 * n * radius**2 / (math.pi / 2))
    assert n_classes * tail == pytest.approx(delta, rel=1e-9)


@given(st.floats(1e-3, 2), deltas, st.integers(1, 1000))
def test_sample_size_is_the_smallest_that_reaches_the_radius(radius, delta, n_classes):
    n = hoeffding_sample_size(radius, delta, n_classes=n_classes)
    assert hoeffding_radius(n, delta, n_classes=n_classes) <= radius
    assert n == 1 or hoeffding_radius(n - 1, delta, n_classes=n_classes) > radius


@given(st.integers(1, 10**5), deltas, st.integers(1, 1000))
def test_sample_size_inverts_the_radius(n, delta, n_classes):
    radius = float(hoeffding_radius(n, delta, n_classes=n_classes))
    assert hoeffding_sample_size(radius, delta, n_classes=n_classes) == n


@given(st.floats(1e-2, 2), deltas, st.integers(2, 1000))
def test_rdi_takes_twice_the_radius(radius, delta, n_classes):
    n = rdi_sample_size(radius, delta, n_classes=n_classes)
    assert rdi_radius(n, delta, n_classes=n_classes) <= radius
    assert rdi_radius(n, delta, n_classes=n_classes) == 2 * float(hoeffding_radius(n, delta, n_classes=n_classes))


def test_intervals_are_cut_to_the_range_of_the_score():
    lower, upper = hoeffding_intervals(np.array([0.01, 0.6, 1.25]), [10, 1000, 10], 0.05)
    radius = hoeffding_radius([10, 1000, 10], 0.05, n_classes=3)
    np.testing.assert_allclose(lower, [0.0, 0.6 - radius[1], 1.25 - radius[2]])
    np.testing.assert_allclose(upper, [0.01 + radius[0], 0.6 + radius[1], SCORE_MAX])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hoeffding_radius(0, 0.05), "a sample size of 0 bounds nothing"),
        (lambda: hoeffding_radius(10, 0.0), "delta 0.0 is not between 0 and 1"),
        (lambda: hoeffding_radius(10, 1.0), "delta 1.0 is not between 0 and 1"),
        (lambda: hoeffding_radius(10, math.nan), "delta nan is not between 0 and 1"),
        (lambda: hoeffding_radius(10, 0.05, n_classes=0), "0 classes cannot be bounded"),
        (lambda: hoeffding_sample_size(0.0, 0.05), "radius 0.0 is not a positive number"),
        (lambda: hoeffding_sample_size(math.inf, 0.05), "radius inf is not a positive number"),
    ],
)
def test_nonsense_is_refused(call, message):
    with pytest.raises(OptionError, match=message):
        call()
