"""Verdicts on nothing: absent classes, models that guess, thresholds that no number can have."""

import json
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from gfscore import Options, Samples, audit_models, gate
from gfscore.errors import OptionError
from gfscore.integrations.pytest_plugin import assert_robust
from gfscore.jobs.adaptive import gate_adaptively, row_scores
from gfscore.jobs.gate import gate_audit, gate_result, gate_scores
from gfscore.jobs.stages import Origin, score_samples
from gfscore.judge import ALLOWABLE, EVERY, Policy, UnsoundError
from gfscore.outputs import ci_formats
from gfscore.results import DataInfo, ModelInfo, PreprocessingInfo, RunInfo, Verdict

QUICK = Options(permutations=0)
NAMES = ["ant", "bee", "cow", "dog"]


def samples_of(gaps, n=400, *, shuffled=False, seed=0):
    """Classes with these gains of their own logit; None for a class without a sample."""
    rng = np.random.default_rng(seed)
    present = [k for k, gap in enumerate(gaps) if gap is not None]
    labels = rng.choice(present, n)
    gains = np.array([gap or 0.0 for gap in gaps])[labels]
    logits = rng.normal(0, 0.5, (n, len(gaps))) + gains[:, None] * np.eye(len(gaps))[labels]
    return Samples.of(logits, rng.permutation(labels) if shuffled else labels, class_names=NAMES[: len(gaps)])


@pytest.fixture(scope="module")
def absent():
    return samples_of((4.0, 4.0, None))


OF_ALL = [
    {"rules": {"wcr": 0.5}},
    {"rules": {"rdi": 0.9}},
    {"rules": {"nrgc": 0.9}},
    {"rules": {"fp_great": 0.1}},
    {"rules": {"theil": 0.5}},
    {"rules": {"atkinson": 0.9}},
    {"rules": {"class_mean": 0.5}},
    {"class": {EVERY: 0.5}},
    {"class_accuracy": {EVERY: 0.5}},
]


@pytest.mark.parametrize("table", OF_ALL)
def test_a_rule_on_every_class_is_undecided_where_one_has_no_sample(absent, table):
    result = gate(absent, table)
    assert result.verdict is Verdict.UNDECIDED
    assert "cow has no sample" in result.models[0].reasons[0]
    allowed = gate(absent, table | {"allow": ["absent_classes"]})
    assert allowed.verdict is Verdict.PASS
    assert "cow has no sample, left out as allowed" in allowed.models[0].rules[0].reason
    assert allowed.models[0].allowed == ("absent_classes",)
    assert gate(absent, table, allow=["absent_classes"]).models == allowed.models


def test_rules_that_do_not_speak_of_every_class_are_judged(absent):
    table = {"rules": {"accuracy": 0.5, "aggregate": 0.5}, "class": {"ant": 0.5}, "class_accuracy": {"bee": 0.5}}
    assert gate(absent, table).verdict is Verdict.PASS


def test_what_a_present_class_breaks_is_broken_whatever_the_absent_one_is():
    samples = samples_of((4.0, 1.0, None))
    for table in ({"rules": {"wcr": 0.9}}, {"rules": {"rdi": 0.1}}, {"class": {EVERY: 0.9}}):
        assert gate(samples, table).verdict is Verdict.FAIL
    assert gate(samples, {"rules": {"nrgc": 0.01}}).verdict is Verdict.UNDECIDED  # a third class may even it out


def test_a_change_of_every_class_is_undecided_where_one_has_no_sample(absent):
    for table in ({"change": {"wcr": -0.5}}, {"change": {"class": {EVERY: -0.5}}}):
        assert gate(absent, table, baseline=absent).verdict is Verdict.UNDECIDED
        assert gate(absent, table, baseline=absent, allow=["absent_classes"]).verdict is Verdict.PASS
    full = samples_of((4.0, 4.0, 4.0))
    table = {"change": {"class": {EVERY: -0.5}}, "allow": ["absent_classes"]}
    assert gate(full, table, baseline=absent).verdict is Verdict.PASS
    assert gate(full, {"change": {"class": {EVERY: -0.5}}}, baseline=absent).verdict is Verdict.UNDECIDED


def test_a_verdict_on_a_change_shows_the_flags_of_the_comparison():
    samples = samples_of((4.0, 3.0))
    found = gate(samples, {"change": {"wcr": -0.5}}, baseline=samples).models[0]
    assert [flag.code for flag in found.flags] == ["matched_by_order"]


def adaptively(samples, threshold, **about):
    table = {"rules": {"wcr": threshold}, "allow": about.pop("allow", [])}
    score = row_scores(lambda rows: samples.logits[rows], samples.labels, QUICK, allow=table["allow"])
    return gate_adaptively(score, samples.labels, Policy.of(table), name="m", class_names=samples.class_names, **about)


def test_the_adaptive_gate_has_no_verdict_on_absent_classes(absent):
    found = adaptively(absent, 0.3)
    assert found.verdict is Verdict.UNDECIDED
    assert "cow has no sample" in found.reasons[0]
    assert found.absent_classes == ("cow",)
    assert [flag.code for flag in found.flags] == ["absent_classes", "confidences_only"]
    assert adaptively(absent, 0.3, allow=["absent_classes"]).verdict is Verdict.PASS
    assert adaptively(samples_of((4.0, 0.3, None)), 0.9).verdict is Verdict.FAIL


def test_there_is_no_verdict_on_a_model_that_guesses():
    guesser = samples_of((4.0, 4.0, 4.0), shuffled=True)
    with pytest.raises(UnsoundError, match=r"^there is nothing to judge: accuracy.*guessing.*--allow at_chance\.$"):
        gate(guesser, {"rules": {"rdi": 0.9}})
    allowed = gate(guesser, {"rules": {"rdi": 0.9}}, allow=["at_chance"])
    assert allowed.verdict is Verdict.PASS
    assert allowed.models[0].allowed == ("at_chance",)
    model = audit_models({"m": guesser}, QUICK).model
    policy = Policy.of({"rules": {"rdi": 0.9}})
    with pytest.raises(UnsoundError, match=r"^m: there is nothing to judge"):
        gate_audit(model, policy, 0.05)
    assert gate_audit(model, policy.allowing(["at_chance"]), 0.05)[1].verdict is Verdict.PASS


def test_there_is_no_verdict_on_zeros_nor_on_what_is_no_logit():
    labels = np.arange(200) % 2
    zeros = Samples.of(2.0 * np.eye(2)[1 - labels], labels)
    with pytest.raises(
        UnsoundError,
        match=r"exchanged \(0 as 1, 1 as 0\).*--allow labels_permuted --allow all_zero --allow at_chance\.$",
    ):
        gate(zeros, {"rules": {"rdi": 0.5}})
    allow = ["labels_permuted", "all_zero", "at_chance"]
    assert gate(zeros, {"rules": {"rdi": 0.5}}, allow=allow).verdict is Verdict.PASS
    sigmoid = Samples.of(1 / (1 + np.exp(-samples_of((4.0, 4.0)).logits)), samples_of((4.0, 4.0)).labels)
    with pytest.raises(UnsoundError, match=r"all logits lie in .*--allow bounded_logits\.$"):
        gate(sigmoid, {"rules": {"rdi": 0.9}})
    with pytest.raises(UnsoundError, match="all logits lie in"):
        adaptively(sigmoid, 0.2)
    assert adaptively(sigmoid, 0.2, allow=["bounded_logits"]).verdict is Verdict.PASS


def test_a_baseline_that_guesses_is_no_baseline():
    good, guesser = samples_of((4.0, 4.0)), samples_of((4.0, 4.0), shuffled=True)
    table = {"change": {"wcr": -0.5}}
    audited = audit_models({"old": guesser}, Options(permutations=0, delta=0.02)).model
    for baseline in (Samples.of(guesser.logits, guesser.labels, class_names=guesser.class_names), audited):
        with pytest.raises(UnsoundError, match=r"^baseline: there is nothing to judge"):
            gate(good, table, baseline=baseline)
        assert gate(good, table, baseline=baseline, allow=["at_chance"]).verdict is Verdict.PASS
    assert gate(good, {"rules": {"wcr": 0.5}}, baseline=guesser).verdict is Verdict.PASS  # no rule asks for it


def test_the_adaptive_gate_says_at_its_end_whether_the_model_guesses():
    for seed in range(10):
        guesser = samples_of((4.0, 4.0, 4.0, 4.0), n=4000, shuffled=True, seed=seed)
        assert adaptively(guesser, 0.1, allow=["at_chance"]).verdict is Verdict.PASS  # it is sure of itself
        with pytest.raises(UnsoundError, match="--allow at_chance"):
            adaptively(guesser, 0.1)
    for seed in range(20):  # few samples, nearly all of the class that fails, are not taken for a guess
        found = adaptively(samples_of((4.0, 4.0, 4.0, -4.0), n=2000, seed=seed), 0.3, seed=seed)
        assert found.verdict is Verdict.FAIL
        assert [flag.code for flag in found.flags] == ["confidences_only"]


@pytest.mark.parametrize(
    ("allow", "message"),
    [
        (["at_chanse"], "a flag to allow 'at_chanse' that there is not. Did you mean 'at_chance'?"),
        (
            ["saturated"],
            "There are absent_classes, labels_shifted, labels_permuted, at_chance, all_zero, bounded_logits.",
        ),
        ("at_chance", "allow is 'at_chance', not a list of flags. Write allow = [\"absent_classes\"]."),
        ([3], "allow is [3], not a list of flags."),
        ({"at_chance": 1}, "not a list of flags"),
    ],
)
def test_only_flags_that_keep_a_verdict_back_can_be_allowed(absent, allow, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        gate(absent, {"rules": {"wcr": 0.1}, "allow": allow})
    assert len(ALLOWABLE) == 6


TOP = np.sqrt(np.pi / 2)


@pytest.mark.parametrize(
    ("table", "scale"),
    [
        ({"rules": {"wcr": 30}}, "WCR is 30, off its scale, which goes from 0 to 1.253."),
        ({"rules": {"wcr": -1}}, "from 0 to 1.253"),
        ({"rules": {"rdi": 1.26}}, "from 0 to 1.253"),
        ({"rules": {"class_mean": -0.1}}, "from 0 to 1.253"),
        ({"rules": {"aggregate": 2}}, "from 0 to 1.253"),
        ({"rules": {"fp_great": -0.7}}, "from -0.6267 to 1.253"),
        ({"rules": {"theil": 0.7}}, "from 0 to 0.6931"),  # ln 2
        ({"class": {"ant": 1.3}}, "score of ant is 1.3, off its scale, which goes from 0 to 1.253"),
        ({"change": {"wcr": -1.3}}, "change of WCR is -1.3, off its scale, which goes from -1.253 to 1.253"),
        ({"change": {"nrgc": 1.1}}, "from -1 to 1"),
        ({"change": {"fp_great": -2}}, "from -1.88 to 1.88"),
        ({"change": {"class": {EVERY: -30}}}, "from -1.253 to 1.253"),
    ],
)
def test_a_threshold_off_the_scale_is_refused_with_the_scale(table, scale):
    samples = samples_of((4.0, 4.0))
    with pytest.raises(OptionError, match=re.escape(scale)):
        gate(samples, table, baseline=samples)


def test_the_ends_of_a_scale_are_on_it():
    samples = samples_of((4.0, 4.0))
    rules = {"wcr": 0, "rdi": TOP, "fp_great": -TOP / 2, "theil": np.log(2), "nrgc": 1, "accuracy": 0}
    change = {"wcr": -TOP, "rdi": TOP, "fp_great": -1.5 * TOP, "class": {EVERY: -TOP}}
    assert gate(samples, {"rules": rules, "change": change}, baseline=samples).verdict is Verdict.PASS
    assert gate(samples, {"rules": {"wcr": TOP}}).verdict is Verdict.FAIL


def test_the_scale_is_that_of_the_score():
    model = audit_models({"m": samples_of((4.0, 4.0))}, QUICK).model
    small = model.model_copy(update={"score": model.score.model_copy(update={"range": (0.0, 0.06)})})
    with pytest.raises(OptionError, match=r"^m: the threshold of WCR is 0\.1, off its scale, .* from 0 to 0\.06\."):
        gate_audit(small, Policy.of({"rules": {"wcr": 0.1}}), 0.05)


def run_with(preprocessing):
    model, data = ModelInfo(name="net", fingerprint=None), DataInfo(source="images", fingerprint="0")
    return RunInfo(model=model, data=data, preprocessing=preprocessing)


def gate_run(samples, run):
    policy, local = Policy.of({"rules": {"accuracy": 0.5}}), score_samples(samples, QUICK)
    return gate_result([gate_scores(samples, local, policy, QUICK, name="model", origin=Origin(run=run))[1]])


def test_every_form_of_a_verdict_says_what_it_rests_on(absent):
    run = run_with(PreprocessingInfo(mean=(0.5,), std=(0.25,), layout="NCHW"))
    result = gate_run(absent, run)
    model = json.loads(result.to_json())["models"][0]
    assert model["accuracy"]["interval"][0] < model["accuracy"]["value"] <= model["accuracy"]["interval"][1]
    assert model["absent_classes"] == ["cow"]
    assert [flag["code"] for flag in model["flags"]] == ["absent_classes"]
    assert model["preprocessing"] == "mean 0.5, std 0.25, layout NCHW"
    with pytest.raises(AssertionError) as caught:
        assert_robust(absent, wcr=0.5)
    forms = {
        "junit": ci_formats.junit(result),
        "sarif": ci_formats.sarif(result),
        "summary": ci_formats.summary(result),
        "pytest": str(caught.value).replace("not known (logits were given)", "mean 0.5, std 0.25, layout NCHW"),
    }
    for text in forms.values():
        text = text.replace("\\_", "_")  # as Markdown has it
        for said in (f"{100 * model['accuracy']['value']:.1f} %", "mean 0.5, std 0.25", "cow", "absent_classes"):
            assert said in text
    properties = ET.fromstring(forms["junit"].encode()).find("testsuite/properties")
    assert {entry.get("name") for entry in properties} == {
        *("accuracy", "preprocessing", "classes without a sample", "flag absent_classes")
    }


def test_a_run_that_did_nothing_to_the_pixels_says_so(absent):
    run = run_with(PreprocessingInfo(mean=(0.0,), std=(1.0,), interpolation="bicubic"))  # of no resizing
    assert gate_run(absent, run).models[0].preprocessing == "none"
    assert gate(absent, {"rules": {"accuracy": 0.5}}).models[0].preprocessing is None
