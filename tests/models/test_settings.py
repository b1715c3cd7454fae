"""Settings of a torch model, wherever it keeps them: one with another setting never gets the numbers of the first."""

import argparse
import textwrap
from dataclasses import asdict, dataclass

import numpy as np
import pytest

from gfscore import Audit
from gfscore.cli.main import run
from gfscore.engines.loading import Loader, Loading
from gfscore.engines.workers import Job, ShardWorker, Work
from gfscore.inputs.models.fingerprints import module_fingerprint
from gfscore.inputs.probes import to_bytes
from gfscore.measures import Logits
from gfscore.measures.sending import to_plain
from gfscore.storage.store import Store

torch = pytest.importorskip("torch")

FACTORY = '''
import argparse, json
from pathlib import Path

import numpy as np
import torch


class Net(torch.nn.Module):
    """The mean of each of four strips of an image, bent by a setting that is kept in one of ten ways."""

    def __init__(self, way, v):
        super().__init__()
        self.way = way
        if way == "float": self.v = v
        elif way == "tensor": self.v = torch.tensor(v)
        elif way == "tuples": self.v = [("v", v)]
        elif way == "unsaved buffer": self.register_buffer("v", torch.tensor(v), persistent=False)
        elif way == "private": self._v = v
        elif way == "hook": self.register_forward_pre_hook(lambda module, inputs: (bent(inputs[0], v),))
        elif way == "dict": self.cfg = {"v": v}
        elif way == "namespace": self.args = argparse.Namespace(v=v)
        elif way == "numpy": self.v = np.float32(v)
        elif way == "lambda": self.get = lambda: v

    def forward(self, images):
        ways = {
            "tuples": lambda: self.v[0][1], "private": lambda: self._v, "hook": lambda: 0.0,
            "dict": lambda: self.cfg["v"], "namespace": lambda: self.args.v, "lambda": lambda: self.get(),
        }
        v = float(ways.get(self.way, lambda: self.v)())
        return bent(images, v).flatten(1).unflatten(1, (4, -1)).mean(2)


def bent(images, v):
    return images + v * images.flip(2)


def make():
    kept = json.loads(Path("setting.json").read_text())
    return Net(kept["way"], kept["v"]).eval()
'''
WAYS = [
    "float", "tensor", "tuples", "unsaved buffer", "private", "hook", "dict", "namespace", "numpy", "lambda"
]  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settingsnet.py").write_text(textwrap.dedent(FACTORY))
    rng = np.random.default_rng(0)
    np.savez("data.npz", images=rng.integers(0, 256, (60, 8, 8, 1), dtype=np.uint8), labels=np.arange(60) % 4)


def setting(tmp_path, way, v):
    (tmp_path / "setting.json").write_text(f'{{"way": "{way}", "v": {v}}}')


def audited(capsys, store, *options):
    shown = ["--model", "torch:settingsnet:make", "--data", "data.npz", "--store", store, "--json"]
    assert run(["audit", *shown, *options]) == 0
    return Audit.from_json(capsys.readouterr().out).model


GRADIENTS = ["--score", "first-order", "--norm", "l2", "--gradients", "yes"]
CASES = [
    *((way, []) for way in WAYS),
    *((way, measure) for way in ("hook", "lambda") for measure in (["--stream"], GRADIENTS)),
]


@pytest.mark.parametrize(("way", "measure"), CASES)
def test_another_setting_is_another_model(tmp_path, capsys, way, measure):
    found = {}
    for v in (0.0, 0.5, 0.0):
        setting(tmp_path, way, v)
        found.setdefault(v, []).append(audited(capsys, "store", *measure))
        fresh = audited(capsys, f"fresh-{v}", *measure)
        assert found[v][-1] == fresh
    assert found[0.0][0] == found[0.0][1]  # the first is still there
    assert found[0.0][0].aggregate != found[0.5][0].aggregate


@pytest.mark.parametrize("way", ["hook", "lambda"])
def test_votes_and_an_adaptive_gate_know_the_model_too(tmp_path, capsys, way):
    shown = ["--model", "torch:settingsnet:make", "--data", "data.npz", "--json"]
    smoothing = ["certify", "--method", "smoothing", "--sigma", "0.5", "--n0", "5", "--n", "40", *shown]
    allowed = ["--allow", "at_chance", "--allow", "bounded_logits"]  # a network that knows nothing will do
    gate = ["gate", "--adaptive", "--wcr", "0.05", "--round", "10", *allowed, *shown]
    for v in (0.0, 0.9):
        setting(tmp_path, way, v)
        told = {}
        for store in ("store", f"fresh-{v}"):
            assert run([*smoothing, "--store", store]) == 0
            certified = Audit.from_json(capsys.readouterr().out).model
            assert run([*gate, "--store", store]) in (0, 1, 3)
            verdict = capsys.readouterr().out.partition('"provenance"')[0]
            told[store] = (certified, verdict)
        assert told["store"] == told[f"fresh-{v}"]


def test_two_settings_in_one_command_do_not_share_their_logits(tmp_path, capsys):
    (tmp_path / "twonets.py").write_text(
        "from settingsnet import Net\n\n\ndef zero():\n    return Net('lambda', 0.0).eval()\n\n\n"
        "def half():\n    return Net('lambda', 0.5).eval()\n"
    )
    models = ["--model", "torch:twonets:zero", "--model", "torch:twonets:half"]
    command = ["audit", *models, "--data", "data.npz", "--calibrate", "stability", "--json"]
    assert run([*command, "--store", "store"]) == 0
    zero, half = Audit.from_json(capsys.readouterr().out).models
    assert zero.run.model.fingerprint == half.run.model.fingerprint  # which a hash cannot tell apart
    assert zero.aggregate != half.aggregate
    assert zero.calibrated.class_mean != half.calibrated.class_mean


def test_a_worker_with_another_setting_refuses(tmp_path):
    setting(tmp_path, "lambda", 0.0)
    how = Loading(threads=1)
    of = Loader(how, Store(tmp_path / "store")).open("torch:settingsnet:make", "data.npz")
    job = Job(
        model="torch:settingsnet:make",
        data="data.npz",
        parts=of.parts(),
        probe=to_bytes(of.check().probe).hex(),
        measure=to_plain(Logits()),
    )
    work, rows = Work(how=how, folder=str(tmp_path), run="run", notes=str(tmp_path)), (0, of.n_samples)
    assert ShardWorker(work.to_plain()).answer(asdict(job), 0, rows, b"").error == ""
    setting(tmp_path, "lambda", 0.5)
    error = ShardWorker(work.to_plain()).answer(asdict(job), 0, rows, b"").error
    assert "model torch:settingsnet:make is not the same here as where the run was started" in error


@dataclass
class Config:
    depth: int = 2
    rates: tuple = (0.1, 0.2)


class Holder(torch.nn.Module):
    def __init__(self, value):
        super().__init__()
        self._kept = value

    def forward(self, images):
        return images


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Config(), Config(rates=(0.1, 0.3))),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}),
        (argparse.Namespace(x=1), argparse.Namespace(x=2)),
        (np.float64(1.5), np.float64(1.5000001)),
        ({"x", "y"}, {"x", "z"}),
        ([torch.nn.Linear(2, 2)], [torch.nn.Linear(2, 2)]),
        ({"w": torch.zeros(2)}, {"w": torch.ones(2)}),
    ],
    ids=["dataclass", "nested", "namespace", "numpy", "set", "modules in a list", "tensors in a dict"],
)
def test_what_can_be_written_down_is_in_the_fingerprint(one, other):
    assert module_fingerprint(Holder(one)) == module_fingerprint(Holder(one))
    assert module_fingerprint(Holder(one)) != module_fingerprint(Holder(other))


def test_what_holds_itself_has_a_fingerprint():
    circle = []
    circle.append(circle)
    assert module_fingerprint(Holder(circle)) == module_fingerprint(Holder(circle))
