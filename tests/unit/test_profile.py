"""The class profile against plain loops, and the decomposition identity."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gfscore.errors import TooFewClassesError
from gfscore.profile import class_profile
from gfscore.samples import Samples
from gfscore.scores import great_scores


def random_samples(rng, n, k, **more):
    labels = rng.integers(0, k, n)
    labels[:2] = (0, 1)  # at least two classes
    return Samples.of(rng.normal(0, 3, (n, k)) + 5, labels, **more)


@given(st.integers(0, 2**32), st.integers(2, 300), st.integers(2, 12))
def test_agrees_with_plain_loops(seed, n, k):
    samples = random_samples(np.random.default_rng(seed), n, k)
    local = great_scores(samples)
    profile = class_profile(samples, local)
    present = sorted(set(samples.labels.tolist()))
    assert profile.names == tuple(str(label) for label in present)
    assert profile.absent == tuple(str(label) for label in range(k) if label not in present)
    for position, label in enumerate(present):
        rows = [row for row in range(n) if samples.labels[row] == label]
        scores = [float(local.values[row]) for row in rows]
        mean = math.fsum(scores) / len(rows)
        assert profile.counts[position] == len(rows)
        assert profile.scores[position] == pytest.approx(mean, abs=1e-14)
        hits = [int(samples.logits[row].argmax()) == label for row in rows]
        assert profile.accuracies[position] == pytest.approx(sum(hits) / len(rows), abs=1e-15)
        if len(rows) == 1:
            assert math.isnan(profile.stds[position])
        else:
            variance = math.fsum((score - mean) ** 2 for score in scores) / (len(rows) - 1)
            assert profile.stds[position] == pytest.approx(math.sqrt(variance), abs=1e-12)


@given(st.integers(0, 2**32), st.integers(2, 400), st.integers(2, 9))
def test_weighted_class_scores_are_the_mean_score(seed, n, k):
    samples = random_samples(np.random.default_rng(seed), n, k)
    local = great_scores(samples)
    profile = class_profile(samples, local)
    mean = math.fsum(local.values) / n
    recombined = math.fsum(count / n * score for count, score in zip(profile.counts, profile.scores, strict=True))
    assert abs(recombined - mean) < 1e-12
    assert abs(profile.aggregate - mean) < 1e-12


def test_the_identity_holds_for_a_million_unbalanced_samples():
    rng = np.random.default_rng(0)
    labels = np.minimum(rng.geometric(0.2, 1_000_000) - 1, 9)
    logits = rng.normal(0, 2, (1_000_000, 10)).astype(np.float32)
    logits[labels == 0, 0] += 3  # the largest class is also the best
    samples = Samples.of(logits, labels)
    local = great_scores(samples, activation="sigmoid")
    profile = class_profile(samples, local)
    mean = math.fsum(local.values) / len(labels)
    recombined = math.fsum(profile.counts / len(labels) * profile.scores)
    assert abs(recombined - mean) < 1e-12
    assert abs(profile.aggregate - mean) < 1e-12
    assert abs(profile.class_mean - profile.aggregate) > 1e-3  # unbalanced: the two means differ


def test_confusions_name_the_most_frequent_mistake():
    predictions = [0, 1, 1, 2, 1, 2, 2, 2]
    labels = [0, 0, 0, 0, 1, 1, 1, 2]
    logits = 5.0 * np.eye(3)[predictions]
    profile = class_profile(samples := Samples.of(logits, labels, class_names=["a", "b", "c"]), great_scores(samples))
    assert profile.confused_with == ("b", "c", None)
    np.testing.assert_allclose(profile.confused_shares, [2 / 4, 2 / 3, 0])


def test_equally_frequent_mistakes_name_the_lowest_class_index():
    logits = 5.0 * np.eye(3)[[2, 1, 1]]
    profile = class_profile(samples := Samples.of(logits, [0, 0, 1]), great_scores(samples))
    assert profile.confused_with[0] == "1"


def test_groups_partition_the_same_scores():
    rng = np.random.default_rng(5)
    groups = np.where(rng.random(200) < 0.3, "night", "day")
    samples = random_samples(rng, 200, 4, groups=groups)
    local = great_scores(samples)
    profile = class_profile(samples, local)
    assert (profile.partition, profile.names) == ("group", ("day", "night"))
    for position, name in enumerate(profile.names):
        assert profile.scores[position] == pytest.approx(local.values[groups == name].mean(), abs=1e-14)
    assert profile.aggregate == pytest.approx(local.values.mean(), abs=1e-14)


def test_one_class_alone_is_refused():
    samples = Samples.of([[1.0, 5.0, 0.0], [4.0, 2.0, 0.0]], [1, 1], class_names=["a", "b", "c"])
    with pytest.raises(TooFewClassesError, match="disparity needs at least two classes with samples; only 'b' has"):
        class_profile(samples, great_scores(samples))
