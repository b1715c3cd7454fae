"""The intervals under one roof: which one, at which level, for all classes at once."""

from enum import StrEnum

import numpy as np

from gfscore.bounds.bernstein import bernstein_lower
from gfscore.bounds.betting import betting_lower
from gfscore.bounds.hoeffding import hoeffding_lower
from gfscore.bounds.kl import kl_lower
from gfscore.bounds.parts import PartScores
from gfscore.errors import EmptyIntervalError, OptionError
from gfscore.samples import FloatArray

ROUNDING = 1e-9  # by which two ends may cross without contradicting each other


class Method(StrEnum):
    """How the interval of a class mean is found. All hold for any scores in [0, maximum]."""

    BETTING = "betting"  # narrow, whatever the scores; depends on a recorded random order
    KL = "kl"  # narrow near 0 and near the maximum; needs only means and counts
    BERNSTEIN = "bernstein"  # narrow for many samples of little spread; needs means, deviations and counts
    HOEFFDING = "hoeffding"  # the paper's: depends on nothing but counts

    @classmethod
    def named(cls, name: str) -> "Method":
        """The method of that name, or an error that lists them."""
        try:
            return cls(name)
        except ValueError:
            raise OptionError(f"no interval is called {name!r}. Choose one of {', '.join(cls)}.") from None


def lower_bounds(parts: PartScores, alpha: float, method: Method) -> FloatArray:
    """Lower bound of each part's mean, ``(K,)`` in [0, 1]; each one fails with probability at most ``alpha``."""
    match method:
        case Method.BETTING:
            bounds = betting_lower(parts, alpha)
        case Method.KL:
            bounds = kl_lower(parts.means, parts.counts, alpha, sizes=parts.sizes)
        case Method.HOEFFDING:
            bounds = hoeffding_lower(parts.means, parts.counts, alpha, sizes=parts.sizes)
        case Method.BERNSTEIN:
            if parts.sizes is not None:
                raise OptionError(
                    "the bernstein interval is for draws from a distribution. Use betting for a fixed set."
                )
            bounds = bernstein_lower(parts.means, parts.variances, parts.counts, alpha)
    return bounds


def class_box(parts: PartScores, delta: float, method: Method) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends for all parts at once, ``(K,)`` each in [0, 1], with probability at least 1 - ``delta``.

    Each end of each part fails with probability at most delta / (2K). The estimate always lies between them: an
    interval may be widened, and one that leaves its own estimate out, as betting rarely does, helps nobody.
    """
    alpha = delta / (2 * len(parts.counts))
    lower, upper = lower_bounds(parts, alpha, method), 1.0 - lower_bounds(parts.mirrored(), alpha, method)
    empty = lower > upper + ROUNDING
    if empty.any():
        raise EmptyIntervalError(f"the part at index {int(np.argmax(empty))}")
    return np.minimum(lower, parts.means), np.maximum(upper, parts.means)
