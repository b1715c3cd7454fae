"""The words of a job: what the command line shows of a parameter, written where the parameter is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


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
    parse: Callable[[str], Any] | None = None  # reads the text; of a path, what is no path is found by it
    is_argument: bool = False  # said without a name
