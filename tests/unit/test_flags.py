"""Each flag is raised when it should be, and only then."""

import numpy as np
import pytest
from scipy.stats import binom

from gfscore import Options, Samples, audit
from gfscore.jobs.stages import audit_scores, audit_summary, score_samples
from gfscore.judge import Decisions, is_at_chance
from gfscore.summaries import Summary


def codes(result):
    return [flag.code for flag in result.flags]


def clean(rng, n_classes=3, n=120):
    labels = np.arange(n) % n_classes
    logits = rng.normal(0, 1, (n, n_classes))
    logits[np.arange(n), labels] += rng.normal(1.0, 1.0, n)
    return logits, labels


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_nothing_is_flagged_without_reason(rng):
    logits, labels = clean(rng)
    assert codes(audit(logits, labels)) == []
    assert codes(audit(logits, labels, activation="sigmoid")) == []


def test_absent_classes(rng):
    logits, labels = clean(rng)
    result = audit(np.column_stack([logits, logits[:, :1] - 9]), labels, class_names=["a", "b", "c", "unseen"])
    assert codes(result) == ["absent_classes"]
    assert result.model.absent_classes == ("unseen",)
    assert result.flags[0].message == (
        "classes without a sample (unseen; 1 in all) have no score and are left out of every metric."
    )
    assert [entry.name for entry in result.classes] == ["a", "b", "c"]


def test_few_samples(rng):
    logits, labels = clean(rng)
    assert codes(audit(logits, labels, min_n=40)) == []
    result = audit(logits, labels, min_n=41)
    assert codes(result) == ["few_samples"]
    assert result.flags[0].message.startswith("3 of 3 classes have fewer than 41 samples (0, 1, 2):")


def test_tied_worst_and_zero_classes(rng):
    logits, labels = clean(rng)
    logits[labels < 2] = (0.0, 0.0, 9.0)  # classes 0 and 1 are never right
    result = audit(logits, labels)
    assert codes(result) == ["tied_worst", "zero_classes", "at_chance"]
    assert result.wcr.class_ == "0"
    assert (result.atkinson.value, result.atkinson.adjusted_mean) == (1.0, 0.0)


def test_all_zero(rng):
    _, labels = clean(rng)
    result = audit(-100 * np.eye(3)[labels], labels)
    assert codes(result) == ["labels_permuted", "tied_worst", "all_zero", "at_chance"]
    assert result.nrgc.value is result.theil.value is result.atkinson.value is None
    assert (result.wcr.value, result.rdi.value) == (0.0, 0.0)


def test_tied_logits(rng):
    logits, labels = clean(rng)
    logits[0] = (5.0, 5.0, 1.0)  # counts as correct for class 0, which comes first
    logits[1] = (5.0, 5.0, 1.0)  # does not for class 1
    result = audit(logits, labels)
    assert codes(result) == ["tied_logits"]
    assert result.flags[0].message.startswith("1 samples count as correct only because")


def test_saturated(rng):
    logits, labels = clean(rng)
    assert "saturated" in codes(audit(100 * np.eye(3)[labels] + logits, labels))


@pytest.mark.parametrize("shift", [-20.0, 20.0])
def test_sigmoid_shift(rng, shift):
    logits, labels = clean(rng)
    assert codes(audit(logits + shift, labels, activation="sigmoid")) == ["sigmoid_shift"]
    assert codes(audit(logits + shift, labels)) == []


def test_sigmoid_shift_tells_how_much_is_left():
    logits, labels = np.array([[3.0, 1.0], [1.0, 3.0]]), [0, 1]
    flags = audit(logits, labels, activation="sigmoid", min_n=1).flags
    message = next(flag.message for flag in flags if flag.code == "sigmoid_shift")
    kept = (1 / (1 + np.exp(-3)) - 1 / (1 + np.exp(-1))) / (2 / (1 + np.exp(-1)) - 1)
    assert kept < 0.5
    assert message.startswith(f"sigmoid keeps {100 * kept:.1f} % of the score")


def test_bounded_logits(rng):
    logits, labels = clean(rng)
    assert codes(audit(1 / (1 + np.exp(-logits)), labels)) == ["bounded_logits"]


@pytest.mark.parametrize("temperature", [1e-300, 1e20, 1e300])
def test_sigmoid_at_extreme_temperatures_divides_by_nothing(rng, temperature):
    logits, labels = clean(rng)
    assert "sigmoid_shift" not in codes(audit(logits - logits.mean(), labels, activation="sigmoid", temperature=1e300))
    audit(logits, labels, activation="sigmoid", temperature=temperature)  # a warning would be an error here


def test_sigmoid_with_gaps_that_overflow():
    result = audit([[1e308, -1e308], [-1e308, 1e308]], [0, 1], activation="sigmoid", min_n=1)
    assert "sigmoid_shift" not in codes(result)  # the logits are centred: nothing is lost
    assert result.aggregate == pytest.approx(np.sqrt(np.pi / 2))


def test_a_class_of_ties_scores_zero_though_it_counts_as_correct():
    result = audit([[3.0, 3.0], [0.0, 2.0]], [0, 1], min_n=1)
    assert result.classes[0].accuracy == 1.0
    message = next(flag.message for flag in result.flags if flag.code == "zero_classes")
    assert "no sample of theirs has its own class in front" in message


def of_accuracy(rng, share, n, n_classes, weights=None):
    """Labels, and logits that are right with some probability and name any class otherwise."""
    labels = rng.choice(n_classes, n, p=weights)
    named = np.where(rng.random(n) < share, labels, rng.integers(0, n_classes, n))
    return 3 * np.eye(n_classes)[named] + rng.normal(0, 0.3, (n, n_classes)), labels


@pytest.mark.parametrize(("n_classes", "n"), [(2, 400), (10, 200), (10, 10_000), (100, 3000)])
def test_shuffled_labels_are_at_chance(rng, n_classes, n):
    logits, labels = of_accuracy(rng, 0.9, n, n_classes)
    assert "at_chance" not in codes(audit(logits, labels))
    found = [codes(audit(logits, rng.permutation(labels))) for _ in range(10)]
    assert sum("at_chance" in flags for flags in found) >= 8, "nearly always found, though half are above 1/K"


def chance_of_a_flag(accuracy, n, n_classes):
    """By enumeration of all numbers of right decisions."""
    hit = [is_at_chance(correct / n, n, 1 / n_classes) for correct in range(n + 1)]
    return binom.pmf(np.arange(n + 1), n, accuracy)[hit].sum()


@pytest.mark.parametrize(("n_classes", "clear", "weak"), [(2, 0.6, 0.575), (10, 0.28, 0.2), (100, 0.03, 0.025)])
def test_a_weak_classifier_that_is_clearly_above_guessing_is_left_alone(n_classes, clear, weak):
    for n in (10, 30, 100, 300, 2000):
        assert chance_of_a_flag(clear, n, n_classes) <= 0.025, "one end of a Clopper-Pearson interval at 0.05"
    assert chance_of_a_flag(weak, 4000, n_classes) <= 0.001


def test_uneven_classes_neither_hide_a_guesser_nor_make_one(rng):
    weights = [0.9, 0.05, 0.05]
    logits, labels = of_accuracy(rng, 0.6, 3000, 3, weights)
    result = audit(logits, labels)
    assert result.accuracy < 0.9  # always naming the largest class would be right more often, and is a guess
    assert "at_chance" not in codes(result)
    assert {"at_chance"} <= set(codes(audit(np.tile([5.0, 0.0, 0.1], (3000, 1)), labels)))


def test_a_few_of_many_classes_are_no_guess(rng):
    """A right decision one time in four, of 1,000 classes, where the samples are of two."""
    labels = np.arange(800) % 2
    named = np.where(rng.random(800) < 0.25, labels, rng.integers(2, 1000, 800))
    assert "at_chance" not in codes(audit(3.0 * np.eye(1000)[named], labels))
    stray = np.column_stack([np.eye(4)[rng.integers(0, 4, 800)], np.full(800, 9.0)])  # a column that is no class
    stray[:10, 4] = -9.0
    found = audit(stray, rng.integers(0, 4, 800), class_names=["a", "b", "c", "d", "id"])
    assert {"at_chance", "one_class_takes_all"} <= set(codes(found))


def test_one_class_takes_all(rng):
    logits, labels = clean(rng)
    named = np.where(np.arange(120) < 108, 2, labels)
    assert codes(audit(9 * np.eye(3)[named] + logits, labels))[-1] == "one_class_takes_all"
    result = audit(9 * np.eye(3)[named] + logits, np.where(rng.random(120) < 0.7, 2, labels))
    assert "one_class_takes_all" not in codes(result), "it is the label of most"
    message = audit(np.tile([0.0, 0.0, 9.0], (120, 1)), labels).flags[-1].message
    assert message.startswith("100.0 % of the samples are decided for 2, which is the label of 33.3 %.")


@pytest.mark.parametrize("groups", [None, np.arange(600) % 2])
def test_sums_of_samples_are_flagged_as_the_samples_are(rng, groups):
    logits, labels = of_accuracy(rng, 0.9, 600, 5)
    for truth in (labels, rng.permutation(labels), np.roll(labels, 1)):
        samples = Samples.of(logits, truth, groups=groups)
        local, options = score_samples(samples, Options()), Options(permutations=0)
        whole = audit_scores(samples, local, options, name="m")
        summed = audit_summary(Summary.of(samples, local), options)
        assert codes(summed) == codes(whole)
        assert ("at_chance" in codes(whole)) == (truth is not labels)


def test_class_balanced_accuracy_is_the_plain_one_where_classes_are_even(rng):
    logits, labels = clean(rng)
    samples = Samples.of(logits, labels)
    decided = Decisions.of(samples, score_samples(samples, Options()))
    assert decided.accuracy == pytest.approx(audit(logits, labels).accuracy)
    assert decided.worth == pytest.approx(120)
    assert decided.guess == pytest.approx(1 / 3)
