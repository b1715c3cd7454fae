"""Logits from ``.csv`` and ``.parquet``: a column ``label``, optionally ``sample_id`` and ``group``, one per class.

Which columns are classes, and whether labels are names or indices, is not guessed: what may be read in two ways is
refused, and ``--class-names`` says which columns are meant. Parquet needs pyarrow, from the extra ``tables``; there a
value that repeats is stored once, so a million rows of one long text take no room in the file.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from gfscore.errors import FileError, first_line, require
from gfscore.inputs.array_files import RawSamples, refuse_bomb, refuse_too_large
from gfscore.names import listing, shorten
from gfscore.samples import TableNotes
from gfscore.storage import refuse_unreadable

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
CSV_ROWS = 4096  # turned into numbers together
PARQUET_ROWS = 64  # whose texts or images are unpacked together


def read_csv(path: Path, class_names: Sequence[str] | None = None, *, piece: bool = False) -> RawSamples:
    """Read a comma-separated table with a header line; ``class_names`` may say which of its columns are classes."""
    header, columns = [""], _Columns()
    blocks: list[NDArray[np.float64]] = []
    texts: dict[str, list[str]] = {}
    for first, block in _csv_blocks(path):
        if first == 1:
            header = block.pop(0)
            columns = _class_columns(header, class_names)
            texts = {name: [] for name in RESERVED if name in header}
            first = 2
        if block:
            blocks.append(_numbers(block, columns.places, header, first))
            for name, values in texts.items():
                column = header.index(name)
                values.extend(row[column] for row in block)
    logits = np.concatenate(blocks) if blocks else np.empty((0, len(columns.places)))
    return _raw(logits, texts, columns, "line", 2, piece=piece)


def _csv_blocks(path: Path) -> Iterator[tuple[int, list[list[str]]]]:
    """Yield the number of the first line and a block of rows, all as wide as the header (the first row)."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            width: int | None = None
            block: list[list[str]] = []
            first = 1
            for line, row in enumerate(csv.reader(file, strict=True), start=1):
                width = len(row) if width is None else width
                if len(row) != width:
                    raise FileError(f"line {line} has {len(row)} fields, the header {width}. Make them equal.")
                block.append(row)
                if len(block) == CSV_ROWS:
                    yield first, block
                    first, block = line + 1, []
            if block:
                yield first, block
            if width is None:
                raise FileError("has no header line. Write it again.")
    except UnicodeDecodeError as error:
        raise FileError(f"is not UTF-8 text (byte {error.start}). Save it as UTF-8 CSV.") from error
    except csv.Error as error:
        raise FileError(f"is not a CSV table ({error}). Save it again.") from error


def csv_table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a small table."""
    header, *rows = [row for _, block in _csv_blocks(path) for row in block]
    return header, rows


def _numbers(
    rows: Sequence[Sequence[str]], columns: Sequence[int], header: Sequence[str], first: int
) -> NDArray[np.float64]:
    """The class columns as numbers; at the first cell that is none, say where it stands."""
    try:
        return np.array([[row[column] for column in columns] for row in rows], dtype=np.float64)
    except ValueError:
        for line, row in enumerate(rows, start=first):
            for column in columns:
                try:
                    float(row[column])
                except ValueError:
                    raise FileError(
                        f"line {line}, column {header[column]!r} holds {row[column]!r}, which is no number. "
                        "Class columns hold logits; drop other columns."
                    ) from None
        raise


def read_parquet(path: Path, class_names: Sequence[str] | None = None, *, piece: bool = False) -> RawSamples:
    """Read a parquet table."""
    pyarrow = require("pyarrow", extra="tables", purpose="reading parquet")
    with open_parquet_file(path) as file:
        schema = file.schema_arrow
        header = [str(name) for name in schema.names]
        columns = _class_columns(header, class_names, _index_columns(schema.metadata))
        names = list(columns.names)
        for name, kind in zip(header, schema.types, strict=True):
            if name in names and not (pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind)):
                shown = " ".join(str(kind).split())  # a field's name may hold anything
                raise FileError(f"column {name!r} is {shown}, no logit. Drop it, or make it a number.")
        refuse_too_large(8 * file.metadata.num_rows * len(names), "a table")
        table = file.read(columns=names)
        texts = {name: column_values(file, path, name) for name in RESERVED if name in header}
    for name in (*texts, *names):
        missing = [value is None for value in texts[name]] if name in texts else table[name].is_null().to_numpy()
        if any(missing):
            raise FileError(f"row {int(np.argmax(missing))}, column {name!r} is empty. Fill it, or drop the row.")
    logits = np.column_stack([table[name].to_numpy() for name in names]) if names else np.empty((table.num_rows, 0))
    return _raw(logits, texts, columns, "row", 0, piece=piece)


@contextmanager
def open_parquet_file(path: Path) -> Iterator[Any]:
    """A ``pyarrow.parquet.ParquetFile``, for a ``with`` block; what goes wrong in it names the file as damaged."""
    pyarrow, parquet = (
        require(module, extra="tables", purpose="reading parquet") for module in ("pyarrow", "pyarrow.parquet")
    )
    refuse_unreadable(path)
    try:
        with parquet.ParquetFile(path) as file:
            refuse_bomb(8 * file.metadata.num_rows * file.metadata.num_columns, path.stat().st_size, "a table")
            yield file
    except UnicodeDecodeError as error:  # in a value, or in the name of a column
        raise FileError(f"holds text that is not UTF-8 (byte {error.start}). Save it as UTF-8.") from error
    except (pyarrow.ArrowException, OSError) as error:
        raise FileError(f"is not a parquet file, or is damaged ({first_line(error)}). Save it again.") from error


def column_values(file: Any, path: Path, column: str, row_groups: Sequence[int] | None = None) -> list[Any]:
    """A column as Python values, of all row groups or some; ``image.bytes`` is the field of a struct."""
    values: list[Any] = []
    unpacked = 0
    for batch in file.iter_batches(PARQUET_ROWS, row_groups=row_groups, columns=[column]):
        array = batch.column(0)
        if "." in column:
            (array,) = array.flatten()  # a row without the struct has none of its fields
        unpacked += array.nbytes
        refuse_bomb(unpacked, path.stat().st_size, f"a column {column!r}")
        values += array.to_pylist()
    return values


def _index_columns(metadata: Mapping[bytes, bytes] | None) -> tuple[str, ...]:
    """Columns that were the index of a pandas frame, as it notes in the schema."""
    try:
        columns = json.loads((metadata or {})[b"pandas"])["index_columns"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return ()
    return tuple(name for name in columns if isinstance(name, str)) if isinstance(columns, list) else ()


class _Columns(NamedTuple):
    """The class columns of a table, in its order."""

    places: Sequence[int] = ()
    names: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    given: bool = False  # somebody named the classes


def _class_columns(header: Sequence[str], class_names: Sequence[str] | None, index: Sequence[str] = ()) -> _Columns:
    """Tell the class columns from the others.

    ``class_names`` that are all columns say which are classes; ``index`` are the columns that pandas notes as such.
    """
    if LABEL not in header:
        semicolons = len(header) == 1 and ";" in header[0]
        hint = "Separate the columns by commas." if semicolons else "Name the column of true classes 'label'."
        raise FileError(f"has no column 'label'; it has {listing(header)}. {hint}")
    chosen = set(class_names or ())
    if not chosen or not chosen <= set(header) - set(RESERVED):
        chosen = {name for name in header if name not in index and not PANDAS_INDEX.fullmatch(name)} - set(RESERVED)
    seen: set[str] = set()
    for name in header:
        if name in seen and (name in chosen or name in RESERVED):
            raise FileError(f"has the column {shorten(name)} twice. Make the names unique.")
        seen.add(name)
    return _Columns(
        places=[place for place, name in enumerate(header) if name in chosen],
        names=tuple(name for name in header if name in chosen),
        left_out=tuple(name for name in header if name not in chosen and name not in RESERVED),
        given=class_names is not None,
    )


def _raw(
    logits: NDArray[Any], texts: Mapping[str, list[Any]], columns: _Columns, place: str, first: int, *, piece: bool
) -> RawSamples:
    """What a table holds, once it is known which columns are classes and how labels are to be read."""
    labels, notes = _read_labels([str(label) for label in texts[LABEL]], columns.names, place, first)
    if columns.given:
        notes = replace(notes, unnamed=())
    else:
        _refuse_strangers(columns.names, logits, notes, piece=piece)
    return RawSamples(
        logits=logits,
        labels=labels,
        class_names=columns.names,
        groups=texts.get(GROUP),
        sample_ids=texts.get(SAMPLE_ID),
        table=replace(notes, left_out=columns.left_out),
    )


def _read_labels(
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
        for row, label in enumerate(labels, start=first):
            if label not in index_of and not INDEX.fullmatch(label):
                raise FileError(
                    f"{place} {row} has label {shorten(label)}, which is neither a class column nor a class index. "
                    f"The classes are {listing(names)}."
                )
        raise FileError("has labels of two kinds, names and indices. Use one of them throughout.")
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
            f"column {shorten(names[int(doubt)])}. Call the columns by names, not numbers, or by their indices."
        )
    return "names"


def _refuse_strangers(names: Sequence[str], logits: NDArray[Any], notes: TableNotes, *, piece: bool) -> None:
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
                f"has a column {shorten(name)} of whole numbers beside logits that are none: an id, or a prediction. "
                f"{WAY_OUT}"
            )


def refuse_unnamed(unnamed: Sequence[str]) -> NoReturn:
    """The refusal of columns that no label names."""
    many = len(unnamed) > 1
    raise FileError(
        f"has {'columns' if many else 'a column'} {listing(unnamed)} that no label names: "
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
    return set(np.flatnonzero(~fractions & (logits != logits[0]).any(axis=0)).tolist())
