"""Is the clean accuracy what it should be? The first thing to know of any robustness number."""

from gfscore.bounds import clopper_pearson
from gfscore.errors import InvalidInputError, OptionError

LEVEL = 0.001  # how often a sound run may be stopped by chance


class AccuracyError(InvalidInputError):
    """The clean accuracy is not what was expected."""


def checked_expectation(expected: float) -> float:
    """The expected accuracy, if it is one."""
    if not 0 <= expected <= 1:
        raise OptionError(f"expected accuracy {expected} is not between 0 and 1. Write 0.9173 for 91.73 %.")
    return float(expected)


def check_accuracy(accuracy: float, n: int, expected: float) -> None:
    """Stop when the clean accuracy is further from what was expected than sampling explains."""
    lower, upper = clopper_pearson(round(accuracy * n), n, LEVEL)
    if not lower <= expected <= upper:
        raise AccuracyError(
            f"clean accuracy is {accuracy:.4f} on {n:,} samples, not the expected {expected:.4f} (sampling alone "
            f"allows {lower:.4f} to {upper:.4f}). Check preprocessing, label order and evaluation mode."
        )
