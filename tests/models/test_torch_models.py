"""Torch models from files and from the user's own code."""

import sys
import warnings

import numpy as np
import pytest

from gfscore.errors import FileError, ModelError, OptionError
from gfscore.inputs.models import load_model

torch = pytest.importorskip("torch")


class Net(torch.nn.Module):
    """Small, with a batch norm, so that train mode shows."""

    def __init__(self, classes=5):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.norm = torch.nn.BatchNorm2d(4)
        self.head = torch.nn.Linear(4, classes)

    def forward(self, images):
        return self.head(self.norm(self.conv(images)).mean((2, 3)))


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net().eval()


@pytest.fixture
def images():
    return np.random.default_rng(1).random((7, 3, 8, 8), dtype=np.float32)


@pytest.fixture
def expected(net, images):
    with torch.no_grad():
        return net(torch.from_numpy(images)).numpy()


@pytest.fixture
def torchscript(net, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.script(net).save(tmp_path / "net.torchscript")
    return tmp_path / "net.torchscript"


def exported(net, path, batch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shapes = None if batch else ({0: torch.export.Dim("n")},)
        torch.export.save(torch.export.export(net, (torch.zeros(batch or 2, 3, 8, 8),), dynamic_shapes=shapes), path)
    return str(path)


def test_torchscript(torchscript, images, expected):
    model = load_model(str(torchscript), trust=True)
    np.testing.assert_allclose(model(images), expected, atol=1e-6)
    assert (model.name, model.fixed_batch, model.layout) == ("net", None, "NCHW")
    renamed = torchscript.rename(torchscript.with_suffix(".pt"))
    again = load_model(str(renamed), trust=True, format="torchscript")
    assert again.fingerprint == model.fingerprint


def test_torchscript_stays_in_the_mode_it_was_saved_in(net, images, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.script(net.train()).save(tmp_path / "net.ts")
    model = load_model(str(tmp_path / "net.ts"), trust=True)
    assert not np.allclose(model(images)[:2], model(images[:2]), atol=1e-4)  # what the batch guard looks for


def test_an_exported_program_of_any_batch(net, images, expected, tmp_path):
    model = load_model(exported(net, tmp_path / "net.pt2", None), trust=True)
    assert model.fixed_batch is None
    for rows in (1, 2, 7):
        np.testing.assert_allclose(model(images[:rows]), expected[:rows], atol=1e-6)


def test_an_exported_program_of_a_fixed_batch(net, images, expected, tmp_path):
    model = load_model(exported(net, tmp_path / "net.pt2", 4), trust=True)
    assert model.fixed_batch == 4
    for rows in (slice(0, 4), slice(4, 7)):
        np.testing.assert_allclose(model(images[rows]), expected[rows], atol=1e-6)


def test_a_file_of_another_kind_is_refused_in_one_line(net, tmp_path, capfd):
    path = tmp_path / "weights.pt"
    torch.save(net.state_dict(), path)
    with pytest.raises(FileError, match=r"weights.pt: is not TorchScript \(.*\). Save it again with torch.jit.save.$"):
        load_model(str(path), trust=True, format="torchscript")
    with pytest.raises(FileError, match=r"weights.pt: is not a torch.export program \(.*\). Save it with torch.exp"):
        load_model(str(path), trust=True, format="pt2")
    assert capfd.readouterr() == ("", "")


FACTORIES = """
import torch
from layers import Scaled

def plain():
    torch.manual_seed(0)
    return Scaled(2.0)

def trained():
    return plain().train()

def several():
    class Both(torch.nn.Module):
        def forward(self, x):
            return {"features": x, "logits": x.mean((2, 3))}
    return Both()

def pair():
    class Both(torch.nn.Module):
        def forward(self, x):
            return x.mean((2, 3)), x
    return Both()

def half():
    return plain().to(torch.bfloat16)

def number():
    return 3

def broken():
    raise KeyError("weights")

ready = plain()
"""
LAYERS = """
import torch

class Scaled(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.shift = torch.ones(3)  # a plain attribute, in no state dict
        self.norm = torch.nn.BatchNorm2d(3)
        self.eval()

    def forward(self, images):
        return (self.norm(images) * self.factor).mean((2, 3)) + self.shift
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of the user's own code, forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "factories.py").write_text(FACTORIES)
    (tmp_path / "layers.py").write_text(LAYERS)
    yield tmp_path
    forget()


def forget():
    for name in ("factories", "layers"):
        sys.modules.pop(name, None)


def test_a_factory_is_found_in_the_folder_we_are_in(here, images):
    path = list(sys.path)
    model = load_model("torch:factories:plain")
    assert sys.path == path
    np.testing.assert_allclose(model(images), 2 * images.mean(axis=(2, 3)) / np.sqrt(1 + 1e-5) + 1, rtol=1e-5)
    assert model.name == "factories:plain"
    assert load_model("torch:factories:ready").fingerprint == model.fingerprint


def test_a_factory_keeps_its_mode(here, images):
    model = load_model("torch:factories:trained")
    assert model.module.training
    assert not np.allclose(model(images)[:2], model(images[:2]), atol=1e-4)


def test_a_factory_may_choose_another_precision(here, images):
    model = load_model("torch:factories:half")
    logits = model(images)
    assert logits.dtype == np.float32
    np.testing.assert_allclose(logits, load_model("torch:factories:plain")(images), atol=0.05)


def test_one_of_several_outputs_is_chosen(here, images):
    means = images.mean(axis=(2, 3))
    for output in (None, "logits"):  # what is called logits needs no choice
        np.testing.assert_allclose(load_model("torch:factories:several", output=output)(images), means, rtol=1e-5)
    np.testing.assert_allclose(load_model("torch:factories:pair", output=0)(images), means, rtol=1e-5)
    for name, output, told in (
        ("several", "scores", "'features', 'logits', none called 'scores'"),
        ("pair", None, "'0', '1'"),
        ("pair", "logits", "'0', '1', none called 'logits'"),
    ):
        with pytest.raises(ModelError) as caught:
            load_model(f"torch:factories:{name}", output=output)(images)
        assert str(caught.value) == (
            f"factories:{name}: has the outputs {told}. Choose the logits with --output (output=...)."
        )


@pytest.mark.parametrize(
    ("target", "error", "message"),
    [
        ("nowhere:make", OptionError, "No module named 'nowhere'. Run where it can be imported."),
        ("factories:make", OptionError, "module 'factories' has no attribute 'make'. Check the name after the colon."),
        ("factories:number", ModelError, "the factory returned int. Return a torch.nn.Module."),
        ("factories:broken", ModelError, "the factory failed (KeyError: 'weights'). Call it in Python to see where."),
    ],
)
def test_a_factory_that_does_not_work_is_refused_in_one_line(target, error, message, here):
    with pytest.raises(error) as caught:
        load_model(f"torch:{target}")
    assert str(caught.value) == f"model 'torch:{target}': {message}"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("layers.py", "* self.factor", "* self.factor * 3"),  # only the code of forward
        ("layers.py", "torch.ones(3)", "torch.zeros(3)"),  # only a plain tensor
        ("factories.py", "Scaled(2.0)", "Scaled(3.0)"),  # only a plain number
        ("layers.py", "BatchNorm2d(3)", "BatchNorm2d(3, eps=0.1)"),  # only the structure
    ],
)
def test_the_fingerprint_of_a_factory_follows_its_code(file, old, new, here):
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode  # the same second, the same size: a stale cache
    try:
        first = load_model("torch:factories:plain").fingerprint
        forget()
        assert load_model("torch:factories:plain").fingerprint == first
        forget()
        source = (here / file).read_text()
        assert old in source
        (here / file).write_text(source.replace(old, new))
        assert load_model("torch:factories:plain").fingerprint != first
    finally:
        sys.dont_write_bytecode = before


def test_the_fingerprint_follows_weights_alone(net):
    from gfscore.inputs.models.torch_model import wrap_module

    first = wrap_module(net, name="net").fingerprint
    assert wrap_module(net, name="other").fingerprint == first
    with torch.no_grad():
        net.head.bias[0] += 1e-6
    assert wrap_module(net, name="net").fingerprint != first


def test_inputs_that_do_not_fit_are_refused_in_one_line(net):
    from gfscore.inputs.models.torch_model import wrap_module

    with pytest.raises(ModelError, match=r"^net: cannot run on inputs of shape \(2, 1, 8, 8\) \(.*\). Check layout"):
        wrap_module(net, name="net")(np.zeros((2, 1, 8, 8), np.float32))


def test_read_only_and_turned_arrays_are_fine(net, images, expected):
    from gfscore.inputs.models.torch_model import wrap_module

    turned = np.asfortranarray(images)
    turned.flags.writeable = False
    np.testing.assert_allclose(wrap_module(net, name="net")(turned), expected, atol=1e-6)


class Ran:
    """What a hostile checkpoint does."""

    def __reduce__(self):
        return (print, ("code ran",))


def test_a_checkpoint_of_more_than_weights_is_refused_and_runs_nothing(tmp_path, capfd):
    from gfscore.inputs.models.torch_model import load_weights

    path = tmp_path / "net.pt"
    torch.save({"state_dict": {}, "extra": Ran()}, path)
    with pytest.raises(FileError) as caught:
        load_weights(path)
    assert str(caught.value) == (
        f"{path}: holds more than weights ('builtins.print'), and loading that could run code. "
        "Save model.state_dict() alone, or load it in your own torch:module:factory."
    )
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("content", [b"<html>", b"PK\x03\x04 cut short"])
def test_what_is_no_checkpoint_is_refused(content, tmp_path):
    from gfscore.inputs.models.torch_model import load_weights

    path = tmp_path / "net.pt"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"net.pt: is not a checkpoint.*Save model.state_dict\(\) again.$"):
        load_weights(path)


def test_weights_are_found_where_training_scripts_put_them(net, tmp_path):
    from safetensors.torch import save_file

    from gfscore.inputs.models.torch_model import load_weights

    state = net.state_dict()
    wrapped = {"epoch": 3, "state_dict": {f"module.{key}": value for key, value in state.items()}}
    for name, save in (("a.pt", torch.save), ("b.safetensors", save_file)):
        save(dict(state), tmp_path / name)
    torch.save(wrapped, tmp_path / "c.pt")
    for name in ("a.pt", "b.safetensors", "c.pt"):
        found = load_weights(tmp_path / name)
        assert found.keys() == state.keys()
        assert all(torch.equal(found[key], state[key]) for key in state)
