"""Logits from ``.csv`` and ``.parquet``: a column ``label``, optionally ``sample_id`` and ``group``, one per class.

Which columns are classes, and whether labels are names or indices: :mod:`~gfscore.inputs.columns`.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore.errors import FileError, require
from gfscore.inputs.columns import (
    GROUP,
    LABEL,
    RESERVED,
    SAMPLE_ID,
    Columns,
    class_columns,
    read_labels,
    refuse_strangers,
)
from gfscore.inputs.parquet_files import column_values, index_columns, open_parquet_file
from gfscore.inputs.raw import RawSamples, refuse_too_large

BLOCK_ROWS = 4096  # rows turned into numbers together


def read_csv(path: Path, class_names: Sequence[str] | None = None, *, piece: bool = False) -> RawSamples:
    """Read a comma-separated table with a header line; ``class_names`` may say which of its columns are classes."""
    header, columns = [""], Columns()
    blocks: list[NDArray[np.float64]] = []
    texts: dict[str, list[str]] = {}
    for first_line, block in csv_blocks(path):
        if first_line == 1:
            header = block.pop(0)
            columns = class_columns(header, class_names)
            texts = {name: [] for name in RESERVED if name in header}
            first_line = 2
        if block:
            blocks.append(_numbers(block, columns.places, header, first_line))
            for name, values in texts.items():
                column = header.index(name)
                values.extend(row[column] for row in block)
    logits = np.concatenate(blocks) if blocks else np.empty((0, len(columns.places)))
    return _raw(logits, texts, columns, "line", 2, piece=piece)


def _raw(
    logits: NDArray[Any], texts: Mapping[str, list[Any]], columns: Columns, place: str, first: int, *, piece: bool
) -> RawSamples:
    """What a table holds, once it is known which columns are classes and how labels are to be read."""
    labels, notes = read_labels([str(label) for label in texts[LABEL]], columns.names, place, first)
    if columns.given:
        notes = replace(notes, unnamed=())
    else:
        refuse_strangers(columns.names, logits, notes, piece=piece)
    return RawSamples(
        logits=logits,
        labels=labels,
        class_names=columns.names,
        groups=texts.get(GROUP),
        sample_ids=texts.get(SAMPLE_ID),
        table=replace(notes, left_out=columns.left_out),
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


def read_parquet(path: Path, class_names: Sequence[str] | None = None, *, piece: bool = False) -> RawSamples:
    """Read a parquet table (needs pyarrow, from the extra ``tables``)."""
    pyarrow = require("pyarrow", extra="tables", purpose="reading parquet")
    with open_parquet_file(path) as file:
        header = [str(name) for name in file.schema_arrow.names]
        columns = class_columns(header, class_names, index_columns(file.schema_arrow.metadata))
        names = list(columns.names)
        for name, kind in zip(header, file.schema_arrow.types, strict=True):
            number = pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind)
            if name in names and not number:
                raise FileError(f"column {name!r} is {kind}, no logit. Drop it, or make it a number.")
        refuse_too_large(8 * file.metadata.num_rows * len(names), "a table")
        table = file.read(columns=names)
        try:
            texts = {name: column_values(file, path, name) for name in RESERVED if name in header}
        except UnicodeDecodeError as error:
            raise FileError(f"holds text that is not UTF-8 (byte {error.start}). Save it as UTF-8.") from error
    for name in (*texts, *names):
        missing = [value is None for value in texts[name]] if name in texts else table[name].is_null().to_numpy()
        if any(missing):
            raise FileError(f"row {int(np.argmax(missing))}, column {name!r} is empty. Fill it, or drop the row.")
    logits = np.column_stack([table[name].to_numpy() for name in names]) if names else np.empty((table.num_rows, 0))
    return _raw(logits, texts, columns, "row", 0, piece=piece)


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
