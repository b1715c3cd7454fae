"""What each operator of ONNX is as a layer of a chain."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import FloatArray
from gfscore.inputs.chains import (
    ACTIVATIONS,
    Layer,
    Window,
    averaging,
    bounded,
    convolution,
    global_averaging,
    linear,
    max_pooling,
    refuse,
    scaling,
)

Constants = dict[str, NDArray[Any] | None]  # tensors that do not depend on the pixels; None: not looked at
FLOATS = (np.float16, np.float32, np.float64)
WINDOW = {"auto_pad", "dilations", "kernel_shape", "pads", "strides"}
# The operators that are understood, and their attributes that are: any other is refused, whatever opset it is of.
ATTRIBUTES: dict[str, set[str]] = {
    "AveragePool": WINDOW | {"ceil_mode", "count_include_pad"},
    "BatchNormalization": {"epsilon", "momentum", "spatial", "training_mode"},
    "Clip": {"max", "min"},
    "Conv": WINDOW | {"group"},
    "Dropout": {"ratio", "seed"},
    "Elu": {"alpha"},
    "Flatten": {"axis"},
    "Gemm": {"alpha", "beta", "transA", "transB"},
    "LeakyRelu": {"alpha"},
    "MaxPool": WINDOW | {"ceil_mode", "storage_order"},
    "Pad": {"mode", "pads", "value"},
    "Reshape": {"allowzero"},
    "Squeeze": {"axes"},
    "Transpose": {"perm"},
    "Unsqueeze": {"axes"},
    **{name: set() for name in (*ACTIVATIONS, "Add", "Div", "GlobalAveragePool", "MatMul", "Mul", "Sub")},
}
RESHAPING = ("Flatten", "Reshape", "Squeeze", "Unsqueeze")  # whose constants may be computed: the shapes say it all
EITHER_ORDER = ("Add", "Mul", "Sub")  # whose constant may come first


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node, with what is known about what it is given."""

    entry: Any
    attributes: dict[str, Any]
    constants: Constants
    shapes: dict[str, tuple[int, ...]]
    batch: int

    @property
    def name(self) -> str:
        """As the graph calls it."""
        return f"operator {self.entry.op_type} ({self.entry.name or self.entry.output[0]})"

    def given(self, position: int) -> NDArray[Any] | None:
        """The constant at an input, None where there is no such input."""
        name = self.entry.input[position] if position < len(self.entry.input) else ""
        return self.constants[name] if name else None

    def weights(self, position: int) -> FloatArray:
        """The floats at an input, which must be there."""
        value = self.given(position)
        if value is None or value.dtype not in FLOATS:
            raise refuse(f"{self.name} has weights of type {None if value is None else value.dtype}")
        return np.asarray(value, dtype=np.float64)

    def optional(self, position: int) -> FloatArray | None:
        """The floats at an input that may be missing."""
        return None if self.given(position) is None else self.weights(position)

    def number(self, name: str, default: float) -> float:
        """An attribute that is a number."""
        return float(self.attributes.get(name, default))

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, that of the whole batch."""
        found = self.shapes.get(name, ())
        if not found or 0 in found:
            raise refuse(f"the shape of what {self.name} takes or gives is not known")
        return found

    def only(self, **allowed: Any) -> None:
        """Refuse attributes that change what the operator does."""
        for name, value in allowed.items():
            found = self.attributes.get(name, value)
            found = list(found) if isinstance(value, list) else found
            if found != value:
                raise refuse(f"{self.name} has {name} {found}")

    def window(self, kernel: Sequence[int]) -> Window:
        """A two-dimensional window, with zeros around the image as said, none, or as many as keep its size."""
        if len(kernel) != 2:
            raise refuse(f"{self.name} has {len(kernel)} dimensions and not 2")
        stride = tuple(self.attributes.get("strides", (1, 1)))
        dilation = tuple(self.attributes.get("dilations", (1, 1)))
        how = self.attributes.get("auto_pad", b"NOTSET")
        top = left = bottom = right = 0
        if how == b"NOTSET":
            top, left, bottom, right = self.attributes.get("pads", (0, 0, 0, 0))
        elif how != b"VALID":
            sizes = zip(self.shape(self.entry.input[0])[2:], stride, kernel, dilation, strict=True)
            down, across = (max((-(-n // step) - 1) * step + 1 + (k - 1) * gap - n, 0) for n, step, k, gap in sizes)
            odd = 1 if how == b"SAME_LOWER" else 0  # where one more stands: before the image, or after it
            top, left = (down + odd) // 2, (across + odd) // 2
            bottom, right = down - top, across - left
        return Window((kernel[0], kernel[1]), stride, (top, left, bottom, right), dilation)


def node_layer(node: Node) -> Layer:
    """A node as it is understood; whatever is not is refused by name."""
    name, operator = node.name, node.entry.op_type
    if operator not in ATTRIBUTES:
        raise refuse(f"{name} is not one of those whose norm is known")
    if sum(map(bool, node.entry.output)) > 1:
        raise refuse(f"{name} has more than one output")
    if unknown := sorted(node.attributes.keys() - ATTRIBUTES[operator]):
        raise refuse(f"{name} has {', '.join(unknown)}, which is not known")
    if node.entry.input[0] in node.constants and operator not in EITHER_ORDER:
        raise refuse(f"{name} takes the pixels where weights belong")
    if operator in RESHAPING:  # the values of each image in the shape that it gives
        shape = node.shape(node.entry.output[0])
        if shape[0] != node.batch:
            raise refuse(f"{name} joins the images of a batch")
        return bounded(name, lambda values: values.reshape(len(values), *shape[1:]))
    if any(node.constants.get(given, np.empty(0)) is None for given in node.entry.input):
        raise refuse(f"{name} has weights that are computed")
    return _layer(node)


def _layer(node: Node) -> Layer:
    """A node whose operator and attributes are known."""
    name = node.name
    match node.entry.op_type:
        case "Add" | "Div" | "Mul" | "Sub":
            return _arithmetic(node)
        case "AveragePool" | "MaxPool":
            return _pooling(node)
        case "BatchNormalization":
            node.only(training_mode=0, spatial=1)
            scale, shift, mean, variance = (node.weights(position) for position in range(1, 5))
            factors = scale / np.sqrt(variance + node.attributes.get("epsilon", 1e-5))
            return scaling(name, factors, shift - mean * factors, by_channel=True)
        case "Conv":
            kernel = node.weights(1)
            groups = node.attributes.get("group", 1)
            return convolution(name, kernel, node.optional(2), node.window(kernel.shape[2:]), groups)
        case "Gemm" | "MatMul":
            return _product(node)
        case "GlobalAveragePool":
            return global_averaging(name)
        case "Clip" | "Elu" | "LeakyRelu":
            return _activation(node)
        case "Dropout":
            training = node.given(2)
            if training is not None and training.any():
                raise refuse(f"{name} is in training mode", instead="Export it in evaluation mode")
            return bounded(name, ACTIVATIONS["Identity"])
        case "Pad":
            return _padding(node)
        case "Transpose":
            axes = list(node.attributes.get("perm", ()))
            if axes[:1] != [0]:
                raise refuse(f"{name} moves the axis of the images")
            return bounded(name, lambda values: values.transpose(axes))
    return bounded(name, ACTIVATIONS[node.entry.op_type])


def _arithmetic(node: Node) -> Layer:
    """A constant added, subtracted or multiplied; a difference may be taken from it."""
    position = 0 if node.entry.input[0] in node.constants else 1
    constant = node.weights(position)
    one, zero = np.ones(()), np.zeros(())
    match node.entry.op_type:
        case "Add":
            return scaling(node.name, one, constant)
        case "Mul":
            return scaling(node.name, constant, zero)
        case "Sub":
            return scaling(node.name, one, -constant) if position else scaling(node.name, -one, constant)
    if not constant.all():
        raise refuse(f"{node.name} divides by 0")
    return scaling(node.name, 1 / constant, zero)


def _product(node: Node) -> Layer:
    """A matrix, with a bias where there is one."""
    weight, bias = node.weights(1), node.optional(2)
    if node.entry.op_type == "MatMul":
        if weight.ndim != 2:
            raise refuse(f"{node.name} has weights of {weight.ndim} dimensions and not 2")
        return linear(node.name, weight.T, None)
    node.only(transA=0)
    weight = node.number("alpha", 1.0) * (weight if node.attributes.get("transB", 0) else weight.T)
    if bias is not None:
        if bias.ndim == 2 and len(bias) > 1:
            raise refuse(f"{node.name} adds another bias to each image")
        bias = node.number("beta", 1.0) * bias.reshape(-1)
    return linear(node.name, weight, bias)


def _pooling(node: Node) -> Layer:
    kernel = node.attributes["kernel_shape"]
    node.only(dilations=[1] * len(kernel), ceil_mode=0)
    window = node.window(kernel)
    if node.entry.op_type == "MaxPool":
        return max_pooling(node.name, window)
    if any(window.padding) and not node.attributes.get("count_include_pad", 0):
        raise refuse(f"{node.name} leaves its padding out of the average")
    return averaging(node.name, window)


def _activation(node: Node) -> Layer:
    """A function of each value that has settings."""
    if node.entry.op_type == "Clip":
        low, high = (node.attributes.get(name, node.optional(at)) for at, name in ((1, "min"), (2, "max")))
        unbounded = low is None and high is None
        return bounded(node.name, lambda values: values if unbounded else np.clip(values, low, high))
    if node.entry.op_type == "LeakyRelu":
        slope = node.number("alpha", 0.01)
        return bounded(node.name, lambda values: np.where(values < 0, slope * values, values), max(1.0, abs(slope)))
    scale = node.number("alpha", 1.0)

    def elu(values: FloatArray) -> FloatArray:
        return np.where(values < 0, scale * np.expm1(np.minimum(values, 0.0)), values)

    return bounded(node.name, elu, max(1.0, abs(scale)))


def _padding(node: Node) -> Layer:
    node.only(mode=b"constant")
    if node.given(3) is not None:
        raise refuse(f"{node.name} has axes")
    pads = np.asarray(node.attributes.get("pads", node.given(1)))
    fill = node.attributes.get("value", node.optional(2))
    before, after = np.split(pads, 2)
    if before[0] or after[0] or pads.min() < 0:
        raise refuse(f"{node.name} adds images, or takes pixels away")
    widths = list(zip(before.tolist(), after.tolist(), strict=True))
    constant = 0.0 if fill is None else float(np.asarray(fill).reshape(()))
    return bounded(node.name, lambda values: np.pad(values, widths, constant_values=constant))
