"""Names and texts of others, made safe to stand in a page."""

import json
from html import escape

from gfscore import views

NAME_LIMIT = 120  # characters of a name that are shown
KEPT_END = 30  # of them at its end, where names that begin alike differ


def shortened(text: str, limit: int = NAME_LIMIT) -> str:
    """Text without control characters; of a very long one the beginning and the end.

    >>> shortened("a" * 500 + "z", 40)
    'aaaaaaaaa…aaaaaaaaaaaaaaaaaaaaaaaaaaaaaz'
    """
    text = views.printable(text)
    return text if len(text) <= limit else f"{text[: limit - KEPT_END - 1]}…{text[-KEPT_END:]}"


def as_html(text: str, limit: int = NAME_LIMIT) -> str:
    """The text as HTML: nothing in it is a tag, an entity or the end of an attribute.

    >>> as_html("<script>")
    '&lt;script&gt;'
    """
    return escape(shortened(text, limit))


def script_json(value: object) -> str:
    """JSON that can stand inside a script: no text in it, such as the name ``</script>``, can end it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
