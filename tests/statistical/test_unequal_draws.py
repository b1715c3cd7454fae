"""Do numbers of the whole hold for the set, or the world behind it, when classes are not drawn in proportion?"""

import itertools

import numpy as np
import pytest
from scipy.stats import binomtest, hypergeom

from gfscore import Samples, audit, compare
from gfscore.bounds import Strata, audit_intervals
from gfscore.judge import accuracy_intervals
from gfscore.scores import SCORE_MAX, great_scores

SIZES = np.array([5000, 200])


def assert_no_more_than(alpha, misses, runs):
    assert binomtest(int(misses), runs, alpha, alternative="greater").pvalue > 1e-3, (int(misses), runs)


def a_set(rng, sizes=SIZES):
    """Logits of a set: the large class is mostly right and sure of it, the small one mostly wrong."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    margins = rng.normal(np.array([3.0, -0.5])[labels], 1.5)
    logits = np.zeros((len(labels), 2))
    logits[np.arange(len(labels)), labels] = margins
    return logits, labels


def plain_loop(logits, labels):
    """Score and accuracy of a set, sample by sample."""
    scores, right = [], 0
    for row, label in zip(logits, labels, strict=True):
        shares = np.exp(row - row.max())
        margin = (shares[label] - shares[1 - label]) / shares.sum()
        scores.append(SCORE_MAX * max(margin, 0.0))
        right += row.argmax() == label
    return sum(scores) / len(scores), right / len(scores)


@pytest.mark.parametrize("finite", [True, False])
def test_score_and_accuracy_of_a_set_of_which_equally_many_of_each_class_were_scored(finite):
    """Forty audits of 100 + 100 of 5,000 + 200 samples."""
    runs, rng = 40, np.random.default_rng(0)
    logits, labels = a_set(rng)
    score, accuracy = plain_loop(logits, labels)
    misses = dict.fromkeys(("aggregate", "accuracy", "unweighted"), 0)
    for _ in range(runs):
        rows = np.concatenate([rng.choice(np.flatnonzero(labels == k), 100, replace=False) for k in (0, 1)])
        model = audit(logits[rows], labels[rows], class_sizes=SIZES, finite=finite).model
        whole, _ = accuracy_intervals(model, {None}, 0.05)
        misses["aggregate"] += not model.aggregate_interval[0] <= score <= model.aggregate_interval[1]
        misses["accuracy"] += not whole[0] <= accuracy <= whole[1]
        alike = audit(logits[rows], labels[rows]).model.aggregate_interval
        misses["unweighted"] += not alike[0] <= score <= alike[1]
    assert_no_more_than(0.05, misses["aggregate"], runs)
    assert_no_more_than(0.05, misses["accuracy"], runs)
    assert misses["unweighted"] == runs  # why weights are needed


def test_the_weighted_numbers_are_those_of_a_plain_loop():
    rng = np.random.default_rng(3)
    logits, labels = a_set(rng, (70, 11))
    rows = np.r_[0:20, 70:80]
    model = audit(logits[rows], labels[rows], class_sizes=[70, 11]).model
    parts = [plain_loop(logits[rows][labels[rows] == k], labels[rows][labels[rows] == k]) for k in (0, 1)]
    score, accuracy = ((70 * first + 11 * second) / 81 for first, second in zip(*parts, strict=True))
    assert (model.aggregate, model.accuracy) == pytest.approx((score, accuracy), abs=1e-12)
    assert model.curves.aggregate[model.curves.temperature.index(1.0)] == pytest.approx(score, abs=1e-6)
    whole = audit(logits, labels, class_sizes=[70, 11]).model
    assert (whole.aggregate, whole.accuracy) == pytest.approx(plain_loop(logits, labels), abs=1e-12)
    assert whole.aggregate_interval == pytest.approx((whole.aggregate,) * 2, abs=1e-11)
    assert accuracy_intervals(whole, {None}, 0.05)[0] == pytest.approx((whole.accuracy,) * 2, abs=1e-12)


def test_what_cannot_be_weighed_has_no_interval_and_says_so():
    rng = np.random.default_rng(4)
    labels = np.repeat([0, 1], [30, 30])
    logits = rng.normal(0, 1, (60, 3))
    by_groups = audit(logits, labels, groups=np.tile(["a", "b"], 30), class_sizes=[300, 30, 0], finite=False).model
    absent = audit(logits, labels, class_sizes=[300, 30, 5]).model
    for model in (by_groups, absent):
        assert model.aggregate_interval is None
        assert model.samples.weighted_by == "unequal_draws"
        assert "unequal_draws" in [flag.code for flag in model.flags]
        assert accuracy_intervals(model, {None}, 0.05)[0] is None
        assert model.class_mean_interval is not None
    alike = audit(logits, labels, groups=np.tile(["a", "b"], 30), class_sizes=[300, 300, 0], finite=False).model
    assert alike.aggregate_interval is not None


@pytest.mark.parametrize("finite", [True, False])
def test_all_intervals_of_weighted_audits_hold_together(finite):
    delta, runs, rng = 0.3, 200, np.random.default_rng(11)
    sizes, counts, maxima = np.array([400, 90, 30, 60]), np.array([20, 40, 30, 10]), np.array([1.0, 0.2, 0.6, 0.9])
    codes, weights, misses = np.repeat(np.arange(4), counts), sizes / sizes.sum(), 0
    for seed in range(runs):
        whole = [most * rng.beta(0.4, 0.4, size) for most, size in zip(maxima, sizes, strict=True)]
        values = np.concatenate([rng.choice(scores, n, replace=False) for scores, n in zip(whole, counts, strict=True)])
        found = audit_intervals(
            values, codes, 4, maximum=1.0, delta=delta, seed=seed, sizes=sizes if finite else None, weights=weights
        )
        means = np.array([scores.mean() for scores in whole]) if finite else maxima / 2
        truth = float(weights @ means)
        missed = (found.lower > means + 1e-9) | (found.upper < means - 1e-9)
        misses += missed.any() or not found.aggregate[0] - 1e-9 <= truth <= found.aggregate[1] + 1e-9
    assert_no_more_than(delta, misses, runs)


@pytest.mark.parametrize(("sizes", "counts"), [((12, 5), (4, 4)), ((9, 9), (2, 8)), ((20, 3), (3, 3))])
def test_the_bound_of_a_share_of_a_fixed_set_fails_no_more_often_than_its_level(sizes, counts):
    """Exact: every fixed set, every outcome of the draw with its probability."""
    alpha = 0.1
    outcomes = list(itertools.product(*(range(n + 1) for n in counts)))
    ends = np.array([Strata.of(times, counts, sizes=sizes).whole_ends(alpha) for times in outcomes])
    for true in itertools.product(*(range(size + 1) for size in sizes)):
        laws = [hypergeom(size, k, n) for size, k, n in zip(sizes, true, counts, strict=True)]
        chances = np.prod([[law.pmf(k) for law, k in zip(laws, times, strict=True)] for times in outcomes], axis=1)
        share = sum(true) / sum(sizes)
        assert chances[ends[:, 0] > share + 1e-9].sum() <= alpha
        assert chances[ends[:, 1] < share - 1e-9].sum() <= alpha


def test_expected_accuracy_of_a_set_rarely_stops_a_sound_run():
    rng = np.random.default_rng(8)
    logits, labels = a_set(rng)
    expected = plain_loop(logits, labels)[1]
    for _ in range(30):  # each may be stopped with probability 0.001
        rows = np.concatenate([rng.choice(np.flatnonzero(labels == k), 100, replace=False) for k in (0, 1)])
        audit(logits[rows], labels[rows], class_sizes=SIZES, expect_accuracy=expected)


def test_the_paired_change_of_the_whole_is_that_of_the_set():
    """Forty comparisons of 100 + 100 of 5,000 + 200 samples: the small class rises as much as the large one falls."""
    runs, rng = 40, np.random.default_rng(4)
    logits, labels = a_set(rng)
    later = logits + np.array([[-1.0, 0.0], [0.0, 2.0]])[labels]
    change = plain_loop(later, labels)[0] - plain_loop(logits, labels)[0]
    misses = dict.fromkeys(("weighed", "alike"), 0)
    for _ in range(runs):
        rows = np.concatenate([rng.choice(np.flatnonzero(labels == k), 100, replace=False) for k in (0, 1)])
        for name, sizes in {"weighed": SIZES, "alike": None}.items():
            versions = [Samples.of(each[rows], labels[rows], class_sizes=sizes) for each in (logits, later)]
            found = compare(*versions, permutations=0).metrics["aggregate"]
            misses[name] += not found.interval[0] <= change <= found.interval[1]
            expected = [np.mean(great_scores(each).values[each.labels == k]) for k in (0, 1) for each in versions]
            shares = np.array([0.5, 0.5]) if sizes is None else sizes / sizes.sum()
            assert found.value == pytest.approx(shares @ [expected[1] - expected[0], expected[3] - expected[2]])
    assert_no_more_than(0.05, misses["weighed"], runs)
    assert misses["alike"] == runs  # why weights are needed


def test_versions_of_one_set_of_which_one_knows_the_sizes_are_weighed_alike():
    logits, labels = a_set(np.random.default_rng(0), np.array([60, 40]))
    plain, known = Samples.of(logits, labels), Samples.of(logits, labels, class_sizes=[600, 41])
    both = [compare(*pair, permutations=0).metrics["aggregate"] for pair in ((plain, known), (known, known))]
    assert both[0] == both[1]
    other = Samples.of(logits, labels, class_sizes=[600, 4100])  # nobody knows which of the two is right
    alone = compare(plain, plain, permutations=0).metrics["aggregate"]
    assert compare(known, other, permutations=0).metrics["aggregate"] == alone


def test_a_change_has_no_interval_for_the_whole_where_a_class_of_the_set_has_no_sample():
    logits, labels = np.eye(3)[np.arange(60) % 2] * 3.0, np.arange(60) % 2
    samples = Samples.of(logits, labels, class_sizes=[300, 30, 5])
    found = compare(samples, samples, permutations=0).metrics
    assert found["aggregate"].interval is None
    assert found["wcr"].interval is not None
