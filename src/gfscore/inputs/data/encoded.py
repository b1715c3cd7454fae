"""Images that stand encoded (PNG, JPEG, ...), decoded by Pillow when their batch is asked for."""

import io
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import PIL
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from gfscore.errors import FileError, InvalidInputError, first_line, naming
from gfscore.inputs.data.base import Data
from gfscore.inputs.models.fingerprints import hash_texts
from gfscore.inputs.preprocessing import Preprocessing

FORMATS = ("PNG", "JPEG", "BMP", "WEBP", "TIFF", "PPM", "GIF")  # no format whose decoder starts another program
MOST_PIXELS = 1 << 24  # of an image that is made for a model, 4096 x 4096: as floats in colour, 200 MB
DEEP_MODES = ("I", "F")  # more than 8 bits a channel, which Pillow would clip; "I;16" begins alike


@dataclass(frozen=True, kw_only=True, eq=False)
class EncodedData(Data):
    """Images that are decoded, and brought to their shape, one batch at a time."""

    preprocessing: Preprocessing

    @abstractmethod
    def encoded(self, rows: range) -> Sequence[tuple[str, Path | bytes]]:
        """For each row what it is called in a message, and its file or its bytes."""

    def images(self, rows: slice) -> NDArray[Any]:
        """Images of some rows, (n, H, W, C) uint8; all must have the size of the first."""
        wanted = range(*rows.indices(len(self.labels)))
        batch = np.empty((len(wanted), *self.first.shape), dtype=np.uint8)
        for row, (name, image) in enumerate(self.encoded(wanted)):
            pixels = decode(image, name, self.preprocessing)
            if pixels.shape != self.first.shape:
                raise FileError(
                    f"is {_size(pixels)} pixels where the first image is {_size(self.first)}. "
                    "Give --resize and --crop, such as --resize 256 --crop 224, so that all have one size."
                ).found_in(name)
            batch[row] = pixels
        return batch

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all files and labels, and of the version of what decodes them: it decides pixels too."""
        return hash_texts(self.digest(), f"Pillow {PIL.__version__}")

    @cached_property
    def first(self) -> NDArray[np.uint8]:
        """The first image, which decides the size of all."""
        ((name, image),) = self.encoded(range(1))
        return decode(image, name, self.preprocessing)


def decode(encoded: Path | bytes, name: str, preprocessing: Preprocessing) -> NDArray[np.uint8]:
    """One image as (H, W, C) uint8, in the shape that ``preprocessing`` asks for."""
    with naming(name):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", Image.DecompressionBombWarning)
                image = Image.open(io.BytesIO(encoded) if isinstance(encoded, bytes) else encoded, formats=FORMATS)
            with image:
                _refuse_large(image, preprocessing)
                if image.mode.partition(";")[0] in DEEP_MODES:
                    raise FileError(f"has more than 8 bits a channel (mode {image.mode}). Save it with 8.")
                pixels = np.asarray(preprocessing.fit(_in_colour(image)))
        except InvalidInputError:
            raise
        except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
            raise FileError(
                f"has more than {Image.MAX_IMAGE_PIXELS:,} pixels: a decompression bomb, or no image for a classifier. "
                "Remove it, or make it smaller."
            ) from error
        except UnidentifiedImageError as error:
            raise FileError(f"is no image in a known format ({', '.join(FORMATS)}). Save it as PNG or JPEG.") from error
        except Exception as error:  # a hostile or damaged image makes the decoders raise almost anything
            raise FileError(f"is a damaged image ({first_line(error)}). Save it again, or remove it.") from error
    return pixels[..., None] if preprocessing.grey else pixels


def _refuse_large(image: Image.Image, preprocessing: Preprocessing) -> None:
    """Look at the size in the header, before anything is decoded."""
    height, width = preprocessing.fitted_size(image.height, image.width)
    if height * width > MOST_PIXELS:
        resized = f" ({height} x {width} once resized)" if (height, width) != (image.height, image.width) else ""
        raise FileError(
            f"is {image.height} x {image.width} pixels{resized}, and an image for a model has at most "
            f"{MOST_PIXELS:,}. Give --resize, such as --resize 256 --crop 224."
        )


def _in_colour(image: Image.Image) -> Image.Image:
    """RGB, whatever it was; transparency is left out, as torchvision does."""
    if image.mode == "P":
        image = image.convert("RGBA")  # without this step Pillow warns of palettes that hold transparency
    return image if image.mode == "RGB" else image.convert("RGB")


def _size(pixels: NDArray[Any]) -> str:
    return f"{pixels.shape[0]} x {pixels.shape[1]}"
