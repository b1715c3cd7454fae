"""Radii from a Lipschitz constant of the logits: the margin divided by how fast it can shrink."""

import math

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.errors import OptionError
from gfscore.samples import Samples
from gfscore.scores.capped import capped, checked_cap
from gfscore.scores.decisions import decisions
from gfscore.scores.local import LocalScores

PREMISE = (
    "L2 radii in [0, 1] pixels, true if the logits are L-Lipschitz in the pixels with the constant L that is recorded, "
    "up to the rounding of the forward passes."
)


def margin_radii(margins: FloatArray, lipschitz: float) -> FloatArray:
    r"""Radius within which a leading logit stays ahead.

    .. math:: R(x) = \frac{f_y(x) - \max_{j \ne y} f_j(x)}{\sqrt{2}\, L}

    The difference of two logits is :math:`\sqrt 2 L`-Lipschitz when the vector of logits is L-Lipschitz from L2 to L2.
    ``margins`` is ``(N,)``; a negative one gives 0. Tsuzuku, Sato and Sugiyama, NeurIPS 2018.

    >>> margin_radii(np.array([1.0, -1.0]), 10.0).round(4)
    array([0.0707, 0.    ])
    """
    return np.asarray(np.maximum(margins, 0.0) / (math.sqrt(2.0) * checked_constant(lipschitz)))


def lipschitz_scores(
    samples: Samples, lipschitz: float, *, cap: float | None = None, how: str = "given"
) -> LocalScores:
    """Certified radius of each sample, from the L2 Lipschitz constant of its logits in [0, 1] pixels.

    A constant for the network's inputs after ``(pixel - mean) / std`` is one for pixels once it is divided by the
    smallest std: :func:`of_pixels`. Radii above ``cap`` count as ``cap``.

    >>> samples = Samples.of([[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [0, 1, 0])
    >>> lipschitz_scores(samples, 10.0).values.round(4)
    array([0.1414, 0.0707, 0.    ])
    """
    if samples.probabilities:
        raise OptionError("a Lipschitz certificate needs logits, to which the constant belongs. Give logits.")
    checked_constant(lipschitz)
    own, rival, predicted = decisions(samples)
    limit = checked_cap(cap, "l2")
    values, flags = capped(margin_radii(own - rival, lipschitz), limit)
    return LocalScores(
        name="lipschitz",
        values=values,
        maximum=limit,
        predicted=predicted,
        premise=PREMISE,
        certified=True,
        own_logits=own,
        rival_logits=rival,
        norm="l2",
        settings={"lipschitz": lipschitz, "lipschitz_from": how, "cap": limit},
        flags=flags,
    )


def of_pixels(lipschitz: float, std: tuple[float, ...]) -> float:
    r"""The constant in [0, 1] pixels of a network whose constant is for ``(pixel - mean) / std``.

    .. math:: \|f(u) - f(v)\| \le L \Big\|\frac{u - v}{\mathrm{std}}\Big\| \le \frac{L}{\min \mathrm{std}} \|u - v\|

    >>> of_pixels(3.0, (0.25, 0.5))
    12.0
    """
    return checked_constant(lipschitz) / min(std)


def checked_constant(lipschitz: float) -> float:
    """The constant, if it can be one."""
    if not (math.isfinite(lipschitz) and lipschitz > 0):
        raise OptionError(f"Lipschitz constant {lipschitz:g} is not a positive number. Give a proven upper bound.")
    return float(lipschitz)
