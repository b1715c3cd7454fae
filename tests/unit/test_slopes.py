"""Slopes that are measured: never above the truth, and not far below it where the network is linear."""

import numpy as np
import pytest

from gfscore.measures.slopes import measured_slope

IMAGES = np.random.default_rng(1).random((5, 1, 6, 6), dtype=np.float32)


def linear_model(seed, features=36, classes=5):
    weight = np.random.default_rng(seed).normal(size=(features, classes))
    return weight, lambda pixels: (pixels.reshape(len(pixels), -1) @ weight + 3.0).astype(np.float32)


@pytest.mark.parametrize("seed", range(10))
def test_a_linear_network_is_measured_from_below(seed):
    weight, classify = linear_model(seed)
    truth = np.linalg.norm(weight, 2)
    assert 0.8 * truth < measured_slope(classify, IMAGES) <= truth


def test_few_pixels_are_measured_whole():
    """With as many directions as pixels the steepest of all is among what they span."""
    weight, classify = linear_model(0, features=9)
    assert measured_slope(classify, IMAGES[:, :, :3, :3]) == pytest.approx(np.linalg.norm(weight, 2), rel=1e-2)


def test_every_point_is_an_image():
    seen = []

    def classify(pixels):
        seen.append(pixels)
        return pixels.reshape(len(pixels), -1)[:, :3]

    measured_slope(classify, np.concatenate([np.zeros((2, 1, 4, 4)), np.ones((2, 1, 4, 4))]).astype(np.float32))
    points = np.concatenate(seen)
    assert points.dtype == np.float32
    assert points.min() >= 0
    assert points.max() <= 1
    assert len(points) < 400


def test_rounding_is_no_slope():
    """Logits that are constant up to the last bits of float32 have none."""
    rng = np.random.default_rng(0)

    def classify(pixels):
        return (1000 * (1 + 1e-6 * rng.normal(size=(len(pixels), 3)))).astype(np.float32)

    assert measured_slope(classify, IMAGES) <= 0
