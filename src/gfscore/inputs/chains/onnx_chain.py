"""The Lipschitz constant of an ONNX graph: a bound for each tensor, from that of the only tensor it is made of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore.extras import require
from gfscore.inputs.chains.refusals import refuse
from gfscore.inputs.models.onnx_model import OnnxModel
from gfscore.inputs.raw import reason
from gfscore.scores.spectral import averaging_norm, convolution_norm, linear_norm, pooling_norm, scaling_norm

# Operators that stretch nothing: each value stays, moves, shrinks, or changes no faster than its argument.
ISOMETRIES = ("Clip", "Dropout", "Flatten", "Identity", "Relu", "Reshape", "Sigmoid", "Softplus", "Squeeze", "Tanh",
              "Transpose", "Unsqueeze")  # fmt: skip
COMMUTING = ("Add", "Mul", "Sub")  # operators whose constant may stand first
Constants = dict[str, NDArray[Any] | None]  # tensors that do not depend on the pixels; None: not looked at


def graph_bound(model: OnnxModel, shape: Sequence[int]) -> float:
    """Bound of the chosen output for one image of ``shape``."""
    onnx = require("onnx", extra="onnx", purpose="a Lipschitz constant from an ONNX graph")
    graph, shapes = _shaped(onnx, model, shape)
    constants: Constants = {entry.name: onnx.numpy_helper.to_array(entry) for entry in graph.initializer}
    bounds = {model.input: 1.0}
    for node in graph.node:
        attributes = {entry.name: onnx.helper.get_attribute_value(entry) for entry in node.attribute}
        if node.op_type == "Constant" and "value" in attributes:
            constants[node.output[0]] = onnx.numpy_helper.to_array(attributes["value"])
        elif node.op_type == "Shape" or all(name in constants for name in node.input if name):
            constants |= dict.fromkeys(node.output)  # sizes of tensors, and what is made of constants alone
        else:
            layer = _Layer(node=node, attributes=attributes, constants=constants, shapes=shapes)
            bounds[node.output[0]] = bounds[layer.moving(bounds)] * layer.norm()
    return bounds[model.output]


def _shaped(onnx: Any, model: OnnxModel, shape: Sequence[int]) -> tuple[Any, dict[str, tuple[int, ...]]]:
    """The graph, and the shape of every tensor in it for images of ``shape``."""
    loaded = onnx.load(model.path)
    graph = loaded.graph
    declared = next(entry for entry in graph.input if entry.name == model.input).type.tensor_type.shape
    del declared.dim[:]
    for length in (model.fixed_batch or 1, *shape):
        declared.dim.add().dim_value = length
    del graph.value_info[:]  # what was inferred for other sizes
    for entry in graph.output:
        entry.type.tensor_type.ClearField("shape")
    try:
        inferred = onnx.shape_inference.infer_shapes(loaded, data_prop=True).graph
    except Exception as error:  # the checker of onnx raises its own kinds
        raise refuse(f"the shapes of its tensors cannot be inferred ({reason(error)})") from error
    known = [*inferred.input, *inferred.value_info, *inferred.output]
    return graph, {entry.name: tuple(dim.dim_value for dim in entry.type.tensor_type.shape.dim) for entry in known}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layer:
    """One node, with what is known about what it is given."""

    node: Any
    attributes: dict[str, Any]
    constants: Constants
    shapes: dict[str, tuple[int, ...]]

    @property
    def name(self) -> str:
        """As the graph calls it."""
        return f"operator {self.node.op_type} ({self.node.name or self.node.output[0]})"

    def moving(self, bounds: dict[str, float]) -> str:
        """The only input that depends on the pixels."""
        found = [name for name in self.node.input if name and name not in self.constants]
        if len(found) > 1:
            raise refuse(f"{self.name} joins {len(found)} branches")
        if found[0] not in bounds:
            raise refuse(f"{self.name} takes a second output of another operator")
        if found[0] != self.node.input[0] and self.node.op_type not in COMMUTING:
            raise refuse(f"{self.name} takes the pixels where weights belong")
        return str(found[0])

    def norm(self) -> float:
        """How much it can stretch a difference."""
        if self.node.op_type in ISOMETRIES:
            return 1.0
        if self.node.op_type not in NORMS:
            raise refuse(f"{self.name} is not one of those whose norm is known")
        return NORMS[self.node.op_type](self)

    def constant(self, position: int) -> NDArray[Any]:
        """The weights at an input."""
        value = self.constants.get(self.node.input[position])
        if value is None:
            raise refuse(f"{self.name} has weights that are computed")
        return value

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor; without it nothing about a convolution can be said."""
        found = self.shapes.get(name, ())
        if not found or 0 in found:
            raise refuse(f"the shape of what {self.name} takes or gives is not known")
        return found

    def window(self, kernel: Sequence[int]) -> dict[str, Any]:
        """Stride and padding of a two-dimensional window."""
        if len(kernel) != 2:
            raise refuse(f"{self.name} has {len(kernel)} dimensions and not 2")
        size = self.shape(self.node.input[0])[2:]
        stride = tuple(self.attributes.get("strides", (1, 1)))
        padding = tuple(self.attributes.get("pads", (0, 0, 0, 0)))
        if self.attributes.get("auto_pad", b"NOTSET") in (b"SAME_UPPER", b"SAME_LOWER"):
            reach = [1 + (k - 1) * d for k, d in zip(kernel, self.attributes.get("dilations", (1, 1)), strict=True)]
            total = [
                max((-(-length // step) - 1) * step + taps - length, 0)
                for length, step, taps in zip(size, stride, reach, strict=True)
            ]
            padding = (0, 0, *total)  # on which side it stands does not matter to the norm
        return {"size": size, "stride": stride, "padding": padding}

    def unlike(self, allowed: dict[str, Any]) -> None:
        """Refuse attributes that change what the operator does."""
        for name, value in allowed.items():
            found = self.attributes.get(name, value)
            if (list(found) if isinstance(value, list) else found) != value:
                raise refuse(f"{self.name} has {name} {found}")


def _convolution(layer: _Layer) -> float:
    kernel = layer.constant(1)
    dilation = tuple(layer.attributes.get("dilations", (1, 1)))
    groups = layer.attributes.get("group", 1)
    return convolution_norm(kernel, **layer.window(kernel.shape[2:]), dilation=dilation, groups=groups)


def _gemm(layer: _Layer) -> float:
    layer.unlike({"transA": 0})
    return abs(float(layer.attributes.get("alpha", 1.0))) * linear_norm(layer.constant(1))


def _product(layer: _Layer) -> float:
    weight = layer.constant(1)
    if weight.ndim != 2:
        raise refuse(f"{layer.name} has weights of {weight.ndim} dimensions and not 2")
    return linear_norm(weight)


def _normalisation(layer: _Layer) -> float:
    layer.unlike({"training_mode": 0})
    scale, variance = layer.constant(1).astype(np.float64), layer.constant(4).astype(np.float64)
    return scaling_norm(scale / np.sqrt(variance + layer.attributes.get("epsilon", 1e-5)))


def _maximum(layer: _Layer) -> float:
    kernel = layer.attributes["kernel_shape"]
    layer.unlike({"dilations": [1] * len(kernel)})
    return pooling_norm(tuple(kernel), layer.window(kernel)["stride"])


def _average(layer: _Layer) -> float:
    kernel = layer.attributes["kernel_shape"]
    window = layer.window(kernel)
    layer.unlike({"dilations": [1] * len(kernel), "ceil_mode": 0})
    if any(window["padding"]) and not layer.attributes.get("count_include_pad", 0):
        raise refuse(f"{layer.name} leaves its padding out of the average")
    return averaging_norm(tuple(kernel), **window)


def _global_average(layer: _Layer) -> float:
    return float(1 / np.sqrt(np.prod(layer.shape(layer.node.input[0])[2:])))


def _shift(layer: _Layer) -> float:
    _same_shape(layer)
    return 1.0


def _scaling(layer: _Layer) -> float:
    _same_shape(layer)
    position = next(index for index, name in enumerate(layer.node.input) if name in layer.constants)
    factors = layer.constant(position).astype(np.float64)
    return scaling_norm(1 / factors if layer.node.op_type == "Div" else factors)


def _leaky(layer: _Layer) -> float:
    return max(1.0, abs(float(layer.attributes.get("alpha", 1.0))))  # the default of either is no steeper than 1


def _padding(layer: _Layer) -> float:
    layer.unlike({"mode": b"constant"})
    return 1.0


def _same_shape(layer: _Layer) -> None:
    """Refuse constants that copy what they are added to, which would stretch it."""
    moving = next(name for name in layer.node.input if name not in layer.constants)
    if layer.shape(moving) != layer.shape(layer.node.output[0]):
        raise refuse(f"{layer.name} repeats its input")


NORMS: dict[str, Callable[[_Layer], float]] = {
    "Add": _shift,
    "AveragePool": _average,
    "BatchNormalization": _normalisation,
    "Conv": _convolution,
    "Div": _scaling,
    "Elu": _leaky,
    "Gemm": _gemm,
    "GlobalAveragePool": _global_average,
    "LeakyRelu": _leaky,
    "MatMul": _product,
    "MaxPool": _maximum,
    "Mul": _scaling,
    "Pad": _padding,
    "Sub": _shift,
}
