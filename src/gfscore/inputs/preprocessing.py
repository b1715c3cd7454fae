"""Preprocessing as data: what happens to pixels before the model sees them, recorded in every result.

Two parts, which never mix. The *shape* of an image (grey, resize, crop) is made once, where it is read: by
:func:`gfscore.inputs.data.load_data`. Its *values* are made per batch, by :meth:`Preprocessing.apply`: first pixels in
[0, 1], the unit of every radius, then ``(pixel - mean) / std``.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from gfscore.arrays import IntArray
from gfscore.errors import OptionError
from gfscore.inputs.known_data import preset_values, refuse_bytes
from gfscore.inputs.protocols import CHANNEL_AXIS, Layout, along_channels, change_layout

Interpolation = Literal["nearest", "bilinear", "bicubic", "lanczos", "box"]
Size = int | tuple[int, int]
Pixels = NDArray[np.float32]
ROUNDING = 1e-5  # of the range: how far rounding may carry a float pixel beyond its end


@dataclass(frozen=True, slots=True, kw_only=True)
class Preprocessing:
    """How an image becomes an input; a single mean or std stands for all channels.

    >>> cifar = Preprocessing.from_options(preset="cifar10")
    >>> cifar.apply(np.full((1, 32, 32, 3), 255, np.uint8), "NHWC", "NCHW")[0, :, 0, 0].round(3)
    array([2.058, 2.126, 2.116], dtype=float32)
    """

    mean: tuple[float, ...] = (0.0,)  # in [0, 1] pixel units, a value per channel
    std: tuple[float, ...] = (1.0,)
    resize: Size | None = None  # pixels of the shorter side, or (height, width)
    crop: Size | None = None  # side, or (height, width), of the middle that stays
    interpolation: Interpolation = "bilinear"  # as Pillow does it, so with antialiasing
    grey: bool = False  # one channel instead of three
    value_range: tuple[float, float] | None = None  # what is mapped to [0, 1]; None: 0 to 255 for uint8, else 0 to 1
    layout: Layout | None = None  # of the stored images, where their shape does not tell

    def __post_init__(self) -> None:
        if any(not math.isfinite(value) for value in self.mean) or not self.mean:
            raise OptionError(f"mean is {self.mean}. Give a number per channel, such as 0.49,0.48,0.45.")
        if any(not 0 < value < math.inf for value in self.std) or not self.std:
            raise OptionError(f"std is {self.std}; every value must be above 0. Give a number per channel.")
        refuse_bytes(self.mean, self.std)
        if len(self.mean) != len(self.std) and 1 not in (len(self.mean), len(self.std)):
            raise OptionError(f"mean has {len(self.mean)} values and std {len(self.std)}. Give one each per channel.")
        for name in ("resize", "crop"):
            size = getattr(self, name)
            if size is not None and min(_pair(size)) < 1:
                raise OptionError(f"{name} is {size}. Give pixels, such as 224 or 224x224.")
        _one_of(self.interpolation, get_args(Interpolation), "interpolation")
        if self.layout is not None:
            _one_of(self.layout, get_args(Layout), "layout")
        if self.value_range is not None and not -math.inf < self.value_range[0] < self.value_range[1] < math.inf:
            low, high = self.value_range
            raise OptionError(f"range is {low:g} to {high:g}. Give the lower end, then the upper, such as -1,1.")

    @classmethod
    def from_options(
        cls,
        *,
        preset: str | None = None,
        mean: str | Sequence[float] | None = None,
        std: str | Sequence[float] | None = None,
        resize: str | Size | None = None,
        crop: str | Size | None = None,
        value_range: str | Sequence[float] | None = None,
        **others: Any,
    ) -> Self:
        """From what a user writes: numbers as ``"0.49,0.48,0.45"``, sizes as ``"256"`` or ``"224x224"``.

        >>> Preprocessing.from_options(mean="0.5", std="0.25", resize="32", value_range="-1,1").value_range
        (-1.0, 1.0)
        """
        if preset is not None:
            if mean is not None or std is not None:
                raise OptionError(f"preset {preset!r} is given beside mean or std. Give one or the other.")
            mean, std = preset_values(preset)
        if (mean is None) != (std is None):
            given, missing = ("mean", "std") if std is None else ("std", "mean")
            raise OptionError(f"{given} is given without {missing}. Give both (mean 0 and std 1 change nothing).")
        if mean is not None and std is not None:
            others |= {"mean": _numbers(mean, "mean"), "std": _numbers(std, "std")}
        if value_range is not None:
            ends = _numbers(value_range, "range")
            if len(ends) != 2:
                raise OptionError(f"range has {len(ends)} numbers. Give the two ends, such as -1,1.")
            others["value_range"] = ends
        for name, case in (("layout", str.upper), ("interpolation", str.lower)):
            if isinstance(others.get(name), str):
                others[name] = case(others[name])
        return cls(resize=_size(resize, "resize"), crop=_size(crop, "crop"), **others)

    def describe(self) -> dict[str, Any]:
        """All of it as JSON values, for the provenance of a result and the key of stored logits."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @property
    def reshapes(self) -> bool:
        """Whether images must go through :meth:`fit`."""
        return self.grey or self.resize is not None or self.crop is not None

    @property
    def normalises(self) -> bool:
        """Whether mean and std change anything."""
        return any(self.mean) or any(value != 1 for value in self.std)

    def fit(self, image: Image.Image) -> Image.Image:
        """One image in the shape asked for: made grey, then resized, then the middle cropped."""
        if self.grey and image.mode != "L":
            image = image.convert("L")
        if self.resize is not None:
            height, width = _resized_size(self.resize, image.height, image.width)
            if (height, width) != (image.height, image.width):
                image = image.resize((width, height), Image.Resampling[self.interpolation.upper()])
        if self.crop is not None:
            height, width = _pair(self.crop)
            if height > image.height or width > image.width:
                raise OptionError(
                    f"crop {height} x {width} is larger than the image of {image.height} x {image.width} pixels. "
                    "Resize first, or crop less."
                )
            top, left = round((image.height - height) / 2), round((image.width - width) / 2)
            image = image.crop((left, top, left + width, top + height))
        return image

    def fitted_size(self, height: int, width: int) -> tuple[int, int]:
        """Height and width of the largest image that :meth:`fit` makes of one of these."""
        if self.resize is not None:
            return _resized_size(self.resize, height, width)
        return (height, width) if self.crop is None else _pair(self.crop)

    def to_unit(self, images: NDArray[Any]) -> Pixels:
        """Pixels in [0, 1], in the layout they came in."""
        scale, offset = self._unit_map(images.dtype)
        return _scale(images, np.float32(scale), np.float32(offset))

    def normalise(self, unit: NDArray[Any], layout: Layout) -> Pixels:
        """``(pixel - mean) / std`` for pixels in [0, 1]."""
        mean, std = self._channels(unit, layout)
        return _scale(unit, along_channels(1 / std, layout), along_channels(-mean / std, layout))

    def apply(self, images: NDArray[Any], from_layout: Layout, to_layout: Layout) -> Pixels:
        r"""Inputs of the model for stored images: :meth:`to_unit` and :meth:`normalise` as one multiplication and sum.

        .. math:: \frac{s x + o - \mu}{\sigma} = \frac{s}{\sigma}\, x + \frac{o - \mu}{\sigma}

        ``images`` is ``(n, H, W, C)`` or ``(n, C, H, W)``; the result is contiguous, and no copy where nothing changes.
        A call has a price of its own: for a model that takes one image at a time, prepare many and give it slices.
        """
        mean, std = self._channels(images, from_layout)
        self._check_shape(images, from_layout)
        scale, offset = self._unit_map(images.dtype)
        factor = along_channels(scale / std, to_layout)
        term = along_channels((offset - mean) / std, to_layout)
        # turned before they become floats, which take four times the memory of bytes
        turned = np.ascontiguousarray(change_layout(images, from_layout, to_layout))
        return _scale(turned, factor, term)

    def check_range(self, images: NDArray[Any]) -> None:
        """Refuse a first batch whose values are not what they must be: the most frequent error there is.

        >>> Preprocessing(value_range=(-1, 1)).check_range(np.array([-1.0, 0.5, 1.0]))
        """
        if images.dtype.kind not in "uifb":
            raise OptionError(f"images have type {images.dtype}. Save them as uint8 or float32.")
        low, high = float(images.min()), float(images.max())
        if fault := self._fault(low, high, images.dtype):
            raise OptionError(fault)
        if self.value_range is None and images.dtype == np.uint8 and high <= 1:
            raise OptionError(
                f"images are uint8 but no value is above {high:g}: they look like [0, 1] pixels cut to whole "
                "numbers. Save them as float32, or as 0 to 255; if 0 and 1 are meant, give --range 0,1."
            )

    def check_rows(self, images: NDArray[Any], rows: range | IntArray) -> None:
        """Refuse images (n, ...), ``rows`` of the data, with values outside their range; a dark one is no fault.

        >>> Preprocessing().check_rows(np.array([[0.2], [7.0]]), range(300, 302))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        gfscore.errors.OptionError: images reach from 7 to 7 in row 301, outside [0, 1]. They look like 0 to 255: ...
        """
        if self.value_range is None and images.dtype == np.uint8:
            return  # whatever it holds is a pixel
        if not self._fault(float(images.min()), float(images.max()), images.dtype):
            return
        axes = tuple(range(1, images.ndim))
        ends = zip(images.min(axis=axes).tolist(), images.max(axis=axes).tolist(), rows, strict=True)
        wrong = [(low, high, int(row)) for low, high, row in ends if self._fault(low, high, images.dtype)]
        lows, highs, found = zip(*wrong, strict=True)
        where = f"row {found[0]}" if len(found) == 1 else f"{len(found):,} rows from {min(found)} to {max(found)}"
        raise OptionError(self._fault(min(lows), max(highs), images.dtype, f" in {where}"))

    def _fault(self, low: float, high: float, dtype: np.dtype[Any], where: str = "") -> str:
        """What is wrong with pixels from ``low`` to ``high``; nothing when they are as they must be."""
        if not (math.isfinite(low) and math.isfinite(high)):
            return f"images hold NaN or infinity{where}. Look for the division that made it."
        reach = f"images reach from {low:.4g} to {high:.4g}{where}, outside"
        if self.value_range is None:
            fits = dtype == np.uint8 or _inside(low, high, (0, 1))
            return "" if fits else f"{reach} [0, 1]. {_advice(low, high)}"
        if _inside(low, high, self.value_range):
            return ""
        lower, upper = self.value_range
        return f"{reach} the range {lower:g} to {upper:g} that was given. Give the range they were made in."

    def _unit_map(self, dtype: np.dtype[Any]) -> tuple[float, float]:
        """Scale and offset that carry a stored value to [0, 1]."""
        low, high = self.value_range or (0.0, 255.0 if dtype == np.uint8 else 1.0)
        return 1 / (high - low), -low / (high - low)

    def _channels(self, images: NDArray[Any], layout: Layout) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and std, held against the channels of the images."""
        if images.ndim != 4:
            raise OptionError(f"images have shape {images.shape}; a batch in layout {layout} has four axes.")
        channels = images.shape[CHANNEL_AXIS[layout]]
        for name, values in (("mean", self.mean), ("std", self.std)):
            if len(values) not in (1, channels):
                raise OptionError(
                    f"{name} has {len(values)} values for images of {channels} channel(s). Make them equal."
                )
        return np.asarray(self.mean), np.asarray(self.std)

    def _check_shape(self, images: NDArray[Any], layout: Layout) -> None:
        """Resizing happens where images are read; were it forgotten, it would go unnoticed."""
        height, width = images.shape[1:3] if layout == "NHWC" else images.shape[2:4]
        if (height, width) != (self.fitted_size(height, width) if self.crop is None else _pair(self.crop)):
            raise OptionError(
                f"images are {height} x {width} pixels but resize is {self.resize} and crop {self.crop}. "
                "Give the preprocessing to load_data too, which resizes as it reads."
            )


def _scale(images: NDArray[Any], factor: Any, term: Any) -> Pixels:
    if np.all(factor == 1) and np.all(term == 0):
        return images.astype(np.float32, copy=False)
    scaled: Pixels = np.multiply(images, factor, dtype=np.float32)
    scaled += term
    return scaled


def _pair(size: Size) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else size


def _resized_size(size: Size, height: int, width: int) -> tuple[int, int]:
    """Height and width after a resize; a single number is for the shorter side, the other keeps the proportion."""
    if not isinstance(size, int):
        return size
    shorter = min(height, width)
    return int(size * height / shorter), int(size * width / shorter)


def _one_of(value: str, allowed: Sequence[str], what: str) -> None:
    if value not in allowed:
        raise OptionError(f"{what} is {value!r}; it must be one of {', '.join(allowed)}.")


def _numbers(values: str | float | Sequence[float], what: str) -> tuple[float, ...]:
    if isinstance(values, int | float):
        values = (values,)
    try:
        return tuple(float(value) for value in (values.split(",") if isinstance(values, str) else values))
    except (TypeError, ValueError) as error:
        raise OptionError(f"{what} is {values!r}. Give numbers separated by commas, such as 0.49,0.48,0.45.") from error


def _size(size: str | Size | None, what: str) -> Size | None:
    if not isinstance(size, str):
        return size
    try:
        match size.split("x"):
            case [side]:
                return int(side)
            case [height, width]:
                return int(height), int(width)
        raise ValueError("more than two sides")
    except ValueError as error:
        raise OptionError(
            f"{what} is {size!r}. Give pixels, such as 224, or height x width, such as 224x320."
        ) from error


def _inside(low: float, high: float, value_range: tuple[float, float]) -> bool:
    lower, upper = value_range
    slack = ROUNDING * (upper - lower)
    return lower - slack <= low and high <= upper + slack


def _advice(low: float, high: float) -> str:
    """What images outside [0, 1] most likely are, and what to do."""
    if _inside(low, high, (-1, 1)):
        return "If pixels were scaled to [-1, 1], as generators do, give --range -1,1 (range=(-1, 1))."
    if low < 0:
        return (
            "They look normalised, and would be again: save pixels (images * std + mean), and give mean and std here."
        )
    if high <= 255:
        return "They look like 0 to 255: save them as uint8, or give --range 0,255 (range=(0, 255))."
    return f"If pixels end at {high:g}, give --range 0,{high:g}."
