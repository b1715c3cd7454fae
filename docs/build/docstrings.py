"""Docstrings are written for `help()`; this turns their few reStructuredText marks into Markdown for the site."""

import re
from typing import Any

import griffe

MATH_BLOCK = re.compile(r"^\.\. math:: (.*(?:\n[ ]+.*)*)", re.MULTILINE)
EXAMPLE = re.compile(r"^>>> (?:.+(?:\n|\Z))+", re.MULTILINE)
INLINE = [
    (re.compile(r":math:`([^`]+)`"), r"\\(\1\\)"),
    (re.compile(r":doc:`([^`]+)`"), r"[\1](\1.md)"),
    (re.compile(r":(?:func|class|meth|mod):`~?([^`]+)`"), r"`\1`"),
    (re.compile(r"::\n\n(?=    )"), "\n\n"),
]


def to_markdown(text: str) -> str:
    """The docstring's text as Markdown."""
    text = MATH_BLOCK.sub(lambda match: "\\[" + " ".join(match[1].split()) + "\\]", text)
    text = EXAMPLE.sub(lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", text)
    for pattern, replacement in INLINE:
        text = pattern.sub(replacement, text)
    return text


class Docstrings(griffe.Extension):
    """Applied to every object that is documented."""

    def on_object(self, *, obj: griffe.Object, **_kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)
