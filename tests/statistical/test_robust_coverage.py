"""Robust accuracy at all eps, of all classes and the whole: the intervals hold together as often as is said."""

import numpy as np
import pytest
from scipy import stats

import gfscore
from gfscore.judge.robust_accuracy import count_radii
from gfscore.samples import Samples
from gfscore.scores import LocalScores

SIZES = np.array([400, 400, 200, 100, 60])  # of the classes in the set that a part is drawn of
SCALES = np.array([6.0, 3.0, 2.0, 1.0, 0.5]) / 255  # mean radius of each


def radii_of(rng: np.random.Generator, labels: np.ndarray, wrong: float) -> np.ndarray:
    """Radii as networks have them: some samples are wrong, the others lie at exponential distances."""
    radii = rng.exponential(SCALES[labels])
    return np.where(rng.random(len(labels)) < wrong, 0.0, radii)


def truth(eps: np.ndarray, wrong: float) -> np.ndarray:
    """The share above each eps, (eps, K + 1), the whole last."""
    shares = (1 - wrong) * np.exp(-eps[:, None] / SCALES)
    return np.column_stack([shares, shares @ (SIZES / SIZES.sum())])


def audit_of(labels: np.ndarray, *, finite: bool):
    logits = np.eye(5)[labels] * 3
    return gfscore.audit(logits, labels, class_sizes=SIZES, finite=finite, permutations=0, interval="hoeffding").model


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("per_class", [20, 60])
def test_all_intervals_hold_together(per_class, finite):
    times, rng, delta, wrong = 300, np.random.default_rng(per_class), 0.2, 0.1
    labels = np.repeat(np.arange(5), SIZES)
    part = np.repeat(np.arange(5), np.minimum(SIZES, per_class))
    model = audit_of(labels, finite=finite)
    samples = Samples.of(np.eye(5)[part] * 3, part)
    missed = 0
    for _ in range(times):
        every = radii_of(rng, labels, wrong)
        rows = np.concatenate([rng.permutation(np.flatnonzero(labels == k))[:per_class] for k in range(5)])
        local = LocalScores(
            name="first-order",
            values=np.minimum(every[rows], 32 / 255),
            maximum=32 / 255,
            predicted=part,
            premise="",
            norm="linf",
            eps=2 / 255,
        )
        found = count_radii(local, samples, model, delta=delta)
        eps = np.array([rung.eps for rung in found.rungs])
        real = truth(eps, wrong)
        if finite:  # about this very set
            above = every[:, None] > eps
            real = np.column_stack([*(above[labels == k].mean(axis=0) for k in range(5)), above.mean(axis=0)])
        ends = np.array([[*(each.interval for each in rung.classes), rung.interval] for rung in found.rungs])
        slack = 1e-12  # a class that was seen whole has a point for an interval
        missed += not ((ends[..., 0] <= real + slack) & (real - slack <= ends[..., 1])).all()
    assert stats.binomtest(missed, times, delta, alternative="greater").pvalue > 0.001
