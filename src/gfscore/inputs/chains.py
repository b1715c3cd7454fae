"""Lipschitz constants of networks that are chains of layers: the product of bounds of their spectral norms.

Each layer, as it is understood, can be run, and bounds how much it stretches a difference. Norm and values are made of
the same numbers. So when a chain of layers gives the logits that the network itself gives, the product of their norms
is about that network. All in float64; the first axis is always that of the images.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import expit

from gfscore.arrays import FloatArray
from gfscore.errors import InvalidInputError, ModelError, first_line, naming
from gfscore.inputs.models import TorchModel
from gfscore.inputs.models.forward_passes import forward_batches
from gfscore.inputs.protocols import Model
from gfscore.scores.lipschitz import Pair, averaging_norm, convolution_norm, linear_norm, pooling_norm, scaling_norm

COMPARED = 4  # images of each kind: given, random, and random far outside of what images are
FAR = 10.0  # times the spread of the images
TOLERANCE = 1e-5  # of the largest logit: float32 networks and the chain in float64 differ by some 1e-7 to 1e-6
Shape = tuple[int, ...]
Sides = tuple[int, int, int, int]  # top, left, bottom, right
Values = Callable[[FloatArray], FloatArray]
# Functions of each value by itself that are nowhere steeper than 1, as ONNX calls them.
ACTIVATIONS: dict[str, Values] = {
    "Identity": lambda values: values,
    "Relu": lambda values: np.maximum(values, 0.0),
    "Sigmoid": expit,
    "Softplus": lambda values: np.logaddexp(0.0, values),
    "Tanh": np.tanh,
}


def refuse(what: str, *, instead: str = "") -> ModelError:
    """The error that names why a network is no chain of known layers, and what else there is to do."""
    advice = f"{instead}, or give" if instead else "Give"
    return ModelError(f"{what}, so no Lipschitz constant is computed. {advice} a proven one with --lipschitz.")


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A step from (n, ...) to (n, ...) that treats every image by itself."""

    name: str  # as the network calls it
    run: Values  # what it makes of a batch
    norm: Callable[[Shape], float]  # how much it can stretch a difference of batches of a shape


class Window(NamedTuple):
    """Where a kernel of (height, width) is laid on images."""

    kernel: Pair
    stride: Pair
    padding: Sides
    dilation: Pair = (1, 1)

    def cut(self, values: FloatArray, fill: float) -> FloatArray:
        """Every window of (n, C, H, W), with ``fill`` around the images, as (n, C, rows, columns, h, w)."""
        top, left, bottom, right = self.padding
        around = np.pad(values, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
        reach = tuple(1 + (taps - 1) * gap for taps, gap in zip(self.kernel, self.dilation, strict=True))
        (down, across), (rows, columns) = self.stride, self.dilation
        return np.asarray(sliding_window_view(around, reach, axis=(2, 3))[:, :, ::down, ::across, ::rows, ::columns])


def linear(name: str, weight: FloatArray, bias: FloatArray | None) -> Layer:
    """A matrix (out, in) on the last axis."""

    def run(values: FloatArray) -> FloatArray:
        return np.asarray(values @ weight.T + (0.0 if bias is None else bias))

    return Layer(name, run, lambda _shape: linear_norm(weight))


def convolution(name: str, kernel: FloatArray, bias: FloatArray | None, window: Window, groups: int) -> Layer:
    """A kernel (out, in / groups, h, w) on images (n, in, H, W) with zeros around them."""
    kernels = np.split(kernel, groups)
    _, stride, padding, dilation = window

    def of_one(windows: FloatArray) -> FloatArray:
        parts = zip(kernels, np.split(windows, groups), strict=True)
        return np.concatenate([np.tensordot(each, part, ((1, 2, 3), (0, 3, 4))) for each, part in parts])

    def run(values: FloatArray) -> FloatArray:
        made = np.stack([of_one(image) for image in window.cut(values, 0.0)])  # singly: the copies inside are large
        return made if bias is None else np.asarray(made + bias.reshape(-1, 1, 1))

    def norm(shape: Shape) -> float:
        size = _image_size(shape, name)
        return convolution_norm(kernel, size, stride=stride, padding=padding, dilation=dilation, groups=groups)

    return Layer(name, run, norm)


def max_pooling(name: str, window: Window) -> Layer:
    """The largest value in each window; what is around the image never is."""

    def norm(shape: Shape) -> float:
        _image_size(shape, name)
        return pooling_norm(window.kernel, window.stride)

    return Layer(name, lambda values: np.asarray(window.cut(values, -np.inf).max(axis=(4, 5))), norm)


def averaging(name: str, window: Window) -> Layer:
    """The mean of each window, in which zeros around the image count."""

    def norm(shape: Shape) -> float:
        size = _image_size(shape, name)
        return averaging_norm(window.kernel, size, stride=window.stride, padding=window.padding)

    return Layer(name, lambda values: np.asarray(window.cut(values, 0.0).mean(axis=(4, 5))), norm)


def global_averaging(name: str) -> Layer:
    """The mean of each channel, whose axes stay with length 1."""

    def run(values: FloatArray) -> FloatArray:
        return np.asarray(values.mean(axis=tuple(range(2, values.ndim)), keepdims=True))

    return Layer(name, run, lambda shape: scaling_norm(np.asarray(1.0 / math.sqrt(math.prod(shape[2:])))))


def scaling(name: str, factors: FloatArray, terms: FloatArray, *, by_channel: bool = False) -> Layer:
    """A factor and a term for each value, the same for every image; ``by_channel``: (C,), for the second axis."""

    def along(each: FloatArray, shape: Shape) -> FloatArray:
        shaped = each.reshape(-1, *[1] * (len(shape) - 2)) if by_channel else each
        images = shaped.shape[0] if shaped.ndim == len(shape) else 1
        if images != 1 or np.broadcast_shapes(shaped.shape, shape) != shape:
            raise refuse(f"{name} repeats its input, or differs from image to image")
        return shaped

    def run(values: FloatArray) -> FloatArray:
        return np.asarray(values * along(factors, values.shape) + along(terms, values.shape))

    return Layer(name, run, lambda _shape: scaling_norm(factors))


def bounded(name: str, run: Values, slope: float = 1.0) -> Layer:
    """A function of each value that is nowhere steeper than ``slope``.

    Or values in another shape or order, perhaps with constants around them, which stretches nothing.
    """
    return Layer(name, run, lambda _shape: slope)


def _image_size(shape: Shape, name: str) -> Pair:
    """Height and width; with fewer axes the images of a batch would be taken for the channels of one."""
    if len(shape) != 4:
        raise refuse(f"{name} takes {len(shape)} axes and not images, channels, height and width")
    return shape[2], shape[3]


def chain_bound(model: Model, inputs: FloatArray) -> float:
    """Upper bound of the L2 Lipschitz constant of the logits in the model's inputs, such as ``inputs`` (n, ...).

    For ONNX graphs and ``torch.nn.Sequential`` in which every operator is known and nothing joins two branches;
    anything else is refused by name: a product that left something out would certify nothing. The layers, as they are
    understood, are then run beside the model itself, on some of the inputs and on random ones: a chain whose logits
    are others is refused, too.
    """
    with naming(model.name):
        layers = _layers(model, inputs.shape[1:])
        for images in _test_images(inputs):
            shapes = _compare(model, images, layers)
        bound = math.prod(layer.norm(shape) for layer, shape in zip(layers, shapes, strict=True))
        if not math.isfinite(bound):
            raise refuse("a layer has weights that are not finite")
        if bound == 0:
            raise ModelError("has logits that do not depend on the image: every image has the same class.")
        return bound


def _layers(model: Model, shape: Shape) -> tuple[Layer, ...]:
    """The layers of a model that shows them."""
    if isinstance(model, TorchModel):
        from gfscore.inputs.torch_chain import sequential_layers

        return tuple(sequential_layers(model))
    from gfscore.inputs.models.onnx_model import OnnxModel

    if isinstance(model, OnnxModel):
        from gfscore.inputs.onnx_chain import graph_layers

        return graph_layers(model, shape)
    raise refuse(f"{type(model).__name__} shows no layers")


def _test_images(inputs: FloatArray) -> Iterator[FloatArray]:
    """Images on which chain and model are held against each other: given ones, and two kinds of random ones."""
    rng = np.random.default_rng(0)
    given = np.ascontiguousarray(inputs[:COMPARED], dtype=np.float32)
    middle, spread = float(given.mean()), float(given.std()) or 1.0
    yield given
    for scale in (spread, FAR * spread):
        yield rng.normal(middle, scale, (COMPARED, *given.shape[1:])).astype(np.float32)


def _compare(model: Model, inputs: FloatArray, layers: tuple[Layer, ...]) -> list[Shape]:
    """Refuse layers whose logits are not those of the model, which then does something that was not seen.

    Returns the shape of what each layer is given.
    """
    own = forward_batches(model, inputs.copy(), len(inputs)).values  # a copy: a layer may write into what it is given
    values: FloatArray = np.asarray(inputs, dtype=np.float64)
    shapes = []
    for layer in layers:
        shapes.append(values.shape)
        try:
            values = layer.run(values)
        except InvalidInputError:
            raise
        except ValueError as error:  # numpy's, of shapes that do not fit
            raise refuse(f"{layer.name} does not run as it is understood ({first_line(error)})") from error
    largest = float(np.abs(own).max()) or 1.0  # zeros everywhere are matched by zeros
    off = float(np.abs(values.reshape(own.shape) - own).max()) / largest if values.size == own.size else math.inf
    if not off <= TOLERANCE:  # also when it is NaN
        raise refuse(f"run layer by layer its logits are off by {off:.1e} of the largest: it does more than it shows")
    return shapes
