"""What each operator of ONNX is as a layer of a chain."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from gfscore.arrays import FloatArray
from gfscore.inputs.chains.layers import (
    Layer,
    Sides,
    averaging,
    convolution,
    global_averaging,
    linear,
    max_pooling,
    pointwise,
    rearranging,
    scaling,
    unchanged,
)
from gfscore.inputs.chains.refusals import refuse
from gfscore.scores.lipschitz import Pair

Constants = dict[str, NDArray[Any] | None]  # tensors that do not depend on the pixels; None: not looked at
FLOATS = (np.float16, np.float32, np.float64)


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

    def window(self, kernel: Sequence[int]) -> dict[str, Any]:
        """Stride and padding of a two-dimensional window."""
        if len(kernel) != 2:
            raise refuse(f"{self.name} has {len(kernel)} dimensions and not 2")
        stride = tuple(self.attributes.get("strides", (1, 1)))
        return {"stride": stride, "padding": self._padding(kernel, stride)}

    def _padding(self, kernel: Sequence[int], stride: Pair) -> Sides:
        """Zeros on each side: as said, none, or as many as keep the size up to the stride."""
        how = self.attributes.get("auto_pad", b"NOTSET")
        if how == b"NOTSET":
            top, left, bottom, right = self.attributes.get("pads", (0, 0, 0, 0))
            return top, left, bottom, right
        if how == b"VALID":
            return 0, 0, 0, 0
        size = self.shape(self.entry.input[0])[2:]
        reach = [1 + (k - 1) * d for k, d in zip(kernel, self.attributes.get("dilations", (1, 1)), strict=True)]
        total = [
            max((-(-length // step) - 1) * step + taps - length, 0)
            for length, step, taps in zip(size, stride, reach, strict=True)
        ]
        less, more = [each // 2 for each in total], [each - each // 2 for each in total]
        before, after = (more, less) if how == b"SAME_LOWER" else (less, more)
        return before[0], before[1], after[0], after[1]


def _convolution(node: Node) -> Layer:
    kernel = node.weights(1)
    return convolution(
        node.name,
        kernel,
        node.optional(2),
        dilation=tuple(node.attributes.get("dilations", (1, 1))),
        groups=node.attributes.get("group", 1),
        **node.window(kernel.shape[2:]),
    )


def _gemm(node: Node) -> Layer:
    node.only(transA=0)
    weight, bias = node.weights(1), node.optional(2)
    weight = float(node.attributes.get("alpha", 1.0)) * (weight if node.attributes.get("transB", 0) else weight.T)
    if bias is not None:
        if bias.ndim == 2 and len(bias) > 1:
            raise refuse(f"{node.name} adds another bias to each image")
        bias = float(node.attributes.get("beta", 1.0)) * bias.reshape(-1)
    return linear(node.name, weight, bias)


def _product(node: Node) -> Layer:
    weight = node.weights(1)
    if weight.ndim != 2:
        raise refuse(f"{node.name} has weights of {weight.ndim} dimensions and not 2")
    return linear(node.name, weight.T, None)


def _normalisation(node: Node) -> Layer:
    node.only(training_mode=0, spatial=1)
    scale, shift, mean, variance = (node.weights(position) for position in range(1, 5))
    factors = scale / np.sqrt(variance + node.attributes.get("epsilon", 1e-5))
    return scaling(node.name, factors, shift - mean * factors, by_channel=True)


def _maximum(node: Node) -> Layer:
    kernel = tuple(node.attributes["kernel_shape"])
    node.only(dilations=[1] * len(kernel), ceil_mode=0)
    return max_pooling(node.name, kernel, **node.window(kernel))


def _average(node: Node) -> Layer:
    kernel = tuple(node.attributes["kernel_shape"])
    node.only(dilations=[1] * len(kernel), ceil_mode=0)
    window = node.window(kernel)
    if any(window["padding"]) and not node.attributes.get("count_include_pad", 0):
        raise refuse(f"{node.name} leaves its padding out of the average")
    return averaging(node.name, kernel, **window)


def _global_average(node: Node) -> Layer:
    return global_averaging(node.name)


def _arithmetic(node: Node) -> Layer:
    """A constant added, subtracted or multiplied; a difference may be taken from it."""
    position = 0 if node.entry.input[0] in node.constants else 1
    constant = node.weights(position)
    factors: FloatArray = np.ones(())
    terms: FloatArray = np.zeros(())
    match node.entry.op_type:
        case "Add":
            terms = constant
        case "Sub":
            factors, terms = (factors, -constant) if position else (-factors, constant)
        case "Mul":
            factors = constant
        case "Div":
            if not constant.all():
                raise refuse(f"{node.name} divides by 0")
            factors = 1 / constant
    return scaling(node.name, factors, terms)


def _leaky(node: Node) -> Layer:
    slope = float(node.attributes.get("alpha", 0.01))
    return pointwise(
        node.name,
        lambda values: np.where(values < 0, slope * values, values),
        max(1.0, abs(slope)),
    )


def _elu(node: Node) -> Layer:
    slope = float(node.attributes.get("alpha", 1.0))
    return pointwise(
        node.name,
        lambda values: np.where(values < 0, slope * np.expm1(np.minimum(values, 0.0)), values),
        max(1.0, abs(slope)),
    )


def _clip(node: Node) -> Layer:
    low, high = (
        node.attributes[name] if name in node.attributes else node.optional(position)
        for position, name in ((1, "min"), (2, "max"))
    )
    if low is None and high is None:
        return unchanged(node.name)
    return pointwise(node.name, lambda values: np.clip(values, low, high))


def _dropout(node: Node) -> Layer:
    training = node.given(2)
    if training is not None and training.any():
        raise refuse(f"{node.name} is in training mode", instead="Export it in evaluation mode")
    return unchanged(node.name)


def _pointwise(node: Node, function: Callable[[FloatArray], FloatArray]) -> Layer:
    """A function that is nowhere steeper than 1."""
    return pointwise(node.name, function)


def _reshaped(node: Node) -> Layer:
    """Whatever the operator is called: the values of each image in the shape that it gives."""
    shape = node.shape(node.entry.output[0])
    if shape[0] != node.batch:
        raise refuse(f"{node.name} joins the images of a batch")
    return rearranging(node.name, lambda values: values.reshape(len(values), *shape[1:]))


def _transposed(node: Node) -> Layer:
    axes = list(node.attributes.get("perm", ()))
    if axes[:1] != [0]:
        raise refuse(f"{node.name} moves the axis of the images")
    return rearranging(node.name, lambda values: values.transpose(axes))


def _padded(node: Node) -> Layer:
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
    return rearranging(node.name, lambda values: np.pad(values, widths, constant_values=constant))


WINDOW = {"auto_pad", "dilations", "kernel_shape", "pads", "strides"}
# How each operator is understood, and the attributes that are: one that is not is refused, whatever opset it is of.
LAYERS: dict[str, tuple[Callable[[Node], Layer], set[str]]] = {
    "Add": (_arithmetic, set()),
    "AveragePool": (_average, WINDOW | {"ceil_mode", "count_include_pad"}),
    "BatchNormalization": (_normalisation, {"epsilon", "momentum", "spatial", "training_mode"}),
    "Clip": (_clip, {"max", "min"}),
    "Conv": (_convolution, WINDOW | {"group"}),
    "Div": (_arithmetic, set()),
    "Dropout": (_dropout, {"ratio", "seed"}),
    "Elu": (_elu, {"alpha"}),
    "Flatten": (_reshaped, {"axis"}),
    "Gemm": (_gemm, {"alpha", "beta", "transA", "transB"}),
    "GlobalAveragePool": (_global_average, set()),
    "Identity": (lambda node: unchanged(node.name), set()),
    "LeakyRelu": (_leaky, {"alpha"}),
    "MatMul": (_product, set()),
    "MaxPool": (_maximum, WINDOW | {"ceil_mode", "storage_order"}),
    "Mul": (_arithmetic, set()),
    "Pad": (_padded, {"mode", "pads", "value"}),
    "Relu": (partial(_pointwise, function=lambda values: np.maximum(values, 0.0)), set()),
    "Reshape": (_reshaped, {"allowzero"}),
    "Sigmoid": (partial(_pointwise, function=expit), set()),
    "Softplus": (partial(_pointwise, function=lambda values: np.logaddexp(0.0, values)), set()),
    "Squeeze": (_reshaped, {"axes"}),
    "Sub": (_arithmetic, set()),
    "Tanh": (partial(_pointwise, function=np.tanh), set()),
    "Transpose": (_transposed, {"perm"}),
    "Unsqueeze": (_reshaped, {"axes"}),
}
RESHAPING = ("Flatten", "Reshape", "Squeeze", "Unsqueeze")  # whose constants may be computed: the shapes say it all
