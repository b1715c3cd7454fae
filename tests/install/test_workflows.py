"""What workflows run, as far as it needs no GitHub: it is shell, names what there is, and refuses what it must."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import try_wheel
from gfscore import __version__

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
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


def test_parts_that_could_not_be_looked_up_do_not_pass_as_sound():
    """Without --strict pip-audit leaves out what the index does not know, and says that all is well."""
    runs = lines_run(ROOT / ".github/workflows/weekly.yml")
    audits = [line for run in runs for line in run.splitlines() if line.strip().startswith("pip-audit")]
    assert len(audits) == 2
    assert all(" --strict " in line for line in audits)


def test_a_tag_has_to_be_the_version():
    (step,) = (
        step for step in steps(ROOT / ".github/workflows/release.yml") if step.get("name") == "The tag is the version"
    )
    tried = {}
    for tag in (f"v{__version__}", __version__, "v9.9.9", "v"):
        done = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=ROOT, env={**os.environ, "TAG": tag})
        tried[tag] = done.returncode
    assert tried == {f"v{__version__}": 0, __version__: 1, "v9.9.9": 1, "v": 1}


def test_nothing_is_published_that_was_not_tried():
    """What is published is what one job built, after every job that tries it, in every setting that can be tried."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}
    assert [name for name, job in jobs.items() if "upload-artifact" in str(job)] == ["build"]
    assert not any("if" in job or "continue-on-error" in str(job) for job in jobs.values())
    tried = jobs["try"]["strategy"]["matrix"]
    cells = [
        {"os": system, "python": python, "file": "whl", "settings": settings}
        for system in tried["os"]
        for python in tried["python"]
        for settings in tried["settings"]
    ] + tried["include"]
    pythons = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d", line)}
    settings = {(cell["python"], name) for cell in cells for name in cell["settings"].split()}
    whole = {"default", "newest", "extras-without-torch", "extras-with-torch"}
    assert settings >= {(python, name) for python in pythons for name in whole}
    assert ("3.11", "oldest") in settings
    assert {cell["file"] for cell in cells} == {"whl", "tar.gz"}
    assert {cell["os"] for cell in cells} == {"ubuntu-latest", "macos-latest", "windows-latest"}


def test_every_extra_is_tried():
    assert set(try_wheel.TRIES) == set(PROJECT["optional-dependencies"])
    parts = [try_wheel.chosen([kind]) for kind in try_wheel.KINDS]
    assert sorted([*parts[0], *parts[1]]) == sorted(try_wheel.TRIES)
    with_torch = {name for name, needs in PROJECT["optional-dependencies"].items() if "torch>=" in " ".join(needs)}
    assert set(parts[1]) == with_torch


def test_installs_are_held_to_versions():
    """What workflows install is named in constraints.txt or tools.txt, unless it is there to find out what is new."""
    for path in FILES:
        for run in lines_run(path):
            for line in re.findall(r"pip install.*", run):
                held = re.search(r'-c "?(\$GITHUB_ACTION_PATH/)?(constraints|oldest)\.txt', line)
                assert held or (path.name == "weekly.yml" and line.endswith("--quiet .")), (path.name, line)


def test_no_version_is_held_twice():
    held = [
        {name.lower().replace("_", "-") for name in re.findall(r"(?m)^([\w.-]+)==\S+$", (ROOT / file).read_text())}
        for file in ("constraints.txt", ".github/tools.txt")
    ]
    assert {"build", "cyclonedx-bom", "pip-audit"} <= held[1]
    assert not held[0] & held[1]


LISTED = """{"artifacts": [
  {"created_at": "2026-01-01", "expired": false, "workflow_run": {"id": 5, "head_branch": "main"}},
  {"created_at": "2026-01-02", "expired": true, "workflow_run": {"id": 6, "head_branch": "main"}}
]}"""


@pytest.mark.parametrize(
    ("listed", "downloads", "code", "asked"),
    [
        (LISTED, 0, 0, ["run download 5 --name nights --dir nights"]),
        ('{"artifacts": []}', 0, 0, []),  # the first night
        (LISTED, 1, 1, ["run download 5 --name nights --dir nights"]),  # not there: the job ends, and keeps nothing
        ("", 0, 1, []),
    ],
)
def test_the_nights_before_are_had_or_the_job_ends(tmp_path, listed, downloads, code, asked):
    jobs = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text(encoding="utf-8"))["jobs"]
    job = jobs["bench"]
    assert job["permissions"] == {"actions": "read", "contents": "read"}  # without the first, nothing is downloaded
    before, upload = next(step for step in job["steps"] if step.get("id") == "before"), job["steps"][-1]
    assert "steps.before.outcome == 'success'" in upload["if"]
    gh = tmp_path / "gh"
    gh.write_text(
        f"#!/bin/sh\nif [ $1 = api ]; then printf '%s' '{listed}'; else echo \"$@\" >> asked; exit {downloads}; fi\n"
    )
    gh.chmod(0o755)
    (tmp_path / "benchmarks").symlink_to(ROOT / "benchmarks")
    place = os.pathsep.join([str(tmp_path), str(Path(sys.executable).parent), os.environ["PATH"]])
    outside = {**os.environ, "PATH": place, "GITHUB_REPOSITORY": "a/b", "GITHUB_REF_NAME": "main"}
    done = subprocess.run(["bash", "-e", "-c", before["run"]], cwd=tmp_path, env=outside, capture_output=True)
    assert done.returncode == code
    said = tmp_path / "asked"
    assert (said.read_text().splitlines() if said.exists() else []) == asked


def test_schedules_are_those_that_are_promised():
    """Long tests, fuzzing and benchmarks every night; known holes every week."""
    read = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FILES[1:]}
    started = {name: each[True] for name, each in read.items()}  # YAML reads the word "on" as yes
    when = {name: each["schedule"][0]["cron"].split() for name, each in started.items() if "schedule" in each}
    assert set(when) == {"long.yml", "nightly.yml", "weekly.yml"}
    for name, (minute, hour, *rest) in when.items():
        assert (minute + hour).isdigit()
        assert rest == (["*", "*", "1"] if name == "weekly.yml" else ["*", "*", "*"])
    runs = {name: " ".join(lines_run(ROOT / ".github/workflows" / name)) for name in when}
    assert "test-long" in runs["long.yml"]
    assert "tests/fuzz" in runs["nightly.yml"]
    assert "make bench" in runs["nightly.yml"]
    assert "pip-audit" in runs["weekly.yml"]


def test_nothing_from_outside_is_written_into_a_line():
    """What a branch, a tag or an input is called reaches a shell by a variable, never as part of its text."""
    for path in FILES:
        for run in lines_run(path):
            assert re.findall(r"\$\{\{.*?\}\}", run) == [], (path.name, run)
