"""Radii from a Lipschitz constant of the logits, and upper bounds of how much a layer can stretch a difference, in L2.

A radius is the margin divided by how fast it can shrink. Every norm of a layer is a proven upper bound, computed in
float64 and moved up by far more than its rounding. Power iteration and the norm of a reshaped kernel are bounds from
*below*: a product of those certifies nothing.
"""

import math

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.errors import OptionError
from gfscore.samples import Samples
from gfscore.scores.given import apply_cap, check_cap
from gfscore.scores.great import decisions
from gfscore.scores.sample_scores import LocalScores

PREMISE = (
    "L2 radii in [0, 1] pixels, true if the logits are L-Lipschitz in the pixels with the constant L that is recorded, "
    "up to the rounding of the forward passes."
)
OUTWARD = 1e-9  # relative; singular values in float64 are off by some 1e-13
Pair = tuple[int, int]


def lipschitz_scores(
    samples: Samples, lipschitz: float, *, cap: float | None = None, how: str = "given"
) -> LocalScores:
    r"""Certified radius of each sample, from the L2 Lipschitz constant L of its logits in [0, 1] pixels.

    .. math:: R(x) = \frac{f_y(x) - \max_{j \ne y} f_j(x)}{\sqrt{2}\, L}

    or 0 where that is negative: a difference of two logits is :math:`\sqrt 2 L`-Lipschitz when the vector of logits is
    L-Lipschitz from L2 to L2. Tsuzuku, Sato and Sugiyama, NeurIPS 2018.

    A constant for the network's inputs after ``(pixel - mean) / std`` is one for pixels once it is divided by the
    smallest std: :func:`constant_in_pixels`. Radii above ``cap`` count as ``cap``.

    >>> samples = Samples.of([[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [0, 1, 0])
    >>> lipschitz_scores(samples, 10.0).values.round(4)
    array([0.1414, 0.0707, 0.    ])
    """
    if samples.probabilities:
        raise OptionError("a Lipschitz certificate needs logits, to which the constant belongs. Give logits.")
    own, rival, predicted = decisions(samples)
    limit = check_cap(cap, "l2")
    radii = np.maximum(own - rival, 0.0) / (math.sqrt(2.0) * check_constant(lipschitz))
    values, flags = apply_cap(radii, limit)
    return LocalScores(
        name="lipschitz",
        values=values,
        maximum=limit,
        predicted=predicted,
        premise=PREMISE,
        certified=True,
        own_logits=own,
        rival_logits=rival,
        norm="l2",
        settings={"lipschitz": lipschitz, "lipschitz_from": how, "cap": limit},
        flags=flags,
    )


def constant_in_pixels(lipschitz: float, std: tuple[float, ...]) -> float:
    r"""The constant in [0, 1] pixels of a network whose constant is for ``(pixel - mean) / std``.

    .. math:: \|f(u) - f(v)\| \le L \Big\|\frac{u - v}{\mathrm{std}}\Big\| \le \frac{L}{\min \mathrm{std}} \|u - v\|

    >>> constant_in_pixels(3.0, (0.25, 0.5))
    12.0
    """
    return check_constant(lipschitz) / min(std)


def check_constant(lipschitz: float) -> float:
    """The constant, if it can be one."""
    if not (math.isfinite(lipschitz) and lipschitz > 0):
        raise OptionError(f"Lipschitz constant {lipschitz:g} is not a positive number. Give a proven upper bound.")
    return float(lipschitz)


def linear_norm(weight: FloatArray) -> float:
    """Largest singular value of a matrix, moved up by rounding.

    >>> round(linear_norm(np.diag([3.0, -4.0])), 6)
    4.0
    """
    return _outward(np.linalg.norm(np.asarray(weight, dtype=np.float64), 2))


def convolution_norm(
    kernel: FloatArray,
    size: Pair,
    *,
    stride: Pair = (1, 1),
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    dilation: Pair = (1, 1),
    groups: int = 1,
) -> float:
    r"""Upper bound of the norm of a zero-padded convolution on images of ``size`` (height, width).

    .. math:: \|A\| \le \max_\omega \big\|\hat W(\omega)\big\|_2, \qquad
              \hat W(\omega)_{oi} = \sum_t W_{oit}\, e^{-2\pi \mathrm{i} \langle \omega, t \rangle}

    over the frequencies of a torus that holds the padded image. ``kernel`` is (out, in / groups, height, width);
    ``padding`` is top, left, bottom, right.

    Why it holds. Put the padded image on the torus: the values are the same, so is the norm. There the convolution
    wraps around, but its outputs at which the kernel fits into the padded image are those of A; leaving out the others
    only shrinks the norm. So the norm of the wrapped convolution is a bound, and the Fourier transform takes it apart
    into one matrix per frequency. A stride s first sorts the pixels of each s by s block into channels, which moves
    pixels and changes no norm: on those the convolution has stride 1. Groups act on channels of their own: the largest
    counts.

    How tight. A plane wave cut to the image shows, for any padding and stride 1, that A stretches by at least
    :math:`\sqrt{(H-h+1)(W-w+1)/(HW)}` of the bound, for a kernel of h by w pixels. The exact matrix of a circular
    convolution: Sedghi, Gupta and Long, ICLR 2019.

    >>> box = np.full((1, 1, 2, 2), 0.25)
    >>> round(convolution_norm(box, (8, 8)), 6), round(convolution_norm(box, (8, 8), stride=(2, 2)), 6)
    (1.0, 0.5)
    """
    weight = _stride_to_channels(_dilate(np.asarray(kernel, dtype=np.float64), dilation), stride)
    padded = size[0] + padding[0] + padding[2], size[1] + padding[1] + padding[3]
    torus = [max(-(-length // step), taps) for length, step, taps in zip(padded, stride, weight.shape[2:], strict=True)]
    largest = 0.0
    for group in np.split(weight, groups):
        symbols = np.fft.rfft2(group, s=torus)  # the other half holds conjugates, with the same singular values
        matrices = np.moveaxis(symbols, (0, 1), (2, 3))
        largest = max(largest, *(float(np.linalg.norm(row, 2, axis=(1, 2)).max()) for row in matrices))
    return _outward(largest)


def pooling_norm(kernel: Pair, stride: Pair) -> float:
    r"""Upper bound for max pooling: 1 when windows do not overlap, more when they do.

    .. math:: \sqrt{\lceil h/s_h \rceil \lceil w/s_w \rceil}

    A maximum moves by no more than the largest difference in its window, and a pixel lies in at most that many windows.

    >>> pooling_norm((2, 2), (2, 2)), pooling_norm((3, 3), (2, 2))
    (1.0, 2.0)
    """
    return math.sqrt(math.prod(-(-size // step) for size, step in zip(kernel, stride, strict=True)))


def averaging_norm(kernel: Pair, size: Pair, *, stride: Pair, padding: tuple[int, int, int, int]) -> float:
    """Upper bound for average pooling that counts its zero padding: a convolution of each channel by itself."""
    box = np.full((1, 1, *kernel), 1.0 / math.prod(kernel))
    return convolution_norm(box, size, stride=stride, padding=padding)


def scaling_norm(factors: FloatArray) -> float:
    """Norm of a multiplication by constants, such as batch normalisation once it is trained: the largest of them."""
    return _outward(np.abs(np.asarray(factors, dtype=np.float64)).max())


def _dilate(kernel: FloatArray, dilation: Pair) -> FloatArray:
    """The kernel with the holes that dilation leaves in it filled by zeros."""
    height, width = (1 + (taps - 1) * gap for taps, gap in zip(kernel.shape[2:], dilation, strict=True))
    spread = np.zeros((*kernel.shape[:2], height, width))
    spread[:, :, :: dilation[0], :: dilation[1]] = kernel
    return spread


def _stride_to_channels(kernel: FloatArray, stride: Pair) -> FloatArray:
    """The kernel of stride 1 that does the same to an image whose blocks of ``stride`` pixels were made channels."""
    out, channels, height, width = kernel.shape
    rows, columns = (-(-taps // step) for taps, step in zip((height, width), stride, strict=True))
    whole = np.zeros((out, channels, rows * stride[0], columns * stride[1]))
    whole[:, :, :height, :width] = kernel
    blocks = whole.reshape(out, channels, rows, stride[0], columns, stride[1]).transpose(0, 1, 3, 5, 2, 4)
    return blocks.reshape(out, channels * math.prod(stride), rows, columns)


def _outward(norm: float | np.floating) -> float:
    return float(norm) * (1.0 + OUTWARD)
