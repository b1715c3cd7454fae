"""What all data sets share: labels that are checked once, a layout, a fingerprint computed when it is asked for.

And data seen differently: some of their rows, their images in another shape, or small pictures for people.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import PIL
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from gfscore.arrays import IntArray, frozen
from gfscore.errors import FileError, OptionError
from gfscore.inputs.models.fingerprints import hash_texts
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.protocols import CHANNEL_AXIS, Dataset, Layout, change_layout
from gfscore.inputs.small_files import refuse_moved
from gfscore.storage import Watched, changed_file, refuse_changed, sha256

MOST_CLASSES = 1 << 24  # a larger label is a mistake, and counting up to it would take all memory


@dataclass(frozen=True, kw_only=True, eq=False)  # no slots: the fingerprint is cached in the instance
class Data:
    """A :class:`~gfscore.inputs.protocols.Dataset` of images that exist."""

    source: str
    labels: IntArray
    layout: Layout
    read: Callable[[slice], NDArray[Any]] = field(repr=False)  # what gives the images
    digest: Callable[[], str]  # computes the fingerprint; reading every byte takes time, so only when asked
    class_names: tuple[str, ...] | None = None
    sample_ids: tuple[str, ...] | None = None
    seed: int | None = None
    whole: Dataset | None = None  # data of which these are a random part, or which these show in another shape

    def images(self, rows: slice) -> NDArray[Any]:
        """Images of some rows, (n, ...) in ``layout``: uint8, or floats as they were stored."""
        return self.read(rows)

    @property
    def class_sizes(self) -> IntArray:
        """Images of each class in the fixed set that these, or a random part of it, are, (highest label + 1,)."""
        return np.bincount(self.labels if self.whole is None else self.whole.labels).astype(np.int64)

    def changed_file(self) -> Path | None:
        """A file behind it that changed since it was opened, if there is one."""
        return changed_file(self.digest if self.whole is None else self.whole)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all images and labels."""
        return self.digest()


def check_labels(labels: ArrayLike, n_images: int | None = None) -> IntArray:
    """Class indices as (N,) int64, read-only; their number must be that of the images where it is given."""
    values = np.asarray(labels)
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values  # a column, as Keras has them
    if values.ndim != 1:
        hint = " If they are one-hot, save labels.argmax(axis=1)." if values.ndim == 2 and values.shape[1] > 1 else ""
        raise FileError(f"labels have shape {values.shape}; they must be one class index per image.{hint}")
    if n_images is not None and len(values) != n_images:
        raise FileError(f"has {n_images} images but {len(values)} labels. Save one label per image.")
    if len(values) == 0:
        raise FileError("holds no image. Give at least one of each of two classes.")
    if values.dtype.kind in "USO" and isinstance(values[0], str):
        raise FileError(
            f"labels are words, such as {str(values[0])!r}; they must be class indices. Save the index of each among "
            "the outputs of the model, and the words in that order as class_names."
        )
    if values.dtype.kind not in "iu":
        raise FileError(f"labels have type {values.dtype}; they must be class indices. Save them as int64.")
    if (values < 0).any():
        row = int(np.argmax(values < 0))
        raise FileError(f"label {values[row]} in row {row} is negative: no class. Give data with known classes.")
    if values.max() >= MOST_CLASSES:
        row = int(np.argmax(values))
        raise FileError(
            f"label {values[row]} in row {row} is no class index: they are below {MOST_CLASSES:,}. Check it."
        )
    return frozen(values.astype(np.int64))


def names_for_labels(names: Sequence[str] | None, labels: IntArray) -> tuple[str, ...] | None:
    """Names of the classes, where there are any, which must reach as far as the labels do."""
    if names is None:
        return None
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
        raise OptionError(f"split is {split!r}; it must be one of 'test', 'train'.")
    return split or "test"


class FilesDigest(Watched):
    """Hashes one file, or several by name (below ``root``) and content, as they were before they were opened.

    The version of Pillow decides pixels too: where that is what has ``decoded`` them, it is part of the hash.
    """

    def __init__(self, paths: Sequence[Path], root: Path | None = None, *, decoded: bool = False) -> None:
        super().__init__(paths)
        self.paths, self.root, self.decoded = paths, root, decoded
        self.extra = b""

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
        return _with_pillow(digest) if self.decoded else digest

    def _hash(self, path: Path) -> str:
        try:
            return sha256(path)
        except FileNotFoundError:
            refuse_changed(self)
            raise


def _with_pillow(digest: str) -> str:
    return hash_texts(digest, f"Pillow {PIL.__version__}")


def arrays_digest(blocks: Callable[[], Iterable[NDArray[Any]]]) -> Callable[[], str]:
    """A function that hashes arrays: shape, type and bytes, one after the other."""

    def digest() -> str:
        total = hashlib.sha256()
        for block in blocks():
            total.update(f"{block.shape} {block.dtype.str}\n".encode())
            total.update(np.ascontiguousarray(block).data)
        return total.hexdigest()

    return digest


def draw_per_class(data: Dataset, n_per_class: int, seed: int) -> Data:
    """At most ``n_per_class`` random images of each class, without replacement."""
    rows = random_rows(data.labels, n_per_class, seed)

    def read(wanted: slice) -> NDArray[Any]:
        return np.concatenate([data.images(run) for run in _runs(rows[wanted])])

    return Data(
        source=f"{data.source} (at most {n_per_class} per class, seed {seed})",
        labels=data.labels[rows],
        layout=data.layout,
        read=read,
        digest=lambda: hashlib.sha256(data.fingerprint.encode() + rows.tobytes()).hexdigest(),
        class_names=data.class_names,
        sample_ids=None if data.sample_ids is None else tuple(data.sample_ids[row] for row in rows),
        whole=data,
    )


def some_rows(data: Dataset, rows: IntArray) -> Data:
    """A few rows of a data set, ascending, for a trial: a set of its own, whose samples keep their names."""
    ids = data.sample_ids or range(len(data.labels))
    return Data(
        source=data.source,
        labels=data.labels[rows],
        layout=data.layout,
        read=lambda wanted: np.concatenate([data.images(run) for run in _runs(rows[wanted])]),
        digest=lambda: hashlib.sha256(rows.tobytes()).hexdigest(),
        class_names=data.class_names,
        sample_ids=tuple(str(ids[row]) for row in rows.tolist()),
    )


def take(data: Dataset, rows: IntArray) -> NDArray[Any]:
    """Images of some rows, each given once, in any order: read from the first to the last, neighbours together."""
    order = np.argsort(rows)
    places = np.empty_like(order)
    places[order] = np.arange(len(rows))
    return np.concatenate([data.images(run) for run in _runs(rows[order])])[places]


def random_rows(labels: IntArray, n_per_class: int, seed: int) -> IntArray:
    """At most ``n_per_class`` rows of each class, drawn without replacement, in ascending order.

    Class k draws from ``default_rng([seed, k])``, so that the choice in one class does not depend on the others.
    """
    chosen = []
    for label in np.unique(labels).tolist():
        rows = np.flatnonzero(labels == label)
        n_drawn = min(n_per_class, len(rows))
        chosen.append(np.random.default_rng([seed, label]).choice(rows, n_drawn, replace=False))
    return np.sort(np.concatenate(chosen)).astype(np.int64)


def reshape_images(data: Dataset, preprocessing: Preprocessing) -> Dataset:
    """The data, resized and cropped as they are read where that is asked for; for uint8 images of one size."""
    if not preprocessing.reshapes:
        return data
    images = data.images(slice(0, 1))
    if images.dtype != np.uint8:
        raise OptionError(
            f"resize, crop and grey need uint8 images; {data.source} gives {images.dtype}. Save it as uint8."
        )
    if images.shape[CHANNEL_AXIS[data.layout]] not in (1, 3):
        raise OptionError(
            f"resize, crop and grey need 1 or 3 channels; {data.source} has images of {images.shape[1:]}."
        )

    def read(rows: slice) -> NDArray[Any]:
        whole = change_layout(data.images(rows), data.layout, "NHWC")
        # each by itself: all of them in their first size may take much more memory
        fitted = [np.asarray(preprocessing.fit(_picture(image))) for image in whole]
        return np.stack([image[..., None] if image.ndim == 2 else image for image in fitted])

    return Data(
        source=data.source,
        labels=data.labels,
        layout="NHWC",
        read=read,
        digest=lambda: _with_pillow(data.fingerprint),  # which resizes, each version in its way
        class_names=data.class_names,
        sample_ids=data.sample_ids,
        seed=data.seed,
        whole=data,
    )


def _runs(rows: IntArray) -> Iterator[slice]:
    """Slices that cover ascending rows, each without a gap."""
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    for run in np.split(rows, breaks):
        yield slice(int(run[0]), int(run[-1]) + 1)


def thumbnails(data: Dataset, rows: Sequence[int], *, side: int = 96) -> list[Image.Image]:
    """Some images of a data set, enlarged without smoothing (or shrunk) so that the longer side has ``side`` pixels.

    Floats are taken to lie in [0, 1]; what lies outside is cut off. Channels beyond the third are not shown.

    >>> from gfscore.inputs.data import load_data
    >>> [image.size for image in thumbnails(load_data("zoo:digits"), [0, 7])]
    [(96, 96), (96, 96)]
    """
    return [_thumbnail(change_layout(data.images(slice(row, row + 1)), data.layout, "NHWC")[0], side) for row in rows]


def _thumbnail(pixels: NDArray[Any], side: int) -> Image.Image:
    if pixels.dtype != np.uint8:
        pixels = (255 * np.clip(pixels, 0.0, 1.0)).round().astype(np.uint8)
    image = _picture(pixels[..., :1] if pixels.shape[2] < 3 else pixels[..., :3])
    factor = side / max(image.size)
    size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
    return image.resize(size, Image.Resampling.NEAREST if factor > 1 else Image.Resampling.BOX)


def _picture(pixels: NDArray[np.uint8]) -> Image.Image:
    """Pixels (H, W, 1 or 3) for Pillow."""
    return Image.fromarray(np.ascontiguousarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels))
