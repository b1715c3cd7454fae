"""Images that stand encoded (PNG, JPEG, ...), decoded by Pillow when their batch is asked for; and a folder of them.

Classes are ordered by the name of their folder, as torchvision's ``ImageFolder`` orders them. A link is followed when
it leads to a file inside the folder, and refused otherwise.
"""

import io
import os
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from gfscore.errors import FileError, InvalidInputError, OptionError, first_line, naming
from gfscore.inputs.array_files import refuse_bomb
from gfscore.inputs.data.base import Data, FilesDigest, check_labels, class_order
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.names import listing
from gfscore.storage import is_text

FORMATS = ("PNG", "JPEG", "BMP", "WEBP", "TIFF", "PPM", "GIF")  # no format whose decoder starts another program
MOST_PIXELS = 1 << 24  # of an image that is made for a model, 4096 x 4096: as floats in colour, 200 MB
PILLOW_BYTES = 4  # that a pixel in colour takes while an image is decoded
ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm", ".gif")
SPLITS = ("test", "train", "val", "valid", "validation")
DEEP_MODES = ("I", "F")  # more than 8 bits a channel, which Pillow would clip; "I;16" begins alike


class DecodedImages:
    """Images that are decoded, and brought to their shape, one batch at a time; all must have the size of the first.

    ``encoded`` gives for a row what it is called in a message, and its file or its bytes.
    """

    def __init__(
        self, encoded: Callable[[int], tuple[str, Path | bytes]], n_images: int, preprocessing: Preprocessing
    ) -> None:
        self.encoded, self.n_images, self.preprocessing = encoded, n_images, preprocessing

    def __call__(self, rows: slice) -> NDArray[Any]:
        """Images of some rows, (n, H, W, C) uint8."""
        wanted = range(*rows.indices(self.n_images))
        batch = np.empty((len(wanted), *self.first.shape), dtype=np.uint8)
        for place, row in enumerate(wanted):
            name, image = self.encoded(row)
            pixels = _decode(image, name, self.preprocessing)
            if pixels.shape != self.first.shape:
                raise FileError(
                    f"is {_size(pixels)} pixels where the first image is {_size(self.first)}. "
                    "Give --resize and --crop, such as --resize 256 --crop 224, so that all have one size."
                ).found_in(name)
            batch[place] = pixels
        return batch

    @cached_property
    def first(self) -> NDArray[np.uint8]:
        """The first image, which decides the size of all."""
        name, image = self.encoded(0)
        return _decode(image, name, self.preprocessing)


def _decode(encoded: Path | bytes, name: str, preprocessing: Preprocessing) -> NDArray[np.uint8]:
    """One image as (H, W, C) uint8, in the shape that ``preprocessing`` asks for."""
    with naming(name):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", Image.DecompressionBombWarning)
                # from memory: of a file, Pillow asks for as many bytes as a chunk declares, before it has them
                content = encoded if isinstance(encoded, bytes) else encoded.read_bytes()
                image = Image.open(io.BytesIO(content), formats=FORMATS)
            with image:
                _refuse_large(image, preprocessing)
                refuse_bomb(PILLOW_BYTES * image.height * image.width, len(content), "an image")
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


def open_folder(
    root: Path, source: str, preprocessing: Preprocessing, *, split: str | None, class_names: Sequence[str] | None
) -> Data:
    """List the images; ``split`` names a subfolder to look into.

    ``class_names`` that hold the name of every folder give the order of the classes (and may name absent ones); others
    only take the place of the folders' names.
    """
    if split is not None:
        root = root / split
        if not root.is_dir() or split not in SPLITS:
            raise OptionError(f"split is {split!r}, but there is no such folder. Name the folder of classes itself.")
    folders = sorted(entry.name for entry in os.scandir(root) if entry.is_dir() and not entry.name.startswith("."))
    if not folders:
        raise FileError("holds no folders. Give an .npz file, or a folder with one subfolder of images per class.")
    if set(folders) <= set(SPLITS):
        raise FileError(f"holds the splits {listing(folders)}, not classes. Name one of them: --split {folders[0]}.")
    order, names = class_order(folders, class_names, "folder")
    found = [(path, order[folder]) for folder in folders for path in _images(root, root / folder)]
    if not found:
        raise FileError(f"holds no image in its {len(folders)} folders. Images end in {', '.join(ENDINGS)}.")
    paths = tuple(path for path, _ in found)
    labels = check_labels(np.array([label for _, label in found]))
    digest = FilesDigest(paths, root, decoded=True)
    digest.extra = labels.tobytes()
    return Data(
        source=source,
        labels=labels,
        layout="NHWC",
        read=DecodedImages(lambda row: (str(paths[row]), paths[row]), len(paths), preprocessing),
        digest=digest,
        class_names=names,
        sample_ids=tuple(path.relative_to(root).as_posix() for path in paths),
    )


def _images(root: Path, folder: Path) -> list[Path]:
    """Images in a class's folder and below, sorted."""
    found: list[Path] = []
    n_files = 0
    for parent, subfolders, files in os.walk(folder):
        for linked in (Path(parent), *(Path(parent, name) for name in subfolders)):
            if linked.is_symlink():
                raise FileError(f"{linked.relative_to(root)} is a link to a folder. Copy it.")
        n_files += len(files)
        found += [Path(parent, name) for name in files if name.lower().endswith(ENDINGS) and name[0] != "."]
    if n_files and not found:
        raise FileError(f"{folder.name!r} holds files but no image. Images end in {', '.join(ENDINGS)}.")
    for path in found:
        if not is_text(str(path)):
            raise FileError(f"{path.relative_to(root)} has a name that is no UTF-8 text. Rename it.")
        if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
            raise FileError(f"{path.relative_to(root)} is a link that leads out of the folder. Copy the file.")
        if not path.is_file():
            raise FileError(f"{path.relative_to(root)} is no file. Remove it.")
    return sorted(found)
