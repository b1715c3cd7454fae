"""Is the clean accuracy what it should be? The first thing to know of any robustness number."""

import numpy as np
from numpy.typing import ArrayLike

from gfscore.bounds import Strata
from gfscore.errors import InvalidInputError, OptionError

LEVEL = 0.001  # how often a sound run may be stopped by chance


class AccuracyError(InvalidInputError):
    """The clean accuracy is not what was expected."""


def check_expectation(expected: float) -> float:
    """The expected accuracy, if it is one."""
    if not 0 <= expected <= 1:
        raise OptionError(f"expected accuracy {expected} is not between 0 and 1. Write 0.9173 for 91.73 %.")
    return float(expected)


def check_accuracy(accuracy: ArrayLike, n: ArrayLike, expected: float, *, totals: ArrayLike | None = None) -> None:
    """Stop when the clean accuracy is further from what was expected than sampling explains.

    ``accuracy`` and ``n`` are of all samples, or of each class, ``(K,)``; ``totals`` are then the sizes of the classes
    in the set whose accuracy was expected, where they were not drawn in proportion. Part of a fixed set is judged as
    draws from a distribution are: that allows a little more, and what was expected is rounded anyway.
    """
    counts = np.atleast_1d(np.asarray(n, dtype=np.int64))
    strata = Strata.of(np.rint(np.atleast_1d(accuracy) * counts), counts, totals=totals)
    lower, upper = strata.whole_ends(LEVEL / 2)
    if not lower <= expected <= upper:
        weighed = "" if strata.proportional else ", with each class weighed by its size in the data set"
        raise AccuracyError(
            f"clean accuracy is {strata.whole:.4f} on {counts.sum():,} samples{weighed}, not the expected "
            f"{expected:.4f} (sampling alone allows {lower:.4f} to {upper:.4f}). Check preprocessing, label order and "
            "evaluation mode."
        )
