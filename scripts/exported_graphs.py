"""Small networks as people export them: through torch's two exporters, and by hand as other tools write them.

All take images of 3 x 8 x 8 pixels (one of them 8 x 8 x 3) and give five logits.
"""

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

CLASSES, SIZE = 5, 8
OLDER, NEWER = range(11, 21), range(18, 24)  # opsets of torch's exporters: by tracing, and of torch.export


class Network(nn.Module):
    """Layers, and a function that says how images go through them."""

    def __init__(self, forward: Callable[[nn.ModuleList, Tensor], Tensor], *layers: nn.Module) -> None:
        super().__init__()
        self.layers, self._forward = nn.ModuleList(layers), forward

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        return self._forward(self.layers, images)


def _conv(inputs: int, outputs: int, size: int = 3, **fields: Any) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, size, **{"padding": size // 2} | fields)


def _head(features: int) -> nn.Linear:
    return nn.Linear(features, CLASSES)


def _rows(*layers: nn.Module, features: int = 256) -> nn.Module:
    return nn.Sequential(*layers, nn.Flatten(), _head(features))


def _without_biases(network: nn.Module) -> nn.Module:
    """Biases of zero: of those that are equal, exporters keep one and share it."""
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear) and layer.bias is not None:
            nn.init.zeros_(layer.bias)
    return network


def _as_trained(network: nn.Module) -> nn.Module:
    """Batch norms with numbers of their own."""
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.normal_(layer.running_mean, 0, 0.2)
            nn.init.uniform_(layer.running_var, 0.5, 2)
            nn.init.uniform_(layer.weight, 0.5, 1.5)
            nn.init.normal_(layer.bias, 0, 0.2)
    return network


def _residual(layers: nn.ModuleList, images: Tensor) -> Tensor:
    first = F.relu(layers[1](layers[0](images)))
    second = F.relu(first + layers[3](layers[2](first)))
    return layers[4](F.adaptive_avg_pool2d(second, 1).flatten(1))


def _excited(layers: nn.ModuleList, images: Tensor) -> Tensor:
    maps = F.relu(layers[0](images))
    weights = torch.sigmoid(layers[2](F.relu(layers[1](maps.mean((2, 3), keepdim=True)))))
    return layers[3]((maps * weights).flatten(1))


def _dense(layers: nn.ModuleList, images: Tensor) -> Tensor:
    maps = F.relu(layers[0](images))
    return layers[2](torch.cat([maps, F.relu(layers[1](maps))], 1).flatten(1))


def _transformer(layers: nn.ModuleList, images: Tensor) -> Tensor:
    tokens = layers[0](images).flatten(2).transpose(1, 2) + layers[1].weight
    query, key, value = layers[3](layers[2](tokens)).chunk(3, -1)
    tokens = tokens + layers[4]((query @ key.transpose(-1, -2) / 4).softmax(-1) @ value)
    tokens = tokens + layers[6](F.gelu(layers[5](layers[7](tokens))))
    return layers[8](tokens.mean(1))


def _padded_shortcut(layers: nn.ModuleList, images: Tensor) -> Tensor:
    """The shortcut of CIFAR's residual networks: every second pixel, and channels of zeros."""
    return layers[1](F.relu(F.pad(images[:, :, ::2, ::2], (0, 0, 0, 0, 2, 2)) + layers[0](images)).flatten(1))


def _normalised(layers: nn.ModuleList, images: Tensor) -> Tensor:
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in ([0.4, 0.5, 0.6], [0.2, 0.3, 0.2]))
    return layers[1](F.relu(layers[0]((images - mean) / std)).flatten(1))


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "Conv, Relu, Flatten, Gemm": lambda: _rows(_conv(3, 4), nn.ReLU()),
    "biases of zero (shared by Identity)": lambda: _without_biases(
        nn.Sequential(
            *(_conv(3, 4), nn.ReLU(), _conv(4, 4), nn.ReLU(), _conv(4, 4), nn.ReLU()),
            *(nn.Flatten(), nn.Linear(256, 4), nn.ReLU(), _head(4)),
        )
    ),
    "view(n, -1)": lambda: Network(
        lambda layers, x: layers[1](F.relu(layers[0](x)).view(x.size(0), -1)), _conv(3, 4), _head(256)
    ),
    "Conv and BatchNormalization": lambda: _as_trained(
        _rows(_conv(3, 4), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), features=4)
    ),
    "BatchNormalization before Conv, AveragePool": lambda: _as_trained(
        _rows(nn.BatchNorm2d(3), nn.ReLU(), _conv(3, 4), nn.AvgPool2d(2), features=64)
    ),
    "residual Add": lambda: _as_trained(
        Network(_residual, _conv(3, 4), nn.BatchNorm2d(4), _conv(4, 4), nn.BatchNorm2d(4), _head(4))
    ),
    "ReduceMean": lambda: Network(
        lambda layers, x: layers[1](F.relu(layers[0](x)).mean((2, 3))), _conv(3, 4), _head(4)
    ),
    "ReLU6 (Clip), Conv by channels": lambda: _rows(
        *(_conv(3, 4), nn.ReLU6(), _conv(4, 4, groups=4), nn.AdaptiveAvgPool2d(1)), features=4
    ),
    "Pad with zeros": lambda: Network(
        lambda layers, x: layers[1](F.relu(layers[0](F.pad(x, (1, 0, 1, 0)))).flatten(1)),
        *(_conv(3, 4, padding=0), _head(196)),
    ),
    "Pad by reflection": lambda: Network(
        lambda layers, x: layers[1](F.relu(layers[0](F.pad(x, (1, 1, 1, 1), mode="reflect"))).flatten(1)),
        *(_conv(3, 4, padding=0), _head(256)),
    ),
    "Slice, Pad of channels": lambda: Network(_padded_shortcut, _conv(3, 7, stride=2), _head(112)),
    "Resize to the nearest": lambda: Network(
        lambda layers, x: layers[1](F.relu(layers[0](F.interpolate(x, scale_factor=2))).flatten(1)),
        *(_conv(3, 4, stride=2), _head(256)),
    ),
    "Resize, bilinear": lambda: Network(
        lambda layers, x: layers[1](F.relu(layers[0](F.interpolate(x, size=(16, 16), mode="bilinear"))).flatten(1)),
        *(_conv(3, 4, stride=2), _head(256)),
    ),
    "GELU": lambda: _rows(_conv(3, 4), nn.GELU()),
    "SiLU": lambda: _rows(_conv(3, 4), nn.SiLU()),
    "HardSwish": lambda: _rows(_conv(3, 4), nn.Hardswish()),
    "Mish": lambda: _rows(_conv(3, 4), nn.Mish()),
    "LeakyRelu, PRelu": lambda: _rows(_conv(3, 4), nn.LeakyReLU(0.1), _conv(4, 4), nn.PReLU(4)),
    "squeeze and excitation": lambda: Network(_excited, _conv(3, 4), _conv(4, 2, 1), _conv(2, 4, 1), _head(256)),
    "MaxPool": lambda: _rows(_conv(3, 4), nn.ReLU(), nn.MaxPool2d(2), features=64),
    "Concat": lambda: Network(_dense, _conv(3, 4), _conv(4, 4), _head(512)),
    "group normalisation": lambda: _rows(_conv(3, 4), nn.GroupNorm(2, 4), nn.ReLU()),
    "instance normalisation": lambda: _rows(_conv(3, 4), nn.InstanceNorm2d(4, affine=True), nn.ReLU()),
    "ConvTranspose": lambda: _rows(
        *(_conv(3, 4), nn.ReLU(), nn.ConvTranspose2d(4, 4, 2, stride=2), nn.ReLU()), features=1024
    ),
    "Dropout": lambda: nn.Sequential(
        _conv(3, 4), nn.ReLU(), nn.Dropout2d(0.5), nn.Flatten(), nn.Dropout(0.5), _head(256)
    ),
    "transformer": lambda: Network(
        *(_transformer, nn.Conv2d(3, 16, 4, 4), nn.Embedding(4, 16), nn.LayerNorm(16), nn.Linear(16, 48)),
        *(nn.Linear(16, 16), nn.Linear(16, 32), nn.Linear(32, 16), nn.LayerNorm(16), _head(16)),
    ),
    "LogSoftmax": lambda: nn.Sequential(_rows(_conv(3, 4), nn.ReLU()), nn.LogSoftmax(1)),
    "normalised inside": lambda: Network(_normalised, _conv(3, 4), _head(256)),
}


def network_of(name: str) -> nn.Module:
    """A network with its weights, always the same, in evaluation mode."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return NETWORKS[name]().eval()


def export(name: str, opset: int, *, newer: bool) -> bytes:
    """A network as torch exports it, without the paths that its newer exporter (which needs onnxscript) notes."""
    file = io.BytesIO()
    how: dict[str, Any] = {"dynamic_axes": {"x": {0: "n"}, "logits": {0: "n"}}, "dynamo": False}
    if newer:
        how = {"dynamic_shapes": ({0: torch.export.Dim("n")},), "dynamo": True, "verbose": False}
    names = {"input_names": ["x"], "output_names": ["logits"], "opset_version": opset}
    log = logging.getLogger("torch.onnx")
    before = log.level
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        log.setLevel(logging.CRITICAL)
        try:
            torch.onnx.export(network_of(name), (torch.rand(2, 3, SIZE, SIZE),), file, **names, **how)
        finally:
            log.setLevel(before)
    graph = onnx.load_from_string(file.getvalue())
    for entry in (graph, graph.graph, *graph.graph.node, *graph.graph.value_info, *graph.graph.initializer):
        del entry.metadata_props[:]
    for node in graph.graph.node:
        node.doc_string = ""
    return bytes(graph.SerializeToString(deterministic=True))


def _weights(*shape: int) -> NDArray[np.float32]:
    return (np.random.default_rng(len(shape)).normal(size=shape) / np.sqrt(np.prod(shape[1:]) / 2)).astype(np.float32)


def _graph(
    nodes: list[Any],
    constants: Mapping[str, Any],
    *,
    opset: int,
    shape: tuple[Any, ...] = ("n", 3, SIZE, SIZE),
    as_inputs: bool = False,
    as_nodes: bool = False,
) -> bytes:
    """A graph from x to logits; its constants as initialisers, as inputs beside (torch 1.2), or as nodes."""
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    if as_inputs:
        inputs += [helper.make_tensor_value_info(each.name, each.data_type, each.dims) for each in tensors]
    made = [helper.make_node("Constant", [], [each.name], value=each) for each in tensors] if as_nodes else []
    graph = helper.make_graph(
        [*made, *nodes],
        "graph",
        inputs,
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [shape[0], CLASSES])],
        [] if as_nodes else tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=4 if as_inputs else 8)
    return bytes(model.SerializeToString())


CONV = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}


def _shared(opset: int) -> bytes:
    """Biases, and mean and variance of a batch norm, each through Identity from one initialiser, as torch 1.x does."""
    node = helper.make_node
    nodes = [
        *(node("Identity", ["zeros"], [name]) for name in ("bias_1", "bias_2", "mean", "shift")),
        *(node("Identity", ["ones"], [name]) for name in ("variance", "scale")),
        node("Conv", ["x", "first", "bias_1"], ["a"], **CONV),
        node("BatchNormalization", ["a", "scale", "shift", "mean", "variance"], ["b"]),
        node("Relu", ["b"], ["c"]),
        node("Conv", ["c", "second", "bias_2"], ["d"], **CONV),
        node("Relu", ["d"], ["e"]),
        node("Flatten", ["e"], ["f"]),
        node("Identity", ["few"], ["bias_3"]),
        node("Gemm", ["f", "last", "bias_3"], ["logits"], transB=1),
    ]
    weights = {"first": _weights(4, 3, 3, 3), "second": _weights(4, 4, 3, 3), "last": _weights(CLASSES, 256)}
    flat = {"zeros": np.zeros(4, np.float32), "ones": np.ones(4, np.float32), "few": np.zeros(CLASSES, np.float32)}
    return _graph(nodes, weights | flat, opset=opset)


def _plain(opset: int, **how: Any) -> bytes:
    node = helper.make_node
    clip = (
        [node("Clip", ["a", "least", "most"], ["b"])] if opset > 10 else [node("Clip", ["a"], ["b"], min=0.0, max=1.0)]
    )
    nodes = [
        node("Conv", ["x", "first", "bias"], ["a"], **CONV),
        *clip,
        node("GlobalAveragePool", ["b"], ["c"]),
        node("Flatten", ["c"], ["d"]),
        node("Gemm", ["d", "last"] if opset > 10 else ["d", "last", "none"], ["logits"], alpha=2.0),
    ]
    constants = {"first": _weights(4, 3, 3, 3), "bias": _weights(4), "last": _weights(4, CLASSES)}
    limits = {"least": np.float32(0), "most": np.float32(1)} if opset > 10 else {"none": np.zeros(CLASSES, np.float32)}
    return _graph(nodes, constants | limits, opset=opset, **how)


def _of_keras(opset: int) -> bytes:
    """Images of 8 x 8 x 3, transposed for each Conv, padding by name, weights in a MatMul: what tf2onnx writes."""
    node = helper.make_node
    axes = (["d", "axes"], {}) if opset >= 18 else (["d"], {"axes": [1, 2]})
    nodes = [
        node("Transpose", ["x"], ["a"], perm=[0, 3, 1, 2]),
        node("Conv", ["a", "first"], ["b"], kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"),
        node("MaxPool", ["b"], ["pooled"], kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"),
        node("Transpose", ["pooled"], ["c"], perm=[0, 2, 3, 1]),
        node("Add", ["c", "bias"], ["biased"]),
        node("Relu", ["biased"], ["d"]),
        node("ReduceMean", axes[0], ["e"], keepdims=0, **axes[1]),
        node("Reshape", ["e", "shape"], ["f"]),
        node("MatMul", ["f", "last"], ["g"]),
        node("Add", ["g", "few"], ["logits"]),
    ]
    constants = {
        "first": _weights(4, 3, 3, 3),
        "bias": _weights(4),
        "last": _weights(4, CLASSES),
        "few": _weights(CLASSES),
        "shape": np.array([-1, 4]),
        **({"axes": np.array([1, 2])} if opset >= 18 else {}),
    }
    return _graph(nodes, constants, opset=opset, shape=("n", SIZE, SIZE, 3))


def _padded(opset: int) -> bytes:
    """Pads of the last two axes alone, as opset 18 allows."""
    node = helper.make_node
    nodes = [
        node("Pad", ["x", "pads", "", "axes"], ["a"]),
        node("Conv", ["a", "first"], ["b"], kernel_shape=[3, 3]),
        node("Mish", ["b"], ["c"]),
        node("GroupNormalization", ["c", "scale", "shift"], ["d"], num_groups=2),
        node("Gelu", ["d"], ["e"], approximate="tanh"),
        node("Flatten", ["e"], ["f"]),
        node("MatMul", ["f", "last"], ["logits"]),
    ]
    channels = 4 if opset >= 21 else 2  # that are scaled: each channel, or each group
    constants = {
        "pads": np.array([1, 1, 1, 1]),
        "axes": np.array([2, 3]),
        "first": _weights(4, 3, 3, 3),
        "scale": 1 + _weights(channels),
        "shift": _weights(channels),
        "last": _weights(256, CLASSES),
    }
    return _graph(nodes, constants, opset=opset)


# Graphs by the opset they are written for, and the opsets at which they are looked at.
BY_HAND: dict[str, tuple[Callable[[int], bytes], range]] = {
    "biases, means and variances shared by Identity": (_shared, range(9, 22)),
    "weights as initialisers; Clip, GlobalAveragePool, Gemm": (_plain, range(9, 22)),
    "weights as Constant nodes": (lambda opset: _plain(opset, as_nodes=True), range(9, 22)),
    "weights as inputs beside (torch 1.2)": (lambda opset: _plain(opset, as_inputs=True), range(9, 22)),
    "images of 8 x 8 x 3 (keras by tf2onnx)": (_of_keras, range(9, 22)),
    "Pad by axes, Mish, GroupNormalization, Gelu by tanh": (_padded, range(20, 24)),
}
