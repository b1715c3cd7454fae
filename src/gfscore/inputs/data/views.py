"""Data seen differently: some of its rows, or its images in another shape."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import PIL
from numpy.typing import NDArray
from PIL import Image

from gfscore.arrays import IntArray
from gfscore.errors import OptionError
from gfscore.inputs.data.base import Data
from gfscore.inputs.models.fingerprints import hash_texts
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.protocols import CHANNEL_AXIS, Dataset, change_layout
from gfscore.storage import changed_file


@dataclass(frozen=True, kw_only=True, eq=False)
class Subset(Data):
    """Some rows of a data set, in its order."""

    whole: Dataset
    rows: IntArray  # ascending

    @property
    def class_sizes(self) -> IntArray:
        """Images of each class in the whole set, of which these are a random part."""
        return np.bincount(self.whole.labels).astype(np.int64)

    def changed_file(self) -> Path | None:
        """A file of the whole that changed."""
        return changed_file(self.whole)

    def images(self, rows: slice) -> NDArray[Any]:
        """Images of some rows."""
        return np.concatenate([self.whole.images(run) for run in _runs(self.rows[rows])])


def draw_per_class(data: Dataset, n_per_class: int, seed: int) -> Subset:
    """At most ``n_per_class`` random images of each class, without replacement."""
    rows = random_rows(data.labels, n_per_class, seed)
    return Subset(
        source=f"{data.source} (at most {n_per_class} per class, seed {seed})",
        labels=data.labels[rows],
        layout=data.layout,
        digest=lambda: hashlib.sha256(data.fingerprint.encode() + rows.tobytes()).hexdigest(),
        class_names=data.class_names,
        sample_ids=None if data.sample_ids is None else tuple(data.sample_ids[row] for row in rows),
        whole=data,
        rows=rows,
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Reshaped(Data):
    """Images of a data set in the shape that a preprocessing asks for."""

    whole: Dataset
    preprocessing: Preprocessing

    def changed_file(self) -> Path | None:
        """A file of the whole that changed."""
        return changed_file(self.whole)

    def images(self, rows: slice) -> NDArray[Any]:
        """Images of some rows, (n, H, W, C) uint8."""
        images = change_layout(self.whole.images(rows), self.whole.layout, "NHWC")
        grey = images.shape[3] == 1
        fitted = [  # each by itself: all of them in their first size may take much more memory
            self._fit(Image.fromarray(np.ascontiguousarray(image[..., 0] if grey else image))) for image in images
        ]
        return np.stack(fitted)

    def _fit(self, image: Image.Image) -> NDArray[np.uint8]:
        pixels = np.asarray(self.preprocessing.fit(image))
        return pixels[..., None] if pixels.ndim == 2 else pixels


def reshaped(data: Dataset, preprocessing: Preprocessing) -> Reshaped:
    """The data, resized and cropped as they are read; for uint8 images of one size."""
    images = data.images(slice(0, 1))
    if images.dtype != np.uint8:
        raise OptionError(
            f"resize, crop and grey need uint8 images; {data.source} gives {images.dtype}. Save it as uint8."
        )
    if images.shape[CHANNEL_AXIS[data.layout]] not in (1, 3):
        raise OptionError(
            f"resize, crop and grey need 1 or 3 channels; {data.source} has images of {images.shape[1:]}."
        )
    return Reshaped(
        source=data.source,
        labels=data.labels,
        layout="NHWC",
        digest=lambda: hash_texts(data.fingerprint, f"Pillow {PIL.__version__}"),  # which resizes, each in its way
        class_names=data.class_names,
        sample_ids=data.sample_ids,
        seed=data.seed,
        whole=data,
        preprocessing=preprocessing,
    )


def _runs(rows: IntArray) -> Iterator[slice]:
    """Slices that cover ascending rows, each without a gap."""
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    for run in np.split(rows, breaks):
        yield slice(int(run[0]), int(run[-1]) + 1)
