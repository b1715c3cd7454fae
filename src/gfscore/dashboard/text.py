"""Text that stays text: Streamlit reads most of what it shows as Markdown, and names come from files."""

import re
import string

from gfscore.outputs.escaping import shorten

LONGEST = 1000  # characters of a sentence
JOINER = "\u2060"  # has no width; between two characters it keeps them from being read as one sign
# What is made into an icon, a colour or a link even where every character of it is escaped.
SIGNS = re.compile(r":(?=[\w+/-]+[:\[])|(?<=:)(?=//)|(?i:www)(?=\.)|@")
PUNCTUATION = str.maketrans({character: f"\\{character}" for character in string.punctuation})


def plain(text: str) -> str:
    r"""Markdown that shows ``text`` and nothing else.

    >>> plain("<b> *x* [y](z)")
    '\\<b\\> \\*x\\* \\[y\\]\\(z\\)'
    """
    return SIGNS.sub(lambda found: found.group() + JOINER, shorten(text, LONGEST)).translate(PUNCTUATION)
