"""Are these pixels what they must be? The first batch tells what they are, and no later one may be anything else."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import IntArray
from gfscore.errors import OptionError

TOLERANCE = 1e-5  # of the range: how far rounding may carry a float pixel beyond its end


def check_range(images: NDArray[Any], value_range: tuple[float, float] | None) -> None:
    """Refuse images that are neither uint8 nor in [0, 1], or not in the range that was given for them.

    >>> check_range(np.array([0.0, 0.5, 1.0]), None)
    >>> check_range(np.array([-1.0, 0.5, 1.0]), (-1, 1))
    """
    if images.dtype.kind not in "uifb":
        raise OptionError(f"images have type {images.dtype}. Save them as uint8 or float32.")
    low, high = float(images.min()), float(images.max())
    _check_ends(low, high, images.dtype, value_range)
    if value_range is None and images.dtype == np.uint8 and high <= 1:
        raise OptionError(
            f"images are uint8 but no value is above {high:g}: they look like [0, 1] pixels cut to whole "
            "numbers. Save them as float32, or as 0 to 255; if 0 and 1 are meant, give --range 0,1."
        )


def check_rows(images: NDArray[Any], value_range: tuple[float, float] | None, rows: range | IntArray) -> None:
    """The same for any part of the images, (n, ...), whose numbers in the data are ``rows``; a dark one is no fault.

    >>> check_rows(np.array([[0.2], [7.0]]), None, range(300, 302))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    gfscore.errors.OptionError: images reach from 7 to 7 in row 301, outside [0, 1]. They look like 0 to 255: ...
    """
    if value_range is None and images.dtype == np.uint8:
        return  # whatever it holds is a pixel
    try:
        _check_ends(float(images.min()), float(images.max()), images.dtype, value_range)
    except OptionError:
        axes = tuple(range(1, images.ndim))
        each = list(zip(images.min(axis=axes).tolist(), images.max(axis=axes).tolist(), rows, strict=True))
        wrong = [(low, high, int(row)) for low, high, row in each if not _fits(low, high, images.dtype, value_range)]
        lows, highs, numbers = zip(*wrong, strict=True)
        _check_ends(min(lows), max(highs), images.dtype, value_range, f" in {_named(numbers)}")


def _check_ends(
    low: float, high: float, dtype: np.dtype[Any], value_range: tuple[float, float] | None, where: str = ""
) -> None:
    if not (math.isfinite(low) and math.isfinite(high)):
        raise OptionError(f"images hold NaN or infinity{where}. Look for the division that made it.")
    if value_range is not None:
        if not _inside(low, high, value_range):
            raise OptionError(
                f"images reach from {low:.4g} to {high:.4g}{where}, outside the range {value_range[0]:g} to "
                f"{value_range[1]:g} that was given. Give the range they were made in."
            )
    elif dtype != np.uint8 and not _inside(low, high, (0, 1)):
        raise OptionError(f"images reach from {low:.4g} to {high:.4g}{where}, outside [0, 1]. {_advice(low, high)}")


def _fits(low: float, high: float, dtype: np.dtype[Any], value_range: tuple[float, float] | None) -> bool:
    try:
        _check_ends(low, high, dtype, value_range)
    except OptionError:
        return False
    return True


def _named(rows: tuple[int, ...]) -> str:
    """Rows, for people.

    >>> _named((7,)), _named((3, 4, 9))
    ('row 7', '3 rows from 3 to 9')
    """
    return f"row {rows[0]}" if len(rows) == 1 else f"{len(rows):,} rows from {min(rows)} to {max(rows)}"


def _inside(low: float, high: float, value_range: tuple[float, float]) -> bool:
    lower, upper = value_range
    slack = TOLERANCE * (upper - lower)
    return lower - slack <= low and high <= upper + slack


def _advice(low: float, high: float) -> str:
    """What images outside [0, 1] most likely are, and what to do."""
    if _inside(low, high, (-1, 1)):
        return "If pixels were scaled to [-1, 1], as generators do, give --range -1,1 (value_range=(-1, 1))."
    if low < 0:
        return (
            "They look normalised, and would be again: save pixels (images * std + mean), and give mean and std here."
        )
    if high <= 255:
        return "They look like 0 to 255: save them as uint8, or give --range 0,255 (value_range=(0, 255))."
    return f"If pixels end at {high:g}, give --range 0,{high:g}."
