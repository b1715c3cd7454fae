"""JUnit XML and SARIF: as the formats want them, whatever the names hold, and the same verdicts in each."""

import json
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from gfscore import Samples, gate
from gfscore.cli.main import run
from gfscore.outputs import ci_formats

HOSTILE = "a<b>&\"'\x00\x1b[31m\ufffe]]>|`"


@pytest.fixture(scope="module")
def result():
    """One rule of each verdict, about a model and a class with names that no format may break on."""
    rng, labels = np.random.default_rng(0), np.arange(300) % 3
    logits = rng.normal(0, 1, (300, 3)) + np.array([4, 2, 0.5])[labels, None] * np.eye(3)[labels]
    samples = Samples.of(logits, labels, class_names=[HOSTILE, "bee", "cow"])
    made = gate(samples, {"rules": {"wcr": 0.6, "rdi": 0.85}, "class": {HOSTILE: 0.5}}, name=HOSTILE)
    assert {rule.verdict.value for rule in made.models[0].rules} == {"PASS", "FAIL", "UNDECIDED"}
    return made


def test_junit_has_a_suite_per_model_and_a_case_per_rule(result):
    root = ET.fromstring(ci_formats.junit(result).encode())
    suites = list(root)
    assert [suite.tag for suite in suites] == ["testsuite"]
    assert (
        (root.get("tests"), root.get("failures")) == (suites[0].get("tests"), suites[0].get("failures")) == ("3", "2")
    )
    for case, rule in zip(suites[0].findall("testcase"), result.models[0].rules, strict=True):
        failure = case.find("failure")
        assert (failure is None) == (rule.verdict.value == "PASS")
        if failure is not None:
            assert failure.get("type") == rule.verdict.value
            assert failure.get("message") == rule.reason


def test_junit_holds_no_character_that_xml_forbids(result):
    text = ci_formats.junit(result)
    assert all(c in "\t\n" or (c >= " " and c not in "\ufffe\uffff") for c in text)
    assert "a&lt;b&gt;&amp;" in text
    assert "\\x00\\x1b" in text


def test_sarif_says_kind_and_level_as_the_standard_wants(result):
    document = json.loads(ci_formats.sarif(result))
    assert document["version"] == "2.1.0"
    [sarif_run] = document["runs"]
    rules = [rule["id"] for rule in sarif_run["tool"]["driver"]["rules"]]
    kinds = {"PASS": "pass", "FAIL": "fail", "UNDECIDED": "open"}
    for entry, rule in zip(sarif_run["results"], result.models[0].rules, strict=True):
        assert rules[entry["ruleIndex"]] == entry["ruleId"] == rule.metric
        assert entry["kind"] == kinds[rule.verdict.value]
        assert (entry["level"] == "none") == (entry["kind"] != "fail")  # section 3.27.10
        assert rule.reason in entry["message"]["text"]
    fingerprints = [entry["partialFingerprints"]["gfscore/rule/v1"] for entry in sarif_run["results"]]
    assert len(set(fingerprints)) == 3


def test_summary_is_a_table_that_names_cannot_break(result):
    rows = [line for line in ci_formats.summary(result).splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + len(result.models[0].rules)
    assert all(row.replace("\\|", "").count("|") == 4 for row in rows)
    assert "<b>" not in "".join(rows)


def test_the_command_writes_them_beside_its_verdict(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    labels = np.arange(400) % 2
    for name in ("old one", "new"):
        np.savez(f"{name}.npz", logits=3 * np.eye(2)[labels], labels=labels)
    files = ["--junit", "ci/junit.xml", "--sarif", "ci/gate.sarif", "--summary", "ci/summary.md"]
    assert run(["gate", "old one.npz", "new.npz", "--wcr", "1.2", *files]) == 1
    assert "FAIL" in capsys.readouterr().out
    assert ET.parse("ci/junit.xml").getroot().get("failures") == "2"
    [sarif_run] = json.loads((tmp_path / "ci/gate.sarif").read_text())["runs"]
    places = [entry["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for entry in sarif_run["results"]]
    assert [unquote(place) for place in places] == ["old one.npz", "new.npz"]
    assert " " not in "".join(places)
    assert "Robustness gate: FAIL" in (tmp_path / "ci/summary.md").read_text()
