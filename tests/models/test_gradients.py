"""Gradients of models that come as a torch module or as a graph: the right ones, or a reason why there are none."""

import json
from importlib.util import find_spec

import numpy as np
import onnx_graphs
import pytest
from onnx import helper, numpy_helper

from gfscore.errors import ModelError
from gfscore.inputs.models import CallableModel, gradients, load_model, wrap_module
from gfscore.inputs.models.forward_passes import forward_batches
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.protocols import change_layout

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(find_spec("onnx2torch") is None, reason="needs gfscore[gradients]")

HALVED = Preprocessing(mean=(0.5,), std=(0.25,))


@pytest.fixture
def pixels():
    return np.random.default_rng(1).random((5, 3, 2, 2), dtype=np.float32)


def logits_of(model, preprocessing, pixels):
    return forward_batches(model, preprocessing.normalise(pixels, model.layout), 128).values


def exact(labels, rivals):
    """Gradients of the margins of :func:`onnx_graphs.linear` behind a std of 0.25."""
    columns = onnx_graphs.weights().T / 0.25
    return columns[labels][:, None] - columns[rivals]


LABELS, RIVALS = np.array([0, 1, 2, 3, 4]), np.array([[1, 2], [0, 2], [0, 1], [4, 0], [3, 2]])


@pytest.mark.parametrize("shape", [("n", 3, 2, 2), (1, 3, 2, 2), (3, 3, 2, 2)])
def test_gradients_of_a_graph_are_with_respect_to_unit_pixels(tmp_path, pixels, shape):
    model = load_model(onnx_graphs.linear(tmp_path / "net.onnx", shape=shape))
    module = gradients.differentiable(model, HALVED, pixels)
    found = gradients.margin_gradients(module, pixels, LABELS, RIVALS)
    np.testing.assert_allclose(found, exact(LABELS, RIVALS), rtol=1e-5)


def test_only_the_chosen_output_of_a_graph_is_followed(tmp_path, pixels):
    file = onnx_graphs.linear(tmp_path / "net.onnx", head=("Softmax",))
    model = load_model(file, output="softmax")
    module = gradients.differentiable(model, HALVED, pixels)
    np.testing.assert_allclose(module(torch.from_numpy(pixels)).numpy(), logits_of(model, HALVED, pixels), atol=1e-6)


def flattened_by(path, nodes, initialisers, *, batch="n", opset):
    """:func:`onnx_graphs.linear`, with other nodes between the input x and the rows that are multiplied."""
    matrix = numpy_helper.from_array(onnx_graphs.weights(), "weights")
    graph = helper.make_graph(
        [*nodes, helper.make_node("MatMul", ["rows", "weights"], ["logits"])],
        "graph",
        [helper.make_tensor_value_info("x", onnx_graphs.FLOAT, [batch, 3, 2, 2])],
        [helper.make_tensor_value_info("logits", onnx_graphs.FLOAT, [batch, onnx_graphs.CLASSES])],
        [matrix, *(numpy_helper.from_array(np.array(value), name) for name, value in initialisers.items())],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    path.write_bytes(model.SerializeToString())
    return load_model(path)


def test_a_newer_graph_is_rewritten_for_the_converter(tmp_path, pixels):
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["long"]),
        helper.make_node("ReduceMean", ["long", "axes"], ["rows"], keepdims=0),  # axes are an input since opset 18
    ]
    model = flattened_by(tmp_path / "net.onnx", nodes, {"shape": [-1, 12, 1], "axes": [2]}, opset=20)
    module = gradients.differentiable(model, HALVED, pixels)
    found = gradients.margin_gradients(module, pixels, LABELS, RIVALS)
    np.testing.assert_allclose(found, exact(LABELS, RIVALS), rtol=1e-5)


def test_a_batch_that_the_graph_holds_is_kept_and_filled_up(tmp_path, pixels):
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["rows"])]
    model = flattened_by(tmp_path / "net.onnx", nodes, {"shape": [2, 12]}, batch=2, opset=17)
    module = gradients.differentiable(model, HALVED, pixels)  # five images: the last piece is one short
    found = gradients.margin_gradients(module, pixels, LABELS, RIVALS)
    np.testing.assert_allclose(found, exact(LABELS, RIVALS), rtol=1e-5)


def test_a_torch_model_is_its_own_module(pixels):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 2), torch.nn.Tanh())  # logits (n, 4, 1, 1)
    model = wrap_module(net, name="net")
    module = gradients.differentiable(model, HALVED, pixels)
    labels, rivals = LABELS % 4, (LABELS[:, None] + 1) % 4
    found = gradients.margin_gradients(module, pixels, labels, rivals)[:, 0]
    step, rows = 1e-2, np.arange(len(pixels))
    for pixel in range(12):
        moved = np.stack([pixels, pixels]).reshape(2, 5, 12).astype(np.float64)
        moved[:, :, pixel] += np.array([[step], [-step]])
        logits = logits_of(model, HALVED, moved.reshape(10, 3, 2, 2).astype(np.float32)).reshape(2, 5, 4)
        slope = (logits[0] - logits[1]) / (2 * step)
        np.testing.assert_allclose(found[:, pixel], slope[rows, labels] - slope[rows, rivals[:, 0]], atol=2e-2)


def test_a_module_that_computes_something_else_is_refused(tmp_path, pixels, monkeypatch):
    model = load_model(onnx_graphs.linear(tmp_path / "net.onnx"))
    monkeypatch.setattr(
        gradients, "convert_graph", lambda _: [torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 5))]
    )
    with pytest.raises(ModelError, match=r"net: has no gradients to rely on \(as a torch module its logits are off by"):
        gradients.differentiable(model, HALVED, pixels)


@pytest.mark.parametrize(("scale", "other"), [(1e-5, 1e-5), (1e-30, 1e-30), (0.0, 1e-30)])
def test_small_logits_are_compared_by_their_own_size(pixels, monkeypatch, scale, other):
    def network(seed, scale):
        torch.manual_seed(seed)
        net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 5, bias=False))
        net[1].weight.data *= scale
        return wrap_module(net, name="net")

    model = network(0, scale)
    gradients.differentiable(model, HALVED, pixels)  # its own module is accepted, however small
    monkeypatch.setattr(gradients, "_torch_models", lambda *_: [network(1, other)])
    with pytest.raises(ModelError, match="as a torch module its logits are off by"):
        gradients.differentiable(model, HALVED, pixels)


def test_a_function_has_no_gradients(pixels):
    model = CallableModel(lambda inputs: inputs[:, :, 0, 0], name="black box")
    with pytest.raises(ModelError, match="black box: has no gradients: it is a function"):
        gradients.differentiable(model, HALVED, pixels)


@pytest.mark.parametrize("file", ["cifar_resnet20.onnx", "cifar_wide_kw.onnx", "mnist_colt_0.1.onnx"])
def test_real_graphs_have_gradients(realdata, file):
    """An opset that the converter does not know, and two networks that take one image at a time."""
    entry = next(one for one in json.loads((realdata / "manifest.json").read_text()) if one["file"].endswith(file))
    with np.load(realdata / entry["data"]) as data:
        images = data["images"][:40]
    preprocessing = Preprocessing(mean=tuple(entry["mean"]), std=tuple(entry["std"]))
    images = preprocessing.to_unit(images if images.ndim == 4 else images[..., None])
    model = load_model(realdata / "models" / file)
    pixels = np.ascontiguousarray(change_layout(images, "NHWC", "NCHW"))
    module = gradients.differentiable(model, preprocessing, pixels)
    expected = logits_of(model, preprocessing, pixels)
    off = np.abs(module(torch.from_numpy(pixels)).numpy() - expected).max()
    assert off <= 1e-5 * np.abs(expected).max()
