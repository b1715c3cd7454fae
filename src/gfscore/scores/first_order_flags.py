"""What makes first-order radii untrustworthy: slopes that are not there, steps that matter, radii that are cut off."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import FloatArray
from gfscore.errors import ModelError
from gfscore.results import Flag
from gfscore.scores.directions import ROUNDING

RESOLUTION = float(np.finfo(np.float32).eps) / 2  # 6e-8, between neighbouring float32 numbers in [1/2, 1)
MISSING_SHARE = 0.01  # of the correct samples without a radius: then no share is lowered by more than a point
STEP_CHANGE = 0.1  # median relative change of radii by half the step, above which the step is flagged
CAPPED_SHARE = 0.05  # of the radii at the maximum, above which the mean radius says too little


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Missing:
    """Which samples have no radius, (N,) each, and why."""

    correct: NDArray[np.bool_]  # the others have radius 0, whatever their slopes
    flat: NDArray[np.bool_]  # correct, and a slope towards some rival is zero or lost in rounding
    steep: NDArray[np.bool_]  # correct, and one is infinite, no number, or beyond what float32 resolves

    @classmethod
    def of(cls, correct: NDArray[np.bool_], logits: FloatArray, norms: FloatArray, largest: float) -> "Missing":
        r"""From logits (N, K) and the norms (N, R) of the margins' gradients.

        A slope is lost when it changes no logit by more than rounding within the ``largest`` radius R that counts, and
        too steep when the smallest move of a bright pixel makes up for the whole spread of the logits:

        .. math:: R\,\|\nabla\| \le \mathrm{ROUNDING}\,\max_k |f_k|, \qquad
                  \mathrm{RESOLUTION}\,\|\nabla\| > \max_k f_k - \min_k f_k

        Neither is a fact about the model, but one about its arithmetic.
        """
        high, low = (ends[:, None].astype(np.float64) for ends in (logits.max(axis=1), logits.min(axis=1)))
        lost = largest * norms <= ROUNDING * np.maximum(np.abs(high), np.abs(low))
        resolved = np.isfinite(norms) & (RESOLUTION * norms <= high - low)
        flat = correct & lost.any(axis=1)
        return cls(correct=correct, flat=flat, steep=correct & ~flat & ~resolved.all(axis=1))

    @property
    def rows(self) -> NDArray[np.bool_]:
        """Samples without a radius, (N,)."""
        return np.asarray(self.flat | self.steep)

    def flags(self) -> tuple[Flag, ...]:
        """How many count as 0 for want of a radius; an error when they are more than one, and more than 1 %."""
        n_missing, n_correct = int(self.rows.sum()), int(self.correct.sum())
        if n_missing > max(1, MISSING_SHARE * n_correct):
            raise ModelError(
                f"{n_missing:,} of {n_correct:,} correct samples have no first-order radius: {int(self.flat.sum()):,} "
                f"have no slope towards a rival, {int(self.steep.sum()):,} one that is infinite or beyond float32. "
                "That is how masked gradients look: attack the model (gfscore check), or certify it (gfscore certify)."
            )
        found = []
        for code, rows, why in (
            ("zero_gradient", self.flat, "no slope towards a rival"),
            ("broken_gradient", self.steep, "a slope that is infinite, not a number, or beyond what float32 resolves"),
        ):
            if rows.any():
                message = (
                    f"{int(rows.sum()):,} of {n_correct:,} correct samples have {why}, and so no radius. They count as "
                    "radius 0, which lowers the score."
                )
                found.append(Flag(code=code, message=message))
        return tuple(found)


def fallback_flag(reason: str | None) -> Flag | None:
    """Why there are no gradients although they were asked for, if they were."""
    if reason is None:
        return None
    return Flag(
        code="no_gradients", message=f"{reason} The radii are forward-only estimates, with the standard errors stated."
    )


def capped_flag(capped: NDArray[np.bool_], maximum: float) -> Flag | None:
    """Whether too many radii are at the maximum."""
    if capped.mean() <= CAPPED_SHARE:
        return None
    return Flag(
        code="capped_radii",
        message=f"{100 * float(capped.mean()):.2g} % of the samples have a radius of at least {maximum:.4g} and count "
        "as that: the mean radius says little about them. Raise --max-radius.",
    )


def step_flag(radii: FloatArray, again: FloatArray, step: float) -> Flag | None:
    """Whether half the step finds other radii; NaN is no radius, which differs from any that is one."""
    apart = np.nan_to_num(np.abs(again / radii - 1)[~(np.isnan(radii) & np.isnan(again))], nan=np.inf)
    change = float(np.median(apart)) if len(apart) else 0.0
    if change <= STEP_CHANGE:
        return None
    by = f"by {100 * change:.0f} %" if change < 1 else "to twice as much or more"
    return Flag(
        code="step_matters",
        message=f"with half the step, {step / 2:g}, the radii of {len(apart)} samples change {by} (median): the "
        "model is too rough, or too coarsely rounded, for its slopes to be measured so. Try another --step.",
    )
