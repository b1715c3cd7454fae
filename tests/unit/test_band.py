"""Bands over all temperatures: how far scores bend, what lies in a band, and how wide it is."""

import numpy as np
import pytest

from gfscore.bounds import audit_intervals, class_intervals
from gfscore.errors import OptionError
from gfscore.metrics import formulas
from gfscore.profile import class_profile
from gfscore.samples import Samples
from gfscore.scores import SCORE_MAX, Activation, compute_scores
from gfscore.temperature import temperature_band
from gfscore.temperature.band import bending


def scores_at(samples, temperature, activation="softmax"):
    return compute_scores(samples, "great", activation=activation, temperature=temperature)


def made(k, n, seed=0, gain=3.0, classes=None):
    rng = np.random.default_rng(seed)
    labels = np.arange(n * k) % k
    helped = np.linspace(0.6, 1.2, k)[labels][:, None] * gain
    return Samples.of(rng.normal(0, 1, (n * k, classes or k)) + helped * np.eye(classes or k)[labels], labels)


def margin(logits, b, activation):
    """The first class's margin at each b of 1/T, straight from its definition; logits in falling order."""
    z = b[:, None] * (logits - logits[0])
    if activation == "sigmoid":
        own, rival = (1 / (1 + np.exp(-b * x)) for x in (logits[0], logits[1:].max()))
        return own - rival
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return p[:, 0] - p[:, 1:].max(axis=1)


@pytest.mark.parametrize("activation", list(Activation))
@pytest.mark.parametrize("k", [2, 3, 10, 1000])
def test_no_score_bends_more_than_the_constants_allow(activation, k):
    rng, below, above = np.random.default_rng(0), 0.0, 0.0
    u = np.linspace(-7, 5, 1500)
    step = u[1] - u[0]
    for run in range(120):
        rivals = -rng.exponential(1, k - 1) * 10 ** rng.uniform(-1, 1)
        if run % 3 == 0:  # equal rivals, some of them nearer
            rivals = np.where(rng.random(k - 1) < rng.random() ** 4, -rng.random() * 0.1, -1.0)
        logits = np.concatenate(([0.0], rivals)) + (rng.normal() * 3 if activation == "sigmoid" else 0.0)
        with np.errstate(over="ignore"):
            bend = np.diff(margin(logits, np.exp(u), activation), 2) / step**2
        below, above = max(below, bend.max()), max(above, -bend.min())
    allowed = bending(k, activation)
    assert below <= allowed[0]
    assert above <= allowed[1]
    assert allowed[0] < 6 * below  # and they are of the right size
    assert allowed[1] < 6 * above


@pytest.mark.parametrize("activation", list(Activation))
def test_every_estimate_lies_in_the_band_and_the_band_round_every_interval_at_one_temperature(activation):
    samples = made(4, 150)
    band = temperature_band(samples, activation=activation)
    for temperature in (0.01, 0.0333, 0.5, 1.0, 2.7, 10.0):
        local = scores_at(samples, temperature, activation)
        means = class_profile(samples, local).scores
        found = band.intervals(temperature, means, fairness_weight=0.5)
        plain = class_intervals(local.values, samples.labels, 4, 0.05)
        assert (found.lower <= plain[0] + 1e-3).all()
        assert (found.upper >= plain[1] - 1e-3).all()
        for key, metric in (("wcr", formulas.wcr), ("rdi", formulas.rdi), ("nrgc", formulas.nrgc)):
            low, high = found.of(key)
            assert low - 1e-9 <= metric(means) <= high + 1e-9
        assert found.class_mean[0] <= means.mean() <= found.class_mean[1]
        assert found.temperatures == (0.01, 10.0)
        assert means.argmin() in found.worst_set


def test_a_band_is_a_third_wider_than_intervals_at_one_temperature():
    samples = made(10, 1000)
    band, ratios = temperature_band(samples), []
    for temperature in (0.3, 0.9, 1.7):
        local = scores_at(samples, temperature)
        means = class_profile(samples, local).scores
        found = band.intervals(temperature, means, fairness_weight=0.5)
        plain = audit_intervals(local.values, samples.labels, 10, maximum=SCORE_MAX)
        ratios.append(((found.upper - found.lower) / (plain.upper - plain.lower)).mean())
    assert 1.1 < np.mean(ratios) < 1.45


def test_a_temperature_takes_the_two_nodes_beside_it_alone():
    samples = made(3, 60)
    band, whole = temperature_band(samples), temperature_band(samples)
    assert not band.known
    means = class_profile(samples, scores_at(samples, 1.3)).scores
    found = band.intervals(1.3, means, fairness_weight=0.5)
    first, second = sorted(band.known)
    assert second == first + 1
    assert band.places[first] <= np.log(1.3) <= band.places[second]
    for temperature in np.geomspace(0.01, 10, 500):  # all of them: nothing depends on which came first
        whole.intervals(temperature, means, fairness_weight=0.5)
    assert len(whole.known) == len(whole.places)
    again = whole.intervals(1.3, means, fairness_weight=0.5)
    assert (found.lower == again.lower).all()
    assert (found.upper == again.upper).all()


def test_other_methods_and_targets_have_bands_too():
    samples = made(3, 60)
    means = class_profile(samples, scores_at(samples, 1.3)).scores
    wide = temperature_band(samples, method="hoeffding").intervals(1.3, means, fairness_weight=0.5)
    fixed = temperature_band(samples, sizes=[60, 60, 60]).intervals(1.3, means, fairness_weight=0.5)
    assert (wide.method, wide.target, fixed.target) == ("hoeffding", "population", "finite")
    assert (fixed.upper - fixed.lower).max() < 0.02  # what the chord may be off by
    assert (wide.upper - wide.lower).min() > 0.2


def test_a_temperature_outside_the_band_is_refused():
    samples = made(2, 20)
    with pytest.raises(OptionError) as error:
        temperature_band(samples, temperature_range=(0.1, 2.0)).intervals(3.0, [0.5, 0.5], fairness_weight=0.5)
    assert str(error.value) == "temperature 3 is outside the band, 0.1 to 2. Stay inside."
