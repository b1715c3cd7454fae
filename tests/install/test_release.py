"""What a release rests on: workflows whose parts cannot change, dependencies without known holes, files that agree."""

import re
import tomllib
from pathlib import Path

import pytest

import sbom
from gfscore import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = [ROOT / "action.yml", *sorted((ROOT / ".github" / "workflows").glob("*.yml"))]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_named_by_hash_and_version(path):
    for line in re.findall(r"uses: .*", path.read_text(encoding="utf-8")):
        assert re.fullmatch(r"uses: [\w.-]+/[\w.-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", line), line


def test_an_action_has_one_hash_everywhere():
    found = {tuple(use.split("@")) for path in WORKFLOWS for use in re.findall(r"uses: (\S+)", path.read_text())}
    assert len(found) == len({name for name, _ in found})


@pytest.mark.parametrize("path", WORKFLOWS[1:], ids=lambda path: path.name)
def test_workflows_are_read_only_unless_they_publish(path):
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert "timeout-minutes" in job, name
        more = {what for what, allowed in job.get("permissions", {}).items() if allowed != "read"}
        assert bool(more) == (name in ("publish", "deploy")), name
        needed = job.get("needs", [])
        assert set([needed] if isinstance(needed, str) else needed) <= set(workflow["jobs"])


def test_the_action_installs_what_the_tests_ran_with():
    assert 'pip install --quiet -c "$GITHUB_ACTION_PATH/constraints.txt"' in (ROOT / "action.yml").read_text()


def test_torch_has_no_known_way_around_weights_only():
    """2.10 is the first without CVE-2026-24747 (docs/decisions/0001-dependencies.md)."""
    floors = [
        each for extra in PROJECT["optional-dependencies"].values() for each in extra if each.startswith("torch>=")
    ]
    assert floors
    for floor in floors:
        assert tuple(map(int, floor.removeprefix("torch>=").split("."))) >= (2, 10)


def test_versions_agree():
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## [{__version__}]\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_a_list_of_parts_without_a_version_or_a_licence_is_refused():
    package = {"name": "gfscore", "licenses": [{"license": {"id": "Apache-2.0"}}]}
    part = {"name": "protobuf", "version": "7.36.2", "purl": "pkg:pypi/protobuf@7.36.2"}
    parts = {"metadata": {"component": package}, "components": [part, {**part, "name": "pip"}]}
    installed = {"gfscore": [__version__, ""], "protobuf": ["7.36.2", "3-Clause BSD License"]}
    sbom.complete(parts, installed)
    assert package["version"] == __version__
    assert part["licenses"][0]["license"]["name"] == "3-Clause BSD License"
    assert sbom.faults(parts, installed) == ["pip has no licenses", "pip is not installed"]


def test_every_module_is_imported_where_there_is_no_fcntl(tmp_path):
    """As on Windows, by a stand-in: nothing at the top of a module may need what only Unix has."""
    import subprocess
    import sys

    code = """
        import importlib, pkgutil, sys
        for name in ("fcntl", "pwd", "grp", "resource", "termios", "pty"):
            sys.modules[name] = None
        import gfscore
        skipped = ("dashboard", "integrations", "__main__")
        for found in pkgutil.walk_packages(gfscore.__path__, "gfscore."):
            if not any(part in found.name for part in skipped):
                try:
                    importlib.import_module(found.name)
                except gfscore.errors.MissingExtraError:
                    pass
                except ModuleNotFoundError as error:
                    assert error.name not in ("fcntl", "pwd", "grp", "resource", "termios", "pty"), (found.name, error)
    """
    import textwrap

    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
