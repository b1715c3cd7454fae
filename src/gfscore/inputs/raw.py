"""What a reader found in a file, before it is checked, and the limits every reader keeps."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from gfscore.errors import FileError, OptionError, first_few
from gfscore.names import shortened
from gfscore.samples import TableNotes

LOGITS_KEYS = ("logits",)
PROBABILITY_KEYS = ("probabilities", "probs", "logits")
IN_PIECES = "Save it as .safetensors, which is read in pieces."  # what to do with logits that do not fit

BOMB_BYTES, BOMB_RATIO = 1 << 28, 100  # what is unpacked may be small, or this many times what was packed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RawSamples:
    """Arrays as they stood in a file."""

    logits: NDArray[Any]
    labels: NDArray[Any]
    class_names: Sequence[str] | None = None
    groups: NDArray[Any] | Sequence[str] | None = None
    sample_ids: NDArray[Any] | Sequence[object] | None = None
    halved_batches: int = 0  # of the model that made the logits, that did not fit into memory
    table: TableNotes | None = None  # how the columns of a table were read


def logits_key(names: Sequence[str], *, probabilities: bool) -> str:
    """Name of the array that holds the logits (or probabilities, when those are expected)."""
    for key in PROBABILITY_KEYS if probabilities else LOGITS_KEYS:
        if key in names:
            return key
    announced = [key for key in PROBABILITY_KEYS if key in names]
    if announced:
        raise FileError(
            f"has no 'logits' but {announced[0]!r}. Save the logits (before softmax), or say --probabilities "
            "(probabilities=True)."
        )
    raise FileError(f"has no 'logits'; it holds {listed(names)}. Name the array of shape (samples, classes) 'logits'.")


def labels_key(names: Sequence[str]) -> str:
    """Name of the array that holds the labels."""
    if "labels" not in names:
        raise FileError(f"has no 'labels'; it holds {listed(names)}. Name the array of true classes 'labels'.")
    return "labels"


def refuse_moved(given: Sequence[str], found: Sequence[str]) -> None:
    """Refuse names for the classes that are theirs already, but of other classes: that would rename them silently."""
    place_of = {name: place for place, name in enumerate(found)}
    for place, name in enumerate(given):
        if place_of.get(name, place) != place:
            raise OptionError(
                f"class name {shortened(name)} is given for class {place}, which is called "
                f"{shortened(found[place]) if place < len(found) else 'nothing'} there: {shortened(name)} is class "
                f"{place_of[name]}. Give the names in their order, or leave --class-names out."
            )


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names for a message, not too many of them."""
    return first_few(list(map(shortened, names)), most) if names else "nothing"


def refuse_too_large(n_bytes: int, what: str, advice: str = IN_PIECES) -> None:
    """Stop before an array that cannot fit is read, whatever made the file declare it."""
    available = free_memory()
    if available is not None and n_bytes > available:
        raise FileError(
            f"declares {what} of {n_bytes / 1e9:,.1f} GB, more than the {available / 1e9:,.1f} GB of free memory. "
            f"{advice}"
        )


def refuse_bomb(n_bytes: int, stored: int, what: str) -> None:
    """Stop before a few compressed bytes become gigabytes: no logits or images compress like that."""
    if n_bytes > BOMB_BYTES and n_bytes > BOMB_RATIO * stored:
        raise FileError(
            f"declares {what} of {n_bytes / 1e9:,.1f} GB in {stored / 1e6:,.1f} MB: a decompression bomb, or one "
            "value again and again. Save it uncompressed if it is meant."
        )


def free_memory() -> int | None:
    """Bytes of free memory, or None where the system does not say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf, macOS not this name
        return None


Groups = NDArray[Any] | Sequence[str] | Mapping[str, Sequence[str]]
