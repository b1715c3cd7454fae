"""Labels that are shifted or permuted are found, with the option that cures it; guessing and weak networks are not."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from gfscore import Options, Samples, StreamingAudit, audit, gate
from gfscore.errors import InvalidInputError
from gfscore.jobs.stages import score_samples
from gfscore.judge.mistakes import FALSE_ALARM, Pairs, beyond_guessing, label_flag

NAMES = [f"class {index}" for index in range(12)]
LABELS = np.arange(600) % 12


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def logits(rng):
    return rng.normal(0, 1, (600, 12)) + 3 * np.eye(12)[LABELS]


def flags(logits, labels, **words):
    return {flag.code: flag.message for flag in audit(logits, labels, permutations=0, **words).flags}


def test_right_labels_raise_nothing(logits):
    assert not {"labels_shifted", "labels_permuted", "at_chance"} & set(flags(logits, LABELS))


def test_labels_from_one_without_the_last_class(logits):
    kept = LABELS < 11
    found = flags(logits[kept], LABELS[kept] + 1)
    assert "labels_permuted" not in found
    assert found["labels_shifted"].endswith(
        "are for the class before the label: labels seem to count from 1. Say --labels-from 1, or subtract 1 from the "
        "labels of the data."
    )
    cured = flags(logits[kept], LABELS[kept] + 1, labels_from=1)
    assert "labels_shifted" not in cured


def test_a_background_class_before_the_others(logits):
    kept = LABELS > 0
    found = flags(logits[kept], LABELS[kept] - 1)
    assert "Say --labels-from -1, or add 1 to the labels of the data." in found["labels_shifted"]
    assert "labels_shifted" not in flags(logits[kept], LABELS[kept] - 1, labels_from=-1)


def test_numbers_sorted_as_text(logits):
    order = sorted(range(12), key=str)  # 0, 1, 10, 11, 2
    labels = np.argsort(order)[LABELS]
    message = flags(logits, labels)["labels_permuted"]
    assert "2 as 10, 3 as 11, 4 as 2 and 7 more" in message
    assert "as numbers sorted as text (1, 10, 2) do on one side. Give labels by name, or say their order" in message
    names = [NAMES[index] for index in order]
    assert "labels_permuted" not in flags(logits, labels, class_names=NAMES, label_names=names)
    assert audit(logits, labels, class_names=NAMES, label_names=names).accuracy == audit(logits, LABELS).accuracy


def test_two_classes_that_are_exchanged(logits):
    swapped = np.where(LABELS == 3, 7, np.where(LABELS == 7, 3, LABELS))
    message = flags(logits, swapped, class_names=NAMES)["labels_permuted"]
    assert "on 2 classes are right" in message
    assert "(class 3 as class 7, class 7 as class 3)" in message


def test_the_best_permutation_is_the_best_of_all(rng):
    """Against all orders of four classes, one by one."""
    for _ in range(30):
        order, share = rng.permutation(4), rng.uniform(0.3, 1)
        decided = np.where(rng.random(200) < share, order[LABELS[:200] % 4], rng.integers(0, 4, 200))
        pairs = Pairs.of_keys(LABELS[:200] % 4 * 4 + decided, 4)
        table = np.array([[((LABELS[:200] % 4 == a) & (decided == b)).sum() for b in range(4)] for a in range(4)])
        assert (table == pairs.matrix()).all()
        best = max(itertools.permutations(range(4)), key=lambda to: sum(table[a, to[a]] for a in range(4)))
        moved = [a for a in range(4) if best[a] != a]
        n, right, before = table[moved].sum(), sum(table[a, best[a]] for a in moved), sum(table[a, a] for a in moved)
        flag = label_flag(pairs, tuple("abcd"))
        if right >= max(2 * before, n / 2) and moved:
            assert flag.code == "labels_permuted"
            assert f"on {len(moved)} classes are right, and {100 * right / n:.1f} % would be" in flag.message
        else:
            assert flag is None


@pytest.mark.parametrize(("n", "guess"), [(20, 0.5), (50, 0.1), (400, 0.1), (2000, 0.01)])
def test_guessing_is_flagged_less_often_than_stated(n, guess):
    """By enumeration of all numbers of right decisions, for the two shifts together."""
    hit = np.array([beyond_guessing(right, n, guess, math.log(2)) for right in range(n + 1)])
    assert 2 * binom.pmf(np.arange(n + 1), n, guess)[hit].sum() <= FALSE_ALARM / 2


@pytest.mark.parametrize(("n_classes", "n"), [(2, 40), (3, 30), (10, 100), (10, 2000), (50, 500), (300, 900)])
def test_random_networks_raise_nothing(rng, n_classes, n):
    """Decisions that do not depend on the labels, even or mostly for a few classes, on even and uneven labels."""
    for sharpness in (100.0, 1.0, 0.1):
        for _ in range(20):
            of_labels, of_decisions = (rng.dirichlet(np.full(n_classes, sharpness)) for _ in range(2))
            labels, decided = (rng.choice(n_classes, n, p=p) for p in (of_labels, of_decisions))
            assert label_flag(Pairs.of_keys(labels * n_classes + decided, n_classes), ("x",) * n_classes) is None


def test_one_class_for_all_is_no_shift():
    """The label of most samples is the class before the one that is always named."""
    labels = np.repeat([1, 2, 3], [900, 50, 50])
    assert label_flag(Pairs.of_keys(labels * 4 + 2, 4), tuple("abcd")) is None


def test_streams_show_it_too(logits):
    stream = StreamingAudit(Options(permutations=0))
    order = np.random.default_rng(1).permutation(12)
    for rows in np.split(np.arange(600), 3):
        stream.update(logits[rows], order[LABELS[rows]])
    message = {flag.code: flag.message for flag in stream.result().flags}["labels_permuted"]
    assert message == flags(logits, order[LABELS])["labels_permuted"]


def test_pairs_of_samples_are_counted(logits):
    samples = Samples.of(logits, LABELS)
    pairs = Pairs.of(samples, score_samples(samples, Options()))
    assert pairs.counts.sum() == 600
    assert pairs.right() == (logits.argmax(axis=1) == LABELS).sum()


def test_there_is_no_verdict_on_them(logits):
    labels = np.roll(np.arange(12), 1)[LABELS]
    with pytest.raises(InvalidInputError, match=r"there is nothing to judge: .* --allow labels_permuted"):
        gate(logits, labels=labels, wcr=0.1)
    assert gate(logits, labels=labels, wcr=0.1, allow=["labels_permuted", "at_chance", "all_zero"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            {"label_names": NAMES},
            "--label-names needs the names of the classes in the order of the model: --class-names.",
        ),
        (
            {"label_names": ["dog", *NAMES[1:]], "class_names": NAMES},
            (
                "label name 'dog' is no class; these are 'class 0', 'class 1', 'class 2', 'class 3', 'class 4', "
                "'class 5' and 6 more. Give the same names in another order."
            ),
        ),
        ({"label_names": NAMES[:3], "class_names": NAMES}, "label 3 in row 3 is none of the 3 of --label-names."),
        (
            {"label_column": "y"},
            (
                "--label-column is about tables (.csv, .tsv or .parquet), and samples in memory have no columns. "
                "Leave it out."
            ),
        ),
    ],
)
def test_what_is_said_of_labels_is_checked(logits, words, message):
    with pytest.raises(InvalidInputError) as refused:
        audit(logits, LABELS, **words)
    assert str(refused.value) == message
