"""Which columns of a table are classes, and whether its labels are names or indices.

Nothing is guessed: what may be read in two ways is refused, and ``--class-names`` says which columns are meant.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from gfscore.errors import FileError
from gfscore.inputs.raw import listed
from gfscore.names import shortened
from gfscore.samples import TableNotes

LABEL, SAMPLE_ID, GROUP = "label", "sample_id", "group"
RESERVED = (LABEL, SAMPLE_ID, GROUP)
INDEX = re.compile(r"-?\d{1,18}")  # whole numbers that fit into 64 bits
PANDAS_INDEX = re.compile(r"|__index_level_\d+__|Unnamed: \d+.*")  # what pandas calls an index; or a column of no name
BOOKKEEPING = {
    "id", "ids", "idx", "index", "row", "row_id", "image_id", "img_id", "file_id", "sample", "pred", "preds",
    "predicted", "prediction", "predicted_label", "predicted_class", "pred_label", "pred_class", "y_pred", "y_hat",
    "yhat", "y", "y_true", "true", "truth", "true_label", "true_class", "target", "targets", "ground_truth", "gt",
    "fold", "split", "confidence", "conf", "max_prob", "score", "correct", "is_correct", "loss", "entropy", "margin",
    "epoch", "seed", "time", "timestamp", "weight",
}  # fmt: skip  # what tables of predictions hold beside their classes
SAME_SUM = 0.5  # of the largest sum of a row: what rounding leaves the sums of probabilities apart at most
MANY_ROWS = 8  # in which a column of logits with decimals is not whole by chance
WAY_OUT = "Drop what is no class, or name the classes with --class-names: other columns are then left out."


class Columns(NamedTuple):
    """The class columns of a table, in its order."""

    places: Sequence[int] = ()
    names: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    given: bool = False  # somebody named the classes


def class_columns(header: Sequence[str], class_names: Sequence[str] | None, index: Sequence[str] = ()) -> Columns:
    """Tell the class columns from the others.

    ``class_names`` that are all columns say which are classes; ``index`` are the columns that pandas notes as such.
    """
    if LABEL not in header:
        semicolons = len(header) == 1 and ";" in header[0]
        hint = "Separate the columns by commas." if semicolons else "Name the column of true classes 'label'."
        raise FileError(f"has no column 'label'; it has {listed(list(header))}. {hint}")
    chosen = set(class_names or ())
    if not chosen or not chosen <= set(header) - set(RESERVED):
        chosen = {name for name in header if name not in index and not PANDAS_INDEX.fullmatch(name)} - set(RESERVED)
    seen: set[str] = set()
    for name in header:
        if name in seen and (name in chosen or name in RESERVED):
            raise FileError(f"has the column {shortened(name)} twice. Make the names unique.")
        seen.add(name)
    return Columns(
        places=[place for place, name in enumerate(header) if name in chosen],
        names=tuple(name for name in header if name in chosen),
        left_out=tuple(name for name in header if name not in chosen and name not in RESERVED),
        given=class_names is not None,
    )


def read_labels(
    labels: Sequence[str], names: Sequence[str], place: str, first: int
) -> tuple[NDArray[np.int64], TableNotes]:
    """Indices of the classes, and what is to be known of how they were read.

    When every label is the name of a class column, names it is, and indices otherwise. Columns called by numbers make a
    label such as 1 both: then it must be one of them only.
    """
    index_of = {name: index for index, name in enumerate(names)}
    by_name = all(label in index_of for label in labels)
    numbers = all(INDEX.fullmatch(label) for label in labels)
    if not by_name and not numbers:
        _refuse_labels(labels, index_of, place, first)
    read_as = _read_as(labels, index_of, by_name=by_name) if numbers else None
    if not by_name:
        return np.array([int(label) for label in labels], dtype=np.int64), TableNotes(labels_are=read_as)
    named = set(labels)
    unnamed = [name for name in names if name not in named and not (numbers and INDEX.fullmatch(name))]
    indices = np.array([index_of[label] for label in labels], dtype=np.int64)
    return indices, TableNotes(labels_are=read_as, named=frozenset(named), unnamed=tuple(unnamed if labels else ()))


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
        raise FileError(
            f"has labels such as {doubt!r} that may be names or indices: as a name it is column {doubt!r}, as an index "
            f"column {shortened(names[int(doubt)])}. Call the columns by names, not numbers, or by their indices."
        )
    return "names"


def _refuse_labels(labels: Sequence[str], index_of: dict[str, int], place: str, first: int) -> NoReturn:
    for row, label in enumerate(labels, start=first):
        if label not in index_of and not INDEX.fullmatch(label):
            raise FileError(
                f"{place} {row} has label {shortened(label)}, which is neither a class column nor a class index. "
                f"The classes are {listed(list(index_of))}."
            )
    raise FileError("has labels of two kinds, names and indices. Use one of them throughout.")


def refuse_strangers(names: Sequence[str], logits: NDArray[Any], notes: TableNotes, *, piece: bool) -> None:
    """Refuse columns that are probably no classes; in a ``piece`` of a stream, other labels may still name them.

    Where labels are indices, no column is named by one: there it is what a column is called and holds that tells.
    """
    if notes.unnamed and not piece:
        refuse_unnamed(notes.unnamed)
    whole = _whole_among_fractions(logits)
    for column, name in enumerate(names):
        if name in notes.named:
            continue
        if re.sub(r"[ -]+", "_", name.strip().lower()) in BOOKKEEPING:
            raise FileError(f"has a column {name!r}, which looks like no class. {WAY_OUT}")
        if column in whole:
            raise FileError(
                f"has a column {shortened(name)} of whole numbers beside logits that are none: an id, or a prediction. "
                f"{WAY_OUT}"
            )


def refuse_unnamed(unnamed: Sequence[str]) -> NoReturn:
    """The refusal of columns that no label names."""
    many = len(unnamed) > 1
    raise FileError(
        f"has {'columns' if many else 'a column'} {listed(list(unnamed))} that no label names: "
        f"{'classes' if many else 'a class'} without a sample, or {'no classes' if many else 'no class'}. {WAY_OUT}"
    )


def _whole_among_fractions(logits: NDArray[Any]) -> set[int]:
    """Columns that hold whole numbers, not all the same, where most others do not.

    Rounded probabilities do in good faith: a class that is never near is 0 or 1 throughout. Their rows all sum to about
    the same, which an id or a prediction among them would spoil.
    """
    if len(logits) < MANY_ROWS or logits.dtype.kind != "f":
        return set()
    sums = logits.sum(axis=1, dtype=np.float64)
    if logits.min() >= 0 and np.ptp(sums) <= SAME_SUM * sums.max():
        return set()
    fractions = (logits != np.rint(logits)).any(axis=0)
    if 2 * fractions.sum() < logits.shape[1]:
        return set()
    return {int(column) for column in np.flatnonzero(~fractions) if (logits[:, column] != logits[0, column]).any()}
