"""The checklist that somebody with a GPU runs: its lines, here with no other device and with one that stands in."""

from importlib.util import find_spec

import pytest

from gfscore.inputs.models import devices

pytest.importorskip("torch")
standin_device = pytest.importorskip("standin_device")
gpu_check = pytest.importorskip("gpu_check")
pytestmark = pytest.mark.skipif(
    find_spec("foolbox") is None or find_spec("onnx2torch") is None, reason="needs gfscore[attacks,gradients]"
)


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    for name, value in {"IMAGES": 12, "SIZE": 8, "TIMED": 1, "PER_CLASS": 2}.items():
        monkeypatch.setattr(gpu_check, name, value)


def test_without_a_gpu_the_processor_is_compared_with_itself(capsys):
    assert gpu_check.main(["--device", "cpu"]) == 0
    said = capsys.readouterr().out
    assert "- There is no other device here: the CPU was compared with itself." in said
    rows = [line for line in said.splitlines() if line.endswith("| fine |")]
    assert len(rows) == 7
    assert "**off**" not in said
    assert said.endswith("7 fine, 0 off.\n")


def test_a_device_that_is_not_there_is_said(capsys, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert gpu_check.main(["--device", "cuda"]) == 2
    assert capsys.readouterr().err.startswith("gpu_check: cannot run on cuda: torch has cpu here. Install torch with")


def test_every_line_compares_with_the_device(monkeypatch):
    standin_device.register()
    monkeypatch.setattr(devices, "TORCH_DEVICES", {"standin": (lambda _: True, "Make one")})
    comparison = gpu_check.Comparison("auto")
    assert comparison.word == "standin"
    import torch

    with torch.autograd.set_multithreading_enabled(False):
        rows = [comparison.logits(), comparison.gradients(), comparison.radii(), comparison.attack()]
        rows += [comparison.halving(), comparison.keys()]
    assert [row.what for row in rows if not row.fine] == []
    assert "apart" in rows[-1].found
    # onnxruntime knows no such device: that is said, and is no fault of the device
    assert comparison.graph().fine is None


def test_what_fails_is_a_line_too(monkeypatch):
    comparison = gpu_check.Comparison("cpu")

    def broken():
        raise RuntimeError("no such kernel")

    monkeypatch.setattr(comparison, "logits", broken)
    first = next(gpu_check.compare(comparison))
    assert first == ("logits", "failed: RuntimeError: no such kernel", "", False)
