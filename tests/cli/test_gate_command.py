"""``gfscore gate`` and ``gfscore compare``: exit codes, files, and what is printed."""

import json
import re

import numpy as np
import pytest

from gfscore import Audit, Comparison, GateResult, audit, read_samples, views
from gfscore.cli.main import run
from gfscore.jobs.gate import gate
from gfscore.metrics import METRICS
from gfscore.storage.store import Store
from judge_simulations import ordered_samples


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("GFSCORE_STORE", str(tmp_path / "store"))
    rng = np.random.default_rng(0)
    labels = np.arange(1500) % 3
    noise, truth = rng.normal(0, 1, (1500, 3)), np.eye(3)[labels]
    names = ["cat", "dog", "owl"]
    np.savez("old.npz", logits=noise + 2 * truth, labels=labels, class_names=names)
    gains = np.array([1.0, 2.8, 2.8])[labels][:, None]
    np.savez("new.npz", logits=noise + gains * truth, labels=labels, class_names=names)
    (tmp_path / "policy.toml").write_text(
        '[rules]\nwcr = 0.1\nrdi = 0.9\n[class]\ncat = 0.1\n[class_accuracy]\n"*" = 0.3\n[change]\nclass_mean = -0.1\n'
    )


@pytest.mark.parametrize(
    ("rules", "code", "verdict"),
    [
        (["--wcr", "0.3"], 0, "PASS"),
        (["--wcr", "0.9"], 1, "FAIL"),
        (["--wcr", "0.58"], 3, "UNDECIDED"),
        (["--wcr", "0.3", "--rdi", "0.001"], 3, "UNDECIDED"),
        (["--class", "dog=0.3", "--accuracy", "0.5", "--class-accuracy", "*=0.5", "--nrgc", "0.5"], 0, "PASS"),
        (["--fp-great", "0.9", "--class-accuracy", "cat=0.99"], 1, "FAIL"),
    ],
)
def test_verdicts_are_exit_codes(rules, code, verdict, capsys):
    assert run(["gate", "old.npz", *rules]) == code
    assert capsys.readouterr().out.startswith(f"{verdict}  old\n")


def test_results_are_written_where_asked_and_nowhere_else(tmp_path, capsys):
    before = set(tmp_path.iterdir())
    assert run(["gate", "old.npz", "--wcr", "0.3", "-q"]) == 0
    assert set(tmp_path.iterdir()) == before
    assert run(["gate", "old.npz", "--wcr", "0.3", "--out", "out", "--json"]) == 0
    printed = GateResult.from_json(capsys.readouterr().out)
    assert printed == GateResult.load("out/gate.json")
    assert printed.schema_ == "gfscore.gate/1"
    assert set(printed.provenance.inputs) == {"old.npz"}
    assert Audit.load("out/audit.json").model.verdict == "PASS"


def test_the_command_says_what_the_function_says(capsys):
    assert run(["gate", "old.npz", "--wcr", "0.3", "--accuracy", "0.5", "--json"]) == 0
    printed = GateResult.from_json(capsys.readouterr().out)
    expected = gate(read_samples("old.npz"), {"rules": {"wcr": 0.3, "accuracy": 0.5}}, name="old")
    assert printed.models == expected.models


def test_a_policy_file_with_a_baseline_and_flags_over_it(capsys):
    assert run(["gate", "new.npz", "--policy", "policy.toml", "--baseline", "old.npz", "--json"]) == 0
    model = json.loads(capsys.readouterr().out)["models"][0]
    assert set(model["levels"]) == {"profile", "accuracy", "change"}
    command = ["gate", "new.npz", "--policy", "policy.toml", "--baseline", "old.npz", "--class-change", "*=-0.05"]
    assert run(command) == 1
    assert "Change of score of every class is −0.29" in " ".join(capsys.readouterr().out.split())
    assert run(["gate", "new.npz", "--policy", "policy.toml", "--baseline", "old.npz", "--wcr", "0.9", "-q"]) == 1


def test_several_models_pass_only_together(capsys):
    assert run(["gate", "old.npz", "new.npz", "--wcr", "0.45"]) == 1
    assert "All models: FAIL" in capsys.readouterr().out


def test_a_stored_audit_is_gated_as_it_is():
    assert run(["audit", "old.npz", "-q", "--out", "a"]) == 0
    assert run(["gate", "a/audit.json", "--wcr", "0.3", "-q", "--out", "b"]) == 0
    assert Audit.load("b/audit.json").model.verdict == "PASS"
    assert run(["audit", "new.npz", "-q", "--delta", "0.025", "--out", "c"]) == 0
    assert run(["audit", "old.npz", "-q", "--delta", "0.025", "--out", "d"]) == 0
    change = ["--change", "wcr=-0.01", "-q"]
    assert run(["gate", "c/audit.json", "--baseline", "d/audit.json", *change]) == 1


def test_the_zoo_is_gated_adaptively_and_again_for_nothing(capsys):
    command = ["gate", "--model", "zoo:standard", "--data", "zoo:digits", "--wcr", "0.3", "--adaptive"]
    code = run([*command, "--json"])
    first = GateResult.from_json(capsys.readouterr().out).models[0]
    assert code in (0, 1, 3)
    assert first.adaptive.from_store == 0
    assert run([*command, "--json"]) == code
    again = GateResult.from_json(capsys.readouterr().out).models[0]
    assert again.adaptive.from_store == first.adaptive.used
    assert again.adaptive.classes == first.adaptive.classes
    assert run([*command, "--target", "finite", "--seed", "1", "-q"]) in (0, 1)
    assert run(["store", "clear", "--all"]) == 0
    assert capsys.readouterr().out == "Deleted 0 of 0 entries and the scores of 1 adaptive gates.\n"
    assert run([*command, "--json"]) == code
    assert GateResult.from_json(capsys.readouterr().out).models[0].adaptive.from_store == 0


def test_radii_are_gated_adaptively_and_whole_alike(capsys):
    command = ["gate", "--model", "zoo:trades", "--data", "zoo:digits", "--score", "first-order", "--norm", "l2"]
    command += ["--gradients", "no"]
    assert run([*command, "--wcr", "0.2", "--json"]) == 0
    whole = GateResult.from_json(capsys.readouterr().out).models[0].rules[0]
    assert run([*command, "--wcr", "0.2", "--adaptive", "--json"]) == 0
    early = GateResult.from_json(capsys.readouterr().out).models[0].adaptive
    assert early.passes_per_sample == 33  # the image itself, and 32 directions
    assert early.used < early.available
    everything = [*command, "--wcr", str(whole.value), "--adaptive", "--round", "900", "--json"]
    assert run(everything) == 3
    seen = GateResult.from_json(capsys.readouterr().out).models[0]
    assert seen.adaptive.used == 900
    assert seen.rules[0].value == pytest.approx(whole.value)  # the same radii, whatever order they came in


def test_a_generator_is_gated_adaptively(capsys):
    command = ["gate", "--model", "zoo:standard", "--data", "generator:zoo", "--wcr", "0.2", "--adaptive", "--json"]
    assert run(command) in (0, 1, 3)
    result = GateResult.from_json(capsys.readouterr().out).models[0]
    assert result.adaptive.used <= result.adaptive.available


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], 0),
        (["--fail-on-worse"], 1),
        (["--fail-on-worse", "--tolerance", "0.9"], 0),
        (["--fail-on-worse", "--tolerance", "0.29"], 3),
    ],
)
def test_a_worse_class_is_an_exit_code_only_when_asked(options, code, capsys):
    assert run(["compare", "old.npz", "new.npz", *options]) == code
    text = " ".join(capsys.readouterr().out.split())
    assert "old → new: 1,500 samples, paired (by order: as many samples, with the same labels)" in text
    assert "cat" in text


def test_compare_says_what_a_better_mean_hides_and_writes_it(capsys):
    assert run(["compare", "old.npz", "new.npz", "--out", "c.json"]) == 0
    assert "The class mean rose by" in capsys.readouterr().out
    found = Comparison.load("c.json")
    assert found.worse == ("cat",)
    assert found.better == ("dog", "owl")
    assert run(["compare", "old.npz", "new.npz", "--json"]) == 0
    printed = Comparison.from_json(capsys.readouterr().out)
    assert printed.classes == found.classes


def test_audits_are_compared_unpaired_and_it_is_said(capsys):
    for name in ("old", "new"):
        run(["audit", f"{name}.npz", "-q", "--out", name])
    assert run(["compare", "old/audit.json", "new/audit.json"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "UNPAIRED" in text
    assert "holds together with probability 0.9." in text
    assert "! the two versions were not compared sample by sample" in text


def test_stored_runs_are_compared_by_their_keys(capsys):
    for name in ("standard", "trades"):
        run(["audit", "--model", f"zoo:{name}", "--data", "zoo:digits", "-q", "--permutations", "0", "--radii", "none"])
    keys = [f"store:{entry.path.name[:12]}" for entry in Store().entries()]
    assert len(keys) == 2
    assert run(["compare", *keys, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["paired"]


@pytest.fixture
def nothing(tmp_path):
    """Files there is no verdict on: a class without a sample, and shuffled labels."""
    old = np.load("old.npz")
    rng, kept = np.random.default_rng(1), old["labels"] != 1
    about = {"class_names": old["class_names"]}
    np.savez("absent.npz", logits=old["logits"][kept], labels=old["labels"][kept], **about)
    np.savez("shuffled.npz", logits=old["logits"], labels=rng.permutation(old["labels"]), **about)


def test_absent_classes_leave_it_undecided_unless_they_are_allowed(nothing, tmp_path, capsys):
    rules = ["--wcr", "0.3", "--class-accuracy", "*=0.3"]
    assert run(["gate", "absent.npz", *rules]) == 3
    text = " ".join(capsys.readouterr().out.split())
    assert "Worst class (WCR) is not known: dog has no sample." in text
    assert "classes without a sample: dog." in text
    assert run(["gate", "absent.npz", *rules, "--allow", "absent_classes"]) == 0
    assert "left out as allowed" in " ".join(capsys.readouterr().out.split())
    (tmp_path / "allowing.toml").write_text('allow = ["absent_classes"]\n[rules]\nwcr = 0.3\n')
    assert run(["gate", "absent.npz", "--policy", "allowing.toml", "-q"]) == 0


def test_a_guesser_has_no_verdict_from_logits_an_audit_or_as_a_baseline(nothing, tmp_path, capsys):
    assert run(["audit", "shuffled.npz", "-q", "--out", "a", "--delta", "0.02"]) == 0
    before = set(tmp_path.rglob("*"))
    for command in (
        ["gate", "shuffled.npz", "--rdi", "0.9"],
        ["gate", "a/audit.json", "--rdi", "0.9"],
        ["gate", "new.npz", "--baseline", "shuffled.npz", "--change", "wcr=-1"],
        ["gate", "new.npz", "--baseline", "a/audit.json", "--change", "wcr=-1"],
    ):
        assert run([*command, "--out", "b", "--junit", "b.xml"]) == 2
        line = capsys.readouterr().err
        assert line.count("\n") == 1
        assert "there is nothing to judge: accuracy, with classes weighed equally, is 3" in line
        assert run([*command, "--allow", "at_chance", "-q"]) in (0, 3)
    assert set(tmp_path.rglob("*")) == before


def test_every_verdict_shows_accuracy_preprocessing_and_flags(capsys):
    assert run(["gate", "old.npz", "--wcr", "0.3"]) == 0
    assert re.search(
        r"Accuracy: 8\d\.\d % \[.*\]; preprocessing: not known \(logits were given\)\.", capsys.readouterr().out
    )
    command = ["gate", "--model", "zoo:standard", "--data", "zoo:digits", "--wcr", "0.01"]
    assert run([*command, "--adaptive"]) == 0
    assert "of the samples looked at, classes weighed equally; preprocessing: none." in capsys.readouterr().out
    assert run([*command, "--mean", "0.1", "--std", "0.9", "--json"]) in (0, 1, 3)
    assert json.loads(capsys.readouterr().out)["models"][0]["preprocessing"] == "mean 0.1, std 0.9"


def test_sorted_files_are_compared_unpaired_or_not_at_all(capsys):
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        samples = ordered_samples(rng, 0.0)
        np.savez(f"{name}.npz", logits=samples.logits, labels=samples.labels)
    assert run(["compare", "one.npz", "two.npz", "--fail-on-worse"]) == 2
    assert "Give sample ids in both, or compare without matching (--unpaired;" in capsys.readouterr().err
    assert run(["compare", "one.npz", "two.npz", "--fail-on-worse", "--unpaired"]) == 0
    assert "UNPAIRED" in capsys.readouterr().out
    assert run(["gate", "two.npz", "--baseline", "one.npz", "--change", "wcr=-0.5"]) == 2


def test_compare_says_how_rows_were_matched_and_what_p_is_of(capsys):
    assert run(["compare", "old.npz", "new.npz"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "! rows were matched by their order" in text
    assert "p of a fall: corrected for all classes (Holm); near 1 where one rose." in text


def test_a_class_that_vanished_is_undecided(nothing, capsys):
    for name in ("old", "absent"):
        assert run(["audit", f"{name}.npz", "-q", "--out", name]) == 0
    command = ["compare", "old/audit.json", "absent/audit.json"]
    assert run(command) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "dog could not be compared: only old has any of dog." in text
    named = ", ".join(views.metric_name(key, None) for key in METRICS if key != "aggregate")
    assert f"No change of GREAT score, {named}: the two versions" in text
    assert run([*command, "--fail-on-worse", "-q"]) == 3


def test_the_accuracy_beside_a_verdict_is_weighed_as_the_rule_is(tmp_path, capsys):
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1], [3000, 100])
    margins = rng.normal(np.array([2.0, -1.0])[labels], 1.0)
    images = np.stack([np.where(labels == 0, margins, 0), np.where(labels == 1, margins, 0)], axis=1)
    weighed = audit(images[2900:], labels[2900:], class_sizes=[3000, 100], finite=False)
    weighed.save(tmp_path / "weighed.json")
    assert run(["gate", "weighed.json", "--accuracy", "0.1", "--json"]) == 0
    model = GateResult.from_json(capsys.readouterr().out).models[0]
    assert model.accuracy.interval == model.rules[0].interval
    low, high = model.accuracy.interval
    assert low <= (images.argmax(axis=1) == labels).mean() <= high


@pytest.mark.parametrize("code", ["all_zero", "at_chance"])
def test_an_audit_that_lost_its_flags_is_still_about_nothing(code, tmp_path, capsys):
    labels = np.arange(2000) % 10
    wrong = (
        np.eye(10)[(labels + 1) % 10]
        if code == "all_zero"
        else np.eye(10)[np.random.default_rng(0).permutation(labels)]
    )
    found = audit(5 * wrong + np.linspace(0, 0.1, 10), labels)
    found.model_copy(update={"models": (found.model.model_copy(update={"flags": ()}),)}).save(tmp_path / "old.json")
    assert run(["gate", "old.json", "--rdi", "1.2"]) == 2
    assert f"--allow {code}" in capsys.readouterr().err
