"""Radii from elsewhere: what a verifier proved, sample by sample."""

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import FloatArray
from gfscore.errors import SamplesError
from gfscore.results import Flag
from gfscore.samples import Samples
from gfscore.scores.capped import capped, checked_cap
from gfscore.scores.decisions import decisions
from gfscore.scores.local import LocalScores


def premise(norm: str) -> str:
    """What the radii are taken to be."""
    return (
        f"{norm.upper()} radii in [0, 1] pixels as they were given, true if whoever computed them proved them for this "
        "network, these images and these labels."
    )


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
    limit = checked_cap(cap, norm)
    own, rival, predicted = decisions(samples)
    wrong = own <= rival
    values, flags = capped(np.where(wrong, 0.0, values), limit)
    return LocalScores(
        name="given",
        values=values,
        maximum=limit,
        predicted=predicted,
        premise=premise(norm),
        certified=True,
        own_logits=own,
        rival_logits=rival,
        norm=norm,
        settings={"cap": limit},
        flags=flags + _misclassified(int((wrong & (np.asarray(radii) > 0)).sum())),
    )


def _misclassified(count: int) -> tuple[Flag, ...]:
    if count == 0:
        return ()
    return (
        Flag(
            code="radius_of_misclassified",
            message=f"{count:,} samples have a radius but are misclassified by the logits: they count as 0. Check that "
            "radii, logits and labels belong together.",
        ),
    )
