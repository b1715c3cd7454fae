"""Graphs as people export them have gradients: those that finite differences of the session show, and torch itself."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from gfscore.errors import ModelError
from gfscore.inputs.models import gradients, load_model
from gfscore.inputs.preprocessing import Preprocessing

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
exported_graphs = pytest.importorskip("exported_graphs")  # of scripts, as is the next
table = pytest.importorskip("conversion_table")
pytestmark = pytest.mark.skipif(find_spec("onnx2torch") is None, reason="needs gfscore[gradients]")

KEPT = Path(__file__).parent / "exported"  # by torch's newer exporter, which needs onnxscript
LOGITS = 1e-6  # of the largest: two runtimes that sum in another order
# Slopes by differences of float32 logits over a step of 0.003: rounding (1e-7 of logits of size 1 over 0.006, against
# slopes of some 0.03) makes 1e-3; where a ReLU is crossed on the way it is more, which the median passes over.
SLOPES = 0.01
SPARSE = ("biases of zero (shared by Identity)", "Resize, bilinear", "transformer", "ReduceMean")


def examined(content, folder):
    path = folder / "net.onnx"
    path.write_bytes(content)
    model = load_model(path)
    look = table.look_at(model)
    assert look.why == ""
    assert look.logits_off <= LOGITS
    assert look.slopes_off <= SLOPES
    return model


def as_torch_has_it(name, model):
    """Slopes of the sum of squared logits, against those of the network that was exported, in double precision."""
    pixels = np.random.default_rng(1).random((4, 3, 8, 8), dtype=np.float32)
    module = gradients.differentiable(model, Preprocessing(), pixels)
    found = [_slopes(module, torch.from_numpy(pixels))]
    network = exported_graphs.network_of(name).double()
    torch.set_default_dtype(torch.float64)  # constants that a network makes as it runs, too
    try:
        found.append(_slopes(network, torch.from_numpy(pixels).double()))
    finally:
        torch.set_default_dtype(torch.float32)
    np.testing.assert_allclose(found[0], found[1], atol=1e-5 * np.abs(found[1]).max())


def _slopes(network, images):
    inputs = images.requires_grad_()
    return torch.autograd.grad((network(inputs) ** 2).sum(), inputs)[0].double().numpy()


@pytest.mark.parametrize("opset", [11, 13, 17, 20])
@pytest.mark.parametrize("name", SPARSE)
def test_what_torch_traces_has_gradients_at_every_opset(tmp_path, name, opset):
    as_torch_has_it(name, examined(exported_graphs.export(name, opset, newer=False), tmp_path))


@pytest.mark.long
@pytest.mark.parametrize("opset", exported_graphs.OLDER)
@pytest.mark.parametrize("name", exported_graphs.NETWORKS)
def test_all_that_torch_traces_has_gradients(tmp_path, name, opset):
    as_torch_has_it(name, examined(exported_graphs.export(name, opset, newer=False), tmp_path))


@pytest.mark.parametrize("file", sorted(KEPT.glob("*.onnx")), ids=lambda path: path.stem)
def test_what_torch_exports_now_has_gradients(tmp_path, file):
    name = next(each for each in exported_graphs.NETWORKS if table.file_name(each) == file.stem.rpartition("-")[0])
    as_torch_has_it(name, examined(file.read_bytes(), tmp_path))


def test_the_graphs_that_are_kept_say_nothing_of_where_they_were_made():
    files = list(KEPT.glob("*.onnx"))
    assert len(files) > len(exported_graphs.NETWORKS)
    assert not [path.name for path in files if b"/work/" in path.read_bytes() or b"site-packages" in path.read_bytes()]


@pytest.mark.parametrize(
    ("name", "opset"),
    [
        (name, opset)
        for name, (_, opsets) in exported_graphs.BY_HAND.items()
        for opset in dict.fromkeys((opsets[0], 18, 21))
        if opset in opsets
    ],
)
def test_what_other_tools_write_has_gradients(tmp_path, name, opset):
    examined(exported_graphs.BY_HAND[name][0](opset), tmp_path)


def test_weights_that_are_shared_are_what_fails_without_folding(tmp_path):
    """So that the test above is about something: the graph as it is cannot be converted."""
    import onnx2torch

    graph = onnx.load_from_string(exported_graphs.BY_HAND["biases, means and variances shared by Identity"][0](13))
    with pytest.raises(KeyError):
        onnx2torch.convert(graph)


def test_an_operator_that_nobody_knows_is_named(tmp_path):
    node = onnx.helper.make_node
    content = exported_graphs._graph(
        [
            node("Flatten", ["x"], ["rows"]),
            node("MatMul", ["rows", "last"], ["a"]),
            node("Hardmax", ["a"], ["logits"]),
        ],
        {"last": exported_graphs._weights(192, 5)},
        opset=17,
    )
    (tmp_path / "net.onnx").write_bytes(content)
    with pytest.raises(ModelError) as refused:
        gradients.differentiable(load_model(tmp_path / "net.onnx"), Preprocessing(), np.zeros((2, 3, 8, 8), np.float32))
    assert str(refused.value) == (
        "net: has no gradients: onnx2torch cannot convert it (it does not know Hardmax of opset 13). "
        "Go without: --gradients no, or --method bisection in a check."
    )
