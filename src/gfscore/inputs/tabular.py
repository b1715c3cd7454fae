"""Logits from ``.csv`` and ``.parquet``: a column ``label``, optionally ``sample_id`` and ``group``, one per class.

A label is the name of a class column or its index, counted from 0 in the order of the class columns; when every label
is a name, names it is.
"""

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore.errors import FileError
from gfscore.extras import require
from gfscore.inputs.parquet_files import column_values, open_parquet_file
from gfscore.inputs.raw import RawSamples, listed, refuse_too_large

LABEL, SAMPLE_ID, GROUP = "label", "sample_id", "group"
RESERVED = (LABEL, SAMPLE_ID, GROUP)
INDEX = re.compile(r"-?\d{1,18}")  # whole numbers that fit into 64 bits
BLOCK_ROWS = 4096  # rows turned into numbers together


def read_csv(path: Path) -> RawSamples:
    """Read a comma-separated table with a header line."""
    header, classes = [""], [0]
    blocks: list[NDArray[np.float64]] = []
    texts: dict[str, list[str]] = {}
    for first_line, block in csv_blocks(path):
        if first_line == 1:
            header = block.pop(0)
            classes = _class_columns(header)
            texts = {name: [] for name in RESERVED if name in header}
            first_line = 2
        if block:
            blocks.append(_numbers(block, classes, header, first_line))
            for name, values in texts.items():
                column = header.index(name)
                values.extend(row[column] for row in block)
    class_names = [header[column] for column in classes]
    logits = np.concatenate(blocks) if blocks else np.empty((0, len(classes)))
    return RawSamples(
        logits=logits,
        labels=_label_indices(texts[LABEL], class_names, "line", 2),
        class_names=class_names,
        groups=texts.get(GROUP),
        sample_ids=texts.get(SAMPLE_ID),
    )


def csv_blocks(path: Path) -> Any:
    """Yield the number of the first line and a block of rows, all as wide as the header (the first row)."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            width: int | None = None
            block: list[list[str]] = []
            first = line = 1
            for line, row in enumerate(reader, start=1):
                width = len(row) if width is None else width
                if len(row) != width:
                    raise FileError(f"line {line} has {len(row)} fields, the header {width}. Make them equal.")
                block.append(row)
                if len(block) == BLOCK_ROWS:
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


def read_parquet(path: Path) -> RawSamples:
    """Read a parquet table (needs pyarrow, from the extra ``tables``)."""
    pyarrow = require("pyarrow", extra="tables", purpose="reading parquet")
    with open_parquet_file(path) as file:
        header = [str(name) for name in file.schema_arrow.names]
        class_names = [header[column] for column in _class_columns(header)]
        for name, kind in zip(header, file.schema_arrow.types, strict=True):
            number = pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind)
            if name in class_names and not number:
                raise FileError(f"column {name!r} is {kind}, no logit. Drop it, or make it a number.")
        refuse_too_large(8 * file.metadata.num_rows * len(class_names), "a table")
        table = file.read(columns=class_names)
        try:
            texts = {name: column_values(file, path, name) for name in RESERVED if name in header}
        except UnicodeDecodeError as error:
            raise FileError(f"holds text that is not UTF-8 (byte {error.start}). Save it as UTF-8.") from error
    for name in header:
        missing = [value is None for value in texts[name]] if name in texts else table[name].is_null().to_numpy()
        if any(missing):
            raise FileError(f"row {int(np.argmax(missing))}, column {name!r} is empty. Fill it, or drop the row.")
    columns = [table[name].to_numpy() for name in class_names]
    return RawSamples(
        logits=np.column_stack(columns),
        labels=_label_indices([str(label) for label in texts[LABEL]], class_names, "row", 0),
        class_names=class_names,
        groups=texts.get(GROUP),
        sample_ids=texts.get(SAMPLE_ID),
    )


def _class_columns(header: Sequence[str]) -> list[int]:
    if LABEL not in header:
        semicolons = len(header) == 1 and ";" in header[0]
        hint = "Separate the columns by commas." if semicolons else "Name the column of true classes 'label'."
        raise FileError(f"has no column 'label'; it has {listed(list(header))}. {hint}")
    seen: set[str] = set()
    for name in header:
        if name in seen:
            raise FileError(f"has the column {name!r} twice. Make the names unique.")
        seen.add(name)
    return [index for index, name in enumerate(header) if name not in RESERVED]


def _numbers(
    rows: Sequence[Sequence[str]], columns: Sequence[int], header: Sequence[str], first_line: int
) -> NDArray[np.float64]:
    """The class columns as numbers; at the first cell that is none, say where it stands."""
    try:
        return np.array([[row[column] for column in columns] for row in rows], dtype=np.float64)
    except ValueError:
        for line, row in enumerate(rows, start=first_line):
            for column in columns:
                try:
                    float(row[column])
                except ValueError:
                    raise FileError(
                        f"line {line}, column {header[column]!r} holds {row[column]!r}, which is no number. "
                        "Class columns hold logits; drop other columns."
                    ) from None
        raise


def _label_indices(labels: Sequence[str], class_names: Sequence[str], place: str, first: int) -> NDArray[np.int64]:
    index_of = {name: index for index, name in enumerate(class_names)}
    if all(label in index_of for label in labels):
        return np.array([index_of[label] for label in labels], dtype=np.int64)
    for row, label in enumerate(labels, start=first):
        if label not in index_of and not INDEX.fullmatch(label):
            raise FileError(
                f"{place} {row} has label {label!r}, which is neither a class column nor a class index. "
                f"The classes are {listed(list(class_names))}."
            )
    try:
        return np.array([int(label) for label in labels], dtype=np.int64)
    except ValueError as error:
        raise FileError("has labels of two kinds, names and indices. Use one of them throughout.") from error
