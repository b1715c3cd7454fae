"""The layers of a chain as they are understood: each can be run, and bounds how much it stretches a difference.

Norm and values are made of the same numbers. So when a chain of these gives the logits that the network itself gives,
the product of its norms is about that network. All in float64; the first axis is always that of the images.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gfscore.arrays import FloatArray
from gfscore.inputs.chains.refusals import refuse
from gfscore.scores.lipschitz import Pair, averaging_norm, convolution_norm, linear_norm, pooling_norm, scaling_norm

Shape = tuple[int, ...]
Sides = tuple[int, int, int, int]  # top, left, bottom, right


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A step from (n, ...) to (n, ...) that treats every image by itself."""

    name: str  # as the network calls it
    run: Callable[[FloatArray], FloatArray]  # what it makes of a batch
    norm: Callable[[Shape], float]  # how much it can stretch a difference of batches of a shape


def linear(name: str, weight: FloatArray, bias: FloatArray | None) -> Layer:
    """A matrix (out, in) on the last axis."""

    def run(values: FloatArray) -> FloatArray:
        return np.asarray(values @ weight.T + (0.0 if bias is None else bias))

    return Layer(name, run, lambda _shape: linear_norm(weight))


def convolution(
    name: str,
    kernel: FloatArray,
    bias: FloatArray | None,
    *,
    stride: Pair,
    padding: Sides,
    dilation: Pair,
    groups: int,
) -> Layer:
    """A kernel (out, in / groups, h, w) on images (n, in, H, W) with zeros around them."""
    kernels = np.split(kernel, groups)

    def of_one(windows: FloatArray) -> FloatArray:
        parts = zip(kernels, np.split(windows, groups), strict=True)
        return np.concatenate([np.tensordot(each, part, ((1, 2, 3), (0, 3, 4))) for each, part in parts])

    def run(values: FloatArray) -> FloatArray:
        windows = _windows(_padded(values, padding, 0.0), kernel.shape[2:], stride, dilation)
        made = np.stack([of_one(image) for image in windows])  # one at a time: the copies inside are large
        return made if bias is None else np.asarray(made + bias.reshape(-1, 1, 1))

    def norm(shape: Shape) -> float:
        size = _image_size(shape, name)
        return convolution_norm(kernel, size, stride=stride, padding=padding, dilation=dilation, groups=groups)

    return Layer(name, run, norm)


def max_pooling(name: str, kernel: Pair, *, stride: Pair, padding: Sides) -> Layer:
    """The largest value in each window; what is around the image never is."""

    def run(values: FloatArray) -> FloatArray:
        return np.asarray(_windows(_padded(values, padding, -np.inf), kernel, stride).max(axis=(4, 5)))

    def norm(shape: Shape) -> float:
        _image_size(shape, name)
        return pooling_norm(kernel, stride)

    return Layer(name, run, norm)


def averaging(name: str, kernel: Pair, *, stride: Pair, padding: Sides) -> Layer:
    """The mean of each window, in which zeros around the image count."""

    def run(values: FloatArray) -> FloatArray:
        return np.asarray(_windows(_padded(values, padding, 0.0), kernel, stride).mean(axis=(4, 5)))

    def norm(shape: Shape) -> float:
        return averaging_norm(kernel, _image_size(shape, name), stride=stride, padding=padding)

    return Layer(name, run, norm)


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


def pointwise(name: str, function: Callable[[FloatArray], FloatArray], slope: float = 1.0) -> Layer:
    """A function of each value by itself, nowhere steeper than ``slope``."""
    return Layer(name, function, lambda _shape: slope)


def rearranging(name: str, rearrange: Callable[[FloatArray], FloatArray]) -> Layer:
    """The same values of an image in another shape or order, or with constants around them."""
    return Layer(name, rearrange, lambda _shape: 1.0)


def unchanged(name: str) -> Layer:
    """What does nothing once a network is trained."""
    return Layer(name, lambda values: values, lambda _shape: 1.0)


def _image_size(shape: Shape, name: str) -> Pair:
    """Height and width; with fewer axes the images of a batch would be taken for the channels of one."""
    if len(shape) != 4:
        raise refuse(f"{name} takes {len(shape)} axes and not images, channels, height and width")
    return shape[2], shape[3]


def _padded(values: FloatArray, sides: Sides, fill: float) -> FloatArray:
    top, left, bottom, right = sides
    return np.pad(values, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)


def _windows(values: FloatArray, kernel: Shape, stride: Pair, dilation: Pair = (1, 1)) -> FloatArray:
    """Every window of (n, C, H, W) as (n, C, rows, columns, h, w), without a copy."""
    reach = tuple(1 + (taps - 1) * gap for taps, gap in zip(kernel, dilation, strict=True))
    windows = sliding_window_view(values, reach, axis=(2, 3))
    return np.asarray(windows[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]])
