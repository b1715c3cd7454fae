"""Names and texts of others, made safe to stand in a page, in Markdown and in a spreadsheet."""

import csv
import json
import re
import string
from collections.abc import Iterable
from html import escape
from typing import TextIO

from gfscore import views

NAME_LIMIT = 120  # characters of a name that are shown
KEPT_END = 30  # of them at its end, where names that begin alike differ
FORMULA = tuple("=+-@\t\r\n＝＋－＠")
SENTENCE_LIMIT = 1000  # characters of a sentence on the page of the dashboard
MARKDOWN_SPECIAL = str.maketrans(
    {special: f"\\{special}" for special in "\\|*_`["}
    | {"&": "&amp;", "<": "&lt;", "$": "&#36;", "~": "&#126;"}  # not every Markdown lets these be escaped
)
PUNCTUATION = str.maketrans({character: f"\\{character}" for character in string.punctuation})
JOINER = "\u2060"  # has no width; between two characters it keeps them from being read as one sign
# What Streamlit makes into an icon, a colour or a link even where every character of it is escaped.
SIGNS = re.compile(r":(?=[\w+/-]+[:\[])|(?<=:)(?=//)|(?i:www)(?=\.)|@")


def shorten(text: str, limit: int = NAME_LIMIT) -> str:
    """Text without control characters; of a very long one the beginning and the end.

    >>> shorten("a" * 500 + "z", 40)
    'aaaaaaaaa…aaaaaaaaaaaaaaaaaaaaaaaaaaaaaz'
    """
    text = views.printable(text)
    return text if len(text) <= limit else f"{text[: limit - KEPT_END - 1]}…{text[-KEPT_END:]}"


def cut_middle(text: str, limit: int) -> str:
    """A name where there is little room: its beginning and its end, as names of versions differ there.

    >>> cut_middle("a network of some length, 3", 22)
    'a network …e length, 3'
    """
    text, end = views.printable(text), limit // 2
    return text if len(text) <= limit else f"{text[: limit - end - 1]}…{text[-end:]}"


def as_html(text: str, limit: int = NAME_LIMIT) -> str:
    """The text as HTML: nothing in it is a tag, an entity or the end of an attribute.

    >>> as_html("<script>")
    '&lt;script&gt;'
    """
    return escape(shorten(text, limit))


def script_json(value: object) -> str:
    """JSON that can stand inside a script: no text in it, such as the name ``</script>``, can end it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def markdown_cell(text: str) -> str:
    """Text that stays text inside a Markdown table."""
    return text.translate(MARKDOWN_SPECIAL)


def markdown_text(text: str) -> str:
    """Text that stays text anywhere in Markdown: no markup, and no line of its own."""
    escaped = markdown_cell(views.printable(text))
    return f"\\{escaped}" if escaped[:1] in ("#", "-", "+", ">") else escaped


def markdown_row(cells: Iterable[str]) -> str:
    """A row of a Markdown table, of cells that are Markdown."""
    return f"| {' | '.join(cells)} |"


def plain_text(text: str) -> str:
    r"""Markdown that shows ``text`` and nothing else where Streamlit reads it, which knows more signs than others.

    >>> plain_text("<b> *x* [y](z)")
    '\\<b\\> \\*x\\* \\[y\\]\\(z\\)'
    """
    return SIGNS.sub(lambda found: found.group() + JOINER, shorten(text, SENTENCE_LIMIT)).translate(PUNCTUATION)


def write_csv(file: TextIO, rows: Iterable[Iterable[object]]) -> None:
    """Write rows that a spreadsheet opens as what they say: text in them is never a formula.

    >>> import sys
    >>> write_csv(sys.stdout, [["name", "n"], ["=1+1", -2]])
    name,n
    '=1+1,-2
    """
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([_inert(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)


def _inert(text: str) -> str:
    """Text that no spreadsheet computes: what begins a formula, also in the wide signs of Chinese and Japanese."""
    return f"'{text}" if text.startswith(FORMULA) else text
