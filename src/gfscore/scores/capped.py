"""Radii that have no largest value of their own, cut at one that was fixed before looking: intervals need a range."""

import math

import numpy as np
from numpy.typing import NDArray

from gfscore.errors import OptionError
from gfscore.results import Flag
from gfscore.samples import FloatArray

CAPS = {"l2": 1.0, "linf": 16 / 255}  # twice the usual radii of interest, 0.5 and 8/255
CAPPED_SHARE = 0.1  # of the samples: then the cap decides the profile


def checked_cap(cap: float | None, norm: str) -> float:
    """The cap, or the usual one of that norm."""
    if norm not in CAPS:
        raise OptionError(f"norm {norm!r} is not known. Choose {' or '.join(CAPS)}.")
    limit = CAPS[norm] if cap is None else cap
    if not (math.isfinite(limit) and limit > 0):
        raise OptionError(f"cap {limit:g} is not a positive number. Give the largest radius of interest, such as 1.")
    return float(limit)


def capped(radii: NDArray[np.floating], cap: float) -> tuple[FloatArray, tuple[Flag, ...]]:
    """Radii up to ``cap``, which are certified whenever the larger ones are; a flag when it cuts many.

    >>> capped(np.array([0.1, 3.0]), 1.0)[0]
    array([0.1, 1. ])
    """
    share = float((radii > cap).mean())
    if share <= CAPPED_SHARE:
        return np.minimum(radii, cap), ()
    return np.minimum(radii, cap), (
        Flag(
            code="capped",
            message=f"{100 * share:.1f} % of the radii are above the cap of {cap:.4g} and count as that. Raise --cap, "
            "for a reason other than these data.",
        ),
    )
