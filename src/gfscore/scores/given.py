"""Radii from elsewhere: what a verifier proved, sample by sample.

Radii have no largest value of their own, and intervals need a range: they are cut at one that was fixed before looking.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gfscore.arrays import FloatArray
from gfscore.errors import OptionError, SamplesError
from gfscore.results import Flag
from gfscore.samples import Samples
from gfscore.scores.great import decisions
from gfscore.scores.sample_scores import LocalScores

PREMISE = (
    "{} radii in [0, 1] pixels as they were given, true if whoever computed them proved them for this network, these "
    "images and these labels."
)
CAPS = {"l2": 1.0, "linf": 16 / 255}  # twice the usual radii of interest, 0.5 and 8/255
CAPPED_SHARE = 0.1  # of the samples: then the cap decides the profile
FAR_BELOW = 0.05  # of the cap, for the largest radius


def given_scores(samples: Samples, radii: ArrayLike, *, norm: str = "l2", cap: float | None = None) -> LocalScores:
    """Radii ``(N,)`` from any verifier as scores; for a sample that the logits misclassify the radius counts as 0.

    In units of [0, 1] pixels, before mean and std. Radii above ``cap`` count as ``cap``: intervals need a range that
    was fixed before looking (1 for L2, 16/255 for Linf by default).

    >>> samples = Samples.of([[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [0, 1, 0])
    >>> local = given_scores(samples, [0.3, 0.0, 0.2])
    >>> local.values, [flag.code for flag in local.flags]
    (array([0.3, 0. , 0. ]), ['radius_of_misclassified'])
    """
    values: FloatArray = np.asarray(radii, dtype=np.float64)
    if values.shape != (samples.n_samples,):
        raise SamplesError(f"radii have shape {values.shape} for {samples.n_samples} samples. Give one per sample.")
    broken = ~np.isfinite(values) | (values < 0)
    if broken.any():
        row = int(np.argmax(broken))
        which = f"in row {row}" if samples.sample_ids is None else f"of sample {samples.sample_ids[row]!r}"
        raise SamplesError(
            f"radius {values[row]:g} {which} is not a number of at least 0. Write 0 where none is proven."
        )
    limit = check_cap(cap, norm)
    own, rival, predicted = decisions(samples)
    wrong = own <= rival
    n_wrong = int((wrong & (values > 0)).sum())
    values, flags = apply_cap(np.where(wrong, 0.0, values), limit)
    if n_wrong:
        message = (
            f"{n_wrong:,} samples have a radius but are misclassified by the logits: they count as 0. Check that "
            "radii, logits and labels belong together."
        )
        flags += (Flag(code="radius_of_misclassified", message=message),)
    return LocalScores(
        name="given",
        values=values,
        maximum=limit,
        predicted=predicted,
        premise=PREMISE.format(norm.upper()),
        certified=True,
        own_logits=own,
        rival_logits=rival,
        norm=norm,
        settings={"cap": limit},
        flags=flags,
    )


def check_cap(cap: float | None, norm: str) -> float:
    """The cap, or the usual one of that norm."""
    if norm not in CAPS:
        raise OptionError(f"norm {norm!r} is not known. Choose {' or '.join(CAPS)}.")
    limit = CAPS[norm] if cap is None else cap
    if not (math.isfinite(limit) and limit > 0):
        raise OptionError(f"cap {limit:g} is not a positive number. Give the largest radius of interest, such as 1.")
    return float(limit)


def apply_cap(radii: NDArray[np.floating], cap: float) -> tuple[FloatArray, tuple[Flag, ...]]:
    """Radii up to ``cap``, which are certified whenever the larger ones are; a flag when it cuts many, or is far away.

    >>> apply_cap(np.array([0.1, 3.0]), 1.0)[0]
    array([0.1, 1. ])
    """
    share, largest = float((radii > cap).mean()), float(radii.max())
    found: list[Flag] = []
    if share > CAPPED_SHARE:
        message = (
            f"{100 * share:.1f} % of the radii are above the cap of {cap:.4g} and count as that. Raise --cap, for a "
            "reason other than these data."
        )
        found.append(Flag(code="capped", message=message))
    elif 0 < largest < FAR_BELOW * cap:
        message = (
            f"the largest radius is {largest:.2g}, far below the cap of {cap:.4g}, and intervals are as wide as the "
            "cap makes them. Fix a smaller --cap before looking at other data."
        )
        found.append(Flag(code="far_below_cap", message=message))
    return np.minimum(radii, cap), tuple(found)
