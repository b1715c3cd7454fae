"""E-values of a gate: at most 1 on average where nothing is wrong, and large where there is something to see."""

import json
import math

import numpy as np
import pytest
from scipy.stats import binom

import gfscore
from gfscore.jobs.gate import gate
from gfscore.judge.e_values import LARGEST, STAKES, e_value, mean_evidence
from gfscore.samples import Samples


@pytest.mark.parametrize("n", [1, 7, 60])
@pytest.mark.parametrize("threshold", [0.05, 0.5, 0.9])
def test_the_expectation_of_coins_at_the_threshold_is_one_and_beyond_it_less(n, threshold):
    heads = np.arange(n + 1)
    above, below = mean_evidence(heads / n, np.full(n + 1, n), threshold)
    at = binom.pmf(heads, n, threshold)
    assert (at * np.exp(above)).sum() == pytest.approx(1.0)
    assert (at * np.exp(below)).sum() == pytest.approx(1.0)
    assert (binom.pmf(heads, n, 0.8 * threshold) * np.exp(above)).sum() < 1
    assert (binom.pmf(heads, n, min(1.1 * threshold, 1.0)) * np.exp(below)).sum() < 1


def test_the_evidence_is_the_formula():
    n, total, threshold = 20, 13.5, 0.4
    higher = [1 - (1 - threshold) * (1 - stake) for stake in STAKES]
    expected = np.mean([(q / threshold) ** total * ((1 - q) / (1 - threshold)) ** (n - total) for q in higher])
    above, _ = mean_evidence(np.array([total / n]), np.array([n]), threshold)
    assert math.exp(above[0]) == pytest.approx(expected)


def test_unlike_scores_and_draws_without_replacement_keep_the_expectation():
    rng, found = np.random.default_rng(0), []
    unlike = np.concatenate((np.full(10, 0.1), np.full(10, 0.7)))  # means of 20 samples, 0.4 on average
    coins = rng.random((40_000, 20)) < unlike
    whole = np.concatenate((np.ones(12), np.zeros(18)))  # of a set with mean 0.4
    drawn = rng.permuted(np.tile(whole, (40_000, 1)), axis=1)[:, :20]
    for values in (coins, drawn):
        found += [np.exp(each).mean() for each in mean_evidence(values.mean(axis=1), np.full(40_000, 20), 0.4)]
    assert max(found) < 1.0


def samples_of(shares, n=300, seed=0):
    rng = np.random.default_rng(seed)
    k = len(shares)
    labels = np.repeat(np.arange(k), n)
    gains = np.where(rng.random(k * n) < np.array(shares)[labels], 4.0, -4.0)
    return Samples.of(rng.normal(0, 0.3, (k * n, k)) + gains[:, None] * np.eye(k)[labels], labels)


RULES = {"wcr": 0.6, "aggregate": 0.6, "rdi": 0.5, "accuracy": 0.5}


def rules_of(result):
    return {rule.metric + ("" if rule.class_ is None else f" {rule.class_}"): rule for rule in result.models[0].rules}


def test_every_rule_has_evidence_on_both_sides():
    policy = {"rules": RULES, "class": {"0": 0.6}, "class_accuracy": {"*": 0.5}}
    found = rules_of(gate(samples_of([0.95, 0.9, 0.3]), policy))
    made = {key: rule.evidence.made_from for key, rule in found.items()}
    assert made == {
        "wcr": "samples",
        "class 0": "samples",
        "aggregate": "means",
        "accuracy": "means",
        "class_accuracy *": "means",
        "rdi": "interval",
    }
    assert found["wcr"].verdict == "FAIL"
    assert found["wcr"].evidence.against_rule > 1e6 > 1 > found["wcr"].evidence.for_rule
    assert found["class 0"].evidence.for_rule > 1e6 > 1 > found["class 0"].evidence.against_rule
    assert found["accuracy"].evidence.for_rule > 1e6
    level = gate(samples_of([0.95, 0.9, 0.3]), policy).models[0].levels["profile"]
    assert found["rdi"].evidence.against_rule == pytest.approx(1 / level)
    assert found["rdi"].evidence.for_rule == 0


def test_evidence_of_a_stored_audit_comes_from_its_means(tmp_path):
    samples = samples_of([0.95, 0.9, 0.3])
    audited = gfscore.audit(samples)
    found = rules_of(gate(audited, {"rules": {"wcr": 0.6}}))["wcr"]
    assert found.evidence.made_from == "means"
    means = np.array([entry.score / audited.models[0].score.range[1] for entry in audited.models[0].classes])
    above, below = mean_evidence(means, np.full(3, 300), 0.6 / audited.models[0].score.range[1])
    assert found.evidence.for_rule == pytest.approx(np.exp(above).min())
    assert found.evidence.against_rule == pytest.approx(np.exp(below).mean())
    written = json.loads(gate(audited, {"rules": {"wcr": 0.6}}).to_json())
    assert written["models"][0]["rules"][0]["evidence"]["made_from"] == "means"


def test_a_class_without_samples_is_shown_to_hold_by_nothing():
    samples = samples_of([0.95, 0.9, 0.9])
    kept = samples.labels != 2
    absent = Samples.of(samples.logits[kept], samples.labels[kept])
    evidence = rules_of(gate(absent, {"rules": {"wcr": 0.2}}))["wcr"].evidence
    assert evidence.for_rule == 1
    allowed = rules_of(gate(absent, {"rules": {"wcr": 0.2}, "allow": ["absent_classes"]}))["wcr"].evidence
    assert allowed.for_rule > 1e6


def test_false_rules_rarely_have_much_evidence():
    many = [rules_of(gate(samples_of([0.5, 0.9], 40, seed), {"rules": {"wcr": 0.62}}))["wcr"] for seed in range(40)]
    truth = many[0].value  # about 0.5 times the score of a right sample, which is below 0.63
    assert truth < 1
    assert np.mean([rule.evidence.for_rule for rule in many]) < 2


def test_no_evidence_is_more_than_json_holds():
    assert e_value(1e9) == LARGEST
    assert json.loads(json.dumps(e_value(math.inf))) == LARGEST
