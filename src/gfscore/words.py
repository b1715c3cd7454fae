"""The words of a job: what the command line shows of a parameter, written where the parameter is."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from gfscore.errors import OptionError


class Panel(StrEnum):
    """Where the help shows an option, in the order of the help."""

    INPUT = "Input"
    MODEL = "Model and preprocessing"
    SCORE = "Score"
    TRAINING = "Training"
    STATISTICS = "Statistics"
    RULES = "Rules"
    OUTPUT = "Output"
    CLUSTER = "Cluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """How a parameter is said on the command line; one without a Word is for Python alone.

    The option is the name of the parameter with dashes, without the underscore after a name that Python keeps.
    """

    help: str
    kind: Any = None  # its type on the command line, where Python takes more than that
    short: str | None = None  # one letter more
    metavar: str | None = None
    least: float | None = None  # of a number
    most: float | None = None
    parse: Callable[[str], Any] | None = None
    is_argument: bool = False  # said without a name
    panel: Panel | None = None  # None: that of the dataclass it is a field of (PANEL), else the input
    any_case: bool = False  # a name that is written in small letters here: L2 is l2
    expert: bool = False  # only --help-all shows it
    was: str | None = None  # what the parameter was called before: still understood, with a note


def read_size(text: str) -> float:
    """A size in pixels, written as a number or as a fraction.

    >>> read_size("0.25"), read_size("51/255"), read_size("0.5/255") == 0.5 / 255
    (0.25, 0.2, True)
    """
    over, _, under = text.partition("/")
    try:
        return float(Fraction(over) / Fraction(under or 1))
    except (ValueError, ZeroDivisionError):
        raise OptionError(f"{text!r} is not a number. Write it as 0.0078 or 2/255.") from None
