"""Does a band hold at every temperature at once? Populations of few kinds of logits, so that all scores are known."""

import numpy as np
import pytest
from test_coverage import assert_no_more_than

from gfscore.bounds import class_intervals
from gfscore.metrics import formulas
from gfscore.profile import class_profile
from gfscore.samples import Samples
from gfscore.scores import compute_scores
from gfscore.temperature import temperature_band

TEMPERATURES = np.geomspace(0.01, 10.0, 61)
K, KINDS, N = 3, 25, 40


def scores_of(logits, labels, activation):
    """Class scores at each temperature, ``(T, K)``, and those of each sample, ``(T, N)``."""
    samples = Samples.of(logits, labels, class_names=["a", "b", "c"])
    local = [compute_scores(samples, "great", activation=activation, temperature=t).values for t in TEMPERATURES]
    return np.array([[row[labels == k].mean() for k in range(K)] for row in local]), np.array(local)


def count_misses(activation, runs, delta, seed=0):
    """Runs in which the band missed at some temperature; and in which intervals at the worst of them would have."""
    rng = np.random.default_rng(seed)
    kinds = rng.normal(0, 1, (K, KINDS, K)) * 4.0 ** rng.uniform(-1, 1, (K, KINDS, 1)) + 1.5 * np.eye(K)[:, None]
    everyone = np.repeat(np.arange(K), KINDS)
    truth, _ = scores_of(kinds.reshape(-1, K), everyone, activation)
    labels, missed, chosen = np.repeat(np.arange(K), N), 0, 0
    for run in range(runs):
        drawn = kinds[labels, rng.integers(0, KINDS, K * N)]
        samples = Samples.of(drawn, labels, class_names=["a", "b", "c"])
        band = temperature_band(samples, activation=activation, delta=delta, seed=run)
        means, local = scores_of(drawn, labels, activation)
        wrong = plainly = False
        for t, temperature in enumerate(TEMPERATURES):
            found = band.intervals(temperature, means[t], fairness_weight=0.5)
            wrong |= bool((truth[t] < found.lower - 1e-9).any() or (truth[t] > found.upper + 1e-9).any())
            wrong |= not found.class_mean[0] - 1e-9 <= truth[t].mean() <= found.class_mean[1] + 1e-9
            wrong |= not found.wcr[0] - 1e-9 <= truth[t].min() <= found.wcr[1] + 1e-9
            gini = formulas.nrgc(truth[t])
            wrong |= found.nrgc is not None and not found.nrgc[0] - 1e-9 <= gini <= found.nrgc[1] + 1e-9
            wrong |= int(truth[t].argmin()) not in found.worst_set
            low, high = class_intervals(local[t], labels, K, delta, seed=run)
            plainly |= bool((truth[t] < low - 1e-9).any() or (truth[t] > high + 1e-9).any())
        missed, chosen = missed + wrong, chosen + plainly
    return missed, chosen


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_a_band_holds_at_every_temperature_at_once(activation):
    delta, runs = 0.3, 8
    missed, _ = count_misses(activation, runs, delta)
    assert_no_more_than(delta, missed, runs)


@pytest.mark.long
@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_bands_hold_where_intervals_at_a_chosen_temperature_need_not(activation):
    delta, runs = 0.3, 300
    missed, chosen = count_misses(activation, runs, delta, seed=1)
    assert_no_more_than(delta, missed, runs)
    assert missed <= chosen


def test_the_profile_of_a_sample_is_what_the_band_is_about():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(K), 30)
    drawn = rng.normal(0, 2, (90, K)) + np.eye(K)[labels]
    samples = Samples.of(drawn, labels, class_names=["a", "b", "c"])
    means, _ = scores_of(drawn, labels, "softmax")
    own = class_profile(samples, compute_scores(samples, "great", temperature=float(TEMPERATURES[30])))
    np.testing.assert_allclose(means[30], own.scores)
