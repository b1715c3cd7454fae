"""What a model and a data set must offer to be run, whatever they are made of, and the order of an image's axes."""

from typing import Any, Literal, Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import InvalidInputError

LOGITS = "logits"  # an output that is called so is taken, where nobody chose one of several
Layout = Literal["NHWC", "NCHW"]
CHANNEL_AXIS: dict[Layout, int] = {"NHWC": 3, "NCHW": 1}
EVIDENT_CHANNELS = (1, 3)  # an axis of this length, and no other like it, holds the channels


class Model(Protocol):
    """A classifier: a batch of preprocessed inputs in, logits out."""

    @property
    def name(self) -> str:
        """What the user calls it."""

    @property
    def fingerprint(self) -> str | None:
        """Hash of everything that decides its logits: weights, graph, runtime. None when it cannot be known."""

    @property
    def fixed_batch(self) -> int | None:
        """The only batch size it takes, or None when it takes any."""

    @property
    def layout(self) -> Layout:
        """Order of the axes of its input."""

    def __call__(self, inputs: FloatArray) -> FloatArray:
        """Logits (n, K) as float32 for inputs (n, ...) in ``layout``, float32; n fits ``fixed_batch``."""


class Dataset(Protocol):
    """Labelled images that can be read in pieces, in a fixed order."""

    @property
    def source(self) -> str:
        """What the user calls it."""

    @property
    def labels(self) -> IntArray:
        """True classes, (N,) int64; their number is the size of the data set."""

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """Names of the classes in the order of the labels, where the data has any."""

    @property
    def sample_ids(self) -> tuple[str, ...] | None:
        """A name per sample, such as its path, where the data has any."""

    @property
    def layout(self) -> Layout:
        """Order of the axes that :meth:`images` gives."""

    @property
    def fingerprint(self) -> str:
        """Hash of all images and labels."""

    @property
    def seed(self) -> int | None:
        """Seed of the generator that draws the images, or None for data that exist."""

    @property
    def class_sizes(self) -> IntArray | None:
        """Images of each class in the fixed set that these, or a random part of it, are; None for a generator."""

    def images(self, rows: slice) -> NDArray[Any]:
        """Images of some rows, (n, ...) in ``layout``: uint8, or floats as they were stored."""


class SuggestedPreprocessing(TypedDict):
    """Evaluation preprocessing that comes with a model, for images scaled to [0, 1].

    First ``resize`` (an integer is the shorter edge, a pair is height and width), then a centred ``crop`` (height and
    width), then ``(x - mean) / std`` per channel.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    resize: int | tuple[int, int] | None
    crop: tuple[int, int] | None
    interpolation: str


def with_channels(pixels: NDArray[Any], layout: Layout | None) -> tuple[NDArray[Any], Layout]:
    """Images with four axes, and their layout: as given, or from the one axis that has the length of channels.

    >>> with_channels(np.zeros((5, 28, 28)), None)[0].shape, with_channels(np.zeros((5, 3, 32, 32)), None)[1]
    ((5, 28, 28, 1), 'NCHW')
    """
    if pixels.ndim == 3:
        return (pixels[:, None], "NCHW") if layout == "NCHW" else (pixels[..., None], "NHWC")
    if pixels.ndim != 4 or 0 in pixels.shape[1:]:
        raise InvalidInputError(
            f"images have shape {pixels.shape}; it must be (N, H, W), (N, H, W, C) or (N, C, H, W). Reshape them."
        )
    if layout is not None:
        return pixels, layout
    first, last = pixels.shape[1] in EVIDENT_CHANNELS, pixels.shape[3] in EVIDENT_CHANNELS
    if first == last:
        raise InvalidInputError(
            f"images have shape {pixels.shape}, which does not tell where the channels are. "
            "Give --layout NHWC or --layout NCHW (Preprocessing(layout=...))."
        )
    return pixels, "NCHW" if first else "NHWC"


def change_layout(images: NDArray[Any], given: Layout, wanted: Layout) -> NDArray[Any]:
    """A view of the images in another layout."""
    if given == wanted:
        return images
    return images.transpose((0, 3, 1, 2) if wanted == "NCHW" else (0, 2, 3, 1))


def along_channels(values: NDArray[np.float64], layout: Layout) -> NDArray[np.float32]:
    """Values per channel as float32, in a shape that broadcasts over a batch."""
    return values.astype(np.float32).reshape((1, -1, 1, 1) if layout == "NCHW" else (1, 1, 1, -1))
