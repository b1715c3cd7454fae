"""The layers of an ONNX graph, or why it is more than them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore.errors import first_line, require
from gfscore.inputs.chains import Layer, Shape, refuse
from gfscore.inputs.models.onnx_model import OnnxModel, onnxruntime, quiet_options
from gfscore.inputs.onnx_layers import RESHAPING, Constants, Node, node_layer

OPSETS = range(7, 29)  # in which the operators that are known do what is written of them
OWN_DOMAINS = ("", "ai.onnx")
SEVERAL = 2  # images in a batch that may have any number: an axis of another length is not that of the images


def graph_layers(model: OnnxModel, shape: Shape) -> tuple[Layer, ...]:
    """The layers from the image of ``shape`` to the chosen output, in the order they are run."""
    onnx = require("onnx", extra="onnx", purpose="a Lipschitz constant from an ONNX graph")
    loaded = _load(onnx, model)
    batch = model.fixed_batch or SEVERAL
    shapes = _shapes(onnx, loaded, model, (batch, *shape))
    constants: Constants = {entry.name: onnx.numpy_helper.to_array(entry) for entry in loaded.graph.initializer}
    chains: dict[str, tuple[Layer, ...]] = {model.input: ()}
    for entry in loaded.graph.node:
        node = Node(entry=entry, attributes={}, constants=constants, shapes=shapes, batch=batch)
        node.attributes.update(_attributes(onnx, node))
        if entry.op_type == "Constant":
            constants[entry.output[0]] = _constant(onnx, node.attributes)
        elif entry.op_type == "Shape" or all(name in constants for name in entry.input if name):
            constants |= dict.fromkeys(entry.output)  # sizes of tensors, and what is made of constants alone
        else:
            moving = [name for name in entry.input if name and name not in constants]  # what depends on the pixels
            if len(moving) > 1:
                raise refuse(f"{node.name} joins {len(moving)} branches")
            if moving[0] not in chains:
                raise refuse(f"{node.name} takes a second output of another operator")
            chains[entry.output[0]] = (*chains[moving[0]], node_layer(node))
    if model.output not in chains:
        raise refuse(f"output {model.output!r} does not depend on the image")
    return chains[model.output]


def _load(onnx: Any, model: OnnxModel) -> Any:
    """The graph, unless something in it is more than operators in a row with their weights."""
    if model.dtype == np.float16:
        raise refuse("it computes in float16, which rounds too much")
    try:
        loaded = onnx.load(model.path)
    except Exception as error:  # a file that is gone, weights that are elsewhere
        raise refuse(f"its graph cannot be read again ({first_line(error)})") from error
    if loaded.functions:
        names = ", ".join(f"{entry.domain}.{entry.name}" for entry in loaded.functions)
        advice = "Inline them (onnx.inliner.inline_local_functions)"
        raise refuse(f"the graph has functions of its own ({names})", instead=advice)
    for entry in loaded.opset_import:
        if entry.domain in OWN_DOMAINS and entry.version not in OPSETS:
            known = f"known are {OPSETS[0]} to {OPSETS[-1]}"
            advice = "Convert it (onnx.version_converter)"
            raise refuse(f"its operators are those of opset {entry.version}, and {known}", instead=advice)
    if loaded.graph.sparse_initializer:
        raise refuse("the graph has sparse weights", instead="Export it with dense ones")
    if changeable := [entry.name for entry in model.session.get_overridable_initializers()]:
        what = f"weights ({', '.join(changeable)}) are inputs, which a caller may change"
        raise refuse(what, instead="Export it with weights that are constants")
    return loaded


def _shapes(onnx: Any, loaded: Any, model: OnnxModel, shape: Shape) -> dict[str, Shape]:
    """The shape of every tensor in the graph for a batch of ``shape``."""
    graph = loaded.graph
    declared = next(entry for entry in graph.input if entry.name == model.input).type.tensor_type.shape
    del declared.dim[:]
    for length in shape:
        declared.dim.add().dim_value = length
    del graph.value_info[:]  # what was inferred for other sizes
    for entry in graph.output:
        entry.type.tensor_type.ClearField("shape")
    try:
        inferred = onnx.shape_inference.infer_shapes(loaded, data_prop=True).graph
    except Exception as error:  # the checker of onnx raises its own kinds
        raise refuse(f"the shapes of its tensors cannot be inferred ({first_line(error)})") from error
    known = [*inferred.input, *inferred.value_info, *inferred.output]
    found = {entry.name: tuple(dim.dim_value for dim in entry.type.tensor_type.shape.dim) for entry in known}
    wanted = [node.output[0] for node in graph.node if node.op_type in RESHAPING]
    unknown = [name for name in wanted if not found.get(name) or 0 in found[name]]
    return found | (_shapes_seen(onnx, loaded, model, shape, unknown) if unknown else {})


def _shapes_seen(onnx: Any, loaded: Any, model: OnnxModel, shape: Shape, names: list[str]) -> dict[str, Shape]:
    """Shapes of tensors that cannot be inferred, as older opsets compute them: those that a run gives."""
    del loaded.graph.output[:]
    loaded.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names)
    try:
        graph = loaded.SerializeToString()
        session = onnxruntime.InferenceSession(graph, quiet_options(), providers=["CPUExecutionProvider"])
        values = session.run(names, {model.input: np.zeros(shape, model.dtype)})
    except Exception as error:  # onnxruntime's errors have no other base
        raise refuse(f"the shapes of its tensors cannot be found ({first_line(error)})") from error
    return {name: value.shape for name, value in zip(names, values, strict=True)}


def _attributes(onnx: Any, node: Node) -> dict[str, Any]:
    """Those of an operator, if it is one of ONNX itself and takes nothing but what it lists."""
    if node.entry.domain not in OWN_DOMAINS:
        raise refuse(f"{node.name} is of domain {node.entry.domain!r}, not one of ONNX itself")
    kinds = onnx.AttributeProto
    if any(each.type in (kinds.GRAPH, kinds.GRAPHS) for each in node.entry.attribute):
        raise refuse(f"{node.name} runs a graph of its own, which may use any tensor")
    return {each.name: onnx.helper.get_attribute_value(each) for each in node.entry.attribute}


def _constant(onnx: Any, attributes: dict[str, Any]) -> NDArray[Any] | None:
    """What a node Constant gives; None for strings and sparse tensors."""
    if "value" in attributes:
        return np.asarray(onnx.numpy_helper.to_array(attributes["value"]))
    found = [value for name, value in attributes.items() if name.startswith(("value_float", "value_int"))]
    return np.asarray(found[0]) if found else None
