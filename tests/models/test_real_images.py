"""Real test sets, read as users have them."""

import numpy as np
import pytest

from gfscore.inputs.data import load_data
from gfscore.inputs.known_data import PRESETS
from gfscore.inputs.preprocessing import Preprocessing


@pytest.mark.parametrize(
    ("name", "shape"),
    [("cifar10_test", (32, 32, 3)), ("mnist_test", (28, 28, 1)), ("fashion_mnist_test", (28, 28, 1))],
)
def test_images_and_labels(realdata, name, shape):
    data = load_data(realdata / f"{name}.npz")
    with np.load(realdata / f"{name}.npz") as file:
        stored, labels = file["images"], file["labels"]
    assert data.labels.tolist() == labels.tolist()
    assert data.layout == "NHWC"
    assert data.images(slice(0, 256)).shape == (256, *shape)
    np.testing.assert_array_equal(data.images(slice(9_000, 10_000)).reshape(-1), stored[9_000:].reshape(-1))
    Preprocessing().check_range(data.images(slice(0, 256)))


def test_cifar_has_a_thousand_images_a_class(realdata):
    assert np.bincount(load_data(realdata / "cifar10_test.npz").labels).tolist() == [1000] * 10


@pytest.mark.parametrize(("name", "preset"), [("cifar10_test", "cifar10"), ("mnist_test", "mnist")])
def test_presets_normalise_the_data_they_are_named_after(realdata, name, preset):
    """They were computed on the training sets; the test sets come near: mean 0, deviation 1, per channel."""
    data = load_data(realdata / f"{name}.npz")
    inputs = Preprocessing.from_options(preset=preset).apply(data.images(slice(None)), data.layout, "NCHW")
    assert inputs.shape[1] == len(PRESETS[preset][0])
    assert np.abs(inputs.mean(axis=(0, 2, 3), dtype=np.float64)).max() < 0.03
    assert np.abs(inputs.std(axis=(0, 2, 3), dtype=np.float64) - 1).max() < 0.03
