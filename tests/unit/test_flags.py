"""Each flag is raised when it should be, and only then."""

import numpy as np
import pytest

from gfscore import audit


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
    assert codes(result) == ["tied_worst", "zero_classes"]
    assert result.wcr.class_ == "0"
    assert (result.atkinson.value, result.atkinson.adjusted_mean) == (1.0, 0.0)


def test_all_zero(rng):
    _, labels = clean(rng)
    result = audit(-100 * np.eye(3)[labels], labels)
    assert codes(result) == ["tied_worst", "all_zero"]
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
