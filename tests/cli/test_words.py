"""What can be said on the command line can be said in Python, by the same words and with the same result."""

import inspect
import json
import pickle
import re
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import gfscore
from gfscore.cli.main import COMMANDS, run
from gfscore.jobs.calling import Job
from gfscore.judge import Policy

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
AT_THE_DOOR = ("audit", "certify", "check", "gate", "compare", "calibrate", "leaderboard", "plan", "repair")
JOBS = (*AT_THE_DOOR, "init", "logits", "demo", "reproduce")
SHOWN = {"out", "json", "quiet", "per_sample", "junit", "sarif", "summary", "fail_on_worse", "force"}  # of faces
IN_PYTHON = {  # what has no text: arrays, callables, whoever listens
    "audit": {"labels", "sample_ids", "class_sizes", "finite", "name", "seen", "face", "gpu"},
    "gate": {"labels", "name", "seen", "face", "gpu"},
    "calibrate": {"labels", "face", "gpu"},
    "compare": {"labels", "names", "face", "gpu"},
    "certify": {"labels", "seen", "face", "gpu"},
    "check": {"folder", "face", "gpu"},
    "repair": {"folder", "face", "gpu"},
    "init": {"gpu"},
    "leaderboard": {"face"},
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


@pytest.mark.parametrize("name", AT_THE_DOOR)
def test_the_door_has_every_job(name):
    assert getattr(gfscore, name) is job_of(name)


def test_every_word_has_a_help_that_says_something():
    for name in JOBS:
        for word in job_of(name).words().values():
            [note] = word.annotation.__metadata__
            assert len(note.help) > 10


@pytest.mark.parametrize("name", AT_THE_DOOR)
def test_help_describes_every_parameter_and_types_are_short(name):
    job = job_of(name)
    section = inspect.getdoc(job).rpartition("\nArgs:\n")[2]
    found = dict(re.findall(r"^    (\w+): (.+)$", section, re.MULTILINE))
    assert list(found) == list(inspect.signature(job).parameters)
    assert all(len(text) > 10 for text in found.values())
    assert "--" not in section
    for entry in inspect.signature(job).parameters.values():
        assert len(inspect.formatannotation(entry.annotation)) <= 40


def test_unknown_words_are_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'tempreature'"):
        gfscore.audit([[1, 0], [0, 1]], [0, 1], tempreature=2)


def test_options_are_given_whole_or_by_their_words_but_not_both():
    arrays = ([[3, 0], [2, 0], [0, 1], [1, 0]], [0, 0, 1, 1])
    options = gfscore.Options(temperature=2, permutations=0)
    whole = gfscore.audit(*arrays, options=options).model
    assert whole == gfscore.audit(*arrays, temperature=2, permutations=0).model
    with pytest.raises(gfscore.GFScoreError, match="delta is said twice: by itself, and in options"):
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
    for net in ("standard", "trades") if command.startswith("leaderboard") else ():
        gfscore.audit(model=f"zoo:{net}", data="zoo:digits", n_per_class=10, gradients="no").save(f"{net}.json")
    said, _, exit_code = command.partition("  # exit ")
    assert run([*said.split(), "--json"]) == int(exit_code or 0)
    wanted = json.loads(capsys.readouterr().out)
    monkeypatch.setenv("GFSCORE_STORE", "second")
    found = {}
    exec(compile(code, "docs", "exec"), found)
    result = found["found"]
    text = result.to_json() if hasattr(result, "to_json") else json.dumps([asdict(entry) for entry in result])
    assert without_provenance(json.loads(text)) == without_provenance(wanted)


def test_there_is_a_pair_for_each_job():
    commands = [command.split()[0] for command, _ in pairs_on_the_page()]
    assert set(commands) == set(AT_THE_DOOR)
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


def test_numbers_of_numpy_are_numbers_and_texts_are_read_as_on_the_command_line():
    samples = gfscore.Samples.of(LOGITS, LABELS)
    for threshold in (np.float32(1.2), np.float64(1.2), np.array(1.2)[()]):
        [verdict] = gfscore.gate(samples, wcr=threshold, rdi=1.25).models
        assert [rule.metric for rule in verdict.rules] == ["wcr", "rdi"]
    words = {"model": "zoo:trades", "data": "zoo:digits", "score": "first-order", "norm": "linf"}
    found = [gfscore.audit(**words, n_per_class=n, eps=eps).model for n, eps in ((np.int64(2), "8/255"), (2, 8 / 255))]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda samples: gfscore.audit(samples, target="finit"), "target 'finit' is not a choice. Choose population"),
        (lambda samples: gfscore.audit(samples, engine="raay"), "engine 'raay' is not a choice. Choose local or ray"),
        (lambda samples: gfscore.certify(samples, method="smoth"), "method 'smoth' is not a choice. Choose smoothing"),
        (lambda samples: gfscore.audit(samples, batch_size=0), "batch_size is 0. Give at least 1"),
        (
            lambda samples: gfscore.gate(samples, Policy.of({"rules": {"rdi": 0.5}}), wcr=0.9),
            "wcr is said beside",
        ),
        (lambda samples: gfscore.gate(LOGITS, LABELS, labels=LABELS, wcr=0.1), "the policy is ndarray"),
        (lambda samples: gfscore.gate(samples, wcr="high"), "wcr is str. Give a number."),
        (lambda samples: gfscore.audit(samples, options=1), "options is int. Give Options"),
        (lambda samples: gfscore.audit({"a": "a.npz"}), "a is str. Give Samples by name"),
        (lambda samples: gfscore.audit("a.npz", name="mine"), "files and models that are run have names of their own"),
        (lambda samples: gfscore.audit("a.npz", sample_ids=[1]), "sample_ids is about arrays. Give labels"),
        (lambda samples: gfscore.audit(LOGITS, LABELS, stream=True), "labels is about arrays, which need no stream"),
        (lambda samples: gfscore.gate({"a": "a.npz"}, wcr=0.1), "a is str. Give Samples by name"),
        (lambda samples: gfscore.audit(samples, stream=True), "samples in memory need no stream"),
        (lambda samples: gfscore.audit(samples, probabilities=True), "these samples were checked as logits"),
        (lambda samples: gfscore.check(np.sum, "zoo:digits"), "model: returned shape"),
        (lambda samples: gfscore.compare(samples, samples, score="first-order", norm="l2"), "takes the model itself"),
    ],
)
def test_what_cannot_be_meant_is_refused(call, message):
    with pytest.raises(gfscore.GFScoreError, match=message):
        call(gfscore.Samples.of(LOGITS, LABELS))


def test_words_reach_samples_in_memory():
    samples, groups = gfscore.Samples.of(LOGITS, LABELS), ["x", "z"] * 30
    by_groups = gfscore.audit(samples, groups=groups, permutations=0, name="mine").model
    assert (by_groups.name, by_groups.partition) == ("mine", "group")
    assert by_groups.classes == gfscore.audit(LOGITS, LABELS, groups=groups, permutations=0).model.classes
    named = gfscore.audit(samples, class_names=["a", "b", "c"], permutations=0).model
    assert [entry.name for entry in named.classes] == ["a", "b", "c"]


def test_groups_are_names_or_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    groups = ["x", "z"] * 30
    Path("groups.txt").write_text("\n".join(groups))
    np.savez("net.npz", logits=LOGITS, labels=LABELS)
    ways = [(("net.npz",), groups), (("net.npz",), "groups.txt"), ((LOGITS, LABELS), "groups.txt")]
    found = [gfscore.audit(*what, groups=said, permutations=0).model.classes for what, said in ways]
    assert found[0] == found[1] == found[2]


def test_models_are_run_beside_samples():
    both = gfscore.audit(
        {"mine": gfscore.Samples.of(LOGITS, LABELS)}, model="zoo:trades", data="zoo:digits", n_per_class=2
    )
    assert [model.name for model in both.models] == ["mine", "trades"]


@pytest.mark.parametrize(
    "kind", [lambda samples: samples, lambda samples: {"mine": samples}, lambda samples: [samples]]
)
def test_a_gate_passes_nothing_over(kind):
    """What is judged: samples in memory, audits, and models that are run, in one call."""
    samples, run = gfscore.Samples.of(LOGITS, LABELS), {"model": "zoo:trades", "data": "zoo:digits", "n_per_class": 2}
    verdicts = gfscore.gate(kind(samples), rdi=1.25, allow="absent_classes", **run).models
    assert [verdict.name for verdict in verdicts][1:] == ["trades"]
    audit = gfscore.audit(samples, permutations=0)
    assert len(gfscore.gate([samples, audit.model], rdi=1.25).models) == 2
    assert len(gfscore.gate(audit, rdi=1.25, **run).models) == 2


def test_a_seed_in_options_is_that_of_the_run():
    words = {"model": "zoo:standard", "data": "zoo:digits", "n_per_class": 5}
    whole = gfscore.audit(**words, options=gfscore.Options(seed=5, permutations=0)).model
    assert whole == gfscore.audit(**words, seed=5, permutations=0).model


def test_options_of_an_audit_are_part_of_those_of_a_check():
    words = {"model": "zoo:trades", "data": "zoo:digits", "n_per_class": 2, "samples": 1, "method": "bisection"}
    options = gfscore.Options(delta=0.1, permutations=0)
    assert gfscore.check(**words, options=options).model.interval.delta == 0.1


def test_jobs_travel_to_other_processes():
    assert pickle.loads(pickle.dumps(gfscore.audit)) is gfscore.audit
