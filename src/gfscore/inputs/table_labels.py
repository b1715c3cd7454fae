"""The labels of a table as indices of its classes: names, numbers, or a column for each class."""

import re
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from gfscore.errors import FileError, OptionError
from gfscore.inputs.table_columns import Columns, Reading
from gfscore.names import listing, shorten

INDEX = re.compile(r"-?\d{1,18}")  # whole numbers that fit into 64 bits
WHOLE = re.compile(r"(-?\d{1,18})(?:[.,]0*)?")  # and those that a column of floats makes of them


class Labels(NamedTuple):
    """Labels as indices, and what is to be known of how they were read."""

    indices: NDArray[np.int64]
    named: frozenset[str] = frozenset()  # class columns that a label names
    unnamed: tuple[str, ...] = ()  # those that none does, where labels are names
    labels_are: str | None = None  # "names" or "indices", where columns are called by numbers that are not their places


def read_labels(labels: Sequence[str], columns: Columns, how: Reading, place: str, first: int) -> Labels:
    """Indices of the classes; ``place`` and ``first`` say what a row is called in a message, and the first one.

    When every label is the name of a class column, names it is, and indices otherwise. Columns called by numbers make a
    label such as 1 both: then it must be one of them only, or ``labels_from`` says that it is an index.
    """
    labels = [label.strip() for label in labels]
    numbers = [WHOLE.fullmatch(label) for label in labels]
    are_numbers = all(numbers)
    if are_numbers:
        labels = [str(int(found[1])) for found in numbers if found is not None]
    if how.words.labels_from is not None:
        return _counted(labels, are_numbers, len(columns.names), how.words.labels_from, place, first)
    index_of = _called(labels, columns, how)
    by_name = all(label in index_of for label in labels)
    if not by_name and not are_numbers:
        _refuse_unknown(labels, columns, index_of, place, first)
    read_as = _read_as(labels, index_of, by_name=by_name) if are_numbers else None
    if not by_name:
        return Labels(np.array([int(label) for label in labels], dtype=np.int64), labels_are=read_as)
    indices = np.array([index_of[label] for label in labels], dtype=np.int64)
    seen = set(indices.tolist())
    unnamed = [
        written
        for index, (name, written) in enumerate(zip(columns.names, columns.written, strict=True))
        if index not in seen and not (are_numbers and INDEX.fullmatch(name))
    ]
    named = frozenset(columns.names[index] for index in seen)
    return Labels(indices, named, tuple(unnamed if labels else ()), read_as)


def _called(labels: Sequence[str], columns: Columns, how: Reading) -> dict[str, int]:
    """The index of each class by what the labels call it.

    That is the name of its column, with or without a prefix; the name that somebody gave it; or a name in other
    letters, small instead of capital, where no two classes then share one.
    """
    wanted = set(labels)
    given = tuple(how.class_names or ()) if columns.renamed else ()
    ways = [columns.names, columns.written, *([given] if len(given) == len(columns.names) else [])]
    for names in ways:
        index_of = {name: index for index, name in enumerate(names)}
        if wanted <= index_of.keys():
            return index_of
    for names in ways:
        folded = {name.strip().casefold(): index for index, name in enumerate(names)}
        if len(folded) == len(names) and all(label.casefold() in folded for label in wanted):
            return {label: folded[label.casefold()] for label in wanted}
    return {name: index for index, name in enumerate(columns.names)}


def _counted(
    labels: Sequence[str], are_numbers: bool, n_classes: int, labels_from: int, place: str, first: int
) -> Labels:
    """Labels that are numbers of classes, of which the first has a given one."""
    if not are_numbers:
        raise OptionError("has labels that are names, and --labels-from is about numbers. Leave it out.")
    indices = np.array([int(label) for label in labels], dtype=np.int64) - labels_from
    outside = (indices < 0) | (indices >= n_classes)
    if outside.any():
        row = int(np.argmax(outside))
        raise FileError(
            f"{place} {first + row} has label {labels[row]}, and counted from {labels_from} the {n_classes} classes "
            f"are {labels_from} to {labels_from + n_classes - 1}. Check --labels-from."
        )
    return Labels(indices)


def _refuse_unknown(
    labels: Sequence[str], columns: Columns, index_of: dict[str, int], place: str, first: int
) -> NoReturn:
    """Name the first label that is no class, or say that there are two kinds."""
    for row, label in enumerate(labels, start=first):
        if label not in index_of and not WHOLE.fullmatch(label):
            called_by_numbers = all(INDEX.fullmatch(name) for name in columns.names)
            hint = " Name them in their order with --class-names." if called_by_numbers else ""
            raise FileError(
                f"{place} {row} has label {shorten(label)}, which is neither a class column nor a class index. "
                f"The classes are {listing(columns.names)}.{hint}"
            )
    raise FileError("has labels of two kinds, names and indices. Use one of them throughout.")


def _read_as(labels: Sequence[str], index_of: dict[str, int], *, by_name: bool) -> str | None:
    """How labels that are numbers are to be read, where names of columns are other numbers than their places."""
    if all(not INDEX.fullmatch(name) or int(name) == index for name, index in index_of.items()):
        return None
    if not by_name:
        return "indices"
    names = list(index_of)
    doubt = next((label for label in dict.fromkeys(labels) if index_of[label] != int(label)), None)
    if doubt is None:
        return None
    if all(0 <= int(label) < len(names) for label in labels):
        from_one = all(name == str(index + 1) for name, index in index_of.items())
        way = "--labels-from 1 if the first class is 1" if from_one else "call the columns by names, not numbers"
        raise FileError(
            f"has labels such as {doubt!r} that may be names or indices: as a name it is column {doubt!r}, as an index "
            f"column {shorten(names[int(doubt)])}. Say --labels-from 0 if the first class is 0, or {way}."
        )
    return "names"
