"""A torch ``Dataset`` (or anything with ``len`` and items ``(image, label)``) as data; torch itself is not needed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import IntArray
from gfscore.errors import FileError, OptionError, naming
from gfscore.inputs.data.base import Data, arrays_digest, checked_class_names, checked_labels
from gfscore.inputs.protocols import Layout, with_channels


class MapDataset(Protocol):
    """What is asked of a torch ``Dataset``: a length, and an image and its class for each index."""

    def __len__(self) -> int:
        """N."""

    def __getitem__(self, index: int, /) -> Any:
        """The pair (image, label)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TorchData(Data):
    """Items of a data set, fetched one by one and stacked."""

    dataset: MapDataset

    def images(self, rows: slice) -> NDArray[Any]:
        """Images of some rows."""
        fetched = [_array(self.dataset[row][0]) for row in range(*rows.indices(len(self.labels)))]
        if len({image.shape for image in fetched}) > 1:
            shapes = sorted({image.shape for image in fetched})
            raise OptionError(
                f"{self.source} gives images of shape {shapes[0]} and {shapes[1]}. Resize in its transform."
            )
        return with_channels(np.stack(fetched), self.layout)[0]


def from_torch_dataset(dataset: MapDataset, *, source: str | None = None, layout: Layout | None = None) -> TorchData:
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
        labels = checked_labels(_labels(dataset), len(dataset))
        names = getattr(dataset, "classes", None)
        data = TorchData(
            source=source,
            labels=labels,
            layout=layout,
            digest=arrays_digest(lambda: _blocks(data)),
            class_names=None if names is None else checked_class_names([str(name) for name in names], labels),
            dataset=dataset,
        )
        return data


def _labels(dataset: MapDataset) -> IntArray:
    targets = getattr(dataset, "targets", None)
    if targets is not None and len(targets) == len(dataset) and getattr(dataset, "target_transform", None) is None:
        return _array(targets)
    return np.array([int(dataset[row][1]) for row in range(len(dataset))])


def _blocks(data: TorchData) -> Iterator[NDArray[Any]]:
    yield data.labels
    for row in range(len(data.labels)):
        yield data.images(slice(row, row + 1))


def _array(value: Any) -> NDArray[Any]:
    """A tensor, an array, a list or a Pillow image as an array."""
    return np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
