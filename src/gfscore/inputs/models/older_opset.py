"""A newer ONNX graph in the words of opset 17, which is about as far as onnx2torch reads.

Most operators of opsets 18 to 23 changed only in the types they take, and declaring them to be of opset 17 is enough.
Those that got another input, another attribute, or are new are written in older operators here. What cannot be is left
as it is: the converter then says which operator it does not know.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

KNOWN_OPSET = 17  # what a newer graph is declared to be
AXES_MOVED = (  # to an input, in opset 18
    *("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2"),
    *("ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"),
)
PADS_AS_INPUT = 11  # opset from which Pad has them so
PER_CHANNEL = 21  # opset from which GroupNormalization scales each channel; before, each group


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rewriter:
    """What is known of a graph while its nodes are rewritten, and the constants that this adds to it."""

    onnx: Any
    opset: int
    constants: dict[str, NDArray[Any]]
    shapes: dict[str, tuple[int, ...]]  # of tensors; 0 for a length that is left open
    added: list[Any] = field(default_factory=list)

    def node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> Any:
        """An operator with one output, which names it."""
        return self.onnx.helper.make_node(operator, inputs, [output], name=f"{operator}_{output}", **attributes)

    def constant(self, name: str, value: Any, kind: Any) -> str:
        """The name of a constant that is added to the graph."""
        self.added.append(self.onnx.numpy_helper.from_array(np.asarray(value, dtype=kind), name))
        return name

    def attributes(self, node: Any) -> dict[str, Any]:
        """Attributes of a node by name; texts as bytes, as ONNX has them."""
        return {each.name: self.onnx.helper.get_attribute_value(each) for each in node.attribute}

    def remove(self, node: Any, *names: str) -> None:
        """Take attributes from a node."""
        kept = [each for each in node.attribute if each.name not in names]
        del node.attribute[:]
        node.attribute.extend(kept)


def in_older_words(graph: Any, onnx: Any) -> Any:
    """The graph, changed in place, with the operators of opset 17; constants must be folded already."""
    opset = max((entry.version for entry in graph.opset_import if entry.domain == ""), default=KNOWN_OPSET)
    inner = graph.graph
    rewriter = Rewriter(
        onnx=onnx,
        opset=opset,
        constants={tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in inner.initializer},
        shapes=_shapes(graph, onnx),
    )
    nodes = [new for node in inner.node for new in REWRITTEN.get(node.op_type, _as_it_is)(node, rewriter)]
    del inner.node[:], graph.opset_import[:]
    inner.node.extend(nodes)
    inner.initializer.extend(rewriter.added)
    graph.opset_import.append(onnx.helper.make_opsetid("", min(opset, KNOWN_OPSET)))
    return graph


def _shapes(graph: Any, onnx: Any) -> dict[str, tuple[int, ...]]:
    """The shapes of tensors as far as they can be inferred."""
    try:
        inferred = onnx.shape_inference.infer_shapes(graph).graph
    except Exception:  # the checker of onnx raises its own kinds; without shapes fewer nodes can be rewritten
        inferred = graph.graph
    known = [*inferred.input, *inferred.value_info, *inferred.output]
    found = {tensor.name: tuple(tensor.dims) for tensor in inferred.initializer}
    for entry in known:
        if entry.type.tensor_type.HasField("shape"):
            found[entry.name] = tuple(dim.dim_value for dim in entry.type.tensor_type.shape.dim)
    return found


def _as_it_is(node: Any, rewriter: Rewriter) -> list[Any]:
    del rewriter
    return [node]


def _reduce(node: Any, rewriter: Rewriter) -> list[Any]:
    """Axes as an attribute again."""
    if len(node.input) == 2 and node.input[1] in rewriter.constants:
        axes = rewriter.constants[node.input.pop()]
        node.attribute.append(rewriter.onnx.helper.make_attribute("axes", axes.tolist()))
    return [node]


def _reshape(node: Any, rewriter: Rewriter) -> list[Any]:
    """Without ``allowzero``, which makes a difference only where a length is zero: a constant 0 is left to fail."""
    wanted = rewriter.constants.get(node.input[1])
    if wanted is None or 0 not in wanted:
        rewriter.remove(node, "allowzero")
    return [node]


def _pad(node: Any, rewriter: Rewriter) -> list[Any]:
    """Pads of all axes, where only those of some are given."""
    data, pads, *rest = node.input
    if len(rest) < 2 or not rest[1]:
        return [node]
    axes, shape = rewriter.constants.get(rest[1]), rewriter.shapes.get(data)
    if axes is None or shape is None or pads not in rewriter.constants:
        return [node]
    both = np.zeros((2, len(shape)), dtype=np.int64)
    both[:, axes] = rewriter.constants[pads].reshape(2, -1)
    del node.input[:]
    node.input.extend([data, rewriter.constant(f"{node.output[0]}_pads", both.ravel(), np.int64), *rest[:1]])
    return [node]


def _resize(node: Any, rewriter: Rewriter) -> list[Any]:
    """Without what opset 18 added, where it says nothing new; scales or sizes of all axes."""
    said = rewriter.attributes(node)
    if said.get("antialias", 0) or said.get("keep_aspect_ratio_policy", b"stretch") != b"stretch":
        return [node]
    axes, shape = said.get("axes"), rewriter.shapes.get(node.input[0])
    if axes is not None:
        if shape is None:
            return [node]
        for place, kind in ((2, np.float32), (3, np.int64)):
            name = node.input[place] if len(node.input) > place else ""
            if name and name in rewriter.constants:
                whole = np.array(shape if kind is np.int64 else [1.0] * len(shape), dtype=kind)
                whole[list(axes)] = rewriter.constants[name]
                node.input[place] = rewriter.constant(f"{node.output[0]}_{place}", whole, kind)
    rewriter.remove(node, "antialias", "keep_aspect_ratio_policy", "axes")
    return [node]


def _padded_by_name(node: Any, rewriter: Rewriter) -> list[Any]:
    """Pads in numbers where they are asked for by name (``SAME_UPPER``), as keras does: as many outputs as strides fit.

    A convolution is padded with zeros before it, since the two sides often differ.
    """
    said, shape = rewriter.attributes(node), rewriter.shapes.get(node.input[0])
    how = said.get("auto_pad", b"NOTSET")
    if how not in (b"SAME_UPPER", b"SAME_LOWER") or shape is None or not all(shape[2:]):
        return [node]
    sizes = np.array(shape[2:])
    kernel = np.array(said.get("kernel_shape") or rewriter.shapes[node.input[1]][2:])
    strides, dilations = (np.array(said.get(name) or np.ones_like(sizes)) for name in ("strides", "dilations"))
    needed = np.maximum((-(-sizes // strides) - 1) * strides + (kernel - 1) * dilations + 1 - sizes, 0)
    fewer = needed // 2
    first, last = (fewer, needed - fewer) if how == b"SAME_UPPER" else (needed - fewer, fewer)
    rewriter.remove(node, "auto_pad", "pads")
    if node.op_type != "Conv":
        node.attribute.append(rewriter.onnx.helper.make_attribute("pads", [*first.tolist(), *last.tolist()]))
        return [node]
    out = node.output[0]
    both = [0, 0, *first.tolist(), 0, 0, *last.tolist()]
    if rewriter.opset < PADS_AS_INPUT:
        padded = rewriter.node("Pad", [node.input[0]], f"{out}_padded", pads=both)
    else:
        pads = rewriter.constant(f"{out}_pads", both, np.int64)
        padded = rewriter.node("Pad", [node.input[0], pads], f"{out}_padded")
    node.input[0] = f"{out}_padded"
    return [padded, node]


def _split(node: Any, rewriter: Rewriter) -> list[Any]:
    """Without the number of outputs, which is that of its names."""
    rewriter.remove(node, "num_outputs")
    return [node]


def _gelu(node: Any, rewriter: Rewriter) -> list[Any]:
    r"""GELU by its definition: :math:`x (1 + \mathrm{erf}(x / \sqrt 2)) / 2`, or with tanh where that is asked for."""
    (x,), (out,) = node.input, node.output
    one = rewriter.constant(f"{out}_one", 1.0, np.float32)
    half = rewriter.constant(f"{out}_half", 0.5, np.float32)
    if rewriter.attributes(node).get("approximate", b"none") == b"tanh":
        cubic = rewriter.constant(f"{out}_cubic", 0.044715, np.float32)
        scale = rewriter.constant(f"{out}_scale", sqrt(2 / np.pi), np.float32)
        inner = [
            rewriter.node("Mul", [x, x], f"{out}_square"),
            rewriter.node("Mul", [f"{out}_square", cubic], f"{out}_bent"),
            rewriter.node("Add", [f"{out}_bent", one], f"{out}_factor"),
            rewriter.node("Mul", [f"{out}_factor", x], f"{out}_sum"),
            rewriter.node("Mul", [f"{out}_sum", scale], f"{out}_scaled"),
            rewriter.node("Tanh", [f"{out}_scaled"], f"{out}_risen"),
        ]
    else:
        scale = rewriter.constant(f"{out}_scale", sqrt(0.5), np.float32)
        inner = [
            rewriter.node("Mul", [x, scale], f"{out}_scaled"),
            rewriter.node("Erf", [f"{out}_scaled"], f"{out}_risen"),
        ]
    return [
        *inner,
        rewriter.node("Add", [f"{out}_risen", one], f"{out}_shifted"),
        rewriter.node("Mul", [f"{out}_shifted", half], f"{out}_share"),
        rewriter.node("Mul", [f"{out}_share", x], out),
    ]


def _mish(node: Any, rewriter: Rewriter) -> list[Any]:
    """Mish by its definition: x tanh(softplus(x))."""
    (x,), (out,) = node.input, node.output
    return [
        rewriter.node("Softplus", [x], f"{out}_soft"),
        rewriter.node("Tanh", [f"{out}_soft"], f"{out}_risen"),
        rewriter.node("Mul", [f"{out}_risen", x], out),
    ]


def _group_norm(node: Any, rewriter: Rewriter) -> list[Any]:
    """Group normalisation: each group as one channel of an instance normalisation, then scale and shift of channels."""
    (x, scale, shift), (out,) = node.input, node.output
    said, shape = rewriter.attributes(node), rewriter.shapes.get(x)
    factors = [rewriter.constants.get(name) for name in (scale, shift)]
    if shape is None or len(shape) < 3 or not shape[1] or any(each is None for each in factors):
        return [node]
    groups, channels = said["num_groups"], shape[1]
    along = (channels, *(1 for _ in shape[2:]))
    repeats = 1 if rewriter.opset >= PER_CHANNEL else channels // groups
    wide = [np.repeat(np.asarray(each), repeats).reshape(along) for each in factors]
    grouped = rewriter.constant(f"{out}_groups", [0, groups, -1], np.int64)
    ones = rewriter.constant(f"{out}_ones", np.ones(groups), np.float32)
    zeros = rewriter.constant(f"{out}_zeros", np.zeros(groups), np.float32)
    return [
        rewriter.node("Shape", [x], f"{out}_shape"),
        rewriter.node("Reshape", [x, grouped], f"{out}_grouped"),
        rewriter.node(
            "InstanceNormalization",
            [f"{out}_grouped", ones, zeros],
            f"{out}_even",
            epsilon=said.get("epsilon", 1e-5),
        ),
        rewriter.node("Reshape", [f"{out}_even", f"{out}_shape"], f"{out}_back"),
        rewriter.node("Mul", [f"{out}_back", rewriter.constant(f"{out}_scale", wide[0], np.float32)], f"{out}_scaled"),
        rewriter.node("Add", [f"{out}_scaled", rewriter.constant(f"{out}_shift", wide[1], np.float32)], out),
    ]


REWRITTEN: dict[str, Callable[[Any, Rewriter], list[Any]]] = {
    **dict.fromkeys(AXES_MOVED, _reduce),
    **dict.fromkeys(("Conv", "MaxPool", "AveragePool"), _padded_by_name),
    "Reshape": _reshape,
    "Pad": _pad,
    "Resize": _resize,
    "Split": _split,
    "Gelu": _gelu,
    "Mish": _mish,
    "GroupNormalization": _group_norm,
}
