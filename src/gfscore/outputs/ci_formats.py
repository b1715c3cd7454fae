"""A verdict as CI systems read it: JUnit XML for test reports, SARIF for code scanning, Markdown for a job's page.

Every form shows what the verdict rests on: accuracy, preprocessing, absent classes and flags.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

from gfscore import views
from gfscore.errors import first_few
from gfscore.outputs.attack_words import referee_text
from gfscore.outputs.escaping import markdown_cell, markdown_row, shorten
from gfscore.results import Flag, GateResult, ModelVerdict, RuleVerdict, Verdict

# In SARIF's words (2.1.0, section 3.27.9): "open" is a rule that was evaluated without enough information to decide.
KINDS = {Verdict.PASS: "pass", Verdict.FAIL: "fail", Verdict.UNDECIDED: "open"}
XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
REASON_LIMIT = 2000  # characters of a reason that are shown
MARKS = {Verdict.PASS: "✅", Verdict.FAIL: "❌", Verdict.UNDECIDED: "❔"}


def grounds(model: ModelVerdict) -> dict[str, str]:
    """What a verdict rests on beside its rules, in words, by what it is called: every form of it shows that."""
    found = {}
    if model.accuracy is not None:
        drawn = " of the samples looked at, classes weighed equally" if model.adaptive is not None else ""
        found["accuracy"] = f"{views.share_text(model.accuracy)}{drawn}"
    if model.referee is not None:
        found["attacked"] = referee_text(model.referee)
    found["preprocessing"] = "not known (logits were given)" if model.preprocessing is None else model.preprocessing
    if model.absent_classes:
        found["classes without a sample"] = first_few(list(map(views.printable, model.absent_classes)))
    return found


def grounds_text(model: ModelVerdict) -> str:
    """The grounds as a line: ``Accuracy: 91.2 % [90.1 %, 92.3 %]; preprocessing: none.`` is one."""
    text = "; ".join(f"{name}: {value}" for name, value in grounds(model).items())
    return f"{text[0].upper()}{text[1:]}."


def flag_text(model: ModelVerdict, flag: Flag) -> str:
    """A flag with its code, and whether it was allowed."""
    allowed = ", allowed" if flag.code in model.allowed else ""
    return f"{views.printable(flag.message)} ({flag.code}{allowed})"


def junit(result: GateResult) -> str:
    """JUnit XML: a suite per model, a test case per rule.

    A rule that is undecided is a failure too, of the type UNDECIDED: what is not known to hold has not passed. What a
    verdict rests on, flags among it, are properties of the suite. Control characters, which XML cannot hold even
    escaped, are spelled out.
    """
    cases = [rule for model in result.models for rule in model.rules]
    root = ET.Element("testsuites", {"name": "gfscore gate", **_counts(cases)})
    for model in result.models:
        name = shorten(model.name)
        about = {"name": name, "timestamp": result.provenance.created, **_counts(model.rules)}
        suite = ET.SubElement(root, "testsuite", about)
        properties = ET.SubElement(suite, "properties")
        flags = {f"flag {flag.code}": flag_text(model, flag) for flag in model.flags}
        for what, text in (grounds(model) | flags).items():
            ET.SubElement(properties, "property", name=what, value=shorten(text, REASON_LIMIT))
        for rule in model.rules:
            case = ET.SubElement(suite, "testcase", classname=f"gfscore.{name}", name=shorten(rule.rule), time="0")
            reason = shorten(rule.reason, REASON_LIMIT)
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
            "message": {"text": f"{shorten(model.name)}: {shorten(flag_text(model, flag), REASON_LIMIT)}"},
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
        name = markdown_cell(shorten(model.name))
        lines += [f"### {name}: {model.verdict.value}", "", "| | rule | why |", "|---|---|---|"]
        cells = [(MARKS[rule.verdict], markdown_cell(rule.rule), markdown_cell(rule.reason)) for rule in model.rules]
        lines += map(markdown_row, cells)
        lines += ["", markdown_cell(shorten(grounds_text(model), REASON_LIMIT)), ""]
        lines += [f"- ⚠️ {markdown_cell(shorten(flag_text(model, flag), REASON_LIMIT))}" for flag in model.flags]
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
    logical = {"name": shorten(model.name), "kind": "module"}
    location: dict[str, Any] = {"logicalLocations": [logical]}
    file = _file_of(model, list(result.provenance.inputs))
    if file is not None:
        location["physicalLocation"] = {"artifactLocation": {"uri": file}}
    return {
        "ruleId": name,
        "ruleIndex": ids.index(name),
        "kind": KINDS[rule.verdict],
        "level": "error" if rule.verdict is Verdict.FAIL else "none",  # the standard has no other for what is no fail
        "message": {"text": f"{shorten(model.name)}: {shorten(rule.reason, REASON_LIMIT)}"},
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
