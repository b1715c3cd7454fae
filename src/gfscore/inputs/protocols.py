"""What a model and a data set must offer to be run, whatever they are made of."""

from typing import Any, Literal, Protocol

from numpy.typing import NDArray

from gfscore.arrays import FloatArray, IntArray

Layout = Literal["NHWC", "NCHW"]


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
