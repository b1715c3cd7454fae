"""Images that stand in arrays: ``.npz``, the idx files of MNIST and its relatives, torch data sets.

What ``numpy.savez`` wrote, and idx files that are not gzipped, are mapped, so that they may be larger than memory. In
an npz, ``x`` and ``y`` are what StudioGAN writes for generated images (uint8, NCHW). The idx format, from the MNIST
page: two zero bytes, the type (8 for bytes), the number of axes, then each length as a big-endian 32-bit number, then
the values.
"""

import gzip
import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import IntArray
from gfscore.errors import FileError, OptionError, naming
from gfscore.inputs.array_files import (
    array_names,
    map_member,
    name_strings,
    open_npz,
    read_member,
    refuse_bomb,
    refuse_too_large,
)
from gfscore.inputs.data.base import (
    Data,
    FilesDigest,
    arrays_digest,
    check_labels,
    names_for_labels,
    test_or_train,
    unique_ids,
)
from gfscore.inputs.protocols import Layout, with_channels
from gfscore.names import listing
from gfscore.storage import redact, refuse_unreadable

IMAGES, LABELS = ("images", "x"), ("labels", "y")
UNCOMPRESSED = "Save it with numpy.savez, not savez_compressed: then it is read in pieces."
PREFIXES = {"test": "t10k", "train": "train"}
FOLDERS = (".", "raw", "MNIST/raw", "FashionMNIST/raw", "KMNIST/raw")  # where downloaders put the files
BYTES = 8  # the type code of unsigned bytes


def open_npz_images(path: Path, *, layout: Layout | None) -> Data:
    """Map or read the images; optional ``class_names`` and ``sample_ids`` are taken along."""
    refuse_unreadable(path)
    digest = FilesDigest([path])  # before it is read
    with open_npz(path) as archive:
        names = array_names(archive)
        key = _key(names, IMAGES, "the array of images (N, H, W, C)")
        mapped = map_member(archive, key, path)
        pixels = read_member(archive, key, advice=UNCOMPRESSED) if mapped is None else mapped
        if pixels.dtype.kind not in "uifb":
            raise FileError(f"array {key!r} has type {pixels.dtype}. Save images as uint8 or float32.")
        labels = check_labels(read_member(archive, _key(names, LABELS, "the true classes")), len(pixels))
        class_names = name_strings(read_member(archive, "class_names")) if "class_names" in names else None
        sample_ids = read_member(archive, "sample_ids").tolist() if "sample_ids" in names else ()
    pixels, layout = with_channels(pixels, layout)
    return Data(
        source=redact(path),
        labels=labels,
        layout=layout,
        digest=digest,
        class_names=names_for_labels(class_names, labels),
        sample_ids=unique_ids(sample_ids, len(labels)),
        read=lambda rows: pixels[rows],
    )


def _key(names: Sequence[str], wanted: tuple[str, str], what: str) -> str:
    for key in wanted:
        if key in names:
            return key
    raise FileError(f"has no {wanted[0]!r} (or {wanted[1]!r}); it holds {listing(names)}. Name {what} {wanted[0]!r}.")


def find_idx(path: Path) -> Path | None:
    """The folder at or below ``path`` that holds idx files, if any does."""
    for folder in FOLDERS:
        if any(_file(path / folder, prefix, "images", 3) for prefix in PREFIXES.values()):
            return path / folder
    return None


def open_idx(folder: Path, source: str, *, split: str | None) -> Data:
    """Images (N, H, W, 1) and labels of one split; ``test`` unless ``train`` is asked for."""
    split = test_or_train(split)
    prefix = PREFIXES[split]
    files = [_file(folder, prefix, "images", 3), _file(folder, prefix, "labels", 1)]
    paths = [path for path in files if path is not None]
    if len(paths) < 2:
        missing = f"{prefix}-{'labels-idx1' if paths else 'images-idx3'}-ubyte"
        raise FileError(f"has no {missing} (or {missing}.gz) for split {split!r}. Put it beside the others.")
    digest = FilesDigest(paths)  # before they are read
    images, labels = (_read_idx(path, axes) for path, axes in zip(paths, (3, 1), strict=True))
    return Data(
        source=source,
        labels=check_labels(labels, len(images)),
        layout="NHWC",
        digest=digest,
        read=lambda rows: images[rows, ..., None],
    )


def _file(folder: Path, prefix: str, what: str, axes: int) -> Path | None:
    names = [f"{prefix}-{what}{mark}idx{axes}-ubyte{ending}" for mark in "-." for ending in ("", ".gz")]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _read_idx(path: Path, axes: int) -> NDArray[Any]:
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


class MapDataset(Protocol):
    """What is asked of a torch ``Dataset``: a length, and an image and its class for each index."""

    def __len__(self) -> int:
        """N."""

    def __getitem__(self, index: int, /) -> Any:
        """The pair (image, label)."""


def from_torch_dataset(dataset: MapDataset, *, source: str | None = None, layout: Layout | None = None) -> Data:
    """Use a torch ``Dataset`` of (image, label): tensors, arrays or Pillow images, in its own order.

    Labels are taken from ``dataset.targets`` where it has them and does not transform them, and otherwise by going
    through all items once. Transforms must be deterministic, and must not normalise: that is for ``Preprocessing``,
    since radii are in pixel units.

    >>> pairs = [(np.zeros((3, 8, 8), np.uint8), 0), (np.ones((3, 8, 8), np.uint8), 1)]
    >>> data = from_torch_dataset(pairs)
    >>> data.layout, data.labels.tolist(), data.images(slice(1, 2)).shape
    ('NCHW', [0, 1], (1, 3, 8, 8))
    """
    source = type(dataset).__name__ if source is None else source
    with naming(source):
        if len(dataset) == 0:
            raise FileError("holds no image. Give at least one of each of two classes.")
        first, again = (_array(dataset[0][0]) for _ in range(2))
        if not np.array_equal(first, again):
            raise OptionError("gives another image each time it is asked for row 0. Take the random transforms away.")
        layout = with_channels(first[None], layout)[1]
        labels = check_labels(_labels(dataset), len(dataset))
        names = getattr(dataset, "classes", None)
        class_names = None if names is None else names_for_labels([str(name) for name in names], labels)

    def read(rows: slice) -> NDArray[Any]:
        fetched = [_array(dataset[row][0]) for row in range(*rows.indices(len(labels)))]
        shapes = sorted({image.shape for image in fetched})
        if len(shapes) > 1:
            raise OptionError(f"{source} gives images of shape {shapes[0]} and {shapes[1]}. Resize in its transform.")
        return with_channels(np.stack(fetched), layout)[0]

    def blocks() -> Iterator[NDArray[Any]]:
        yield labels
        for row in range(len(labels)):
            yield read(slice(row, row + 1))

    return Data(
        source=source, labels=labels, layout=layout, read=read, digest=arrays_digest(blocks), class_names=class_names
    )


def _labels(dataset: MapDataset) -> IntArray:
    targets = getattr(dataset, "targets", None)
    if targets is not None and len(targets) == len(dataset) and getattr(dataset, "target_transform", None) is None:
        return _array(targets)
    return np.array([int(dataset[row][1]) for row in range(len(dataset))])


def _array(value: Any) -> NDArray[Any]:
    """A tensor, an array, a list or a Pillow image as an array."""
    return np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
