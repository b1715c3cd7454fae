"""The Lipschitz constant of a ``torch.nn.Sequential``: the product of the bounds of its layers."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gfscore.inputs.chains.refusals import refuse
from gfscore.inputs.models.shims import torch_for
from gfscore.inputs.models.torch_model import TorchModel
from gfscore.samples import FloatArray
from gfscore.scores.spectral import averaging_norm, convolution_norm, linear_norm, pooling_norm, scaling_norm

ISOMETRIES = ("Dropout", "Dropout2d", "Flatten", "Hardtanh", "Identity", "ReLU", "ReLU6", "Sigmoid", "Tanh",
              "Unflatten")  # fmt: skip
LAYERS = ("AvgPool2d", "BatchNorm1d", "BatchNorm2d", "Conv2d", "Linear", "MaxPool2d", *ISOMETRIES)


def sequential_bound(model: TorchModel, shape: tuple[int, ...]) -> float:
    """Bound for one image of ``shape``; each layer is run once, to learn the sizes of what it is given."""
    torch = torch_for("a Lipschitz constant from a torch model")
    values = torch.zeros((model.fixed_batch or 1, *shape), device=model.device, dtype=model.dtype)
    bound = 1.0
    with torch.no_grad():
        for layer in _layers(model.module, torch):
            bound *= _norm(layer, tuple(values.shape[-2:]), torch)
            values = layer(values)
    return bound


def _layers(module: Any, torch: Any) -> Iterator[Any]:
    """The layers of a chain, chains within it taken apart."""
    if not isinstance(module, torch.nn.Sequential):
        raise refuse(f"{type(module).__name__} is no torch.nn.Sequential, and what its forward does is not known")
    for layer in module:
        if isinstance(layer, torch.nn.Sequential):
            yield from _layers(layer, torch)
        else:
            yield layer


def _norm(layer: Any, size: tuple[int, int], torch: Any) -> float:
    """How much a layer can stretch a difference of images of ``size``."""
    # A subclass that computes something else has a forward of its own; one made by a parametrisation has not.
    kinds = [getattr(torch.nn, name) for name in LAYERS]
    kind = next((kind for kind in kinds if isinstance(layer, kind) and type(layer).forward is kind.forward), None)
    kind_name = type(layer).__name__ if kind is None else kind.__name__
    if layer.training and kind_name.startswith(("BatchNorm", "Dropout")):
        raise refuse(f"{kind_name} is in training mode")
    if kind_name in ISOMETRIES:
        return 1.0
    match kind_name:
        case "Linear":
            return linear_norm(_array(layer.weight))
        case "Conv2d":
            return _convolution(layer, size)
        case "BatchNorm1d" | "BatchNorm2d":
            return _normalisation(layer)
        case "MaxPool2d":
            if _pair(layer.dilation) != (1, 1):
                raise refuse("MaxPool2d has a dilation")
            return pooling_norm(_pair(layer.kernel_size), _pair(layer.stride))
        case "AvgPool2d":
            padding = _pair(layer.padding)
            if layer.ceil_mode or layer.divisor_override or (any(padding) and not layer.count_include_pad):
                raise refuse("AvgPool2d has ceil_mode, divisor_override or uncounted padding")
            return averaging_norm(_pair(layer.kernel_size), size, stride=_pair(layer.stride), padding=padding * 2)
    raise refuse(f"layer {kind_name} is not one of those whose norm is known")


def _convolution(layer: Any, size: tuple[int, int]) -> float:
    if layer.padding_mode != "zeros":
        raise refuse(f"Conv2d pads with {layer.padding_mode!r}")
    if layer.padding == "same":
        spare = [gap * (taps - 1) for gap, taps in zip(layer.dilation, layer.kernel_size, strict=True)]
        padding = (0, 0, *spare)  # on which side it stands does not matter to the norm
    else:
        padding = (0, 0, 0, 0) if layer.padding == "valid" else tuple(layer.padding) * 2
    return convolution_norm(
        _array(layer.weight), size, stride=layer.stride, padding=padding, dilation=layer.dilation, groups=layer.groups
    )


def _normalisation(layer: Any) -> float:
    if layer.running_var is None:
        raise refuse(f"{type(layer).__name__} has no running variance, and uses that of the batch")
    deviations = np.sqrt(_array(layer.running_var) + layer.eps)
    return scaling_norm((1.0 if layer.weight is None else _array(layer.weight)) / deviations)


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


def _array(tensor: Any) -> FloatArray:
    return np.asarray(tensor.detach().double().cpu().numpy())
