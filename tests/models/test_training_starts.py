"""Repairs by training of torch modules, of a timm model and of batch norms; what they write is what they say."""

import copy
import json
import sys
import time
import warnings
from importlib.util import find_spec

import numpy as np
import onnxruntime
import pytest

if any(find_spec(name) is None for name in ("onnx", "onnx2torch", "torch")):
    pytest.skip("needs gfscore[repair]", allow_module_level=True)

import torch
from safetensors import safe_open
from safetensors.torch import load_file

import gfscore
from gfscore.cli.main import run
from gfscore.results import Repair
from gfscore.training import Recipe
from gfscore.training.trainer import Trainer

K, SIZE = 3, 8
HOW = {"norm": "linf", "eps": 0.02, "epochs": 12, "lr": 0.1, "batch": 32, "baselines": "none"}
MODULE = '''
"""A network of the user's own, with batch norms, in an image size of its own."""
import torch

def factory():
    torch.manual_seed(3)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 6, 3, padding=1), torch.nn.BatchNorm2d(6), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(96, 3),
    )
    return net.eval()
'''


def blobs(n, seed):
    """Images (n, 3, 8, 8) of classes that anything learns."""
    rng, labels = np.random.default_rng(seed), np.arange(n) % K
    centres = np.random.default_rng(4).uniform(0.2, 0.8, (K, 3, SIZE, SIZE))
    return np.clip(centres[labels] + rng.normal(0, 0.08, (n, 3, SIZE, SIZE)), 0, 1).astype(np.float32), labels


@pytest.fixture
def there(tmp_path, monkeypatch):
    """A folder with a module of the user's and labelled images, where the work is done."""
    (tmp_path / "my_network.py").write_text(MODULE, encoding="utf-8")
    images, labels = blobs(360, 0)
    np.savez(tmp_path / "blobs.npz", images=images, labels=labels)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("my_network", None)


def own_network():
    """What the factory of the user makes."""
    import my_network

    return my_network.factory()


def logits_of(graph, images):
    """What plain onnxruntime says."""
    session = onnxruntime.InferenceSession(graph)
    return session.run(None, {session.get_inputs()[0].name: images})[0]


def repaired_logits(folder, module, images):
    """The user's own module with the weights of the repair, and the bias that is told beside them."""
    module.load_state_dict(load_file(folder / "repaired.safetensors"))  # strict: every name is the user's own
    with safe_open(folder / "repaired.safetensors", framework="pt") as file:
        bias = json.loads(file.metadata()["gfscore.repair"])["class_bias"]
    with torch.no_grad():
        return module.eval()(torch.from_numpy(images)).numpy() + np.array(bias, dtype=np.float32)


def test_a_factory_with_batch_norms_is_repaired_from_the_command_line(there):
    words = [f"--{name}={value}" for name, value in HOW.items()]
    code = run(["repair", "torch:my_network:factory", "--data", "blobs.npz", "--method", "at", *words, "--out", "out"])
    found = Repair.load(there / "out" / "repair.json")
    assert (code, found.gained) == (0, True), found.reason  # it had random weights: anything is a gain
    images = blobs(60, 1)[0]
    written = logits_of(there / "out" / "repaired.onnx", images)
    assert written == pytest.approx(repaired_logits(there / "out", own_network(), images), abs=1e-4)
    assert np.abs(written - own_network()(torch.from_numpy(images)).detach().numpy()).max() > 0.1


def test_a_module_in_memory_is_left_as_it_is(there):
    images, labels = blobs(360, 0)
    net = own_network().train()  # as a user may have left it
    before = copy.deepcopy(net.state_dict())
    found = gfscore.repair(net, (images, labels), method="faal", folder="out", **HOW)
    assert found.gained, found.reason
    no_bias = [flag for flag in found.flags if flag.code == "no_bias"]
    assert bool(found.frontier) is any(found.bias)  # no frontier is drawn where no bias was found
    assert bool(no_bias) is not any(found.bias)
    assert net.training
    for name, each in net.state_dict().items():
        assert torch.equal(each, before[name]), name
    assert all(parameter.grad is None for parameter in net.parameters())
    moved = load_file("out/repaired.safetensors")
    for name in ("1.running_mean", "1.running_var", "1.weight", "0.weight"):  # statistics move with the weights
        assert not torch.equal(moved[name], before[name]), name
        assert bool(torch.isfinite(moved[name]).all())


def test_a_graph_that_torch_exported_is_repaired(there):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(own_network(), (torch.zeros(2, 3, SIZE, SIZE),), "net.onnx", input_names=["pixels"],
                          output_names=["scores"], dynamic_axes={"pixels": {0: "n"}}, dynamo=False)  # fmt: skip
    found = gfscore.repair("net.onnx", "blobs.npz", method="coda", folder="out", **HOW)
    assert found.gained, found.reason
    session = onnxruntime.InferenceSession("out/repaired.onnx")
    assert session.get_inputs()[0].name == "pixels"
    images, labels = blobs(300, 5)
    assert (logits_of("out/repaired.onnx", images).argmax(axis=1) == labels).mean() > 0.9


@pytest.mark.skipif(find_spec("timm") is None, reason="needs gfscore[timm]")
def test_a_timm_model_is_repaired(there):
    from gfscore.inputs.models.shims import torch_for

    torch_for("a timm model", extra="timm")  # torchvision may need a hand before timm imports it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import timm

    torch.manual_seed(0)
    images, labels = blobs(240, 0)
    np.savez("bytes.npz", images=np.rint(255 * images).astype(np.uint8), labels=labels)  # timm would resize them
    module = timm.create_model("resnet10t", num_classes=K)
    torch.save(module.state_dict(), "weights.pt")
    words = HOW | {"epochs": 3, "lr": 0.05}
    plain = {"resize": str(SIZE), "crop": str(SIZE), "mean": "0", "std": "1"}
    found = gfscore.repair("timm:resnet10t?checkpoint=weights.pt", "bytes.npz", method="at", folder="out", **plain,
                           **words)  # fmt: skip
    assert found.training.done == 3
    if found.gained:
        images = blobs(30, 1)[0]
        assert logits_of("out/repaired.onnx", images) == pytest.approx(
            repaired_logits(there / "out", module, images), rel=1e-3, abs=1e-3
        )


class Part:
    """Images as the trainer takes them."""

    def __init__(self, n, seed):
        self.pixels, self.labels = blobs(n, seed)

    def take(self, rows):
        return self.pixels[rows]


def trainer_of(net, **words):
    net.register_buffer("scale", torch.ones(1))
    recipe = Recipe(**{"method": "trades", "norm": "linf", "eps": 0.02, "batch": 30, "lr": 0.05, **words})
    return Trainer(module=net, recipe=recipe, n_classes=K, train=Part(90, 0), held=Part(60, 1))


def test_batch_norms_learn_from_what_trains_and_from_nothing_else(there):
    """Their statistics are those of clean and attacked batches in turn; attacks and held-out images leave no trace."""
    made = trainer_of(
        own_network(), epochs=1, lr=1e-30
    )  # weights stand still, so that the inputs of the norm are known
    seen, norm = [], made.module[1]
    norm.register_forward_pre_hook(lambda layer, inputs: seen.append((layer.training, inputs[0].detach().clone())))
    made.run()
    mean, variance = torch.zeros(6), torch.ones(6)
    trained = [each for is_training, each in seen if is_training]
    assert len(trained) == 2 * 3  # clean and attacked images of three batches
    assert len(seen) > len(trained)
    for each in trained:
        mean = 0.9 * mean + 0.1 * each.mean((0, 2, 3))
        variance = 0.9 * variance + 0.1 * each.var((0, 2, 3), unbiased=True)
    assert norm.running_mean.numpy() == pytest.approx(mean.numpy(), abs=1e-5)
    assert norm.running_var.numpy() == pytest.approx(variance.numpy(), abs=1e-5)


def test_the_average_takes_statistics_as_they_are_and_weights_by_its_decay(there):
    made = trainer_of(own_network(), epochs=2)
    start = {name: each.detach().clone() for name, each in made.module.state_dict().items()}
    with torch.no_grad():
        for each in made.module.parameters():
            each.add_(1.0)
    made.module[1].running_mean.fill_(5.0)
    made.module[1].num_batches_tracked.fill_(7)
    made._move_average(0.75)
    after = made.average.state_dict()
    assert after["0.weight"].numpy() == pytest.approx((start["0.weight"] + 0.25).numpy(), abs=1e-6)
    assert set(after["1.running_mean"].tolist()) == {5.0}
    assert int(after["1.num_batches_tracked"]) == 7
    assert not made.average.training


def test_digits_are_repaired_within_a_minute_of_processor_time(tmp_path, monkeypatch):
    """As the page on training has it, word by word."""
    monkeypatch.chdir(tmp_path)
    begun = time.process_time()
    words = "repair zoo:pgd-small --data generator:zoo --n-per-class 400 --method faal --norm l2 --eps 0.5 --epochs 3"
    assert run([*words.split(), "--lr", "0.01", "--out", "out"]) in (0, 3)
    assert time.process_time() - begun < 60
    assert Repair.load(tmp_path / "out" / "repair.json").training.done == 3
