"""Small ONNX graphs, made on the spot: what exporters write, and what they had better not."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, external_data_helper, helper, numpy_helper

from gfscore.inputs.models import load_model

FLOAT, HALF, DOUBLE = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE
CLASSES = 5


def weights(features: int = 12) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(features, CLASSES)).astype(np.float32)


def write(path: Path, nodes: list, inputs: list, outputs: list, initialisers: list) -> Path:
    graph = helper.make_graph(nodes, "graph", inputs, outputs, initialisers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def linear(path: Path, *, shape: tuple = ("n", 3, 2, 2), kind: int = FLOAT, head: tuple[str, ...] = ()) -> Path:
    """Flatten the images and multiply by :func:`weights`; ``head`` are more operators, each with an output."""
    matrix = numpy_helper.from_array(weights().astype(helper.tensor_dtype_to_np_dtype(kind)), "weights")
    nodes = [helper.make_node("Flatten", ["x"], ["flat"]), helper.make_node("MatMul", ["flat", "weights"], ["logits"])]
    nodes += [helper.make_node(operator, ["logits"], [operator.lower()]) for operator in head]
    outputs = [helper.make_tensor_value_info("logits", kind, [shape[0], CLASSES])]
    outputs += [
        helper.make_tensor_value_info(operator.lower(), TensorProto.INT64 if operator == "ArgMax" else kind, None)
        for operator in head
    ]
    return write(path, nodes, [helper.make_tensor_value_info("x", kind, shape)], outputs, [matrix])


def chain_graph(path: Path, nodes: list, initialisers: Sequence = (), *, inputs: Sequence = (), **fields: Any):
    """A graph from images of 3 x 9 x 9 pixels to what its last node gives, opened; ``fields`` are of the model."""
    image = helper.make_tensor_value_info("x", FLOAT, ["n", 3, 9, 9])
    output = helper.make_tensor_value_info(nodes[-1].output[0], FLOAT, None)
    graph = helper.make_graph(nodes, "graph", [image, *inputs], [output], list(initialisers))
    settings = {"opset_imports": [helper.make_opsetid("", 17)], "ir_version": 8} | fields
    path.write_bytes(helper.make_model(graph, **settings).SerializeToString())
    return load_model(path)


def with_external_weights(path: Path, location: str) -> Path:
    """The same, with its weights in the file that ``location`` names, which is not written."""
    matrix = numpy_helper.from_array(weights(), "weights")
    external_data_helper.set_external_data(matrix, location=location)
    matrix.ClearField("raw_data")
    matrix.data_location = TensorProto.EXTERNAL
    nodes = [helper.make_node("Flatten", ["x"], ["flat"]), helper.make_node("MatMul", ["flat", "weights"], ["logits"])]
    return write(
        path,
        nodes,
        [helper.make_tensor_value_info("x", FLOAT, ["n", 3, 2, 2])],
        [helper.make_tensor_value_info("logits", FLOAT, ["n", CLASSES])],
        [matrix],
    )


def hungry(path: Path, *, values_per_image: int) -> Path:
    """The sum of each image as its one logit, with an array of so many zeros an image on the way."""
    constants = {"axis": [1], "zero": [0], "one": [1], "width": [values_per_image]}
    initialisers = [numpy_helper.from_array(np.array(value, dtype=np.int64), name) for name, value in constants.items()]
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"]),
        helper.make_node("ReduceSum", ["flat", "axis"], ["sums"]),
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Slice", ["shape", "zero", "one"], ["images"]),
        helper.make_node("Concat", ["images", "width"], ["large"], axis=0),
        helper.make_node("ConstantOfShape", ["large"], ["zeros"]),
        helper.make_node("ReduceMax", ["zeros"], ["none"], axes=[1]),
        helper.make_node("Add", ["sums", "none"], ["logits"]),
    ]
    image = helper.make_tensor_value_info("x", FLOAT, ["n", 3, 2, 2])
    return write(path, nodes, [image], [helper.make_tensor_value_info("logits", FLOAT, ["n", 1])], initialisers)
