"""MNIST and its relatives from a directory of idx files, plain (mapped) or gzipped (read whole).

The format, from the MNIST page: two zero bytes, the type (8 for bytes), the number of axes, then each length as
a big-endian 32-bit number, then the values.
"""

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore.errors import FileError, naming
from gfscore.inputs.data.base import ArrayData, FilesDigest, checked_labels, test_or_train
from gfscore.inputs.raw import refuse_bomb, refuse_too_large

PREFIXES = {"test": "t10k", "train": "train"}
FOLDERS = (".", "raw", "MNIST/raw", "FashionMNIST/raw", "KMNIST/raw")  # where downloaders put the files
BYTES = 8  # the type code of unsigned bytes


def find_idx(path: Path) -> Path | None:
    """The folder at or below ``path`` that holds idx files, if any does."""
    for folder in FOLDERS:
        if any(_file(path / folder, prefix, "images", 3) for prefix in PREFIXES.values()):
            return path / folder
    return None


def open_idx(folder: Path, source: str, *, split: str | None) -> ArrayData:
    """Images (N, H, W, 1) and labels of one split; ``test`` unless ``train`` is asked for."""
    split = test_or_train(split)
    prefix = PREFIXES[split]
    files = [_file(folder, prefix, "images", 3), _file(folder, prefix, "labels", 1)]
    paths = [path for path in files if path is not None]
    if len(paths) < 2:
        missing = f"{prefix}-{'labels-idx1' if paths else 'images-idx3'}-ubyte"
        raise FileError(f"has no {missing} (or {missing}.gz) for split {split!r}. Put it beside the others.")
    digest = FilesDigest(paths)  # before they are read
    images, labels = (_read(path, axes) for path, axes in zip(paths, (3, 1), strict=True))
    return ArrayData(
        source=source,
        labels=checked_labels(labels, len(images)),
        layout="NHWC",
        digest=digest,
        pixels=images[..., None],
    )


def _file(folder: Path, prefix: str, what: str, axes: int) -> Path | None:
    names = [f"{prefix}-{what}{mark}idx{axes}-ubyte{ending}" for mark in "-." for ending in ("", ".gz")]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _read(path: Path, axes: int) -> NDArray[Any]:
    """The array of one file, after its header was held against the bytes that are there."""
    with naming(path):
        try:
            if path.suffix == ".gz":
                return _read_gzip(path, axes)
            with path.open("rb") as file:
                shape, size = _shape(file.read(4 + 4 * axes), axes)
            held = path.stat().st_size - size
            if held != math.prod(shape):
                raise _wrong_length(shape, f"{held:,}")
            return np.memmap(path, dtype=np.uint8, mode="r", offset=size, shape=shape)
        except (OSError, EOFError, zlib.error) as error:
            raise FileError(f"cannot be read ({error}). Download it again.") from error


def _read_gzip(path: Path, axes: int) -> NDArray[Any]:
    with gzip.open(path) as file:
        shape, _ = _shape(file.read(4 + 4 * axes), axes)
        declared = math.prod(shape)
        refuse_too_large(declared, "an array", "Unpack it with gunzip: then it is read in pieces.")
        refuse_bomb(declared, path.stat().st_size, "an array")
        values = file.read(declared + 1)  # one more than declared, so that a header that says too little is noticed
    if len(values) != declared:
        raise _wrong_length(shape, f"{len(values):,}" if len(values) < declared else "more")
    return np.frombuffer(values, dtype=np.uint8).reshape(shape)


def _shape(header: bytes, axes: int) -> tuple[tuple[int, ...], int]:
    """Lengths of the axes, and of the header."""
    if len(header) < 4 + 4 * axes or header[:4] != bytes((0, 0, BYTES, axes)):
        raise FileError(f"is no idx file of bytes with {axes} axes, or is cut short. Download it again.")
    shape = struct.unpack(f">{axes}I", header[4:])
    if 0 in shape:
        raise FileError(f"declares shape {shape}: nothing. Download it again.")
    return shape, len(header)


def _wrong_length(shape: tuple[int, ...], held: str) -> FileError:
    return FileError(f"declares shape {shape} ({math.prod(shape):,} bytes) but holds {held}. Download it again.")
