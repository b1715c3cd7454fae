"""Radii that have no largest value of their own, cut at one that was fixed before looking: intervals need a range."""

import math

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import FloatArray
from gfscore.errors import OptionError
from gfscore.results import Flag

CAPS = {"l2": 1.0, "linf": 16 / 255}  # twice the usual radii of interest, 0.5 and 8/255
CAPPED_SHARE = 0.1  # of the samples: then the cap decides the profile
FAR_BELOW = 0.05  # of the cap, for the largest radius


def checked_cap(cap: float | None, norm: str) -> float:
    """The cap, or the usual one of that norm."""
    if norm not in CAPS:
        raise OptionError(f"norm {norm!r} is not known. Choose {' or '.join(CAPS)}.")
    limit = CAPS[norm] if cap is None else cap
    if not (math.isfinite(limit) and limit > 0):
        raise OptionError(f"cap {limit:g} is not a positive number. Give the largest radius of interest, such as 1.")
    return float(limit)


def capped(radii: NDArray[np.floating], cap: float) -> tuple[FloatArray, tuple[Flag, ...]]:
    """Radii up to ``cap``, which are certified whenever the larger ones are; a flag when it cuts many, or is far away.

    >>> capped(np.array([0.1, 3.0]), 1.0)[0]
    array([0.1, 1. ])
    """
    share, largest = float((radii > cap).mean()), float(radii.max())
    found: tuple[Flag, ...] = ()
    if share > CAPPED_SHARE:
        message = (
            f"{100 * share:.1f} % of the radii are above the cap of {cap:.4g} and count as that. Raise --cap, for a "
            "reason other than these data."
        )
        found = (Flag(code="capped", message=message),)
    elif 0 < largest < FAR_BELOW * cap:
        message = (
            f"the largest radius is {largest:.2g}, far below the cap of {cap:.4g}, and intervals are as wide as the "
            "cap makes them. Fix a smaller --cap before looking at other data."
        )
        found = (Flag(code="far_below_cap", message=message),)
    return np.minimum(radii, cap), found
