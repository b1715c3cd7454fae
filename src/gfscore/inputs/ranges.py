"""Are these pixels what they must be? The first batch tells, before anything is scored."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    if not (math.isfinite(low) and math.isfinite(high)):
        raise OptionError("images hold NaN or infinity. Look for the division that made it.")
    if value_range is not None:
        if not _inside(low, high, value_range):
            raise OptionError(
                f"images reach from {low:.4g} to {high:.4g}, outside the range {value_range[0]:g} to "
                f"{value_range[1]:g} that was given. Give the range they were made in."
            )
    elif images.dtype == np.uint8:
        if high <= 1:
            raise OptionError(
                f"images are uint8 but no value is above {high:g}: they look like [0, 1] pixels cut to whole "
                "numbers. Save them as float32, or as 0 to 255; if 0 and 1 are meant, give --range 0,1."
            )
    elif not _inside(low, high, (0, 1)):
        raise OptionError(f"images reach from {low:.4g} to {high:.4g}, outside [0, 1]. {_advice(low, high)}")


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
