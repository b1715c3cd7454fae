"""Do intervals from few attacks hold, at any time, for any predictor and any choice? How wide are they? Simulations."""

import numpy as np
import pytest
from scipy.stats import binomtest

from gfscore.bounds import Spared, attack_intervals, attack_order, clopper_pearson, near_weights, place_bets

AGREEMENTS = {"perfect": 0.0, "95 %": 0.05, "worthless": None}
agreements = pytest.mark.parametrize("wrong", AGREEMENTS.values(), ids=AGREEMENTS)
choices = pytest.mark.parametrize("most", [1.0, 3.0], ids=["equal", "chosen"])
runs_of = pytest.mark.parametrize("runs", [150, pytest.param(2000, marks=pytest.mark.long)], ids=["short", "long"])


def assert_no_more_than(alpha, misses, runs):
    assert binomtest(int(misses), runs, alpha, alternative="greater").pvalue > 1e-3, (int(misses), runs)


def make_samples(rng, n, wrong, share=0.5):
    """Radii with eps = 1, predictions and outcomes; wrong predictions are near eps; None: nothing agrees."""
    radii = np.exp(rng.normal(0.0, 1.0, n) + np.log(share / (1 - share)) / 1.6)
    predictions = radii > 1.0
    outcomes = predictions.copy()
    if wrong is None:
        outcomes = rng.random(n) < share
    else:
        chances = np.exp(-np.abs(np.log(radii)) / 0.15)
        flipped = rng.choice(n, round(wrong * n), replace=False, p=chances / chances.sum())
        outcomes[flipped] = ~outcomes[flipped]
    return radii, predictions, outcomes


@runs_of
@choices
@agreements
def test_the_true_accuracy_is_never_left_out_more_often_than_promised(wrong, most, runs):
    """At any time: somebody who stops as soon as the truth is left out finds that no more often than alpha."""
    rng, alpha, misses = np.random.default_rng(11), 0.1, 0
    for run in range(runs):
        radii, predictions, outcomes = make_samples(rng, 80, wrong)
        weights = near_weights(radii, 1.0, most=most)
        rows = attack_order(weights, seed=run)[:40]
        lower, upper = place_bets(Spared.of(predictions, rows, outcomes[rows], weights=weights)).ends(
            alpha / 2, alpha / 2
        )
        misses += not lower - 1e-9 <= outcomes.mean() <= upper + 1e-9
    assert_no_more_than(alpha, misses, runs)


@runs_of
@choices
@agreements
def test_classes_worst_class_and_whole_hold_together(wrong, most, runs):
    """All intervals at once, for these very samples, which are chosen alike or by their radii."""
    rng, delta, misses, codes = np.random.default_rng(12), 0.2, 0, np.repeat([0, 1, 2], 50)
    for run in range(runs):
        radii, predictions, outcomes = make_samples(rng, 150, wrong)
        weights = near_weights(radii, 1.0, most=most)
        rows = attack_order(weights, seed=run)[:60]
        settings = {"attacked": rows, "outcomes": outcomes[rows], "weights": weights}
        found = attack_intervals(predictions, codes, 3, delta=delta, **settings)
        truth = outcomes.reshape(3, 50).mean(axis=1)
        held = ((found.lower <= truth + 1e-9) & (truth <= found.upper + 1e-9)).all()
        held &= found.worst[0] <= truth.min() + 1e-9 and truth.min() <= found.worst[1] + 1e-9
        held &= found.whole_interval[0] <= truth.mean() + 1e-9 and truth.mean() <= found.whole_interval[1] + 1e-9
        misses += not held
    assert_no_more_than(delta, misses, runs)


@runs_of
def test_intervals_hold_where_a_first_attack_broke_some_beforehand(runs):
    """Those it sees depend on radii alone, and what it breaks is broken: the others are drawn as before."""
    rng, delta, misses, codes = np.random.default_rng(15), 0.2, 0, np.repeat([0, 1, 2], 50)
    for run in range(runs):
        radii, predictions, outcomes = make_samples(rng, 150, 0.1)
        fallen = (radii < 1.25) & ~outcomes & (rng.random(150) < 0.9)
        weights, left = near_weights(radii, 1.0, most=2.0), np.flatnonzero(~fallen)
        rows = left[attack_order(weights[left], seed=run)][:30]
        settings = {"attacked": rows, "outcomes": outcomes[rows], "broken": fallen, "weights": weights}
        found = attack_intervals(predictions, codes, 3, delta=delta, **settings)
        truth = outcomes.reshape(3, 50).mean(axis=1)
        ends = np.array([*zip(found.lower, found.upper, strict=True), found.worst, found.whole_interval])
        truths = np.array([*truth, truth.min(), truth.mean()])
        misses += not ((ends[:, 0] <= truths + 1e-9) & (truths <= ends[:, 1] + 1e-9)).all()
    assert_no_more_than(delta, misses, runs)


@runs_of
def test_intervals_of_the_population_hold(runs):
    rng, delta, misses, codes = np.random.default_rng(13), 0.2, 0, np.repeat([0, 1], 60)
    for run in range(runs):
        predictions = rng.random(120) < 0.5
        outcomes = predictions ^ (rng.random(120) < 0.05)  # accuracy 1/2 in the population
        rows = attack_order(np.ones(120), seed=run)[:60]
        settings = {"attacked": rows, "outcomes": outcomes[rows], "delta": delta, "target": "population"}
        found = attack_intervals(predictions, codes, 2, **settings)
        ends = np.append(found.lower, found.whole_interval[0]), np.append(found.upper, found.whole_interval[1])
        misses += not ((ends[0] <= 0.5) & (ends[1] >= 0.5)).all()
    assert_no_more_than(delta, misses, runs)


def mean_widths(wrong, runs, share):
    """Width in a class of 200, 160 of them right, 50 attacked: with predictions, without, Clopper-Pearson."""
    rng, alpha, found = np.random.default_rng(14), 0.05 * 0.7 / 20, []
    for run in range(runs):
        _, predictions, outcomes = make_samples(rng, 160, wrong, share)
        rows = attack_order(np.ones(160), seed=run)[:50]
        games = (Spared.of(guess, rows, outcomes[rows], size=200) for guess in (predictions, np.full(160, 0.5)))
        plain = clopper_pearson(round(0.8 * outcomes[rows].sum()), 50, 2 * alpha)
        found.append([np.diff(ends)[0] for ends in (*(place_bets(game).ends(alpha, alpha) for game in games), plain)])
    return np.mean(found, axis=0)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_worthless_predictions_cost_at_most_a_tenth_of_the_width(share):
    with_them, without, _ = mean_widths(None, 60, share)
    assert with_them <= 1.1 * without


@pytest.mark.parametrize("share", [0.2, 0.5, 0.75])
def test_worthless_predictions_cost_the_whole_at_most_a_tenth_too(share):
    """Of 1,000 samples 250 are attacked, at the level of the whole, drawn by weights that say nothing either."""
    rng, widths = np.random.default_rng(16), []
    for run in range(8):
        radii, predictions, outcomes = make_samples(rng, 700, None, share)
        weights = near_weights(radii, 1.0, most=2.0)
        games = ((predictions, weights), (np.full(700, 0.5), np.ones(700)))
        orders = [attack_order(rates, seed=run)[:250] for _, rates in games]
        found = [
            place_bets(Spared.of(guesses, rows, outcomes[rows], weights=rates, size=1000)).ends(0.005, 0.005)
            for (guesses, rates), rows in zip(games, orders, strict=True)
        ]
        widths.append([high - low for low, high in found])
    with_them, without = np.mean(widths, axis=0)
    assert with_them <= 1.1 * without


@pytest.mark.parametrize("runs", [3, pytest.param(40, marks=pytest.mark.long)], ids=["short", "long"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.75])
def test_worthless_predictions_cost_no_interval_of_a_check_more_than_a_tenth(share, runs):
    """Ten classes of 130, 400 attacked, as the command bounds them: classes on average, worst class, whole."""
    rng, widths, codes = np.random.default_rng(17), [], np.repeat(np.arange(10), 130)
    for run in range(runs):
        radii, predictions, outcomes = make_samples(rng, 1300, None, share)
        both = []
        for guesses, weights in (
            (predictions.astype(float), near_weights(radii, 1.0, most=2.0)),
            (np.full(1300, 0.5), np.ones(1300)),
        ):
            rows = attack_order(weights, seed=run)[:400]
            settings = {"attacked": rows, "outcomes": outcomes[rows], "weights": weights}
            found = attack_intervals(guesses, codes, 10, delta=0.05, **settings)
            ends = (found.worst, found.whole_interval)
            both.append([np.mean(found.upper - found.lower), *(high - low for low, high in ends)])
        widths.append(both)
    with_them, without = np.mean(widths, axis=0)
    assert (with_them <= 1.1 * without).all(), with_them / without


def test_good_predictions_make_intervals_less_than_half_as_wide():
    with_them, without, plain = mean_widths(0.025, 40, 0.5)
    assert with_them < 0.6 * without
    assert with_them < 0.5 * plain
