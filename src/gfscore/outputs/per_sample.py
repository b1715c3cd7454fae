"""The per-sample table, to CSV or parquet."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gfscore.errors import OptionError, require
from gfscore.outputs.spreadsheets import write_rows
from gfscore.storage import atomic_file

Table = Mapping[str, Sequence[Any]]


def check_suffix(path: Path) -> None:
    """Refuse a path that names no known format, before any work is done."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise OptionError(f"--per-sample {path} has the ending {path.suffix!r}. Use .csv or .parquet.")
    if path.suffix.lower() == ".parquet":
        require("pyarrow", extra="tables", purpose="writing parquet")


def write_per_sample(path: Path, tables: Sequence[Table]) -> None:
    """Write the tables of all models under one another; a column that one lacks stays empty there."""
    headings = list(dict.fromkeys(heading for table in tables for heading in table))
    check_suffix(path)
    with atomic_file(path) as temporary:
        if path.suffix.lower() == ".csv":
            _write_csv(temporary, headings, tables)
        else:
            _write_parquet(temporary, headings, tables)


def _columns(table: Table, headings: Sequence[str]) -> list[Sequence[Any]]:
    n_rows = len(table["sample_id"])
    return [table.get(heading, [None] * n_rows) for heading in headings]


def _write_csv(path: Path, headings: Sequence[str], tables: Sequence[Table]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        write_rows(file, [headings])
        for table in tables:
            write_rows(file, zip(*_columns(table, headings), strict=True))


def _write_parquet(path: Path, headings: Sequence[str], tables: Sequence[Table]) -> None:
    pyarrow = require("pyarrow", extra="tables", purpose="writing parquet")
    parquet = require("pyarrow.parquet", extra="tables", purpose="writing parquet")
    parts = [pyarrow.table(dict(zip(headings, _columns(table, headings), strict=True))) for table in tables]
    parquet.write_table(pyarrow.concat_tables(parts, promote_options="permissive"), path)
