r"""Upper bounds of how much a layer can stretch a difference of its inputs, in L2.

Every number here is a proven upper bound, computed in float64 and moved up by far more than its rounding. Power
iteration and the norm of a reshaped kernel are bounds from *below*: a product of those certifies nothing.
"""

import math

import numpy as np

from gfscore.arrays import FloatArray

ROUNDING = 1e-9  # relative; singular values in float64 are off by some 1e-13
Pair = tuple[int, int]


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
    weight = _in_blocks(_dilated(np.asarray(kernel, dtype=np.float64), dilation), stride)
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


def _dilated(kernel: FloatArray, dilation: Pair) -> FloatArray:
    """The kernel with the holes that dilation leaves in it filled by zeros."""
    height, width = (1 + (taps - 1) * gap for taps, gap in zip(kernel.shape[2:], dilation, strict=True))
    spread = np.zeros((*kernel.shape[:2], height, width))
    spread[:, :, :: dilation[0], :: dilation[1]] = kernel
    return spread


def _in_blocks(kernel: FloatArray, stride: Pair) -> FloatArray:
    """The kernel of stride 1 that does the same to an image whose blocks of ``stride`` pixels were made channels."""
    out, channels, height, width = kernel.shape
    rows, columns = (-(-taps // step) for taps, step in zip((height, width), stride, strict=True))
    whole = np.zeros((out, channels, rows * stride[0], columns * stride[1]))
    whole[:, :, :height, :width] = kernel
    blocks = whole.reshape(out, channels, rows, stride[0], columns, stride[1]).transpose(0, 1, 3, 5, 2, 4)
    return blocks.reshape(out, channels * math.prod(stride), rows, columns)


def _outward(norm: float | np.floating) -> float:
    return float(norm) * (1.0 + ROUNDING)
