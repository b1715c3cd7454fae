"""What a model spec says after a question mark: how this one model of several is preprocessed, read and called.

``net.onnx?preset=cifar10&name=resnet``: words as on the command line, each for this model alone.
"""

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from gfscore.errors import OptionError
from gfscore.inputs.known_data import PRESETS
from gfscore.storage import is_address, redact

NORMALISING = ("preset", "mean", "std")
PREPROCESSING = (*NORMALISING, "layout", "resize", "crop", "interpolation", "grey", "range")
KEYS = (*PREPROCESSING, "name", "output", "format")
TIMM, CHECKPOINT = "timm:", "checkpoint"  # a key that timm's own specs have
BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
TRUE, FALSE = ("", "true", "yes", "1"), ("false", "no", "0")


def split_spec(spec: Any) -> tuple[Any, dict[str, Any]]:
    """A model spec, and what its query says of this model by the words of the command line; no text says nothing.

    A file that is there under the whole name has no query.

    >>> split_spec("net.onnx?mean=0.5,0.5,0.5&std=0.25&grey")
    ('net.onnx', {'mean': '0.5,0.5,0.5', 'std': '0.25', 'grey': True})
    >>> split_spec("timm:resnet18?checkpoint=w.pt&preset=cifar10")
    ('timm:resnet18?checkpoint=w.pt', {'preset': 'cifar10'})
    """
    text = str(spec)
    if not isinstance(spec, str | Path) or "?" not in text:
        return spec, {}
    address = isinstance(spec, str) and is_address(spec)
    if not address and Path(text).exists():
        return spec, {}
    base, _, query = text.rpartition("?")
    parts = query.split("&")
    if address and not any(part.partition("=")[0] in KEYS for part in parts):
        return spec, {}  # a signature, say, which is refused where addresses are read
    words, kept = dict[str, Any](), []
    for part in parts:
        key, equals, value = part.partition("=")
        if base.startswith(TIMM) and key == CHECKPOINT:
            kept.append(part)
            continue
        _check_key(redact(text), base, key, equals, value)
        if key in words:
            raise OptionError(f"model {redact(text)!r} says {key} twice. Say it once.")
        words[key] = _flag(text, value) if key == "grey" else _unescape(redact(text), value)
    return f"{base}?{'&'.join(kept)}" if kept else base, words


def join_spec(spec: str, words: Mapping[str, Any]) -> str:
    """The spec that says these words of its model: the inverse of :func:`split_spec`.

    >>> join_spec("net.onnx", {"preset": "cifar10", "name": "a & b", "grey": False})
    'net.onnx?preset=cifar10&name=a%20%26%20b'
    """
    said = {key: value for key, value in words.items() if value not in (None, False)}
    parts = [key if value is True else f"{key}={quote(str(value), safe=',./:-')}" for key, value in said.items()]
    return spec if not parts else spec + ("&" if "?" in spec else "?") + "&".join(parts)


def over_general(general: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Preprocessing of one model: its own words over those for all; a mean of its own replaces a preset for all."""
    taken = {key: value for key, value in own.items() if key in PREPROCESSING and key != "range"}
    if "range" in own:
        taken["value_range"] = own["range"]
    left = {} if not own.keys() & set(NORMALISING) else dict.fromkeys(NORMALISING)
    return {key: value for key, value in general.items() if key not in left} | taken


def _check_key(spec: str, base: str, key: str, equals: str, value: str) -> None:
    """Refuse what is no ``key=value``, with what was probably meant."""
    if not key:
        raise OptionError(
            f"model {spec!r} has an empty word after the ?. Write {base}?preset=cifar10, or leave it out."
        )
    if key not in KEYS:
        if not equals and key.lower() in PRESETS:
            raise OptionError(f"model {spec!r} names no word after the ?. Write {base}?preset={key.lower()}.")
        known = (CHECKPOINT, *KEYS) if base.startswith(TIMM) else KEYS
        near = difflib.get_close_matches(key.lower().replace("-", "_"), known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(known)}."
        raise OptionError(f"model {spec!r} says {key!r} after the ?, which is no word of a model. {hint}")
    if key != "grey" and not value:
        raise OptionError(f"model {spec!r} gives {key} no value. Write {key}=VALUE.")


def _unescape(spec: str, value: str) -> str:
    if BAD_ESCAPE.search(value):
        raise OptionError(f"model {spec!r} has a % that begins no escape. Write %25 for it, %26 for & and %3F for ?.")
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError:
        raise OptionError(
            f"model {spec!r} has an escape that is no UTF-8 text. Write the letters themselves."
        ) from None


def _flag(spec: str, value: str) -> bool:
    if value.lower() not in (*TRUE, *FALSE):
        raise OptionError(f"model {redact(spec)!r} has grey={value}. Write grey=true or grey=false.")
    return value.lower() in TRUE
