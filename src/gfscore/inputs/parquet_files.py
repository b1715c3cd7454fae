"""Parquet files, read so that a few bytes cannot unpack to gigabytes; needs pyarrow, from the extra ``tables``.

A value that repeats is stored once, so a million rows of one long text take no room in the file.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gfscore.errors import FileError, first_line, require
from gfscore.inputs.raw import refuse_bomb
from gfscore.storage import refuse_unreadable

BATCH_ROWS = 64  # rows whose texts or images are unpacked together


@contextmanager
def open_parquet_file(path: Path) -> Iterator[Any]:
    """A ``pyarrow.parquet.ParquetFile``, for a ``with`` block; what goes wrong in it names the file as damaged."""
    pyarrow = require("pyarrow", extra="tables", purpose="reading parquet")
    parquet = require("pyarrow.parquet", extra="tables", purpose="reading parquet")
    refuse_unreadable(path)
    try:
        with parquet.ParquetFile(path) as file:
            refuse_bomb(8 * file.metadata.num_rows * file.metadata.num_columns, path.stat().st_size, "a table")
            yield file
    except (pyarrow.ArrowException, OSError) as error:
        raise FileError(f"is not a parquet file, or is damaged ({first_line(error)}). Save it again.") from error


def column_values(file: Any, path: Path, column: str, row_groups: Sequence[int] | None = None) -> list[Any]:
    """A column as Python values, of all row groups or some; ``image.bytes`` is the field of a struct."""
    values: list[Any] = []
    unpacked = 0
    for batch in file.iter_batches(BATCH_ROWS, row_groups=row_groups, columns=[column]):
        array = batch.column(0)
        if "." in column:
            (array,) = array.flatten()  # a row without the struct has none of its fields
        unpacked += array.nbytes
        refuse_bomb(unpacked, path.stat().st_size, f"a column {column!r}")
        values += array.to_pylist()
    return values


def index_columns(metadata: Mapping[bytes, bytes] | None) -> tuple[str, ...]:
    """Columns that were the index of a pandas frame, as it notes in the schema."""
    try:
        columns = json.loads((metadata or {})[b"pandas"])["index_columns"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return ()
    return tuple(name for name in columns if isinstance(name, str)) if isinstance(columns, list) else ()
