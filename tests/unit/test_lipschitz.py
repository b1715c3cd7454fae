"""Bounds of layers against the dense matrix of the same layer: never below it, and close where that is promised."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gfscore.scores.lipschitz import averaging_norm, convolution_norm, linear_norm, pooling_norm, scaling_norm


def convolve(image, kernel, stride, padding, dilation, groups):
    """A convolution by its definition, one tap at a time; (in, H, W) to (out, H', W')."""
    top, left, bottom, right = padding
    padded = np.pad(image, ((0, 0), (top, bottom), (left, right)))
    out, per_group, h, w = kernel.shape
    rows = (padded.shape[1] - dilation[0] * (h - 1) - 1) // stride[0] + 1
    columns = (padded.shape[2] - dilation[1] * (w - 1) - 1) // stride[1] + 1
    result = np.zeros((out, rows, columns))
    for o in range(out):
        first = (o // (out // groups)) * per_group
        for i in range(per_group):
            for u in range(h):
                for v in range(w):
                    y, x = u * dilation[0], v * dilation[1]
                    seen = padded[
                        first + i, y : y + stride[0] * rows : stride[0], x : x + stride[1] * columns : stride[1]
                    ]
                    result[o] += kernel[o, i, u, v] * seen[:rows, :columns]
    return result


def dense_norm(kernel, size, stride=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1), groups=1):
    channels = kernel.shape[1] * groups
    basis = np.eye(channels * math.prod(size)).reshape(-1, channels, *size)
    matrix = np.stack([convolve(image, kernel, stride, padding, dilation, groups).ravel() for image in basis])
    return np.linalg.svd(matrix, compute_uv=False)[0]


@st.composite
def convolutions(draw):
    small = st.integers(1, 3)
    groups = draw(st.sampled_from([1, 1, 2]))
    out, channels = groups * draw(st.integers(1, 2)), draw(st.integers(1, 2))
    taps, stride, dilation = ((draw(small), draw(small)) for _ in range(3))
    padding = tuple(draw(st.integers(0, 2)) for _ in range(4))
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, taps, strict=True)]
    size = tuple(max(draw(st.integers(1, 6)), reach[axis] - padding[axis] - padding[axis + 2]) for axis in range(2))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kernel = rng.normal(size=(out, channels, *taps)) * rng.choice([0.0, 1.0], (out, channels, *taps), p=[0.2, 0.8])
    return kernel, size, {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}


@given(convolutions())
@settings(max_examples=150)
def test_no_convolution_stretches_more_than_its_bound(case):
    kernel, size, options = case
    assert dense_norm(kernel, size, **options) <= convolution_norm(kernel, size, **options)


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(4, 9), st.integers(4, 9), st.integers(0, 2))
@settings(max_examples=40)
def test_the_bound_is_as_tight_as_promised(seed, taps, height, width, pad):
    kernel = np.random.default_rng(seed).normal(size=(2, 2, taps, taps))
    dense = dense_norm(kernel, (height, width), padding=(pad,) * 4)
    factor = math.sqrt(height * width / ((height - taps + 1) * (width - taps + 1)))
    assert convolution_norm(kernel, (height, width), padding=(pad,) * 4) <= dense * factor * (1 + 1e-8)


def test_strides_are_not_paid_for_twice():
    """On an even image a strided box is exact, where the bound that forgets the stride is off by its square root."""
    box = np.ones((1, 1, 2, 2))
    assert convolution_norm(box, (8, 8), stride=(2, 2)) == pytest.approx(dense_norm(box, (8, 8), stride=(2, 2)), 1e-8)
    assert convolution_norm(box, (8, 8)) == pytest.approx(4.0)


def test_a_reshaped_kernel_is_no_bound():
    """What is often taken for the norm of a convolution lies below it."""
    kernel = np.random.default_rng(0).normal(size=(4, 3, 3, 3))
    assert np.linalg.norm(kernel.reshape(4, -1), 2) < dense_norm(kernel, (6, 6), padding=(1, 1, 1, 1))


@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(1, 8))
def test_linear_layers_are_bounded_closely(seed, rows, columns):
    weight = np.random.default_rng(seed).normal(size=(rows, columns))
    exact = math.sqrt(np.linalg.eigvalsh(weight @ weight.T)[-1])
    assert exact <= linear_norm(weight) <= exact * (1 + 1e-7)


@given(st.integers(0, 2**32), st.sampled_from([(2, 2), (3, 2), (3, 1), (2, 3)]))
def test_max_pooling_never_stretches_more_than_its_bound(seed, window):
    size, step = window
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, 9, 9))
    starts = range(0, 9 - size + 1, step)

    def pooled(image):
        return np.array([[image[y : y + size, x : x + size].max() for x in starts] for y in starts])

    stretched = np.linalg.norm(pooled(first) - pooled(second))
    assert stretched <= pooling_norm((size, size), (step, step)) * np.linalg.norm(first - second)


def test_overlapping_max_pooling_really_stretches():
    """One pixel in four windows: the bound of 2 is reached, and 1 would be wrong."""
    image = np.zeros((5, 5))
    image[2, 2] = 1.0
    seen = np.array([[image[y : y + 3, x : x + 3].max() for x in (0, 2)] for y in (0, 2)])
    assert np.linalg.norm(seen) / np.linalg.norm(image) == pooling_norm((3, 3), (2, 2)) == 2.0


def test_averages_and_scalings():
    assert averaging_norm((2, 2), (6, 6), stride=(2, 2), padding=(0, 0, 0, 0)) == pytest.approx(0.5)
    assert scaling_norm(np.array([0.5, -3.0])) == pytest.approx(3.0)
