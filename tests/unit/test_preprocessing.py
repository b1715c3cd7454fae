"""Values against a plain loop in float64; shapes against Pillow; and every refusal word for word."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from gfscore.errors import OptionError
from gfscore.inputs.known_data import PRESETS
from gfscore.inputs.preprocessing import Preprocessing


def plain(images, from_layout, to_layout, mean, std, low, high):
    """The definition, pixel by pixel."""
    if from_layout == "NCHW":
        images = images.transpose(0, 2, 3, 1)
    n, height, width, channels = images.shape
    inputs = np.empty(images.shape)
    for image in range(n):
        for row in range(height):
            for column in range(width):
                for channel in range(channels):
                    pixel = (float(images[image, row, column, channel]) - low) / (high - low)
                    m, s = mean[channel % len(mean)], std[channel % len(std)]
                    inputs[image, row, column, channel] = (pixel - m) / s
    return inputs.transpose(0, 3, 1, 2) if to_layout == "NCHW" else inputs


@pytest.mark.parametrize("from_layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("to_layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("preset", list(PRESETS))
def test_bytes_agree_with_a_plain_loop(from_layout, to_layout, preset):
    mean, std = PRESETS[preset]
    shape = (2, 4, 5, 3) if from_layout == "NHWC" else (2, 3, 4, 5)
    images = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    inputs = Preprocessing.from_options(preset=preset).apply(images, from_layout, to_layout)
    assert inputs.dtype == np.float32
    assert inputs.flags.c_contiguous
    expected = plain(images, from_layout, to_layout, mean, std, 0, 255)
    np.testing.assert_allclose(inputs, expected, rtol=0, atol=4 * np.finfo(np.float32).eps * np.abs(expected).max())


@given(
    st.sampled_from([np.uint8, np.int64, np.float16, np.float32, np.float64]), st.integers(-300, 0), st.integers(1, 300)
)
def test_any_type_and_range_agrees_with_a_plain_loop(dtype, low, high):
    rng = np.random.default_rng(0)
    low = max(low, 0) if dtype == np.uint8 else low
    images = rng.integers(low, min(high, 255) + 1, (1, 2, 3, 1)).astype(dtype)
    preprocessing = Preprocessing(mean=(0.25,), std=(0.5,), value_range=(low, high))
    preprocessing.check_range(images)
    expected = plain(images, "NHWC", "NCHW", (0.25,), (0.5,), low, high)
    np.testing.assert_allclose(preprocessing.apply(images, "NHWC", "NCHW"), expected, rtol=0, atol=1e-6)


def test_applying_is_unit_then_normalise():
    preprocessing = Preprocessing.from_options(preset="imagenet", value_range="-1,1")
    images = np.random.default_rng(0).uniform(-1, 1, (3, 3, 4, 4)).astype(np.float32)
    unit = preprocessing.to_unit(images)
    assert (unit >= 0).all()
    assert (unit <= 1).all()
    np.testing.assert_allclose(
        preprocessing.normalise(unit, "NCHW"), preprocessing.apply(images, "NCHW", "NCHW"), rtol=0, atol=1e-6
    )


def test_nothing_to_do_copies_nothing():
    images = np.zeros((2, 1, 8, 8), np.float32)
    assert np.shares_memory(Preprocessing().apply(images, "NCHW", "NCHW"), images)


def test_bytes_map_to_exact_ends():
    images = np.array([0, 255], np.uint8).reshape(2, 1, 1, 1)
    assert Preprocessing().to_unit(images).ravel().tolist() == [0.0, 1.0]


class TestOptions:
    def test_what_a_user_writes(self):
        preprocessing = Preprocessing.from_options(
            mean="0.1,0.2,0.3",
            std=[0.1, 0.2, 0.3],
            resize="40",
            crop="32x24",
            value_range="0,1",
            grey=True,
            layout="NCHW",
        )
        assert preprocessing == Preprocessing(
            mean=(0.1, 0.2, 0.3),
            std=(0.1, 0.2, 0.3),
            resize=40,
            crop=(32, 24),
            value_range=(0.0, 1.0),
            grey=True,
            layout="NCHW",
        )

    def test_the_description_is_json_and_tells_all_apart(self):
        described = [
            json.dumps(Preprocessing.from_options(**options).describe(), sort_keys=True)
            for options in ({}, {"preset": "half"}, {"resize": 3}, {"crop": 3}, {"value_range": "0,2"}, {"grey": True})
        ]
        assert len(set(described)) == len(described)

    def test_names_are_read_in_any_case(self):
        said = Preprocessing.from_options(preset="CIFAR10", layout="nchw", interpolation="Bicubic")
        assert said == Preprocessing.from_options(preset="cifar10", layout="NCHW", interpolation="bicubic")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"preset": "cifar"},
                "preset is 'cifar'; it must be one of imagenet, cifar10, cifar100, mnist, half, bytes.",
            ),
            (
                {"preset": "half", "mean": "0"},
                "preset 'half' is given beside mean or std. Give one or the other.",
            ),
            ({"mean": "0.5"}, "mean is given without std. Give both (mean 0 and std 1 change nothing)."),
            ({"std": "0.5"}, "std is given without mean. Give both (mean 0 and std 1 change nothing)."),
            (
                {"mean": "0.5;0.5", "std": "1"},
                "mean is '0.5;0.5'. Give numbers separated by commas, such as 0.49,0.48,0.45.",
            ),
            (
                {"mean": "nan", "std": "1"},
                "mean is (nan,). Give a number per channel, such as 0.49,0.48,0.45.",
            ),
            (
                {"mean": "0", "std": "0"},
                "std is (0.0,); every value must be above 0. Give a number per channel.",
            ),
            (
                {"mean": "0,0", "std": "1,1,1"},
                "mean has 2 values and std 3. Give one each per channel.",
            ),
            ({"resize": "a"}, "resize is 'a'. Give pixels, such as 224, or height x width, such as 224x320."),
            ({"crop": "1x2x3"}, "crop is '1x2x3'. Give pixels, such as 224, or height x width, such as 224x320."),
            ({"crop": 0}, "crop is 0. Give pixels, such as 224 or 224x224."),
            ({"value_range": "1,0"}, "range is 1 to 0. Give the lower end, then the upper, such as -1,1."),
            ({"value_range": "1"}, "range has 1 numbers. Give the two ends, such as -1,1."),
            (
                {"interpolation": "cubic"},
                "interpolation is 'cubic'; it must be one of nearest, bilinear, bicubic, lanczos, box.",
            ),
            (
                {"mean": "125,122,113", "std": "63,62,66"},
                (
                    "--mean 125,122,113 --std 63,62,66 are in 0 to 255, and pixels are in 0 to 1 here. Divide by 255: "
                    "--mean 0.490,0.478,0.443 --std 0.247,0.243,0.259."
                ),
            ),
            (
                {"mean": (125, 122, 113), "std": (0.25, 0.24, 0.26)},
                (
                    "--mean 125,122,113 is in 0 to 255, and pixels are in 0 to 1 here. Divide by 255: "
                    "--mean 0.490,0.478,0.443."
                ),
            ),
            (
                {"mean": "0", "std": "255"},
                "--std 255 is in 0 to 255, and pixels are in 0 to 1 here. Divide by 255: --std 1.000.",
            ),
            (
                {"mean": "30000", "std": "9000"},
                (
                    "--mean 30000 --std 9000 are above 255, and pixels are in 0 to 1 here. Divide by the largest pixel "
                    "value."
                ),
            ),
            ({"layout": "CHWN"}, "layout is 'CHWN'; it must be one of NHWC, NCHW."),
        ],
    )
    def test_refusals(self, options, message):
        with pytest.raises(OptionError) as refused:
            Preprocessing.from_options(**options)
        assert str(refused.value) == message

    def test_the_number_of_channels_is_checked_against_the_images(self):
        with pytest.raises(OptionError, match=r"^mean has 3 values for images of 1 channel\(s\). Make them equal.$"):
            Preprocessing.from_options(preset="cifar10").apply(np.zeros((1, 8, 8, 1), np.uint8), "NHWC", "NCHW")

    def test_a_batch_has_four_axes(self):
        with pytest.raises(OptionError, match=r"^images have shape \(8, 8\); a batch in layout NHWC has four axes.$"):
            Preprocessing().apply(np.zeros((8, 8), np.uint8), "NHWC", "NCHW")


class TestRange:
    @pytest.mark.parametrize(
        ("images", "message"),
        [
            (
                np.array([0.0, 255.0], np.float32),
                (
                    "images reach from 0 to 255, outside [0, 1]. They look like 0 to 255: save them as uint8, or give "
                    "--range 0,255 (range=(0, 255))."
                ),
            ),
            (
                np.array([0, 200]),
                (
                    "images reach from 0 to 200, outside [0, 1]. They look like 0 to 255: save them as uint8, or give "
                    "--range 0,255 (range=(0, 255))."
                ),
            ),
            (
                np.array([0, 65535], np.uint16),
                "images reach from 0 to 6.554e+04, outside [0, 1]. If pixels end at 65535, give --range 0,65535.",
            ),
            (
                np.array([-1.0, 1.0], np.float32),
                (
                    "images reach from -1 to 1, outside [0, 1]. If pixels were scaled to [-1, 1], as generators do, "
                    "give --range -1,1 (range=(-1, 1))."
                ),
            ),
            (
                np.array([-2.1, 2.6], np.float32),
                (
                    "images reach from -2.1 to 2.6, outside [0, 1]. They look normalised, and would be again: save "
                    "pixels (images * std + mean), and give mean and std here."
                ),
            ),
            (
                np.array([0, 1], np.uint8),
                (
                    "images are uint8 but no value is above 1: they look like [0, 1] pixels cut to whole numbers. Save "
                    "them as float32, or as 0 to 255; if 0 and 1 are meant, give --range 0,1."
                ),
            ),
            (np.array([0.5, np.nan]), "images hold NaN or infinity. Look for the division that made it."),
            (np.array([1j]), "images have type complex128. Save them as uint8 or float32."),
        ],
    )
    def test_refusals(self, images, message):
        with pytest.raises(OptionError) as refused:
            Preprocessing().check_range(images)
        assert str(refused.value) == message

    @pytest.mark.parametrize(
        "images",
        [np.array([0, 2], np.uint8), np.array([0.0, 1.0]), np.array([0.0, 1 + 1e-6]), np.array([True, False])],
    )
    def test_what_is_right_passes(self, images):
        Preprocessing().check_range(images)

    def test_a_range_that_was_given_is_held_against_the_images(self):
        Preprocessing(value_range=(0, 1)).check_range(np.array([0, 1], np.uint8))
        with pytest.raises(OptionError, match=r"^images reach from -1 to 1, outside the range 0 to 1 that was given\."):
            Preprocessing(value_range=(0, 1)).check_range(np.array([-1.0, 1.0]))


class TestShape:
    def image(self, height=30, width=50):
        pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
        return Image.fromarray(pixels)

    @pytest.mark.parametrize(
        ("options", "height", "width"),
        [
            ({"resize": 15}, 15, 25),
            ({"resize": (8, 9)}, 8, 9),
            ({"crop": 20}, 20, 20),
            ({"crop": (10, 40)}, 10, 40),
            ({"resize": 15, "crop": 15}, 15, 15),
        ],
    )
    def test_sizes(self, options, height, width):
        fitted = Preprocessing(**options).fit(self.image())
        assert (fitted.height, fitted.width) == (height, width)

    def test_the_longer_side_keeps_the_proportion_of_a_tall_image_too(self):
        assert Preprocessing(resize=15).fit(self.image(50, 30)).size == (15, 25)

    def test_the_crop_is_the_middle(self):
        whole = np.asarray(self.image())
        np.testing.assert_array_equal(np.asarray(Preprocessing(crop=20).fit(self.image())), whole[5:25, 15:35])

    def test_resizing_averages_what_it_leaves_out(self):
        """Antialiasing: an image of black and white columns, made four times smaller, is grey."""
        stripes = np.zeros((64, 64, 3), np.uint8)
        stripes[:, ::2] = 255
        small = np.asarray(Preprocessing(resize=16).fit(Image.fromarray(stripes)))
        assert abs(small.astype(int) - 128).max() < 16

    def test_grey(self):
        assert Preprocessing(grey=True).fit(self.image()).mode == "L"

    def test_a_crop_larger_than_the_image_is_refused(self):
        with pytest.raises(
            OptionError, match=r"^crop 40 x 40 is larger than the image of 30 x 50 pixels. Resize first"
        ):
            Preprocessing(crop=40).fit(self.image())

    @pytest.mark.parametrize("options", [{"crop": 16}, {"resize": 16}, {"resize": (16, 16)}])
    def test_a_shape_that_was_never_made_is_noticed(self, options):
        with pytest.raises(
            OptionError, match=r"^images are 32 x 32 pixels but resize is .* Give the preprocessing to load_data"
        ):
            Preprocessing(**options).apply(np.zeros((1, 32, 32, 3), np.uint8), "NHWC", "NCHW")
        Preprocessing(**options).apply(np.zeros((1, 3, 16, 16), np.uint8), "NCHW", "NCHW")
