"""The adaptive gate: what it draws, when it stops, and what it says."""

import numpy as np
import pytest
from scipy.stats import binomtest

from gfscore.bounds import Evidence
from gfscore.errors import OptionError
from gfscore.jobs.adaptive import adaptive_rule, gate_adaptively
from gfscore.judge import Policy, adaptive_gate
from gfscore.judge.adaptive_draws import next_draws
from gfscore.results import ScoreInfo, Verdict

LABELS = np.tile(np.arange(4), 300)
MEANS = np.array([0.8, 0.4, 0.7, 0.6])


def scores_of(means, seed=0):
    return np.random.default_rng(seed).beta(4 * means[LABELS], 4 * (1 - means[LABELS]))


def scoring(scores, seen=None):
    def score(rows):
        if seen is not None:
            seen.extend(rows.tolist())
        return scores[rows], LABELS[rows]

    return score


@pytest.mark.parametrize(("threshold", "verdict"), [(0.2, Verdict.PASS), (0.6, Verdict.FAIL)])
@pytest.mark.parametrize("finite", [False, True])
def test_a_clear_case_is_decided_with_few_draws(threshold, verdict, finite):
    seen = []
    drawn = adaptive_gate(
        scoring(scores_of(MEANS), seen), LABELS, threshold=threshold, maximum=1.0, finite=finite, size=8
    )
    assert drawn.verdict is verdict
    assert drawn.used == len(seen) == len(set(seen)) <= 150
    assert drawn.available == 1200
    assert np.bincount(LABELS[seen], minlength=4).tolist() == drawn.evidence.counts.tolist()


def test_a_fixed_set_is_always_decided_and_rightly():
    for seed in range(5):
        scores = scores_of(np.full(4, 0.5), seed)
        wcr = min(scores[k::4].mean() for k in range(4))
        for threshold, verdict in ((wcr - 1e-4, Verdict.PASS), (wcr + 1e-4, Verdict.FAIL)):
            drawn = adaptive_gate(scoring(scores), LABELS, threshold=threshold, maximum=1.0, finite=True)
            assert drawn.verdict is verdict


def test_too_near_to_tell_is_undecided_when_the_data_run_out():
    scores = np.where(np.arange(len(LABELS)) // 4 % 2 == 0, 0.0, 1.0)
    drawn = adaptive_gate(scoring(scores), LABELS, threshold=0.5, maximum=1.0)
    assert drawn.verdict is Verdict.UNDECIDED
    assert drawn.used == drawn.available


def test_draws_depend_on_the_seed_and_on_nothing_else():
    runs = []
    for seed in (0, 0, 1):
        seen = []
        adaptive_gate(scoring(scores_of(MEANS), seen), LABELS, threshold=0.3, maximum=1.0, seed=seed)
        runs.append(seen)
    assert runs[0] == runs[1] != runs[2]


def test_the_failing_class_gets_most_of_the_draws():
    drawn = adaptive_gate(scoring(scores_of(MEANS)), LABELS, threshold=0.5, maximum=1.0)
    assert drawn.verdict is Verdict.FAIL
    assert int(drawn.evidence.counts.argmax()) == 1


def test_draws_are_shared_out_exactly_and_only_where_there_is_something_left():
    evidence = Evidence.start(3, 0.5, maximum=1.0).add([0.9, 0.9, 0.1], [0, 0, 1])
    wanted = next_draws(evidence, np.array([5, 3, 10]), np.array([True, True, False]), 4)
    assert wanted.sum() == 4
    assert wanted[1] == 2  # the lowest gets all it has left
    assert wanted[2] == 0
    assert next_draws(evidence, np.array([2, 1, 0]), np.array([False, False, False]), 4).sum() == 0


def test_the_result_says_how_many_passes_of_how_many():
    verdict = gate_adaptively(
        scoring(scores_of(MEANS)),
        LABELS,
        Policy.of({"rules": {"wcr": 0.6}}),
        name="m",
        class_names=["a", "b", "c", "d"],
        score_info=(score := ScoreInfo(name="mine", range=(0.0, 1.0))),
    )
    run = verdict.adaptive
    assert verdict.score == score
    assert verdict.verdict is Verdict.FAIL
    assert f"after {run.used:,} of 1,200 forward passes, most of all b" in verdict.reasons[0]
    assert sum(entry.n for entry in run.classes) == run.used
    assert run.target == "population"
    assert all(entry.accuracy == 1.0 for entry in run.classes if entry.n)


def test_absent_classes_are_left_out():
    labels = np.where(LABELS == 2, 0, LABELS)
    drawn = adaptive_gate(lambda rows: (scores_of(MEANS)[rows], labels[rows]), labels, threshold=0.2, maximum=1.0)
    assert drawn.present.tolist() == [0, 1, 3]


def test_only_the_wcr_can_be_judged_adaptively():
    for table in ({"rules": {"rdi": 0.1}}, {"rules": {"wcr": 0.1, "rdi": 0.1}}, {"change": {"wcr": 0.1}}):
        with pytest.raises(OptionError, match="on the worst class; the policy has"):
            adaptive_rule(Policy.of(table))


def test_one_class_has_no_worst():
    with pytest.raises(OptionError, match="one class only"):
        adaptive_gate(scoring(scores_of(MEANS)), np.zeros(10, dtype=int), threshold=0.2, maximum=1.0)


@pytest.mark.parametrize("side", [-1, 1])
def test_part_of_a_fixed_set_rarely_gives_a_false_verdict_on_the_set(side):
    """A quarter of each class may be drawn, and the threshold lies next to the WCR of the whole set."""
    delta, wrong, runs = 0.2, 0, 150
    for seed in range(runs):
        rng = np.random.default_rng([seed, 99])
        whole = rng.beta(0.6, 0.6, (3, 120))  # nearly 0/1: parts differ much from the set
        wcr = whole.mean(axis=1).min()
        part = np.stack([rng.choice(row, 30, replace=False) for row in whole])
        scores, labels = part.ravel(), np.repeat(np.arange(3), 30)
        drawn = adaptive_gate(
            lambda rows, scores=scores, labels=labels: (scores[rows], labels[rows]),
            labels,
            threshold=wcr + side * 1e-6,
            maximum=1.0,
            delta=delta,
            seed=seed,
            finite=True,
            class_sizes=[120, 120, 120],
        )
        wrong += drawn.verdict is (Verdict.FAIL if side < 0 else Verdict.PASS)
    assert binomtest(wrong, runs, delta, alternative="greater").pvalue > 1e-3


def test_sizes_that_are_not_the_sets_are_refused():
    scores = scores_of(MEANS)
    for sizes, said in (
        ([300] * 3, "one for each label"),
        ([300, 300, 300, 299], "none below"),
        ([300] * 5, "no sample"),
    ):
        with pytest.raises(OptionError, match=said):
            adaptive_gate(scoring(scores), LABELS, threshold=0.3, maximum=1.0, finite=True, class_sizes=sizes)
