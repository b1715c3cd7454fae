"""A graph with a bias: what the checker, onnxruntime alone and the onnx package say of it."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from onnx_graphs import CLASSES, DOUBLE, FLOAT, HALF, linear, weights, with_external_weights, write

from gfscore import zoo
from gfscore.errors import ModelError
from gfscore.inputs.models.onnx_bias import write_biased
from gfscore.inputs.models.onnx_model import load_onnx

BIAS = np.linspace(-1, 1, CLASSES)


def images(n=3, kind=np.float32, shape=(3, 2, 2)):
    return np.random.default_rng(0).random((n, *shape)).astype(kind)


def run(path, inputs):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: inputs})


@pytest.mark.parametrize(("kind", "dtype"), [(FLOAT, np.float32), (DOUBLE, np.float64), (HALF, np.float16)])
def test_the_graph_gives_its_logits_plus_the_bias(tmp_path, kind, dtype):
    model = load_onnx(linear(tmp_path / "net.onnx", kind=kind))
    write_biased(model, BIAS, tmp_path / "out" / "repaired.onnx", images())
    onnx.checker.check_model(str(tmp_path / "out" / "repaired.onnx"), full_check=True)
    [found] = run(tmp_path / "out" / "repaired.onnx", images(kind=dtype))
    [before] = run(tmp_path / "net.onnx", images(kind=dtype))
    assert found.dtype == before.dtype
    assert found == pytest.approx(before + BIAS, abs=1e-2 if kind == HALF else 1e-5)


def test_names_and_all_other_nodes_stay(tmp_path):
    write_biased(load_onnx(linear(tmp_path / "net.onnx")), BIAS, tmp_path / "repaired.onnx", images())
    old, new = (onnx.load(tmp_path / name).graph for name in ("net.onnx", "repaired.onnx"))
    assert [entry.name for entry in new.output] == [entry.name for entry in old.output]
    assert [entry.name for entry in new.input] == [entry.name for entry in old.input]
    assert [node.op_type for node in new.node] == [*(node.op_type for node in old.node), "Constant", "Add"]
    assert list(new.initializer) == list(old.initializer)


def test_what_takes_the_logits_elsewhere_in_the_graph_still_takes_those_of_the_network(tmp_path):
    """The chosen output has the bias; another output that is made of the logits is as it was."""
    model = load_onnx(linear(tmp_path / "net.onnx", head=("Softmax",)), output="logits")
    write_biased(model, BIAS, tmp_path / "repaired.onnx", images())
    (logits, softmax), (before, was) = (run(tmp_path / name, images()) for name in ("repaired.onnx", "net.onnx"))
    assert logits == pytest.approx(before + BIAS, abs=1e-5)
    assert softmax == pytest.approx(was)


def test_a_graph_inside_a_node_still_finds_the_logits(tmp_path):
    """A branch of If takes a value from outside of it, by its name."""
    inside = helper.make_graph(
        [helper.make_node("Neg", ["logits"], ["turned"])],
        "branch",
        [],
        [helper.make_tensor_value_info("turned", FLOAT, None)],
    )
    same = helper.make_graph(
        [helper.make_node("Identity", ["logits"], ["kept"])],
        "other",
        [],
        [helper.make_tensor_value_info("kept", FLOAT, None)],
    )
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], ["logits"]),
        helper.make_node("If", ["yes"], ["aside"], then_branch=inside, else_branch=same),
    ]
    outputs = [
        helper.make_tensor_value_info("logits", FLOAT, ["n", CLASSES]),
        helper.make_tensor_value_info("aside", FLOAT, None),
    ]
    constants = [numpy_helper.from_array(weights(), "weights"), numpy_helper.from_array(np.array([True]), "yes")]
    path = write(
        tmp_path / "net.onnx",
        nodes,
        [helper.make_tensor_value_info("x", FLOAT, ["n", 3, 2, 2])],
        outputs,
        constants,
    )
    write_biased(load_onnx(path, output="logits"), BIAS, tmp_path / "repaired.onnx", images())
    (logits, aside), (before, was) = (run(tmp_path / name, images()) for name in ("repaired.onnx", "net.onnx"))
    assert logits == pytest.approx(before + BIAS, abs=1e-5)
    assert aside == pytest.approx(was)


def test_a_convolutional_head_gets_a_bias_of_its_shape(tmp_path):
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], ["row"]),
        helper.make_node("Unsqueeze", ["row", "axes"], ["logits"]),
    ]
    constants = [numpy_helper.from_array(weights(), "weights"), numpy_helper.from_array(np.array([2, 3]), "axes")]
    path = write(
        tmp_path / "net.onnx",
        nodes,
        [helper.make_tensor_value_info("x", FLOAT, ["n", 3, 2, 2])],
        [helper.make_tensor_value_info("logits", FLOAT, ["n", CLASSES, 1, 1])],
        constants,
    )
    write_biased(load_onnx(path), BIAS, tmp_path / "repaired.onnx", images())
    [found], [before] = (run(tmp_path / name, images()) for name in ("repaired.onnx", "net.onnx"))
    assert found.shape == (3, CLASSES, 1, 1)
    assert found[..., 0, 0] == pytest.approx(before[..., 0, 0] + BIAS, abs=1e-5)


def test_weights_beside_the_graph_come_along(tmp_path):
    path = with_external_weights(tmp_path / "net.onnx", "net.data")
    (tmp_path / "net.data").write_bytes(weights().tobytes())
    write_biased(load_onnx(path), BIAS, tmp_path / "out" / "repaired.onnx", images())
    [found], [before] = (run(tmp_path / name, images()) for name in ("out/repaired.onnx", "net.onnx"))
    assert found == pytest.approx(before + BIAS, abs=1e-5)


def test_an_old_opset_is_refused(tmp_path):
    path = linear(tmp_path / "net.onnx")
    model = onnx.load(path)
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("", 6))
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match=r"is of opset 6, in which Add takes no row. Export it with opset 7 or more."):
        write_biased(load_onnx(path), BIAS, tmp_path / "repaired.onnx", images())
    assert not (tmp_path / "repaired.onnx").exists()


def test_names_that_are_taken_are_not_taken_again(tmp_path):
    path = linear(tmp_path / "net.onnx")
    first = tmp_path / "once.onnx"
    write_biased(load_onnx(path), BIAS, first, images())
    write_biased(load_onnx(first), BIAS, tmp_path / "twice.onnx", images())
    onnx.checker.check_model(str(tmp_path / "twice.onnx"), full_check=True)
    [found], [before] = (run(tmp_path / name, images()) for name in ("twice.onnx", "net.onnx"))
    assert found == pytest.approx(before + 2 * BIAS, abs=1e-5)


def test_every_network_of_the_zoo_can_be_written(tmp_path):
    digits = zoo.test_set().images[:4]
    for entry in zoo.models():
        path = tmp_path / f"{entry.name}.onnx"
        bias = np.linspace(-1, 1, 10)
        write_biased(load_onnx(entry.path), bias, path, digits)
        [found], [before] = run(path, digits), run(entry.path, digits)
        assert found == pytest.approx(before + bias, abs=1e-3)
        assert onnx.load(path).graph.output[0].type.tensor_type.elem_type == FLOAT
