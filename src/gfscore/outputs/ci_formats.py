"""A verdict as CI systems read it: JUnit XML for test reports, SARIF for code scanning, Markdown for a job's page."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

from gfscore.outputs.escaping import shortened
from gfscore.outputs.grounds import flag_text, grounds, sentence
from gfscore.outputs.tables import markdown_cell
from gfscore.results import GateResult, ModelVerdict, RuleVerdict, Verdict

# In SARIF's words (2.1.0, section 3.27.9): "open" is a rule that was evaluated without enough information to decide.
KINDS = {Verdict.PASS: "pass", Verdict.FAIL: "fail", Verdict.UNDECIDED: "open"}
XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
REASON_LIMIT = 2000  # characters of a reason that are shown
MARKS = {Verdict.PASS: "✅", Verdict.FAIL: "❌", Verdict.UNDECIDED: "❔"}


def junit(result: GateResult) -> str:
    """JUnit XML: a suite per model, a test case per rule.

    A rule that is undecided is a failure too, of the type UNDECIDED: what is not known to hold has not passed. What a
    verdict rests on, flags among it, are properties of the suite. Control characters, which XML cannot hold even
    escaped, are spelled out.
    """
    cases = [rule for model in result.models for rule in model.rules]
    root = ET.Element("testsuites", {"name": "gfscore gate", **_counts(cases)})
    for model in result.models:
        name = shortened(model.name)
        about = {"name": name, "timestamp": result.provenance.created, **_counts(model.rules)}
        suite = ET.SubElement(root, "testsuite", about)
        properties = ET.SubElement(suite, "properties")
        flags = {f"flag {flag.code}": flag_text(model, flag) for flag in model.flags}
        for what, text in (grounds(model) | flags).items():
            ET.SubElement(properties, "property", name=what, value=shortened(text, limit=REASON_LIMIT))
        for rule in model.rules:
            case = ET.SubElement(suite, "testcase", classname=f"gfscore.{name}", name=shortened(rule.rule), time="0")
            reason = shortened(rule.reason, limit=REASON_LIMIT)
            if rule.verdict is Verdict.PASS:
                ET.SubElement(case, "system-out").text = reason
            else:
                ET.SubElement(case, "failure", type=rule.verdict.value, message=reason).text = reason
    ET.indent(root)
    return f"{XML}{ET.tostring(root, encoding='unicode')}\n"


def sarif(result: GateResult) -> str:
    """SARIF 2.1.0: a result per rule, of the kind fail, open (undecided) or pass.

    A verdict is about a model, not about a line: the place of a result is the file that the model, or else the policy,
    was read from, where there was one. What it rests on is in its properties; flags are notifications of the run.
    """
    ids = sorted({_rule_id(rule) for model in result.models for rule in model.rules})
    results = [_sarif_result(result, model, rule, ids) for model in result.models for rule in model.rules]
    notes = [
        {
            "level": "warning",
            "message": {"text": f"{shortened(model.name)}: {shortened(flag_text(model, flag), limit=REASON_LIMIT)}"},
            "descriptor": {"id": flag.code},
        }
        for model in result.models
        for flag in model.flags
    ]
    driver = {
        "name": "gfscore",
        "semanticVersion": result.provenance.gfscore,
        "rules": [{"id": name, "shortDescription": {"text": f"The policy's rule on {name}"}} for name in ids],
    }
    about = {"executionSuccessful": True, "toolExecutionNotifications": notes}
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {"tool": {"driver": driver}, "invocations": [about], "columnKind": "unicodeCodePoints", "results": results}
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def summary(result: GateResult) -> str:
    """Markdown: the verdict, and a table of the rules of each model, for the summary page of a job."""
    lines = [f"## {MARKS[result.verdict]} Robustness gate: {result.verdict.value}", ""]
    for model in result.models:
        lines += [
            f"### {markdown_cell(shortened(model.name))}: {model.verdict.value}",
            "",
            "| | rule | why |",
            "|---|---|---|",
        ]
        lines += [
            f"| {MARKS[rule.verdict]} | {markdown_cell(rule.rule)} | {markdown_cell(rule.reason)} |"
            for rule in model.rules
        ]
        lines += ["", markdown_cell(shortened(sentence(model), limit=REASON_LIMIT)), ""]
        lines += [f"- ⚠️ {markdown_cell(shortened(flag_text(model, flag), limit=REASON_LIMIT))}" for flag in model.flags]
        lines += ["", f"PASS or FAIL is wrong with probability at most {model.delta:g}.", ""]
    return "\n".join(lines)


def _counts(rules: Sequence[RuleVerdict]) -> dict[str, str]:
    failures = sum(rule.verdict is not Verdict.PASS for rule in rules)
    return {"tests": str(len(rules)), "failures": str(failures), "errors": "0", "skipped": "0", "time": "0"}


def _rule_id(rule: RuleVerdict) -> str:
    """What the rule is about, in short: wcr, class, change-wcr."""
    return f"change-{rule.metric}" if rule.change else rule.metric


def _sarif_result(result: GateResult, model: ModelVerdict, rule: RuleVerdict, ids: list[str]) -> dict[str, Any]:
    name = _rule_id(rule)
    who = "\0".join((model.name, name, rule.class_ or ""))
    logical = {"name": shortened(model.name), "kind": "module"}
    location: dict[str, Any] = {"logicalLocations": [logical]}
    file = _file_of(model, list(result.provenance.inputs))
    if file is not None:
        location["physicalLocation"] = {"artifactLocation": {"uri": file}}
    return {
        "ruleId": name,
        "ruleIndex": ids.index(name),
        "kind": KINDS[rule.verdict],
        "level": "error" if rule.verdict is Verdict.FAIL else "none",  # the standard has no other for what is no fail
        "message": {"text": f"{shortened(model.name)}: {shortened(rule.reason, limit=REASON_LIMIT)}"},
        "locations": [location],
        "properties": {**grounds(model), "flags": [flag.code for flag in model.flags], "allowed": list(model.allowed)},
        "partialFingerprints": {"gfscore/rule/v1": hashlib.sha256(who.encode()).hexdigest()},  # the same in each run
    }


def _file_of(model: ModelVerdict, inputs: list[str]) -> str | None:
    """The file that a model was read from, else the first of all, as a URI."""
    stem = PurePath(model.name).name
    named = [path for path in inputs if stem in (PurePath(path).stem, PurePath(path).name)]
    if not inputs:
        return None
    path = PurePath((named or inputs)[0])
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
