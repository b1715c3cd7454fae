"""Do Hoeffding's bounds hold as often as they promise?"""

import numpy as np
import pytest
from scipy.stats import binomtest

from gfscore import SCORE_MAX
from gfscore.bounds import hoeffding_radius, rdi_radius

DELTA, RUNS, N = 0.1, 2000, 200


def misses_are_within_promise(misses, runs=RUNS, delta=DELTA):
    return binomtest(int(misses), runs, delta, alternative="greater").pvalue > 1e-3


@pytest.mark.parametrize(("a", "b"), [(1, 1), (0.2, 0.2), (5, 1), (0.05, 2)])
def test_class_radius_covers_all_classes_at_once(a, b):
    rng = np.random.default_rng(0)
    truth = SCORE_MAX * a / (a + b)
    means = SCORE_MAX * rng.beta(a, b, size=(RUNS, 5, N)).mean(axis=2)
    radius = hoeffding_radius(N, DELTA, n_classes=5)
    assert misses_are_within_promise((np.abs(means - truth) > radius).any(axis=1).sum())


def test_class_radius_is_not_idle():
    """Two-point scores come near the promise; half the radius would break it."""
    rng = np.random.default_rng(1)
    means = SCORE_MAX * rng.integers(0, 2, size=(RUNS, N)).mean(axis=1)
    radius = float(hoeffding_radius(N, DELTA))
    misses = np.abs(means - SCORE_MAX / 2)
    assert misses_are_within_promise((misses > radius).sum())
    assert not misses_are_within_promise((misses > radius / 2).sum())


@pytest.mark.parametrize("truths", [(0.5, 0.5, 0.5), (0.2, 0.5, 0.9)])
def test_rdi_radius_covers(truths):
    rng = np.random.default_rng(2)
    scores = np.stack([rng.random((RUNS, N)) < truth for truth in truths], axis=1)
    means = SCORE_MAX * scores.mean(axis=2)
    observed = means.max(axis=1) - means.min(axis=1)
    error = np.abs(observed - SCORE_MAX * (max(truths) - min(truths)))
    assert misses_are_within_promise((error > rdi_radius(N, DELTA, n_classes=len(truths))).sum())
