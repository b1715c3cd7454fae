"""CSV that a spreadsheet opens as what it says: text in it is never a formula."""

import csv
from collections.abc import Iterable
from typing import TextIO


def write_rows(file: TextIO, rows: Iterable[Iterable[object]]) -> None:
    """Write rows of a CSV table.

    >>> import sys
    >>> write_rows(sys.stdout, [["name", "n"], ["=1+1", -2]])
    name,n
    '=1+1,-2
    """
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([_inert(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)


def _inert(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text[:1] in "=+-@\t\r" and text else text
