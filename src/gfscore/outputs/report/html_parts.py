"""What pages are made of: tables, lists, and texts of others that stay text."""

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

from gfscore.outputs.escaping import as_html

TEXT_LIMIT = 800  # characters of a cell
INTERVALS = re.compile(r"\[[−\d., %]+\]")
NUMBERS = re.compile(rf"{INTERVALS.pattern}|[−\d][\d.,]* %")  # an interval, or a share with its sign


class Html(NamedTuple):
    """A cell that is HTML already."""

    text: str


def cell_html(cell: "str | Html", limit: int = TEXT_LIMIT) -> str:
    """What stands in a cell."""
    return cell.text if isinstance(cell, Html) else as_html(cell, limit)


def unbroken(html: str, what: re.Pattern[str] = NUMBERS) -> str:
    """Text whose lines end before or after an interval or a share, never inside of one.

    >>> unbroken("6.8 % [0.0 %, 18.9 %]", INTERVALS)
    '6.8 % <span class=u>[0.0 %, 18.9 %]</span>'
    """
    return what.sub(r"<span class=u>\g<0></span>", html)


def items(texts: Iterable[str]) -> str:
    """Entries of a list, of texts that are HTML."""
    return "".join(f"<li>{text}</li>" for text in texts)


def table(
    headings: Sequence[str],
    rows: Sequence[Sequence["str | Html"]],
    *,
    caption: str,
    kind: str,
    notes: Sequence[str] | None = None,
    looks: Sequence[str] | None = None,
    labelled: bool = True,
) -> str:
    """A table of texts; the first cell of a row is its heading, with a note below it if there are notes.

    On a phone the cells of a row stand below each other, each with the heading of its column; ``labelled`` says so in
    every cell. ``looks`` are classes of the rows.
    """
    head = "".join(f'<th scope="col">{as_html(heading)}</th>' for heading in headings)
    labels = [as_html(heading) for heading in headings[1:]]
    body = []
    for index, (first, *others) in enumerate(rows):
        note = "" if notes is None else f"<small>{as_html(notes[index], TEXT_LIMIT)}</small>"
        cells = "".join(
            f'<td data-l="{label}">{_whole(cell)}</td>' if labelled else f"<td>{_whole(cell)}"
            for label, cell in zip(labels, others, strict=True)
        )
        look = f" {looks[index]}" if looks and looks[index] else ""
        body.append(f'<tr{look}><th scope="row">{cell_html(first, 120)}{note}</th>{cells}</tr>')
    label = as_html(caption, 300)
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{label}"><table class="{kind}">'
        f"<caption>{label}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _whole(cell: "str | Html") -> str:
    return cell.text if isinstance(cell, Html) else unbroken(cell_html(cell), INTERVALS)


@cache
def read_asset(name: str) -> str:
    """A file that pages are made of."""
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")


def hash_source(text: str) -> str:
    """How a content security policy names a script or style that it allows."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
