"""Nothing is reported to anybody: onnxruntime would, unless it is told not to before it is loaded."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADER = "src/gfscore/inputs/models/onnx_model.py"
VARIABLE = "ORT_DISABLE_TELEMETRY"
NO_WAY_OUT = ["unshare", "--map-root-user", "--net"]
AUDIT = ["audit", "--model", "zoo:trades", "--data", "zoo:digits", "--n-per-class", "2", "--store", "store"]
# the command, and then time for whatever still runs in the background
AUDIT_AND_WAIT = f"import time; from gfscore.cli.main import run; code = run({AUDIT}); time.sleep(30); exit(code)"


def loads_onnxruntime(path):
    """Whether a module imports it, by a statement or by its name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if isinstance(node, ast.Call):
            names += [str(given.value) for given in node.args[:1] if isinstance(given, ast.Constant)]
        if any(name.partition(".")[0] == "onnxruntime" for name in names):
            return True
    return False


def test_one_module_loads_onnxruntime():
    files = [path for folder in ("src", "scripts", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    assert [path.relative_to(ROOT).as_posix() for path in files if loads_onnxruntime(path)] == [LOADER]


@pytest.fixture
def home(tmp_path):
    """A home of its own, and an environment that says nothing about telemetry."""
    inside = [*NO_WAY_OUT, "--mount", "true"]
    if shutil.which("unshare") is None or subprocess.run(inside, capture_output=True).returncode != 0:
        pytest.skip("no network namespace can be made here (unshare --map-root-user --net --mount)")
    folder = tmp_path / "home"
    folder.mkdir()
    unset = (VARIABLE, "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
    os_environment = {name: value for name, value in os.environ.items() if name not in unset}
    return folder, {**os_environment, "HOME": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}


def left_in(home, code, **environment):
    """What a program of ours leaves in its home, without a way to the outside."""
    folder, usual = home
    command = [*NO_WAY_OUT, sys.executable, "-c", code]
    subprocess.run(command, cwd=folder.parent, env={**usual, **environment}, check=True, stdout=subprocess.DEVNULL)
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def test_an_audit_leaves_nothing_in_the_home_of_its_user(home):
    audit = f"import sys; from gfscore.cli.main import run; sys.exit(run({AUDIT}))"
    assert left_in(home, audit) == []
    if not left_in(home, "import onnxruntime"):
        pytest.skip("this onnxruntime keeps no telemetry, so nothing had to be switched off")
    shutil.rmtree(home[0] / ".cache")
    assert left_in(home, audit, **{VARIABLE: "0"}) != []  # as the documentation says: it can be had


@pytest.mark.long
def test_an_audit_asks_for_no_name(home):
    folder, usual = home
    server = [*NO_WAY_OUT, "--mount", sys.executable, str(Path(__file__).with_name("name_server.py"))]

    def asked(**environment):
        command = [*server, sys.executable, "-c", AUDIT_AND_WAIT]
        done = subprocess.run(command, cwd=folder, env={**usual, **environment}, check=True, stdout=subprocess.PIPE)
        answer = json.loads(done.stdout)
        assert answer["code"] == 0
        return answer["asked"]

    assert asked() == []
    if not asked(**{VARIABLE: "0"}):
        pytest.skip("this onnxruntime asks for nothing within 30 seconds, whatever it is told")
