"""Images of a data set as people see them."""

from collections.abc import Sequence

import numpy as np
from PIL import Image

from gfscore.inputs.protocols import Dataset, change_layout


def thumbnails(data: Dataset, rows: Sequence[int], *, side: int = 96) -> list[Image.Image]:
    """Some images of a data set, enlarged without smoothing (or shrunk) so that the longer side has ``side`` pixels.

    Floats are taken to lie in [0, 1]; what lies outside is cut off. Channels beyond the third are not shown.

    >>> from gfscore.inputs.data import load_data
    >>> [image.size for image in thumbnails(load_data("zoo:digits"), [0, 7])]
    [(96, 96), (96, 96)]
    """
    return [_thumbnail(data, row, side) for row in rows]


def _thumbnail(data: Dataset, row: int, side: int) -> Image.Image:
    pixels = change_layout(data.images(slice(row, row + 1)), data.layout, "NHWC")[0]
    if pixels.dtype != np.uint8:
        pixels = (255 * np.clip(pixels, 0.0, 1.0)).round().astype(np.uint8)
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] < 3 else np.ascontiguousarray(pixels[..., :3]))
    factor = side / max(image.size)
    size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
    return image.resize(size, Image.Resampling.NEAREST if factor > 1 else Image.Resampling.BOX)
