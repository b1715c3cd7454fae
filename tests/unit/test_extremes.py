"""Which classes may be the worst, and how far apart the worst and the best can be: against plain definitions."""

import math
from itertools import pairwise

import numpy as np
import pytest

from gfscore.bounds import Method, PartScores, audit_intervals, class_intervals
from gfscore.bounds.betting import CLIP, capitals
from gfscore.bounds.box import rdi_range
from gfscore.bounds.extremes import HELD_BACK, SHARPNESS, STAGES, may_be_worst, rdi_upper


def made(k, n, seed, spread=(12, 3)):
    """Scores as of a classifier: wrong ones are 0; and the classes' true means."""
    rng = np.random.default_rng(seed)
    right, codes = rng.beta(*spread, k), np.repeat(np.arange(k), n)
    values = np.where(rng.random(k * n) < right[codes], rng.beta(2.5, 1.2, k * n), 0.0)
    return values, codes, right


def worst_by_definition(parts, alpha, failure_rate=0.0):
    """The bets of each class, one round after the other."""
    k, counts = len(parts.counts), parts.counts
    columns = np.split(parts.values, parts.starts[1:])
    if parts.sizes is not None:
        columns = [
            [(sum(x[:i]) + (size - i) * x[i]) / size for i in range(len(x))]
            for x, size in zip(columns, parts.sizes, strict=True)
        ]
    n_rounds = int(counts.max())
    dealt = [{int((i + 0.5) * n_rounds / len(x)): v for i, v in enumerate(x)} for x in columns]
    edges = sorted({math.ceil(n_rounds * s / STAGES) for s in range(STAGES + 1)})
    seen, sums, squares, moved = np.ones(k), np.full(k, 0.5), np.full(k, 0.25), np.full(k, 0.25)
    capital, out = np.ones(k), np.zeros(k, dtype=bool)
    for first, last in pairwise(edges):
        means, spread = sums / seen, max(math.sqrt(squares.sum() / seen.sum()), 0.01)
        weights = np.exp(-SHARPNESS * np.minimum((means - means.min()) * np.sqrt(seen) / spread, 100))
        stakes = np.minimum(np.sqrt(2 * math.log(1 / alpha) * seen / (counts * moved)), CLIP / (1 + failure_rate))
        stage = []
        for r in range(first, last):
            here = [j for j in range(k) if r in dealt[j]]
            if here:
                z = sum(weights[j] * dealt[j][r] for j in here) / sum(weights[j] for j in here)
                stage += [(j, dealt[j][r], dealt[j][r] - z - failure_rate) for j in here]
        for j, x, gap in stage:
            capital[j] *= 1 + stakes[j] * gap
            moved[j] += gap**2
            squares[j] += (x - means[j]) ** 2
            sums[j] += x
            seen[j] += 1
        out |= capital >= 1 / alpha
    return ~out


@pytest.mark.parametrize("counts", [(30, 30, 30, 30), (1, 12, 200, 77), (300, 9)])
@pytest.mark.parametrize("failure_rate", [0.0, 0.03])
def test_the_worst_set_is_that_of_the_definition(counts, failure_rate):
    rng = np.random.default_rng(4)
    codes = np.repeat(np.arange(len(counts)), counts)
    for sizes in (None, [2 * n for n in counts]):
        values = rng.random(len(codes)) * np.linspace(0.3, 1.0, len(counts))[codes]
        parts = PartScores.of(values, codes, len(counts), maximum=1.0, sizes=sizes)
        found = may_be_worst(parts, 0.05, failure_rate)
        np.testing.assert_array_equal(found, worst_by_definition(parts, 0.05, failure_rate))


def test_far_fewer_of_many_classes_may_be_the_worst_than_the_box_says():
    found, by_box = [], []
    for seed in range(3):
        values, codes, right = made(100, 100, seed)
        audited = audit_intervals(values, codes, 100, maximum=1.0)
        lower, upper = class_intervals(values, codes, 100, 0.7 * 0.05, maximum=1.0)
        found.append(len(audited.worst_set))
        by_box.append(np.count_nonzero(lower <= upper.min()))
        assert right.argmin() in audited.worst_set
    assert sum(found) < 0.75 * sum(by_box)


def upper_by_definition(parts, alpha, lowest, highest, places):
    """The largest M - m of a fine grid that no pair of classes excludes; capitals one class at a time."""
    level, best = math.log(1 / alpha), 0.0
    grid_low, grid_high = np.linspace(*lowest, places), np.linspace(*highest, places)
    stake = math.exp(-0.75 * level)
    down = capitals(parts.mirror(), 1 - grid_high, stake, final=True)
    held = [capitals(parts, grid_low, stake, final=False), np.log((1 - HELD_BACK) * np.exp(down) + HELD_BACK)]
    for i, low in enumerate(grid_low):
        for j, high in enumerate(grid_high):
            if min(a + b for a in held[0][i] for b in held[1][j]) < level:
                best = max(best, high - low)
    return best


def test_the_upper_end_of_the_rdi_is_what_no_pair_of_classes_excludes():
    values, codes, _ = made(4, 60, 3)
    parts = PartScores.of(values, codes, 4, maximum=1.0)
    found = rdi_upper(parts, 0.01, (0.0, 0.8), (0.3, 1.0))
    fine = upper_by_definition(parts, 0.01, (0.0, 0.8), (0.3, 1.0), 41)
    assert fine - 1e-6 <= found <= fine + 0.05  # outward by no more than the cells are wide


@pytest.mark.parametrize(("k", "n", "share"), [(100, 100, 0.9), (300, 50, 0.85)])
def test_the_rdi_has_a_lower_upper_end_than_the_box(k, n, share):
    values, codes, _ = made(k, n, 0)
    found = audit_intervals(values, codes, k, maximum=1.0)
    by_box = rdi_range(found.lower, found.upper)[1]
    estimate = np.ptp(np.bincount(codes, weights=values) / n)
    assert found.rdi[1] - estimate < share * (by_box - estimate)


@pytest.mark.parametrize("method", [Method.BLOCKS, Method.MIXTURE])
def test_counts_without_an_order_are_cut_by_the_bound_of_the_best_class(method):
    rng = np.random.default_rng(0)
    values, codes = 0.3 + 0.4 * rng.random(100 * 200), np.repeat(np.arange(200), 100)
    found = audit_intervals(values, codes, 200, maximum=1.0, method=method)
    assert np.count_nonzero(found.upper == found.upper.max()) > 1
    assert found.rdi[1] <= found.upper.max() - found.lower.min() + 1e-12
