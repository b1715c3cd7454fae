"""Where the channels of a batch of images are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore.errors import InvalidInputError
from gfscore.inputs.protocols import Layout

CHANNEL_AXIS: dict[Layout, int] = {"NHWC": 3, "NCHW": 1}
EVIDENT_CHANNELS = (1, 3)  # an axis of this length, and no other like it, holds the channels


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


def moved(images: NDArray[Any], from_layout: Layout, to_layout: Layout) -> NDArray[Any]:
    """A view of the images in another layout."""
    if from_layout == to_layout:
        return images
    return images.transpose((0, 3, 1, 2) if to_layout == "NCHW" else (0, 2, 3, 1))


def along_channels(values: NDArray[np.float64], layout: Layout) -> NDArray[np.float32]:
    """Values per channel as float32, in a shape that broadcasts over a batch."""
    return values.astype(np.float32).reshape((1, -1, 1, 1) if layout == "NCHW" else (1, 1, 1, -1))
