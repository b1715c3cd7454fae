"""An audit the size of ImageNet's, made up: planned, streamed, killed and resumed, in memory that does not grow."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from onnx_graphs import FLOAT, write

from gfscore import Audit
from gfscore.cli.main import run
from gfscore.jobs import trials
from gfscore.results import DryRun

onnx = pytest.importorskip("onnx", reason="needs gfscore[gradients]")
CLASSES, SIDE, HIDDEN = 1000, 32, 64
EAGER = "import sys; from gfscore.measures import summary_files; summary_files.SAVED_EVERY = 0.0; "
COMMAND = "from gfscore.cli.main import run; sys.exit(run(sys.argv[1:]))"
RADII = ("--score", "first-order", "--norm", "linf", "--eps", "2/255", "--gradients", "no", "--directions", "4")


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    """A network of a thousand classes, and images of which it gets four of five right."""
    folder, rng = tmp_path_factory.mktemp("large"), np.random.default_rng(0)
    first = rng.normal(0, 0.05, (3 * SIDE * SIDE, HIDDEN)).astype(np.float32)
    second = rng.normal(0, 0.5, (HIDDEN, CLASSES)).astype(np.float32)
    helper = onnx.helper
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"]),
        helper.make_node("MatMul", ["flat", "first"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["active"]),
        helper.make_node("MatMul", ["active", "second"], ["logits"]),
    ]
    weights = [onnx.numpy_helper.from_array(first, "first"), onnx.numpy_helper.from_array(second, "second")]
    inputs = [helper.make_tensor_value_info("x", FLOAT, ["n", 3, SIDE, SIDE])]
    write(folder / "net.onnx", nodes, inputs, [helper.make_tensor_value_info("logits", FLOAT, ["n", CLASSES])], weights)

    def data(n):
        images = rng.integers(0, 256, (n, 3, SIDE, SIDE), dtype=np.uint8)
        logits = np.maximum(images.reshape(n, -1) / np.float32(255) @ first, 0) @ second
        labels = np.where(rng.random(n) < 0.8, logits.argmax(axis=1), rng.integers(0, CLASSES, n))
        labels[:2] = 0, CLASSES - 1
        np.savez(folder / f"{n}.npz", images=images, labels=labels)
        return ["--model", str(folder / "net.onnx"), "--data", str(folder / f"{n}.npz"), "--layout", "NCHW"]

    return data


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
@pytest.mark.parametrize("n", [600, pytest.param(5000, marks=pytest.mark.long)])
def test_radii_of_a_thousand_classes_are_planned_streamed_killed_and_resumed(made_up, tmp_path, capsys, monkeypatch, n):
    for name, value in {"SECONDS": 60.0, "ENOUGH": 0.0, "PIECES": 1}.items():
        monkeypatch.setattr(trials, name, value)  # one piece of the largest size, however busy the machine is
    what = ["audit", "--stream", *made_up(n), *RADII, "--permutations", "0"]
    store = tmp_path / "store"
    assert run([*what, "--store", str(store), "--dry-run", "--json"]) == 0
    (model,) = DryRun.from_json(capsys.readouterr().out).models
    assert (model.n, model.classes, [entry.what for entry in model.measures]) == (n, CLASSES, ["sums of radii"])
    assert not store.exists()

    words = [*what, "--store", str(store), "--out", str(tmp_path / "killed"), "-q"]
    killed = subprocess.Popen([sys.executable, "-c", EAGER + COMMAND, *words], env=os.environ)
    while killed.poll() is None and not list(store.glob("sums/*/sum.safetensors")):
        time.sleep(0.005)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL

    assert run([*what, "--store", str(store), "--dry-run", "--json"]) == 0
    (left,) = DryRun.from_json(capsys.readouterr().out).models[0].measures
    assert 0 < left.stored < n  # what was kept before the kill
    measured = (
        EAGER + "from gfscore.cli.main import run; code = run(sys.argv[1:]); "
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", measured, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) / 1024 < 500  # MB at most, of the whole process; ru_maxrss has that of pytest in it

    assert run([*what, "--store", str(tmp_path / "other"), "--out", str(tmp_path / "whole"), "-q"]) == 0
    found, expected = (json.loads((tmp_path / name / "audit.json").read_text()) for name in ("killed", "whole"))
    assert found["models"] == expected["models"]
    audited = Audit.load(tmp_path / "whole" / "audit.json").model
    assert audited.robustness.n == n
    settings = audited.score.settings
    assert settings["forward_passes"] == pytest.approx(model.measures[0].forward_passes, rel=0.15)
