"""The GitHub Action: its script is run, and no input becomes code; the pre-commit hook: run by pre-commit itself."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
GATE = ACTION["runs"]["steps"][-1]


@pytest.fixture
def environment(tmp_path):
    """A PATH with gfscore on it, and nothing of the outside."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "gfscore").write_text(f'#!/bin/sh\nexec {sys.executable} -m gfscore "$@"\n')
    (folder / "gfscore").chmod(0o755)
    labels = np.arange(400) % 2
    np.savez(tmp_path / "logits new.npz", logits=3 * np.eye(2)[labels], labels=labels)
    return {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GFSCORE_STORE": str(tmp_path / "store"),
    }


def run_action(folder, environment, **inputs):
    """As the runner does: every input has its variable, at its default where it is not given."""
    defaults = {name: entry["default"] for name, entry in ACTION["inputs"].items()}
    variables = {
        name: (defaults | inputs)[re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", value)[1]]
        for name, value in GATE["env"].items()
    }
    command = GATE["run"].replace("$GITHUB_ACTION_PATH", str(ROOT))
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment | variables, capture_output=True, text=True
    )


def test_no_input_is_part_of_a_command():
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
    used = set(re.findall(r"inputs\.(\w+)", str([step.get("env") for step in ACTION["runs"]["steps"]])))
    assert used == set(ACTION["inputs"])


def test_it_judges_and_leaves_what_ci_systems_read(tmp_path, environment):
    done = run_action(tmp_path, environment, logits="logits new.npz", wcr="0.5", rdi="0.4")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "output").read_text() == "verdict=PASS\n"
    assert "Robustness gate: PASS" in (tmp_path / "summary").read_text()
    assert ET.parse(tmp_path / "gfscore-gate/junit.xml").getroot().get("tests") == "2"
    assert json.loads((tmp_path / "gfscore-gate/gate.sarif").read_text())["version"] == "2.1.0"
    assert run_action(tmp_path, environment, logits="logits new.npz", wcr="1.2").returncode == 1
    assert (tmp_path / "output").read_text() == "verdict=PASS\nverdict=FAIL\n"


def test_models_are_run_and_the_undecided_can_be_let_through(tmp_path, environment):
    given = {"model": "zoo:trades\nzoo:awp\n", "data": "zoo:digits", "rdi": "0.6"}
    assert run_action(tmp_path, environment, **given).returncode == 3
    assert run_action(tmp_path, environment, **given, undecided="pass").returncode == 0
    assert len(json.loads((tmp_path / "gfscore-gate/gate.json").read_text())["models"]) == 2


def test_rules_on_robust_accuracy_of_the_whole_and_of_classes(tmp_path, environment):
    classes = {"class_robust_accuracy": "*=0.1@2/255\n8=0.2@4/255\n", "args": "--n-per-class 20"}
    given = {"model": "zoo:trades", "data": "zoo:digits", "robust_accuracy": "0.5@2/255", **classes}
    done = run_action(tmp_path, environment, **given)
    assert done.returncode == 0, done.stderr
    rules = json.loads((tmp_path / "gfscore-gate/gate.json").read_text())["models"][0]["rules"]
    assert [(rule["metric"], rule["at_least"]) for rule in rules] == [
        ("robust_accuracy", 0.5),
        ("class_robust_accuracy", 0.1),
        ("class_robust_accuracy", 0.2),
    ]


def test_flags_are_allowed_line_by_line(tmp_path, environment):
    labels = np.arange(400) % 2
    np.savez(tmp_path / "logits new.npz", logits=3 * np.eye(2)[1 - labels], labels=labels)
    given = {"logits": "logits new.npz", "rdi": "0.5"}
    assert run_action(tmp_path, environment, **given).returncode == 2
    assert run_action(tmp_path, environment, **given, allow="all_zero\nat_chance\nlabels_permuted\n").returncode == 0
    assert "at_chance, allowed" in (tmp_path / "summary").read_text().replace("\\_", "_")


def test_a_file_says_what_to_judge_and_arguments_stand_over_it(tmp_path, environment):
    models = '[[models]]\nmodel = "zoo:trades"\nmean = 0.1\nstd = 1\nname = "my net"\n'
    (tmp_path / "my config.toml").write_text(f'data = "zoo:digits"\nn_per_class = 3\n{models}[rules]\nwcr = 1.25\n')
    done = run_action(tmp_path, environment, config="my config.toml")
    assert done.returncode == 3, done.stderr
    found = json.loads((tmp_path / "gfscore-gate/audit.json").read_text())["models"][0]
    assert (found["name"], found["run"]["preprocessing"]["mean"], found["samples"]["n"]) == ("my net", [0.1], 30)
    args = "--wcr 0.0001 --n-per-class=20\n--class-names 'my names.txt' --model \"zoo:trades?name=$HOME\""
    (tmp_path / "my names.txt").write_text("\n".join("abcdefghij"))
    done = run_action(tmp_path, environment, config="my config.toml", args=args)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "gfscore-gate/audit.json").read_text())["models"][0]
    assert (found["name"], found["samples"]["n"], found["classes"][0]["name"]) == ("$HOME", 200, "a")


def test_arguments_with_an_open_quotation_mark(tmp_path, environment):
    done = run_action(tmp_path, environment, logits="logits new.npz", args="--wcr 0.1 --class-names 'x")
    assert (done.returncode, done.stderr) == (2, "args: has a quotation mark without its partner. Close it.\n")


def test_an_input_is_never_code(tmp_path, environment):
    hostile = '$(touch pwned)"; touch pwned; `touch pwned` #'
    done = run_action(tmp_path, environment, **dict.fromkeys(ACTION["inputs"], hostile))
    assert done.returncode == 2, "it reached gfscore, which has no use for it"
    run_action(
        tmp_path, environment, logits="logits new.npz", wcr="0.5", args="$(touch pwned) `touch pwned`; touch pwned"
    )
    assert "pwned" not in {path.name for path in tmp_path.rglob("*")}


def test_input_that_cannot_be_used_is_an_error_of_its_own(tmp_path, environment):
    done = run_action(tmp_path, environment, logits="--help", wcr="0.5")
    assert done.returncode == 2
    assert "--help" in done.stderr
    assert not (tmp_path / "output").exists()


def test_the_hook_judges_what_a_commit_changes(tmp_path, environment):
    pytest.importorskip("pre_commit")
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert re.search(hook["files"], "logits new.npz")
    local = hook | {"language": "system", "args": ["--wcr=1.2"]}  # not installed anew, else the hook as it is
    (tmp_path / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [{"repo": "local", "hooks": [local]}]}))
    for command in (["git", "init", "-q"], ["git", "add", "logits new.npz", ".pre-commit-config.yaml"]):
        subprocess.run(command, cwd=tmp_path, check=True)
    environment["PRE_COMMIT_HOME"] = str(tmp_path / "cache")
    command = [sys.executable, "-m", "pre_commit", "run"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "none of the interval is at least 1.2" in done.stdout
