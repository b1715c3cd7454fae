"""What all data sets share: labels that are checked once, a layout, and a fingerprint computed when it is asked for."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gfscore.arrays import IntArray
from gfscore.errors import FileError, OptionError
from gfscore.inputs.protocols import Layout
from gfscore.inputs.raw import listed, refuse_moved
from gfscore.storage import Watched, changed_file, refuse_changed, sha256


@dataclass(frozen=True, kw_only=True, eq=False)  # no slots: the fingerprint is cached in the instance
class Data(ABC):
    """A :class:`~gfscore.inputs.protocols.Dataset` of images that exist."""

    source: str
    labels: IntArray
    layout: Layout
    digest: Callable[[], str]  # computes the fingerprint; reading every byte takes time, so only when asked
    class_names: tuple[str, ...] | None = None
    sample_ids: tuple[str, ...] | None = None
    seed: int | None = None

    @abstractmethod
    def images(self, rows: slice) -> NDArray[Any]:
        """Images of some rows, (n, ...) in ``layout``: uint8, or floats as they were stored."""

    @property
    def class_sizes(self) -> IntArray:
        """Images of each class in the fixed set that these stand for, (highest label + 1,)."""
        return np.bincount(self.labels).astype(np.int64)

    def changed_file(self) -> Path | None:
        """A file behind it that changed since it was opened, if there is one."""
        return changed_file(self.digest)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all images and labels."""
        return self.digest()


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrayData(Data):
    """Images of one size in one array, in memory or mapped from a file."""

    pixels: NDArray[Any] = field(repr=False)  # (N, H, W, C) or (N, C, H, W)

    def images(self, rows: slice) -> NDArray[Any]:
        """Images of some rows: a view, read from the disk when it is looked at."""
        return self.pixels[rows]


def checked_labels(labels: ArrayLike, n_images: int | None = None) -> IntArray:
    """Class indices as (N,) int64, read-only; their number must be that of the images where it is given."""
    values = np.asarray(labels)
    if values.ndim != 1:
        one_hot = (
            " If they are one-hot, save labels.argmax(axis=1)." if values.ndim == 2 and values.shape[1] > 1 else ""
        )
        raise FileError(f"labels have shape {values.shape}; they must be one class index per image.{one_hot}")
    if n_images is not None and len(values) != n_images:
        raise FileError(f"has {n_images} images but {len(values)} labels. Save one label per image.")
    if len(values) == 0:
        raise FileError("holds no image. Give at least one of each of two classes.")
    if values.dtype.kind not in "iu":
        raise FileError(f"labels have type {values.dtype}; they must be class indices. Save them as int64.")
    if (values < 0).any():
        row = int(np.argmax(values < 0))
        raise FileError(f"label {values[row]} in row {row} is negative: no class. Give data with known classes.")
    checked = values.astype(np.int64)
    checked.setflags(write=False)
    return checked


def checked_class_names(names: Sequence[str], labels: IntArray) -> tuple[str, ...]:
    """Names that reach as far as the labels do."""
    if labels.max() >= len(names):
        raise OptionError(f"there are {len(names)} class names but a label {labels.max()}. Give a name per class.")
    return tuple(names)


def class_order(
    found: Sequence[str], class_names: Sequence[str] | None, what: str
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Label of each class that was found by name, and the names of all classes; ``what`` has these names.

    ``class_names`` that hold all of them decide the order, and may name classes without an image; others rename.
    """
    names = tuple(found if class_names is None else class_names)
    if set(found) <= set(names):
        if class_names is None and all(name.isdecimal() for name in names) and sorted(names, key=int) != list(found):
            raise FileError(
                f"has {what}s named by numbers, and {', '.join(found[:3])}, ... is their order as text only. "
                f"Give --class-names with the {what}s in the order of the model's outputs."
            )
        return {name: names.index(name) for name in found}, names
    if len(names) != len(found):
        raise OptionError(f"there are {len(names)} class names for {len(found)} {what}s. Give one per {what}.")
    refuse_moved(names, found)
    return {name: label for label, name in enumerate(found)}, names


def unique_ids(ids: Iterable[object], n_images: int) -> tuple[str, ...] | None:
    """Names of the samples, when every one has a name of its own."""
    names = tuple("" if name is None else str(name) for name in ids)
    return names if all(names) and len(names) == len(set(names)) == n_images else None


def refuse_split(split: str | None, source: object) -> None:
    """Refuse a split where there are none."""
    if split is not None:
        raise OptionError(f"split {split!r} is given, but {source} has no splits. Leave it out.")


def test_or_train(split: str | None) -> str:
    """``test`` unless ``train`` is asked for."""
    if split not in (None, "test", "train"):
        raise OptionError(f"split is {split!r}; it must be one of {listed(('test', 'train'))}.")
    return split or "test"


class FilesDigest(Watched):
    """Hashes one file, or several by name (below ``root``) and content, as they were before they were opened."""

    def __init__(self, paths: Sequence[Path], root: Path | None = None, extra: bytes = b"") -> None:
        super().__init__(paths)
        self.paths, self.root, self.extra = paths, root, extra

    def __call__(self) -> str:
        """The hash; refused where a file has changed since this was made, as something else was read from it then."""
        if len(self.paths) == 1 and not self.extra:
            digest = self._hash(self.paths[0])
        else:
            total = hashlib.sha256(self.extra)
            for path in self.paths:
                name = path.name if self.root is None else path.relative_to(self.root).as_posix()
                total.update(f"{self._hash(path)} {name}\n".encode())
            digest = total.hexdigest()
        refuse_changed(self)
        return digest

    def _hash(self, path: Path) -> str:
        try:
            return sha256(path)
        except FileNotFoundError:
            refuse_changed(self)
            raise


def arrays_digest(blocks: Callable[[], Iterable[NDArray[Any]]]) -> Callable[[], str]:
    """A function that hashes arrays: shape, type and bytes, one after the other."""

    def digest() -> str:
        total = hashlib.sha256()
        for block in blocks():
            total.update(f"{block.shape} {block.dtype.str}\n".encode())
            total.update(np.ascontiguousarray(block).data)
        return total.hexdigest()

    return digest
