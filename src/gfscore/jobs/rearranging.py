"""Whether the pixels of images stand in another order than the model was trained on: others, tried on a few images.

Reshaping where axes should have been transposed gives images of the right shape whose pixels are scattered, and a
network then does no better than guessing. Nothing is ever changed by what is found: the better order is named.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gfscore.errors import GFScoreError
from gfscore.inputs.data import take
from gfscore.inputs.protocols import CHANNEL_AXIS, Layout
from gfscore.jobs.probing import preprocessing_flags, sign_test, some_rows
from gfscore.judge.flags import IMAGES_REARRANGED
from gfscore.measures import Run
from gfscore.results import Flag

# On thirteen public networks for CIFAR-10, MNIST and Fashion-MNIST of 58 to 99 % accuracy, images that were reshaped
# left 9 to 30 %, and images with rows and columns exchanged 11 to 38 %; a third of the way from guessing to all right,
# which is 40 % of ten classes, lies above.
NEAR_CHANCE = 1 / 3
LEVEL = 0.001  # how probable it is at most that an order that is no better is named
TIMES_BETTER = 2  # as many right decisions

Order = tuple[str, str, NDArray[np.generic], Layout]  # what was done, what undoes it, the images and their axes


def input_flags(run: Run | None, accuracy: float, n_classes: int) -> tuple[Flag, ...]:
    """What may be wrong with the images of a run of which little is right: the order of pixels, or else their scale."""
    return rearranged_flags(run, accuracy, n_classes) or preprocessing_flags(run, accuracy, n_classes)


def rearranged_flags(run: Run | None, accuracy: float, n_classes: int) -> tuple[Flag, ...]:
    """The flag of images whose pixels fit far better in another order, where accuracy is near chance."""
    if run is None or accuracy > 1 / n_classes + NEAR_CHANCE * (1 - 1 / n_classes):
        return ()
    rows = some_rows(run)
    images, labels = take(run.data, rows), run.data.labels[rows]
    as_it_is = _right(run, images, run.data.layout, labels)
    orders = list(_other_orders(images, run.data.layout))
    best: tuple[int, Flag] | None = None
    for done, cure, moved, layout in orders:
        try:
            right = _right(run, moved, layout, labels)
        except GFScoreError:  # a model that refuses images of this shape
            continue
        count, before = int(right.sum()), int(as_it_is.sum())
        far = count >= TIMES_BETTER * before and len(orders) * sign_test(right, as_it_is) <= LEVEL
        if far and (best is None or count > best[0]):
            best = count, _flag(len(rows), before, count, done, cure)
    return () if best is None else (best[1],)


def _right(run: Run, images: NDArray[np.generic], layout: Layout, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the images are classified rightly, their axes being in this order."""
    inputs = run.preprocessing.apply(images, layout, run.model.layout)
    return np.asarray(run.forward(inputs).argmax(axis=1) == labels)


def _other_orders(images: NDArray[np.generic], layout: Layout) -> Iterator[Order]:
    """What people do to images by mistake, undone.

    >>> images = np.arange(12).reshape(1, 2, 2, 3)
    >>> scattered = images.reshape(1, 3, 2, 2)
    >>> done, cure, moved, _ = next(_other_orders(scattered, "NCHW"))
    >>> done, cure, np.array_equal(moved, images)
    ('reshaped from (2, 2, 3) to (3, 2, 2) instead of transposed', 'images.reshape(-1, 2, 2, 3)', True)
    """
    n, *shape = images.shape
    channels = shape.pop(CHANNEL_AXIS[layout] - 1)
    height, width = shape
    other: Layout = "NHWC" if layout == "NCHW" else "NCHW"
    given, wanted = (height, width, channels), (channels, height, width)
    if layout == "NHWC":
        given, wanted = wanted, given
    if channels > 1:
        back = ", ".join(map(str, given))
        done, cure = f"reshaped from ({back}) to ({', '.join(map(str, wanted))})", f"images.reshape(-1, {back})"
        yield f"{done} instead of transposed", cure, images.reshape(n, *given), other
    axes = (1, 2) if layout == "NHWC" else (2, 3)
    if height == width:
        cure = f"images.swapaxes({axes[0]}, {axes[1]})"
        yield "saved with rows and columns exchanged", cure, np.ascontiguousarray(images.swapaxes(*axes)), layout


def _flag(n: int, before: int, after: int, done: str, cure: str) -> Flag:
    return Flag(
        code=IMAGES_REARRANGED,
        message=f"of {n:,} images {100 * before / n:.3g} % are classified rightly as they are, and "
        f"{100 * after / n:.3g} % in another order of their pixels: they seem to have been {done}. "
        f"Save {cure}; nothing was changed here.",
    )
