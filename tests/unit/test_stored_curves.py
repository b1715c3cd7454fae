"""What a result keeps of the temperature: the numbers of an audit at that temperature."""

import numpy as np
import pytest

from gfscore import Options, Samples, audit_models
from gfscore.temperature import TOLERANCE


def some_samples(k, n=900, **options):
    rng = np.random.default_rng(k)
    labels = np.arange(n) % k
    logits = rng.normal(0, 1, (n, k)) + rng.uniform(0, 4, k)[labels, None] * np.eye(k)[labels]
    return Samples.of(logits, labels, **options)


@pytest.mark.parametrize("samples", [some_samples(6), some_samples(6, groups=["a", "b", "c"] * 300), some_samples(150)])
def test_they_are_the_numbers_of_an_audit_at_each_temperature(samples):
    model = audit_models({"m": samples}, Options(temperature=2.5, fairness_weight=0.7, permutations=0)).model
    curves = model.curves
    assert len(curves.temperature) == 102
    assert 2.5 in curves.temperature
    for place in (0, 40, curves.temperature.index(2.5), 101):
        options = Options(temperature=curves.temperature[place], fairness_weight=0.7, permutations=0)
        there = audit_models({"m": samples}, options).model
        assert curves.aggregate[place] == pytest.approx(there.aggregate, abs=TOLERANCE)
        scores = {entry.name: entry.score for entry in there.classes}
        for name, values in curves.scores.items():
            assert values[place] == pytest.approx(scores[name], abs=TOLERANCE)
        slack = 4 * TOLERANCE / min(1, there.class_mean)  # some are shares of the mean
        for name in ("wcr", "rdi", "nrgc", "fp_great", "theil", "atkinson"):
            assert curves.metrics[name][place] == pytest.approx(getattr(there, name).value, abs=slack)
        assert curves.metrics["class_mean"][place] == pytest.approx(there.class_mean, abs=TOLERANCE)


def test_of_many_classes_the_lowest_are_kept():
    model = audit_models({"m": some_samples(150)}, Options(permutations=0)).model
    ordered = sorted(model.classes, key=lambda entry: entry.score)
    assert list(model.curves.scores) == [entry.name for entry in ordered[:20]]
    assert len(audit_models({"m": some_samples(100)}, Options(permutations=0)).model.curves.scores) == 100


def test_a_temperature_beyond_the_curve_is_left_out():
    model = audit_models({"m": some_samples(6)}, Options(temperature=50, permutations=0)).model
    assert len(model.curves.temperature) == 101
    assert max(model.curves.temperature) == 10
