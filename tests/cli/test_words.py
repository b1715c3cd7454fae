"""What can be said on the command line can be said in Python, by the same words and with the same result."""

import inspect
import json
import re
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import gfscore
from gfscore.cli.main import COMMANDS, run
from gfscore.jobs.calling import Job

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
JOBS = {name: name for name in ("audit", "certify", "check", "gate", "compare", "calibrate", "plan", "logits")}
JOBS |= {"demo": "demo", "reproduce": "reproduce"}
SHOWN = {"out", "json", "quiet", "per_sample", "junit", "sarif", "summary", "fail_on_worse"}  # what a face does
IN_PYTHON = {  # what has no text: arrays, callables, whoever listens
    "audit": {"labels", "sample_ids", "class_sizes", "finite", "name", "seen", "face", "gpu"},
    "gate": {"labels", "name", "seen", "face", "gpu"},
    "compare": {"names", "face"},
    "certify": {"seen", "face", "gpu"},
    "check": {"folder", "face", "gpu"},
    "logits": {"face", "gpu"},
    "demo": {"face"},
    "reproduce": {"face", "gpu"},
}


def job_of(name):
    module = import_module(f"gfscore.cli.{COMMANDS[name]}")
    found = [value for value in vars(module).values() if isinstance(value, Job) and value.__name__ == name]
    assert len(found) == 1
    return found[0]


def options_of(name):
    """The parameters of a command by the name that people write."""
    command = getattr(import_module(f"gfscore.cli.{COMMANDS[name]}"), f"{name}_command")
    found = set()
    for parameter in inspect.signature(command).parameters.values():
        info = parameter.annotation.__metadata__[0]
        written = [text for text in (info.default, *(info.param_decls or ())) if str(text).startswith("--")]
        found.add(written[0].removeprefix("--").replace("-", "_") if written else parameter.name)
    return found


@pytest.mark.parametrize("name", JOBS)
def test_the_two_lists_are_one(name):
    in_python = {word.rstrip("_") for word in inspect.signature(job_of(name)).parameters}
    assert options_of(name) - in_python <= SHOWN
    assert in_python - options_of(name) == IN_PYTHON.get(name, set())


@pytest.mark.parametrize("name", [name for name in JOBS if name not in ("demo", "reproduce", "logits")])
def test_the_door_has_every_job(name):
    assert getattr(gfscore, name) is job_of(name)


def test_every_word_has_a_help_that_says_something():
    for name in JOBS:
        for word in job_of(name).words().values():
            [note] = word.annotation.__metadata__
            assert len(note.help) > 10


def test_unknown_words_are_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'tempreature'"):
        gfscore.audit([[1, 0], [0, 1]], [0, 1], tempreature=2)


def test_options_are_given_whole_or_by_their_words_but_not_both():
    arrays = ([[3, 0], [2, 0], [0, 1], [1, 0]], [0, 0, 1, 1])
    options = gfscore.Options(temperature=2, permutations=0)
    whole = gfscore.audit(*arrays, options=options).model
    assert whole == gfscore.audit(*arrays, temperature=2, permutations=0).model
    with pytest.raises(gfscore.GFScoreError, match="delta is said beside options, which says it already"):
        gfscore.audit(*arrays, options=options, delta=0.1)


def without_provenance(found):
    if isinstance(found, dict):
        return {key: without_provenance(value) for key, value in found.items() if key != "provenance"}
    return [without_provenance(each) for each in found] if isinstance(found, list) else found


def pairs_on_the_page():
    """Each block of Python on the page with the command that stands before it."""
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(r"```console\n\$ gfscore ([^\n]+)\n```\n\n```python\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize(("command", "code"), pairs_on_the_page(), ids=lambda text: text.split(" ")[0])
def test_the_one_liners_of_the_docs_give_the_json_of_the_command(command, code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng, labels = np.random.default_rng(0), np.arange(300) % 3
    for name, gap in {"old": 2.0, "new": 1.5, "net": 1.0}.items():
        np.savez(f"{name}.npz", logits=rng.normal(0, 1, (300, 3)) + gap * np.eye(3)[labels], labels=labels)
    monkeypatch.setenv("GFSCORE_STORE", "first")  # each computes for itself
    assert run([*command.split(" #")[0].split(), "--json"]) in (0, 1, 3)
    wanted = json.loads(capsys.readouterr().out)
    monkeypatch.setenv("GFSCORE_STORE", "second")
    found = {}
    exec(compile(code, "docs", "exec"), found)
    result = found["found"]
    text = result.to_json() if hasattr(result, "to_json") else json.dumps([asdict(entry) for entry in result])
    assert without_provenance(json.loads(text)) == without_provenance(wanted)


def test_there_is_a_pair_for_each_job():
    commands = [command.split()[0] for command, _ in pairs_on_the_page()]
    assert set(commands) == {"audit", "certify", "check", "gate", "compare", "calibrate", "plan"}
    assert sum("--stream" in command for command, _ in pairs_on_the_page()) == 1


LABELS = np.arange(60) % 3
LOGITS = np.random.default_rng(0).normal(0, 1, (60, 3)) + 2 * np.eye(3)[LABELS]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gfscore.audit(LOGITS), "logits in memory need their labels beside them"),
        (lambda: gfscore.gate(LOGITS, wcr=0.1), "logits in memory need their labels beside them"),
        (lambda: gfscore.calibrate(LOGITS, "models"), "logits in memory need their labels beside them"),
        (lambda: gfscore.compare(LOGITS, LOGITS), "a version is ndarray"),
        (lambda: gfscore.audit(model="zoo:trades"), "--model is given without --data"),
        (lambda: gfscore.audit(), "there is nothing to audit"),
        (lambda: gfscore.gate(LOGITS, labels=LABELS), "the policy has no rule"),
    ],
)
def test_natural_mistakes_are_answered_in_words(call, message):
    with pytest.raises(gfscore.GFScoreError, match=message):
        call()


def test_what_one_job_returns_another_takes():
    audit = gfscore.audit(LOGITS, LABELS, permutations=0)
    assert gfscore.gate(audit, wcr=0.1).verdict == gfscore.gate(LOGITS, labels=LABELS, wcr=0.1).verdict
    assert gfscore.compare(audit, audit).paired is False
    samples = gfscore.samples_of(LOGITS, LABELS)
    assert gfscore.audit(samples, permutations=0).model == audit.model
    assert gfscore.audit(model=lambda inputs: inputs, data=(LOGITS, LABELS), permutations=0).model.classes[0].n == 20
