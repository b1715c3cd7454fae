"""Whether another normalisation, or order of the pixels, fits a model better: tried on a few images, and named.

Nothing is ever changed by it: what fits is a guess about how a network was trained, and the user's to make.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import BoolArray, IntArray
from gfscore.errors import GFScoreError
from gfscore.inputs.data import take
from gfscore.inputs.known_data import N_CLASSES, OF_ANY_CHANNELS, PRESETS
from gfscore.inputs.models import TorchModel
from gfscore.inputs.protocols import CHANNEL_AXIS, Layout
from gfscore.judge.mistakes import beyond_guessing
from gfscore.measures import Run
from gfscore.results import COLOURS_SWAPPED, IMAGES_REARRANGED, PREPROCESSING_LIKELY, Flag

# On ten public CIFAR-10 networks of 58 to 93 % accuracy, inputs that were not normalised left 10 to 54 %. Two thirds of
# the way from guessing to all right, which is 70 % of ten classes, lies above what a wrong normalisation left of any.
LOW = 2 / 3
IMAGES = 128  # that each of at most five presets, and no normalisation, are tried on: at most 768 forward passes
LEVEL = 0.001  # how probable it is at most that a preset, or an order of pixels, that does not fit is named
ALIKE = 0.05  # presets that are not worse than the best at this level are named with it
NONE = "none"  # pixels as they are
# On thirteen public networks for CIFAR-10, MNIST and Fashion-MNIST of 58 to 99 % accuracy, images that were reshaped
# left 9 to 30 %, and images with rows and columns exchanged 11 to 38 %; a third of the way from guessing to all right,
# which is 40 % of ten classes, lies above.
NEAR_CHANCE = 1 / 3
TIMES_BETTER = 2  # as many right decisions
# On ten public CIFAR-10 networks of 61 to 94 % accuracy, blue, green, red instead of red, green, blue left 32 to 87 %,
# and was told from it every time on 512 images, on seven of ten on 128. Nine tenths of the way from guessing to all
# right, 91 % of ten classes, lies above.
COLOURS_LEAVE = 0.9
IMAGES_OF_COLOURS = 512  # where the first 128 speak for another order of colours; else it is left at those
Order = tuple[str, str, NDArray[np.generic], Layout]  # what was done, what undoes it, the images and their axes


@dataclass(frozen=True, slots=True)
class Right:
    """Which of some images a model is right about, and what share a guess would be that knows how often each class is.

    Where the labels are permuted a good network is never right, and any change of its images that makes it guess seems
    to be better: that is no cause.
    """

    found: BoolArray
    guess: float

    @classmethod
    def of(cls, decided: IntArray, labels: IntArray) -> Self:
        """From decisions and labels; a guess has as many of each class as the decisions have."""
        k = int(max(decided.max(), labels.max())) + 1
        shares = [np.bincount(each, minlength=k) / len(labels) for each in (decided, labels)]
        return cls(decided == labels, float(shares[0] @ shares[1]))

    @property
    def count(self) -> int:
        """Of how many images."""
        return int(self.found.sum())

    @property
    def share(self) -> float:
        """Of which share of the images."""
        return float(self.found.mean())

    @property
    def is_no_guess(self) -> bool:
        """Whether guessing is so often right with probability at most half a thousandth."""
        return beyond_guessing(self.count, len(self.found), self.guess)


@dataclass(frozen=True, slots=True)
class Tried:
    """What is right of the same images with each way to normalise them, by name; the best comes first."""

    right: Mapping[str, Right]

    @property
    def best(self) -> str:
        """The name of the way that most images are right with."""
        return next(iter(self.right))

    def accuracy(self, name: str) -> float:
        """The share that is right with one of them."""
        return self.right[name].share

    def alike(self) -> list[str]:
        """Others that are not shown to be worse than the best."""
        best = self.right[self.best].found
        return [name for name, each in self.right.items() if name != self.best and sign_test(best, each.found) > ALIKE]

    def is_better(self) -> bool:
        """Whether the best is no guess, and better than no normalisation by more than chance, of several tried."""
        best = self.right[self.best]
        if self.best == NONE or not best.is_no_guess:
            return False
        return (len(self.right) - 1) * sign_test(best.found, self.right[NONE].found) <= LEVEL


def sign_test(better: BoolArray, worse: BoolArray) -> float:
    r"""How probable so many images that only one way is right on are, were both equally good (McNemar, one-sided).

    .. math:: P(B \ge b), \qquad B \sim \mathrm{Bin}(b + c, \tfrac12)

    >>> right = np.array([True] * 6 + [False] * 2)
    >>> sign_test(right, ~right)  # 37 of the 256 ways to toss eight coins show six heads or more
    0.14453125
    """
    gained, lost = int((better & ~worse).sum()), int((worse & ~better).sum())
    tosses = gained + lost
    return sum(math.comb(tosses, k) for k in range(gained, tosses + 1)) / (1 << tosses)


def is_low(accuracy: float, n_classes: int) -> bool:
    """Whether so few decisions are right that a wrong normalisation may be why."""
    return accuracy < 1 / n_classes + LOW * (1 - 1 / n_classes)


def some_rows(run: Run, n: int = IMAGES) -> IntArray:
    """A few rows of the data, always the same."""
    return np.sort(np.random.default_rng(0).choice(run.n_samples, min(n, run.n_samples), replace=False))


def try_presets(run: Run, rows: IntArray | None = None) -> Tried:
    """What the model makes of a few images with every preset that fits their channels, and with none."""
    rows = some_rows(run) if rows is None else rows
    channels = run.data.images(slice(0, 1)).shape[CHANNEL_AXIS[run.data.layout]]
    ways = {name: (mean, std) for name, (mean, std) in PRESETS.items() if _fits(name, len(mean), channels)}
    found = dict[str, Right]()
    for name, (mean, std) in {NONE: ((0.0,), (1.0,)), **ways}.items():
        as_said = replace(run, preprocessing=replace(run.preprocessing, mean=mean, std=std))
        found[name] = Right.of(as_said.forward(as_said.inputs(rows)).argmax(axis=1), run.data.labels[rows])
    n_classes = int(run.data.labels.max()) + 1

    def rank(name: str) -> tuple[int, bool]:
        """Most right first; of several alike the one for data of as many classes."""
        return -found[name].count, name != NONE and N_CLASSES.get(name) != n_classes

    return Tried({name: found[name] for name in sorted(found, key=rank)})


def preprocessing_flags(run: Run | None, accuracy: float, n_classes: int) -> tuple[Flag, ...]:
    """The flag of a model that a preset fits better, where nobody said how it is normalised and little is right."""
    if run is None or run.told or not is_low(accuracy, n_classes):
        return ()
    try:
        tried = try_presets(run)
    except GFScoreError:  # a model that refuses other values: then there is nothing to tell
        return ()
    return (likely_flag(tried),) if tried.is_better() else ()


def likely_flag(tried: Tried) -> Flag:
    """The better preset, in words."""
    n, alike = len(tried.right[tried.best].found), [name for name in tried.alike() if name != NONE]
    others = f" ({' and '.join(alike)} {'does' if len(alike) == 1 else 'do'} about as well)" if alike else ""
    return Flag(
        code=PREPROCESSING_LIKELY,
        message=f"of {n:,} images {100 * tried.accuracy(NONE):.3g} % are classified rightly as they are, and "
        f"{100 * tried.accuracy(tried.best):.3g} % with --preset {tried.best}{others}: was the network trained on "
        "normalised images? Nothing was changed: give its own mean and std, or the preset.",
    )


def _fits(name: str, n_values: int, channels: int) -> bool:
    """Whether a preset is for images of so many channels: that of grey digits is none for colours."""
    return n_values == channels or name in OF_ANY_CHANNELS


def input_flags(run: Run | None, accuracy: float, n_classes: int) -> tuple[Flag, ...]:
    """What may be wrong with the images of a run: the order of pixels, or else their scale, or else their colours.

    Before that, how far the numbers are from those in float32, where another precision was asked for.
    """
    given = (run, accuracy, n_classes)
    doubts = rearranged_flags(*given) or preprocessing_flags(*given) or colour_flags(*given)
    return (*precision_flags(run), *doubts)


def precision_flags(run: Run | None) -> tuple[Flag, ...]:
    """The flag of a model whose forward passes are in float16 or bfloat16: what float32 gives on the first images."""
    if run is None or run.precision is None or not isinstance(run.model, TorchModel):
        return ()
    inputs = run.inputs(slice(0, min(IMAGES, run.n_samples)))
    rough, exact = (run.forward(inputs), replace(run, model=replace(run.model, precision=None)).forward(inputs))
    off, changed = np.abs(rough - exact).max(), int((rough.argmax(axis=1) != exact.argmax(axis=1)).sum())
    share = float(off / max(np.abs(exact).max(), np.finfo(np.float32).tiny))
    return (
        Flag(
            code="precision",
            message=f"forward passes are in {run.precision}, as was asked for: on the first {len(inputs):,} images "
            f"logits differ from those in float32 by up to {share:.2g} of the largest, and {changed:,} predictions are "
            "others. Gradients and attacks are in float32.",
        ),
    )


def colour_flags(run: Run | None, accuracy: float, n_classes: int) -> tuple[Flag, ...]:
    """The flag of images whose colours fit better in the other order, as OpenCV reads them: blue, green, red.

    A few images are tried first. Only where they speak for that order all of them are, on which it is then judged, so
    that an order that is no better is named with probability at most LEVEL.
    """
    if run is None or accuracy > 1 / n_classes + COLOURS_LEAVE * (1 - 1 / n_classes):
        return ()
    layout, axis = run.data.layout, CHANNEL_AXIS[run.data.layout]
    if run.data.images(slice(0, 1)).shape[axis] != 3:
        return ()
    rows = some_rows(run, IMAGES_OF_COLOURS)
    first = np.random.default_rng(0).permutation(len(rows))[:IMAGES]
    for part in (rows[np.sort(first)], rows):
        images, labels = take(run.data, part), run.data.labels[part]
        as_it_is = _right(run, images, layout, labels)
        swapped = _right(run, np.ascontiguousarray(np.flip(images, axis)), layout, labels)
        if swapped.count <= as_it_is.count:
            return ()
    if sign_test(swapped.found, as_it_is.found) > LEVEL or not swapped.is_no_guess:
        return ()
    cure = "images[..., ::-1]" if layout == "NHWC" else "images[:, ::-1]"
    return (
        Flag(
            code=COLOURS_SWAPPED,
            message=f"of {len(rows):,} images {100 * as_it_is.share:.3g} % are classified rightly as they are, and "
            f"{100 * swapped.share:.3g} % with their colours in the other order: they, or the images of training, "
            f"seem to be blue, green, red (OpenCV). Save {cure}; nothing was changed here.",
        ),
    )


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
        far = right.count >= TIMES_BETTER * as_it_is.count and right.is_no_guess
        far = far and len(orders) * sign_test(right.found, as_it_is.found) <= LEVEL
        if far and (best is None or right.count > best[0]):
            best = right.count, _flag(len(rows), as_it_is.count, right.count, done, cure)
    return () if best is None else (best[1],)


def _right(run: Run, images: NDArray[np.generic], layout: Layout, labels: IntArray) -> Right:
    """Which of the images are classified rightly, their axes being in this order."""
    inputs = run.preprocessing.apply(images, layout, run.model.layout)
    return Right.of(run.forward(inputs).argmax(axis=1), labels)


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
