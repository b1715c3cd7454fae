"""Rules on accuracy under attack, judged while attacks go on: when they stop, what comes next, how often they err."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from gfscore.attacks import first_attack, until_decided
from gfscore.attacks.sparing import Draw
from gfscore.attacks.until_decided import Attacker, SizeCase
from gfscore.bounds import attack_intervals, clopper_pearson
from gfscore.errors import OptionError
from gfscore.judge import Rule
from gfscore.judge.attack_rules import SizeRules, plain_samples
from gfscore.metrics import formulas
from gfscore.results import Verdict

EPS, SIZE = 1.0, 80  # samples of each of three classes, unless said otherwise


def make(rng, truth=(0.3, 0.6, 0.8), wrong=0.05, size=SIZE):
    """Radii, who is right, codes and outcomes of three classes with exactly these accuracies under attack."""
    codes = np.repeat(np.arange(len(truth)), size)
    outcomes = np.concatenate([rng.permutation(size) < round(share * size) for share in truth])
    right = outcomes | (rng.random(len(codes)) < 0.8)
    radii = np.where(outcomes, 1.5, 0.7) * np.exp(rng.normal(0, 0.1, len(codes)))
    flipped = rng.random(len(codes)) < wrong
    radii[flipped] = EPS**2 / radii[flipped]
    return radii, right, codes, outcomes


def case_of(radii, right, codes, rules, *, seed=0, level=0.1, finite=True):
    draw = Draw.of(radii, right, EPS, seed=seed)
    asked = SizeRules(
        rules=tuple(rules),
        predictions=draw.predictions,
        weights=draw.weights,
        right=right,
        fallen=draw.fallen,
        codes=codes,
        names={0: "a", 1: "b", 2: "c"},
        level=level,
        upper_ends=1,
        finite=finite,
    )
    ends = len(asked.asked) + asked.of_whole
    return SizeCase(eps=EPS, rules=replace(asked, upper_ends=ends), draw=draw, radii=radii)


@pytest.fixture
def attack(monkeypatch):
    """Attack with outcomes that are known; says who was attacked."""

    def run(case, outcomes, budget=None, quick=True):
        @contextmanager
        def known(_run, measure, sure=()):
            def give(block):
                return outcomes[measure.members(block)].astype(np.float32)[:, None], False

            yield give

        for module in (until_decided, first_attack):
            monkeypatch.setattr(module, "shard_by_shard", known)
        told = []
        attacker = Attacker(
            run=None, norm="linf", quick=quick, seed=0, budget=budget, moved=lambda done, _all: told.append(done)
        )
        attacker.possible = len(case.draw.order)
        case.attack(attacker)
        assert attacker.attacked == len(case.rows) == len(set(case.rows.tolist()))
        assert case.draw.right[case.rows].all()
        return attacker

    return run


def whole(threshold):
    return Rule(metric="robust_accuracy", threshold=threshold, eps=EPS)


def of_class(name, threshold):
    return Rule(metric="class_robust_accuracy", part=name, threshold=threshold, eps=EPS)


def test_a_clear_verdict_takes_few_attacks_and_a_close_one_takes_all(attack):
    radii, right, codes, outcomes = make(np.random.default_rng(0))
    clear, close = (case_of(radii, right, codes, [whole(threshold)]) for threshold in (0.3, outcomes.mean()))
    attack(clear, outcomes)
    assert clear.found.verdicts == [Verdict.PASS]
    assert len(clear.rows) <= 40
    np.testing.assert_array_equal(clear.rows, clear.draw.order[: len(clear.rows)])
    attack(close, outcomes)
    assert close.found.verdicts == [Verdict.PASS]  # once all are attacked the accuracy of these samples is known
    assert len(close.rows) > 100


def test_the_worst_class_is_attacked_first_and_others_not_when_it_fails(attack):
    radii, right, codes, outcomes = make(np.random.default_rng(1))
    case = case_of(radii, right, codes, [of_class("*", 0.5)])
    attack(case, outcomes)
    assert case.found.verdicts == [Verdict.FAIL]
    assert set(codes[case.rows]) == {0}
    both = case_of(radii, right, codes, [of_class("b", 0.3), of_class("c", 0.3)])
    attack(both, outcomes)
    assert both.found.verdicts == [Verdict.PASS, Verdict.PASS]
    assert set(codes[both.rows]) == {1, 2}


def test_whole_and_classes_go_on_from_each_other(attack):
    radii, right, codes, outcomes = make(np.random.default_rng(2))
    case = case_of(radii, right, codes, [whole(0.4), of_class("*", 0.15)])
    attack(case, outcomes)
    assert case.found.verdicts == [Verdict.PASS, Verdict.PASS]
    assert 0 < case.in_one_order < len(case.rows)
    for code in range(3):  # within each class the order of the draw was kept
        drawn = case.draw.order[codes[case.draw.order] == code]
        mine = case.rows[codes[case.rows] == code]
        np.testing.assert_array_equal(mine, drawn[: len(mine)])


def test_a_budget_is_kept(attack):
    radii, right, codes, outcomes = make(np.random.default_rng(3))
    for budget, most in ((50, 40), (7, 7)):
        case = case_of(radii, right, codes, [whole(outcomes.mean())])
        attack(case, outcomes, budget=budget)
        assert (len(case.rows), case.found.verdicts) == (most, [Verdict.UNDECIDED])


@pytest.mark.parametrize(
    ("runs", "finite"),
    [(12, True), pytest.param(600, True, marks=pytest.mark.long), pytest.param(600, False, marks=pytest.mark.long)],
    ids=["short", "long", "population"],
)
def test_verdicts_are_wrong_no_more_often_than_the_level(attack, runs, finite):
    """Class a lies just below its threshold, then at it: PASS is wrong at first, FAIL later."""
    rng, level, wrong = np.random.default_rng(4), 0.1, {Verdict.PASS: 0, Verdict.FAIL: 0}
    for run in range(runs):
        radii, right, codes, outcomes = make(rng, (0.5, 0.7, 0.7), wrong=0.2, size=30)
        for bad, threshold in ((Verdict.PASS, 0.5 + 0.5 / 30), (Verdict.FAIL, 0.5)):
            rules = [whole(0.45), of_class("*", threshold)]
            case = case_of(radii, right, codes, rules, seed=run, level=level, finite=finite)
            attack(case, outcomes, budget=60)
            wrong[bad] += Verdict.all_of(case.found.verdicts) is bad
    for count in wrong.values():
        assert binomtest(count, runs, level, alternative="greater").pvalue > 1e-3, wrong


def test_plain_samples_are_the_least_that_decide():
    for value, threshold in ((0.5, 0.3), (0.2, 0.3), (0.9, 0.85)):
        n = plain_samples(value, threshold, 0.05)
        low, high = clopper_pearson(round(value * n), n, 0.1)
        assert low >= threshold - 0.02 if value > threshold else high < threshold + 0.02
    assert plain_samples(0.5, 0.5, 0.05) > 1_000_000


def test_what_the_same_verdict_would_take_without_predictions(attack):
    radii, right, codes, outcomes = make(np.random.default_rng(5), wrong=0.0)
    case = case_of(radii, right, codes, [whole(0.5)])
    assert case.rules.plain_attacks(case.look()) is None
    attack(case, outcomes)
    assert case.found.verdicts == [Verdict.PASS]
    assert case.rules.plain_attacks(case.found) > len(case.rows)


def test_a_class_that_is_not_there_is_refused():
    radii, right, codes, _ = make(np.random.default_rng(6))
    rules = case_of(radii, right, codes, [of_class("d", 0.5)]).rules
    with pytest.raises(OptionError, match=r"^the policy names a class 'd' that there is not."):
        rules.check_names(())
    rules.check_names(("d",))
    assert rules.judge(np.zeros(0, int), np.zeros(0), 0).verdicts == [Verdict.UNDECIDED]


def test_what_the_first_attack_broke_is_not_attacked_again_and_saves_attacks(attack):
    """Outcomes are those of both attacks here: the first sees radii up to 1.25 eps, and all that it breaks is known."""
    radii, right, codes, outcomes = make(np.random.default_rng(8), wrong=0.0)
    quick, whole_attack = (case_of(radii, right, codes, [of_class("*", 0.2)]) for _ in range(2))
    took = attack(quick, outcomes).attacked
    attacker = attack(whole_attack, outcomes, quick=False)
    draw = whole_attack.draw
    np.testing.assert_array_equal(draw.seen, right & (radii <= 1.25 * EPS))
    np.testing.assert_array_equal(draw.fallen, draw.seen & ~outcomes)
    np.testing.assert_array_equal(draw.order, quick.draw.order[~draw.fallen[quick.draw.order]])
    assert not draw.fallen[whole_attack.rows].any()
    assert attacker.possible == len(draw.order)
    assert attacker.attacked < took
    for ends, share in zip(whole_attack.look().parts.values(), (0.3, 0.6, 0.8), strict=True):
        assert ends[1] - 1e-9 <= share <= ends[2] + 1e-9


def test_gap_and_gini_hold_every_profile_in_the_box():
    rng = np.random.default_rng(7)
    radii, right, codes, outcomes = make(rng)
    draw = Draw.of(radii, right, EPS, seed=0)
    rows = draw.order[:60]
    found = attack_intervals(
        draw.predictions, codes, 3, attacked=rows, outcomes=outcomes[rows], broken=~right, weights=draw.weights
    )
    for _ in range(300):
        profile = rng.uniform(found.lower, found.upper)
        assert found.gap[0] - 1e-9 <= np.ptp(profile) <= found.gap[1] + 1e-9
        assert found.gini[0] - 1e-9 <= formulas.nrgc(profile) <= found.gini[1] + 1e-9
    assert found.gap[0] <= np.ptp(found.estimates) <= found.gap[1]
