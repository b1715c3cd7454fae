"""Policies: rules as data, levels that add up, verdicts on intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gfscore import Options, Samples, audit_models, gate, views
from gfscore.errors import InvalidInputError, OptionError
from gfscore.jobs.gate import gate_audit
from gfscore.judge import EVERY, Kind, Policy, Rule, judge, samples_needed
from gfscore.results import Verdict

EVERYTHING = {
    "rules": {"wcr": 0.1, "rdi": 0.9, "nrgc": 0.9, "fp_great": -0.5, "theil": 1, "atkinson": 1, "accuracy": 0.1},
    "class": {"a": 0.01, EVERY: 0.01},
    "class_accuracy": {"b": 0.1, EVERY: 0.1},
    "change": {"wcr": -1, "class_mean": -1, "class": {EVERY: -1, "a": -1}},
}


@pytest.fixture(scope="module")
def samples():
    return make_samples(0)


def make_samples(seed, gaps=(3.0, 2.0, 1.0), n=900):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    logits = rng.normal(0, 1, (n, 3)) + np.asarray(gaps)[labels][:, None] * np.eye(3)[labels]
    return Samples.of(logits, labels, class_names=["a", "b", "c"])


@pytest.fixture(scope="module")
def audited(samples):
    return audit_models({"m": samples}, Options(permutations=0)).model


@pytest.mark.parametrize(
    ("metric", "interval", "verdict"),
    [
        ("wcr", (0.5, 0.6), "PASS"),  # the end itself satisfies
        ("wcr", (0.49, 0.6), "UNDECIDED"),
        ("wcr", (0.4, 0.5), "UNDECIDED"),
        ("wcr", (0.4, 0.499), "FAIL"),
        ("rdi", (0.4, 0.5), "PASS"),
        ("rdi", (0.4, 0.501), "UNDECIDED"),
        ("rdi", (0.5, 0.6), "UNDECIDED"),
        ("rdi", (0.501, 0.6), "FAIL"),
    ],
)
def test_a_rule_is_judged_on_the_whole_interval(metric, interval, verdict):
    assert Rule(metric=metric, threshold=0.5).judge(interval) == verdict


kinds = st.dictionaries(st.sampled_from(["wcr", "rdi", "nrgc", "accuracy", "refuted"]), st.floats(0, 1), min_size=1)


@given(kinds, st.floats(0.001, 0.5), st.booleans())
def test_levels_add_up_to_at_most_delta(rules, delta, with_change):
    policy = Policy.of({"rules": rules} | ({"change": {"wcr": 0.0}} if with_change else {}))
    levels = policy.levels(delta)
    assert set(levels) == {rule.kind for rule in policy.rules}
    assert sum(levels.values()) == pytest.approx(delta)


def test_every_kind_of_rule_at_once(samples):
    result = gate(samples, EVERYTHING, baseline=make_samples(0, gaps=(2.9, 2.0, 1.1)))
    model = result.models[0]
    assert result.verdict is Verdict.PASS
    assert set(model.levels) == {"profile", "accuracy", "change"}
    assert sum(model.levels.values()) <= 0.05 + 1e-12
    assert len(model.rules) == 15
    assert all(rule.interval[0] <= rule.value <= rule.interval[1] for rule in model.rules)


def test_each_interval_is_made_at_its_share(samples):
    alone = gate(samples, {"rules": {"wcr": 0.1}}).models[0].rules[0]
    shared = gate(samples, {"rules": {"wcr": 0.1, "accuracy": 0.1}}).models[0].rules[0]
    expected = audit_models({"m": samples}, Options(permutations=0, delta=0.025)).model.wcr.interval
    assert shared.interval == expected
    assert shared.interval[0] < alone.interval[0]


def test_pass_needs_every_rule_and_fail_needs_one(samples, audited):
    low, high = audited.wcr.interval
    middle = (low + high) / 2
    assert gate(samples, {"rules": {"wcr": low - 0.01}}).verdict is Verdict.PASS
    assert gate(samples, {"rules": {"wcr": middle}}).verdict is Verdict.UNDECIDED
    assert gate(samples, {"rules": {"wcr": middle, "rdi": 0.01}}).verdict is Verdict.FAIL
    assert gate(samples, {"rules": {"wcr": low - 0.01, "nrgc": audited.nrgc.value}}).verdict is Verdict.UNDECIDED


def test_reasons_have_numbers_and_say_what_would_decide(samples, audited):
    rule = gate(samples, {"rules": {"wcr": audited.wcr.value - 0.01}}).models[0].rules[0]
    assert rule.verdict is Verdict.UNDECIDED
    assert f"WCR is {audited.wcr.value:.3f} [" in rule.reason
    assert f"about {rule.samples_needed:,} samples instead of 900 would decide" in rule.reason
    assert "none of the interval is at most 0.01" in gate(samples, {"rules": {"rdi": 0.01}}).models[0].reasons[0]


def test_small_scores_are_shown_with_a_digit_more(audited):
    small = audited.model_copy(update={"score": audited.score.model_copy(update={"range": (0.0, 0.1)})})
    rule = gate_audit(small, Policy.of({"rules": {"wcr": 0.1}}), 0.05)[1].rules[0]
    assert views.estimate(rule.value, rule.interval, 4) in rule.reason


def test_the_number_of_samples_that_would_decide_makes_intervals_reach_no_further_than_the_threshold():
    few, gap = make_samples(1), 0.05
    value = audit_models({"m": few}, Options(permutations=0)).model.wcr.value
    needed = gate(few, {"rules": {"wcr": value - gap}}).models[0].rules[0].samples_needed

    def reach(n):
        found = [audit_models({"m": make_samples(seed, n=n)}, Options(permutations=0)).model.wcr for seed in range(6)]
        return np.mean([wcr.value - wcr.interval[0] for wcr in found])

    assert reach(needed // 2 // 3 * 3) > gap > reach(2 * needed // 3 * 3)
    assert reach(needed // 3 * 3) == pytest.approx(gap, rel=0.15)


def test_no_number_of_samples_decides_an_estimate_at_the_threshold():
    assert samples_needed(100, 0.5, 0.5, (0.4, 0.6)) is None


def test_a_stored_audit_is_judged_as_its_samples_are(samples, audited):
    policy = Policy.of({"rules": {"wcr": 0.1, "rdi": 0.9}})
    again, verdict = gate_audit(audited, policy, 0.05)
    anew = gate(samples, {"rules": {"wcr": 0.1, "rdi": 0.9}}, name="m").models[0].rules
    for stored, rule in zip(verdict.rules, anew, strict=True):
        assert stored == rule.model_copy(update={"evidence": stored.evidence})  # bets need the samples
    assert again.verdict == "PASS"


def test_a_stored_audit_at_too_high_a_level_is_refused(audited):
    with pytest.raises(OptionError, match=r"were made at delta 0\.05, but have 0\.025 here"):
        gate_audit(audited, Policy.of({"rules": {"wcr": 0.1, "accuracy": 0.1}}), 0.05)
    gate_audit(audited, Policy.of({"rules": {"wcr": 0.1, "accuracy": 0.1}}), 0.1)


def test_an_unpaired_baseline_costs_the_profile_its_share(samples):
    baseline = audit_models({"old": make_samples(5)}, Options(permutations=0, delta=0.025)).model
    model = gate(samples, {"change": {"wcr": -0.5}}, baseline=baseline).models[0]
    assert model.levels == {"profile": 0.025, "change": 0.025}
    assert model.verdict is Verdict.PASS
    high = audit_models({"old": make_samples(5)}, Options(permutations=0)).model
    with pytest.raises(OptionError, match=r"rules on the change were made at delta 0\.05, but have 0\.025"):
        gate(samples, {"change": {"wcr": -0.5}}, baseline=high)


def test_refuted_shares_are_judged_on_their_interval(audited):
    claim = audited.claim.model_copy(update={"radius_refuted_share": 0.1, "radius_refuted_interval": (0.05, 0.2)})
    tried = audited.model_copy(update={"claim": claim})
    for most, verdict in ((0.2, "PASS"), (0.1, "UNDECIDED"), (0.01, "FAIL")):
        policy = Policy.of({"rules": {"refuted": most}})
        assert judge(tried, policy, policy.levels(0.05)).verdict == verdict
    with pytest.raises(OptionError, match="Run gfscore check"):
        judge(audited, policy, policy.levels(0.05))


def test_advice_on_refuted_shares_counts_what_was_tried(audited):
    """Half as wide needs four times as many: of the 50 that were tried, not of the 900 that were audited."""
    claim = {"radius_refuted_share": 0.5, "radius_refuted_interval": (0.3, 0.7), "tried_on": 50, "delta": 0.05}
    tried = audited.model_copy(update={"claim": audited.claim.model_copy(update=claim)})
    policy = Policy.of({"rules": {"refuted": 0.6}})
    (rule,) = judge(tried, policy, policy.levels(0.05)).rules
    assert rule.samples_needed == 200
    assert "about 200 samples tried instead of 50 would decide" in rule.reason
    assert "gfscore check --samples" in rule.reason


def test_refuted_shares_are_held_to_the_level_they_were_made_at(audited):
    claim = {"radius_refuted_share": 0.1, "radius_refuted_interval": (0.05, 0.2), "tried_on": 50, "delta": 0.2}
    tried = audited.model_copy(update={"claim": audited.claim.model_copy(update=claim)})
    policy = Policy.of({"rules": {"refuted": 0.3}})
    with pytest.raises(OptionError, match=r"rules on the refuted were made at delta 0.2, but have 0.05"):
        judge(tried, policy, policy.levels(0.05))


def test_what_does_not_exist_is_undecided():
    labels = np.arange(40) % 2
    zeros = Samples.of(2 * np.eye(2)[1 - labels], labels)
    result = gate(zeros, {"rules": {"nrgc": 0.5}}, allow=["all_zero", "at_chance", "labels_permuted"])
    assert result.verdict is Verdict.UNDECIDED
    assert "NRGC does not exist here" in result.models[0].reasons[0]
    absent = Samples.of(2 * np.eye(3)[labels], labels, class_names=["a", "b", "c"])
    assert gate(absent, {"class": {"c": 0.1}}).verdict is Verdict.UNDECIDED
    assert gate(absent, {"class_accuracy": {"c": 0.1}}).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "has no rule"),
        ({"rules": {"wrc": 0.1}}, "a rule 'wrc' that there is not. Did you mean 'wcr'?"),
        ({"rulez": {"wcr": 0.1}}, "a table 'rulez' that there is not. Did you mean 'rules'?"),
        ({"rules": {"x": 0.1}}, "There are aggregate, class_mean, wcr"),
        ({"rules": 3}, "rules is 3 in the policy, not a table"),
        ({"rules": {"wcr": "high"}}, "the threshold of WCR is 'high'. Give a number."),
        ({"rules": {"wcr": True}}, "the threshold of WCR is True"),
        ({"rules": {"accuracy": 60}}, "which is no share. Write 0.6 for 60 %."),
        ({"change": {"accuracy": -0.1}}, "a rule on a change 'accuracy' that there is not"),
        ({"class": {"aa": 0.1}}, "a class 'aa' that there is not. Did you mean 'a'?"),
        ({"class_accuracy": {"d": 0.1}}, "a class 'd' that there is not. There are a, b, c."),
        ({"change": {"wcr": 0.1}}, "Give --baseline"),
    ],
)
def test_what_is_wrong_with_a_policy_is_said(samples, table, message):
    with pytest.raises(InvalidInputError) as caught:
        gate(samples, table)
    assert message in str(caught.value)


def test_kinds_are_in_a_fixed_order():
    policy = Policy.of({"change": {"wcr": 0}, "rules": {"refuted": 0.1, "wcr": 0.1}})
    assert policy.kinds == (Kind.PROFILE, Kind.REFUTED, Kind.CHANGE)


def test_a_level_that_is_asked_for_is_enough():
    """Of three kinds each has a third of delta, which six digits round up."""
    rules = {"rules": {"wcr": 0.0, "accuracy": 0.0}, "change": {"wcr": -1.2}}
    old, new = make_samples(0), make_samples(1)
    with pytest.raises(OptionError, match="Make them with --delta") as refused:
        gate(audit_models({"m": new}).model, rules, baseline=audit_models({"m": old}).model)
    level = str(refused.value).partition("--delta ")[2].partition(",")[0]
    assert float(level) < 0.05 / 3
    made = [audit_models({"m": each}, Options(delta=float(level), permutations=0)).model for each in (old, new)]
    assert gate(made[1], rules, baseline=made[0]).models[0].levels["change"] == pytest.approx(0.05 / 3)
