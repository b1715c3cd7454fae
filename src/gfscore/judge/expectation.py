"""Is the clean accuracy what it should be? The first thing to know of any robustness number."""

from scipy.special import betaincinv

from gfscore.errors import InvalidInputError, OptionError

LEVEL = 0.001  # how often a sound run may be stopped by chance


class AccuracyError(InvalidInputError):
    """The clean accuracy is not what was expected."""


def accuracy_interval(correct: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Clopper-Pearson interval: the accuracies that ``correct`` hits among ``n`` samples leave possible.

    >>> tuple(round(end, 3) for end in accuracy_interval(90, 100, level=0.05))
    (0.824, 0.951)
    """
    lower = 0.0 if correct == 0 else float(betaincinv(correct, n - correct + 1, level / 2))
    upper = 1.0 if correct == n else float(betaincinv(correct + 1, n - correct, 1 - level / 2))
    return lower, upper


def checked_expectation(expected: float) -> float:
    """The expected accuracy, if it is one."""
    if not 0 <= expected <= 1:
        raise OptionError(f"expected accuracy {expected} is not between 0 and 1. Write 0.9173 for 91.73 %.")
    return float(expected)


def check_accuracy(accuracy: float, n: int, expected: float) -> None:
    """Stop when the clean accuracy is further from what was expected than sampling explains."""
    lower, upper = accuracy_interval(round(accuracy * n), n)
    if not lower <= expected <= upper:
        raise AccuracyError(
            f"clean accuracy is {accuracy:.4f} on {n:,} samples, not the expected {expected:.4f} (sampling alone "
            f"allows {lower:.4f} to {upper:.4f}). Check preprocessing, label order and evaluation mode."
        )
