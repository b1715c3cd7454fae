"""The layers of a ``torch.nn.Sequential``, or why it is more than them."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.inputs.chains import (
    ACTIVATIONS,
    Layer,
    Sides,
    Window,
    averaging,
    bounded,
    convolution,
    linear,
    max_pooling,
    refuse,
    scaling,
)
from gfscore.inputs.models.shims import torch_for
from gfscore.inputs.models.torch_model import TorchModel
from gfscore.scores.lipschitz import Pair

KNOWN = ("AvgPool2d", "BatchNorm1d", "BatchNorm2d", "Conv2d", "Dropout", "Dropout2d", "Flatten", "Hardtanh", "Identity",
         "Linear", "MaxPool2d", "ReLU", "ReLU6", "Sigmoid", "Tanh", "Unflatten")  # fmt: skip
# What a subclass may define and still do what its base does: it is constructed in another way.
CONSTRUCTION = {"__annotate_func__", "__annotations__", "__annotations_cache__", "__dict__", "__doc__",
                "__firstlineno__", "__init__", "__module__", "__qualname__", "__static_attributes__",
                "__weakref__"}  # fmt: skip
WEIGHTS = {"bias", "weight"}
PARAMETRISATION = {"__deepcopy__", "__getstate__"}  # beside the weights themselves, which become properties


def sequential_layers(model: TorchModel) -> Iterator[Layer]:
    """The layers in the order they are run; whatever else happens in a forward pass is refused by name."""
    torch = torch_for("a Lipschitz constant from a torch model")
    everywhere = torch.nn.modules.module
    if everywhere._global_forward_hooks or everywhere._global_forward_pre_hooks:
        raise refuse("torch runs a global forward hook in every module", instead="Remove it")
    if model.dtype not in (torch.float32, torch.float64):
        raise refuse(f"it computes in {str(model.dtype).removeprefix('torch.')}, which rounds too much")
    if not isinstance(model.module, torch.nn.Sequential):
        kind = type(model.module).__name__
        raise refuse(f"{kind} is no torch.nn.Sequential, and what its forward does is not known")
    yield from _take_apart(model.module, "", torch)


def _take_apart(module: Any, place: str, torch: Any) -> Iterator[Layer]:
    """The layers of a chain, chains within it taken apart; ``place`` is where it is, as in ``0.2``."""
    name = f"{f'layer {place}' if place else 'the network'} ({type(module).__name__})"
    known = [torch.nn.Sequential, *(getattr(torch.nn, kind) for kind in KNOWN)]
    kind = next((each for each in type(module).__mro__ if each in known), None)
    if kind is None:
        raise refuse(f"{name} is not one of those whose norm is known")
    _refuse_more_than(kind, module, name)
    if kind is torch.nn.Sequential:
        for key, inner in module._modules.items():  # children() would leave out one that comes twice
            yield from _take_apart(inner, f"{place}.{key}" if place else key, torch)
    else:
        yield _layer(kind.__name__, module, name)


def _refuse_more_than(kind: Any, module: Any, name: str) -> None:
    """Refuse a module that is called in another way than its kind, at whatever level that was arranged."""
    parametrised = WEIGHTS & set(getattr(module, "parametrizations", ()))
    mro = type(module).__mro__
    defined = {each for cls in mro[: mro.index(kind)] for each in vars(cls)} - CONSTRUCTION
    if own := sorted(defined - (parametrised | PARAMETRISATION if parametrised else set())):
        raise refuse(f"{name} is a {kind.__name__} with code of its own ({', '.join(own)})")
    replaced = sorted(each for each in vars(module) if callable(getattr(type(module), each, None)))
    if replaced:
        raise refuse(f"{name} has its {', '.join(replaced)} replaced", instead="Leave it as it was")
    if getattr(module, "_compiled_call_impl", None) is not None:
        raise refuse(f"{name} is compiled, and what runs is not what it shows", instead="Give it as it was before")
    inside = [module] if kind.__name__ == "Sequential" else list(module.modules())  # with what makes its weights
    if any(each._forward_hooks or each._forward_pre_hooks for each in inside):
        raise refuse(f"{name} has a forward hook", instead="Remove it (weight_norm and spectral_norm of "
                     "torch.nn.utils.parametrizations need none)")  # fmt: skip
    if (parametrised or kind.__name__.startswith(("BatchNorm", "Dropout"))) and any(each.training for each in inside):
        raise refuse(f"{name} is in training mode", instead="Call model.eval()")


def _layer(kind: str, layer: Any, name: str) -> Layer:
    """A torch layer as it is understood."""
    match kind:
        case "Linear":
            return linear(name, _array(layer.weight), _bias(layer))
        case "Conv2d":
            return _convolution(layer, name)
        case "BatchNorm1d" | "BatchNorm2d":
            return _normalisation(layer, name)
        case "MaxPool2d":
            if _pair(layer.dilation) != (1, 1) or layer.ceil_mode or layer.return_indices:
                raise refuse(f"{name} has a dilation, ceil_mode or return_indices")
            return max_pooling(name, _window(layer))
        case "AvgPool2d":
            if layer.ceil_mode or layer.divisor_override or (any(_pair(layer.padding)) and not layer.count_include_pad):
                raise refuse(f"{name} has ceil_mode, divisor_override or uncounted padding")
            return averaging(name, _window(layer))
        case "Flatten" | "Unflatten":
            return bounded(name, lambda values: _reshape(layer, values, name))
        case "Hardtanh" | "ReLU6":
            low, high = layer.min_val, layer.max_val
            return bounded(name, lambda values: np.clip(values, low, high))
        case "ReLU" | "Sigmoid" | "Tanh":
            return bounded(name, ACTIVATIONS[kind.capitalize()])
    return bounded(name, ACTIVATIONS["Identity"])  # Dropout in evaluation mode, and Identity


def _convolution(layer: Any, name: str) -> Layer:
    if layer.padding_mode != "zeros":
        raise refuse(f"{name} pads with {layer.padding_mode!r}")
    kernel = _array(layer.weight)
    padding: Sides = (0, 0, 0, 0)
    if layer.padding == "same":
        spare = [gap * (taps - 1) for gap, taps in zip(layer.dilation, kernel.shape[2:], strict=True)]
        before = [each // 2 for each in spare]
        padding = (before[0], before[1], spare[0] - before[0], spare[1] - before[1])
    elif layer.padding != "valid":
        padding = (*_pair(layer.padding), *_pair(layer.padding))
    window = Window(_pair(layer.kernel_size), _pair(layer.stride), padding, _pair(layer.dilation))
    return convolution(name, kernel, _bias(layer), window, layer.groups)


def _normalisation(layer: Any, name: str) -> Layer:
    if layer.running_var is None or layer.running_mean is None:
        raise refuse(f"{name} has no running mean and variance, and uses those of the batch")
    deviations = np.sqrt(_array(layer.running_var) + layer.eps)
    factors = (1.0 if layer.weight is None else _array(layer.weight)) / deviations
    shift = _bias(layer)
    terms = (0.0 if shift is None else shift) - _array(layer.running_mean) * factors
    return scaling(name, np.asarray(factors), np.asarray(terms), by_channel=True)


def _reshape(layer: Any, values: FloatArray, name: str) -> FloatArray:
    """What Flatten and Unflatten do, unless they touch the axis of the images."""
    flattening = hasattr(layer, "start_dim")
    if not flattening and not isinstance(layer.dim, int):
        raise refuse(f"{name} names its axes")
    first = (layer.start_dim if flattening else layer.dim) % values.ndim
    if first == 0:
        raise refuse(f"{name} joins the images of a batch")
    last = layer.end_dim % values.ndim if flattening else first
    middle = (-1,) if flattening else tuple(layer.unflattened_size)
    return values.reshape(*values.shape[:first], *middle, *values.shape[last + 1 :])


def _window(layer: Any) -> Window:
    padding = _pair(layer.padding)
    return Window(_pair(layer.kernel_size), _pair(layer.stride), (*padding, *padding))


def _pair(value: Any) -> Pair:
    return (value, value) if isinstance(value, int) else (value[0], value[-1])


def _bias(layer: Any) -> FloatArray | None:
    return None if layer.bias is None else _array(layer.bias)


def _array(tensor: Any) -> FloatArray:
    return np.asarray(tensor.detach().double().cpu().numpy())
