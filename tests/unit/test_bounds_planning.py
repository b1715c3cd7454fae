"""From a wanted half-width to samples per class, and back."""

import numpy as np
import pytest

from gfscore.bounds import Method, audit_intervals, hoeffding_sample_size, kl_intervals
from gfscore.bounds.methods import lower_bounds
from gfscore.bounds.parts import PartScores
from gfscore.bounds.planning import (
    PLANNED,
    SIMULATED_CLASSES,
    WORST_CASE,
    Pilot,
    draw_beta,
    plan_radius,
    plan_samples,
)
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
    widths = [np.subtract(*kl_intervals([m], [40], BOX_SHARE * 0.05, maximum=1.0)[::-1])[0] for m in means]
    assert plan.radius == pytest.approx(max(widths) / 2, abs=1e-9)


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
    return (1 - lower_bounds(parts, alpha, method) - lower_bounds(parts.mirrored(), alpha, method)) / 2


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
