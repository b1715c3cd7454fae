"""Everything gfscore raises on purpose.

::

    GFScoreError
    ├── InvalidInputError (also a ValueError)    give something else and it works
    │   ├── OptionError                          an option outside its domain
    │   │   └── WordError (also a TypeError)         a call with a word that there is not, or without one it needs
    │   ├── SamplesError                         arrays that do not make a set of samples
    │   │   ├── NotFiniteError                   NaN or infinity, at a row and column
    │   │   ├── LabelRangeError                  a label that is none of the classes
    │   │   ├── ProbabilitiesError               probabilities where logits belong, or the reverse
    │   │   ├── TooFewClassesError               fewer than two classes have samples
    │   │   └── EmptyIntervalError               scores that leave no value for what they estimate
    │   ├── FileError                            a file that is not what it should be
    │   │   └── MissingFileError                 a file that is not there
    │   ├── ModelError                           a model that cannot be run as it is
    │   ├── ResultError                          a result that does not hold what is asked of it
    │   │   └── NoSuchNameError (also a KeyError)    a model or class that it has not
    │   └── PluginError                          an installed package whose metrics or scores cannot be used
    ├── RunError (also a RuntimeError)           a run that failed on the way; what was finished before is kept
    │   └── TransferError                        an object store that failed: another try may work
    └── MissingExtraError (also an ImportError)  an optional dependency that is not installed

Each message is one line: what, where, what to do. ``source`` names the file it was found in, once that is known.
"""

import difflib
import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Self

PLURALS = {"class": "classes", "group": "groups"}  # the two partitions, for messages
NAMED = 5  # names that a message lists before "and N more"


def first_few(texts: Sequence[str], most: int = NAMED) -> str:
    """The first texts of many, and how many more there are.

    >>> first_few(["ant", "bee", "cow"], 2)
    'ant, bee and 1 more'
    """
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def first_line(error: BaseException) -> str:
    r"""What an error of another library says, in one line and without its full stop.

    >>> first_line(ValueError("no such axis.\nSee the manual."))
    'no such axis'
    """
    return (str(error).partition("\n")[0] or type(error).__name__).rstrip(".")


class GFScoreError(Exception):
    """Base of everything gfscore raises on purpose."""


class InvalidInputError(GFScoreError, ValueError):
    """Input that cannot be used as it is."""

    source: str | None = None
    option: str | None = None  # that the source was given to

    def found_in(self, source: object) -> Self:
        """An error that names the file it was found in (the innermost name stays)."""
        if self.source is None:
            self.source = str(source)
        return self

    def said_by(self, option: str) -> Self:
        """An error that names the option which the file was given to; one that names it already stays as it is."""
        if self.option is None and option not in super().__str__():
            self.option = option
        return self

    def __str__(self) -> str:
        before = [each for each in (self.option, self.source) if each is not None]
        return ": ".join([*before, super().__str__()])


@contextmanager
def naming(source: object) -> Iterator[None]:
    """Let errors from inside the block name the file they are about."""
    try:
        yield
    except InvalidInputError as error:
        raise error.found_in(source) from error


class OptionError(InvalidInputError):
    """An option outside its domain."""


class WordError(OptionError, TypeError):
    """A call with a parameter that there is not, or without one that it needs."""

    def __init__(self, job: str, told: str, known: Sequence[str]) -> None:
        word = told.partition("'")[2].partition("'")[0]
        near = difflib.get_close_matches(word, known, 1)
        advice = f"Did you mean {near[0]!r}?" if near and "unexpected" in told else f"See help(gfscore.{job})."
        super().__init__(f"{job}() {told}. {advice}")


class SamplesError(InvalidInputError):
    """Arrays that do not make a set of samples."""


class NotFiniteError(SamplesError):
    """NaN or infinity among the logits."""

    def __init__(self, row: int, column: int, value: float) -> None:
        self.row, self.column, self.value = row, column, value
        super().__init__(
            f"logits hold {value} at row {row}, column {column}. "
            "Drop that sample, or look for an overflow in the model that produced it."
        )


class LabelRangeError(SamplesError):
    """A label that is none of the classes."""

    def __init__(self, row: int, label: int, n_classes: int, *, from_one: bool = False) -> None:
        self.row, self.label, self.n_classes = row, label, n_classes
        advice = "Check that labels and logits come from the same model and data."
        if from_one:
            advice = f"All labels are 1 to {n_classes}: if they count from 1, say --labels-from 1 (labels_from=1)."
        super().__init__(
            f"label {label} in row {row} is not one of the {n_classes} classes (0 to {n_classes - 1}). {advice}"
        )


class ProbabilitiesError(SamplesError):
    """Probabilities where logits belong, or values that are no probabilities where those belong."""


class TooFewClassesError(SamplesError):
    """Fewer than two classes (or groups) have samples, so nothing can be unequal."""

    def __init__(self, present: tuple[str, ...], kind: str = "class") -> None:
        self.present = present
        plural = PLURALS[kind]
        found = f"only {present[0]!r} has" if present else "none has"
        super().__init__(f"disparity needs at least two {plural} with samples; {found}. Give samples of more {plural}.")


class EmptyIntervalError(SamplesError):
    """Scores that leave no value for what they estimate: bounds of a small joint error level contradict each other."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"the interval of {what} is empty, which chance alone does with less than the error level. "
            "Use --interval kl, which cannot be empty, and look for scores that are not independent draws."
        )


class FileError(InvalidInputError):
    """A file that is missing, damaged, or not what it should be."""


class MissingFileError(FileError):
    """A file that is not there."""


class ModelError(InvalidInputError):
    """A model that cannot be run as it is, or not on these inputs."""


class ResultError(InvalidInputError):
    """A result that does not hold what is asked of it."""


class NoSuchNameError(ResultError, KeyError):
    """A name that nothing in a result has."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would put it in quotes


class PluginError(InvalidInputError):
    """An installed package whose metrics or scores cannot be used."""


class RunError(GFScoreError, RuntimeError):
    """A run that failed on the way, for a reason outside its input; what was finished before is kept."""


class TransferError(RunError):
    """An object store that could not be reached, or failed on the way; another try may work."""


class MissingExtraError(GFScoreError, ImportError):
    """An optional dependency that is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"{purpose} needs {package}, which is not installed. Run: pip install 'gfscore[{extra}]'")


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional dependency, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(module.partition(".")[0], extra, purpose) from error
