"""Data that Python holds: arrays, loaders of batches, data sets of samples. Read once, in their own order."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from gfscore.arrays import IntArray
from gfscore.errors import InvalidInputError, OptionError, first_line
from gfscore.inputs.data.base import (
    Data,
    arrays_digest,
    check_labels,
    draw_per_class,
    names_for_labels,
    reshape_images,
)
from gfscore.inputs.data.piles import BLOCK_BYTES, Pile, Shelf, compact
from gfscore.inputs.preprocessing import ROUNDING, Preprocessing
from gfscore.inputs.protocols import Dataset, Layout, with_channels
from gfscore.names import as_array, listing, name_texts

IMAGES = ("image", "images", "img", "pixel_values", "x", "inputs", "input")
LABELS = ("label", "labels", "y", "target", "targets", "fine_label")
PAIR = "Give (images, labels), a loader or a data set of such pairs, or a data spec such as 'test.npz'."


def read_pile(data: Any, shape: Preprocessing) -> Pile:
    """Everything that some data hold; Pillow images get the ``shape`` that is asked for as they are read."""
    source = type(data).__name__
    if isinstance(data, Mapping):
        data = _columns(data)
    if _is_pair(data):
        return _pile_of_pair(data[0], data[1], shape)
    pile, labels = Pile(source=source, class_names=_class_names(data)), []
    shelf, pictures = Shelf(pile.blocks), _Pictures(shape)
    first: NDArray[Any] | None = None
    for images, classes in _batches(_iterate(data), pictures):
        first = images if first is None else first
        if images.shape[1:] != first.shape[1:]:
            raise OptionError(
                f"{source} gives images of shape {first.shape[1:]} and {images.shape[1:]}. Resize them in its "
                "transform, or with resize and crop where they are Pillow images."
            )
        shelf.add(images)
        labels.append(classes)
    shelf.close()
    if not labels:
        raise OptionError(f"{source} holds no image. Give at least one of each of two classes.")
    pile.labels, pile.fitted = np.concatenate(labels), pictures.fitted
    return pile


def holds_pixels(pile: Pile, said: Preprocessing) -> bool:
    """Whether rows are images, in a range that leads to [0, 1]; anything else goes to the model as it is.

    What is said about preprocessing is said about pixels: then images that are none are refused.
    """
    if len(pile.shape) not in (2, 3):
        return False
    if said.value_range is not None or pile.are_bytes:
        return True
    low, high = pile.ends()
    if not np.isfinite((low, high)).all():
        raise OptionError("images hold NaN or infinity. Look for the division that made it.").found_in(pile.source)
    inside = low >= -ROUNDING and high <= 1 + ROUNDING
    return inside or said.normalises


def why_no_pixels(pile: Pile) -> str:
    """What rows are that are no pixels, and what would make them some."""
    if len(pile.shape) not in (2, 3):
        return f"the inputs are rows of shape {pile.shape} and no images, so no radius in pixels can be measured."
    low, high = pile.ends()
    return (
        f"the images reach from {low:.3g} to {high:.3g}: they were normalised before they came here, and radii are in "
        "[0, 1] pixels, so none can be measured. Give images in [0, 1] (leave Normalize out of the transform), and say "
        "mean and std, or a preset."
    )


def open_pile(
    pile: Pile,
    preprocessing: Preprocessing,
    *,
    layout: Layout,
    n_per_class: int | None = None,
    seed: int = 0,
    class_names: Sequence[str] | None = None,
) -> Dataset:
    """A pile of pixels as data; ``layout`` is of the model, for images whose shape does not tell their own."""
    labels, names = class_indices(pile, class_names)
    found = _layout(pile, preprocessing.layout, layout)
    data: Dataset = Data(
        source=pile.source,
        labels=labels,
        layout=found,
        read=lambda rows: with_channels(pile.rows(rows), found)[0],
        digest=arrays_digest(lambda: iter((labels, *pile.blocks))),
        class_names=names_for_labels(names, labels),
    )
    if not pile.fitted:
        data = reshape_images(data, preprocessing)
    return data if n_per_class is None else draw_per_class(data, n_per_class, seed)


def class_indices(pile: Pile, class_names: Sequence[str] | None) -> tuple[IntArray, tuple[str, ...] | None]:
    """Labels as class indices, and the names of the classes: labels may be names, where these have an order."""
    names = pile.class_names if class_names is None else tuple(name_texts(class_names))
    labels = pile.labels
    if labels.dtype.kind in "US" or (labels.dtype.kind == "O" and all(isinstance(each, str) for each in labels)):
        if names is None:
            some = listing(sorted({str(each) for each in labels}), 3)
            raise OptionError(f"labels are names ({some}). Give class_names in the order of the model's outputs.")
        places = {name: place for place, name in enumerate(names)}
        for row, name in enumerate(map(str, labels)):
            if name not in places:
                raise OptionError(f"label {name!r} in row {row} is none of the class names. Give all of them.")
        labels = np.array([places[str(name)] for name in labels])
    elif labels.dtype.kind == "b" or (labels.dtype.kind == "f" and np.array_equal(labels, np.floor(labels))):
        labels = labels.astype(np.int64)  # whole numbers, whatever they are kept as; NaN is none
    return check_labels(labels, len(pile)), names


def _layout(pile: Pile, said: Layout | None, otherwise: Layout) -> Layout:
    try:
        return with_channels(pile.rows(slice(0, 1)), said)[1]
    except InvalidInputError:
        return otherwise


def _is_pair(data: Any) -> bool:
    if not isinstance(data, list | tuple) or len(data) not in (2, 3):
        return False
    return not all(isinstance(each, tuple | Mapping) for each in data)  # which would be samples


def _pile_of_pair(images: Any, labels: Any, shape: Preprocessing) -> Pile:
    if isinstance(images, list | tuple) and images and isinstance(images[0], Image.Image):
        return read_pile(list(zip(images, as_array(labels, "labels").tolist(), strict=False)), shape)
    inputs, classes = as_array(images, "images"), as_array(labels, "labels")
    if inputs.ndim == 0 or len(inputs) == 0:
        raise OptionError("data holds no input. Give at least one of each of two classes.")
    if inputs.dtype.kind not in "uifb":
        raise OptionError(f"data holds inputs of type {inputs.dtype}. Give numbers.")
    if classes.shape[:1] != inputs.shape[:1]:
        raise OptionError(f"data holds {len(inputs)} inputs and labels of shape {classes.shape}. Give one label each.")
    return Pile(source="arrays", blocks=[compact(inputs, share=True)], labels=classes)


def _columns(data: Mapping[Any, Any]) -> tuple[Any, Any]:
    """Images and labels by their usual names."""
    found = [next((key for key in keys if key in data), None) for keys in (IMAGES, LABELS)]
    if found[0] is None or found[1] is None:
        missing = "images" if found[0] is None else "labels"
        raise OptionError(
            f"{type(data).__name__} has no {missing}: it holds {listing([str(key) for key in data])}. Call them "
            f"'image' and 'label', or give one part of it, such as data['test']."
        )
    return data[found[0]], data[found[1]]


def _iterate(data: Any) -> Iterator[Any]:
    """The batches or samples of a loader or a data set."""
    kind = type(data).__name__
    if isinstance(data, str | bytes) or hasattr(data, "shape"):
        raise OptionError(f"data is {kind}, without labels. {PAIR}")
    try:
        if hasattr(data, "__iter__"):
            yield from data
        elif hasattr(data, "__getitem__") and hasattr(data, "__len__"):
            yield from (data[row] for row in range(len(data)))
        else:
            raise OptionError(f"data is {kind}. {PAIR}")
    except InvalidInputError:
        raise
    except Exception as error:  # whatever a transform or a worker raises
        told = f"{type(error).__name__}: {first_line(error)}"
        raise OptionError(f"{kind} failed while it was read ({told}). Go through it in Python to see where.") from error


class _Pictures:
    """Reads images; Pillow ones get the shape that is asked for."""

    def __init__(self, shape: Preprocessing) -> None:
        self._shape, self.fitted = shape, False

    def read(self, image: Any) -> NDArray[Any]:
        if not isinstance(image, Image.Image):
            return as_array(image, "images")
        plain = image if image.mode == "L" else image.convert("L" if image.mode == "1" else "RGB")
        self.fitted = self._shape.reshapes
        return np.asarray(self._shape.fit(plain) if self.fitted else plain)


def _batches(items: Iterable[Any], pictures: _Pictures) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Images and labels of each batch; a sample is a batch of one, and a few are put together."""
    few: list[tuple[NDArray[Any], Any]] = []
    for item in items:
        pair = _columns(item) if isinstance(item, Mapping) else item
        if not isinstance(pair, list | tuple) or len(pair) < 2:
            raise OptionError(f"data gives {type(pair).__name__} alone, without labels. {PAIR}")
        label = as_array(pair[1], "labels")
        if label.ndim > 0:
            images = as_array(pair[0], "images")
            if images.shape[:1] != label.shape[:1]:
                raise OptionError(f"a batch has images of shape {images.shape} and labels of shape {label.shape}.")
            if label.ndim > 1:
                raise OptionError(f"labels of a batch have shape {label.shape}. Give class indices: argmax(axis=1).")
            if len(images):
                yield images, label
            continue
        few.append((pictures.read(pair[0]), label[()]))
        if few[0][0].nbytes * len(few) >= BLOCK_BYTES:
            yield from _stacked(few)
            few = []
    yield from _stacked(few)


def _stacked(few: Sequence[tuple[NDArray[Any], Any]]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    start = 0
    for stop in range(1, len(few) + 1):  # images of one shape together: another is refused by whoever reads them
        if stop == len(few) or few[stop][0].shape != few[start][0].shape:
            part = few[start:stop]
            yield np.stack([image for image, _ in part]), np.array([label for _, label in part])
            start = stop


def _class_names(data: Any) -> tuple[str, ...] | None:
    """The names that a data set, or that of a loader, has for its classes."""
    inner = getattr(data, "dataset", data)
    names = getattr(inner, "classes", None)
    features = getattr(inner, "features", None)
    if names is None and isinstance(features, Mapping):
        names = next((getattr(features[key], "names", None) for key in LABELS if key in features), None)
    if not isinstance(names, list | tuple):
        return None
    return tuple(str(name) for name in names)
