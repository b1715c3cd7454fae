"""What workflows run, as far as it needs no GitHub: it is shell, names what there is, and refuses what it must."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from gfscore import __version__

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
FILES = [ROOT / "action.yml", *sorted((ROOT / ".github" / "workflows").glob("*.yml"))]


def steps(path):
    """All steps of a workflow or an action."""
    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    jobs = [read["runs"]] if "runs" in read else read["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


def lines_run(path):
    return [step["run"] for step in steps(path) if "run" in step]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_is_run_is_shell_and_names_what_there_is(path):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for run in lines_run(path):
        checked = subprocess.run(
            ["bash", "-n"], input=re.sub(r"\$\{\{.*?\}\}", "x", run), text=True, capture_output=True
        )
        assert checked.returncode == 0, checked.stderr
        for name in re.findall(r"(?<![\w./-])((?:scripts|benchmarks|tests|\.ci)/[\w./-]+)", run):
            assert (ROOT / name).exists(), name
        assert set(re.findall(r"\bmake ([a-z-]+)(?= |$)", run)) <= targets, run


def test_a_tag_has_to_be_the_version():
    (step,) = (
        step for step in steps(ROOT / ".github/workflows/release.yml") if step.get("name") == "The tag is the version"
    )
    tried = {}
    for tag in (f"v{__version__}", __version__, "v9.9.9", "v"):
        done = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=ROOT, env={**os.environ, "TAG": tag})
        tried[tag] = done.returncode
    assert tried == {f"v{__version__}": 0, __version__: 1, "v9.9.9": 1, "v": 1}


def test_nothing_from_outside_is_written_into_a_line():
    """What a branch, a tag or an input is called reaches a shell by a variable, never as part of its text."""
    for path in FILES:
        for run in lines_run(path):
            assert re.findall(r"\$\{\{.*?\}\}", run) == [], (path.name, run)
