"""Logits from ``.csv``, ``.tsv`` and ``.parquet``: labels, optionally ``sample_id`` and ``group``, a column per class.

Which columns are classes, and whether labels are names or indices, is not guessed: what may be read in two ways is
refused (:mod:`~gfscore.inputs.table_columns`). Parquet needs pyarrow, from the extra ``tables``; there a value that
repeats is stored once, so a million rows of one long text take no room in the file.
"""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from gfscore.errors import FileError, first_line, require
from gfscore.inputs.array_files import RawSamples, refuse_bomb, refuse_too_large
from gfscore.inputs.stray_columns import LABEL, plain_name, refuse_columns, refuse_strangers, refuse_unnamed, way_out
from gfscore.inputs.table_columns import GROUP, SAMPLE_ID, Columns, Reading, find_columns, is_plain, one_hot_labels
from gfscore.inputs.table_labels import Labels, read_labels
from gfscore.names import shorten
from gfscore.samples import TableNotes
from gfscore.storage import refuse_unreadable

SEPARATORS = ",;\t|"
NO_TEXTS = ("nan", "inf", "infinity")
CSV_ROWS = 4096  # turned into numbers together
PARQUET_ROWS = 64  # whose texts or images are unpacked together


def read_csv(path: Path, how: Reading) -> RawSamples:
    """Read a table with a header line, separated by commas, semicolons, tabs or bars."""
    header, columns, numbers = [""], Columns(), _Numbers([])
    blocks, one_hot = list[NDArray[np.float64]](), list[NDArray[np.float64]]()
    labels, texts = list[str](), dict[str, list[str]]()
    for first, block in _csv_blocks(path):
        if first == 1:
            header = [name.strip() for name in block.pop(0)]
            columns, numbers = find_columns(header, how), _Numbers(header, commas=_separator(path) != ",")
            texts, first = {name: [] for name in columns.texts}, 2  # a header of several lines is a block of its own
            _refuse_texts(block, columns)
        if block:
            blocks.append(numbers.read(block, columns.places, first))
            if columns.label is None:
                one_hot.append(numbers.read(block, columns.one_hot, first))
            else:
                labels.extend(row[columns.label] for row in block)
            for name, values in texts.items():
                values.extend(row[columns.texts[name]] for row in block)
    logits = np.concatenate(blocks) if blocks else np.empty((0, len(columns.places)))
    classes = np.concatenate(one_hot) if one_hot else labels
    return _raw(logits, classes, texts, columns, how, ("line", 2), decimal_comma=numbers.comma)


def _separator(path: Path) -> str:
    """What stands between the columns: what makes the header as wide as the line below it.

    Where several do, as in ``label;red, dark;blue``, it is that which makes a column of labels; then the widest.
    """
    found = [(False, False, 1, -SEPARATORS.index(","))]
    with path.open(newline="", encoding="utf-8-sig") as file:
        for order, separator in enumerate(SEPARATORS):
            file.seek(0)
            rows = _first_rows(file, separator)
            if rows and len(rows[0]) > 1:
                has_label = any(plain_name(name) == LABEL for name in rows[0])
                alike = len(rows) == 1 or len(rows[0]) == len(rows[1])
                found.append((alike, has_label, len(rows[0]), -order))
    return SEPARATORS[-max(found)[-1]]


def _first_rows(file: TextIO, separator: str) -> list[list[str]]:
    """The header and the line below it; nothing where this separator makes no table of the file."""
    try:
        return [row for row, _ in zip(csv.reader(file, delimiter=separator, strict=True), range(2), strict=False)]
    except csv.Error:
        return []


def _csv_blocks(path: Path) -> Iterator[tuple[int, list[list[str]]]]:
    """Yield the number of the first line and a block of rows, all as wide as the header (the first row).

    A row that takes several lines, as a name with a line break in it does, is the last of its block.
    """
    try:
        separator = _separator(path)
        with path.open(newline="", encoding="utf-8-sig") as file:
            width: int | None = None
            block: list[list[str]] = []
            first = 1
            ended = None  # the first of the empty lines that may stand at the end
            reader, line = csv.reader(file, delimiter=separator, strict=True), 1
            for row in reader:
                width = len(row) if width is None else width
                if not row and width:
                    ended, line = ended or line, reader.line_num + 1
                    continue
                if ended is not None:
                    raise FileError(f"line {ended} is empty, and more follow. Remove it.")
                if len(row) != width:
                    raise FileError(f"line {line} has {len(row)} fields, the header {width}. Make them equal.")
                block.append(row)
                if len(block) == CSV_ROWS or reader.line_num > line:
                    yield first, block
                    first, block = reader.line_num + 1, []
                line = reader.line_num + 1
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


class _Numbers:
    """Cells as numbers, with a decimal point, or throughout with a decimal comma."""

    def __init__(self, header: Sequence[str], *, commas: bool = False) -> None:
        self.header, self.commas = header, commas  # a comma may stand in a number
        self.comma = self.point = False  # whether one has stood in a number so far

    def read(self, rows: Sequence[Sequence[str]], columns: Sequence[int], first: int) -> NDArray[np.float64]:
        """The numbers in some columns; at the first cell that is none, say where it stands."""
        cells = [[row[column] for column in columns] for row in rows]
        odd = not all(map(is_plain, map("".join, cells)))
        with suppress(ValueError):
            if not self.comma and not odd:
                values = np.array(cells, dtype=np.float64)
                self.point = self.point or bool((values != np.rint(values)).any())
                return values
        with suppress(ValueError):
            if self.commas and not odd and not self.point and not any("." in cell for row in cells for cell in row):
                values = np.array([[cell.replace(",", ".") for cell in row] for row in cells], dtype=np.float64)
                self.comma = True
                return values
        read = np.empty((len(rows), len(columns)))
        for line, row in enumerate(cells):
            for place, cell in enumerate(row):
                try:
                    read[line, place] = self._number(cell)
                except ValueError:
                    self._refuse(cell, self.header[columns[place]], first + line)
        return read

    def _number(self, cell: str) -> float:
        if not is_plain(cell):
            raise ValueError
        if self.commas and cell.count(",") == 1 and "." not in cell:
            value, self.comma = float(cell.replace(",", ".")), True
        else:
            value = float(cell)
            self.point = self.point or "." in cell
        if self.comma and self.point:
            raise ValueError
        return value

    def _refuse(self, cell: str, column: str, line: int) -> None:
        where = f"line {line}, column {shorten(column)} holds {shorten(cell)}"
        if self.commas and ("," in cell or (self.comma and "." in cell)):
            raise FileError(
                f"{where} in a table with points and commas in its numbers. Write one of them before the decimals, and "
                "nothing between thousands."
            )
        raise FileError(
            f"{where}, which is no number. Write one, or drop the row; --ignore-columns leaves out a column that is no "
            "class."
        )


def _refuse_texts(rows: Sequence[Sequence[str]], columns: Columns) -> None:
    """Refuse columns in which none of the first rows holds anything like a number, or nothing."""
    pairs = zip(columns.written, columns.places, strict=True)
    texts = {name: "text" for name, place in pairs if all(_is_text(row[place]) for row in rows)}
    if rows and texts:
        refuse_columns(texts)


def _is_text(cell: str) -> bool:
    """Whether a cell holds something that no number is written with."""
    return bool(cell.strip()) and cell.strip("+- ").lower() not in NO_TEXTS and not any(map(str.isdigit, cell))


def read_parquet(path: Path, how: Reading) -> RawSamples:
    """Read a parquet table."""
    pyarrow = require("pyarrow", extra="tables", purpose="reading parquet")
    with open_parquet_file(path) as file:
        schema = file.schema_arrow
        header = [str(name) for name in schema.names]
        columns = find_columns(header, how, _index_columns(schema.metadata))
        names = [header[place] for place in (*columns.places, *columns.one_hot)]
        for name, kind in zip(header, schema.types, strict=True):
            is_number = pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind)
            if name in names and not is_number and not pyarrow.types.is_boolean(kind):
                shown = " ".join(str(kind).split())  # a field's name may hold anything
                raise FileError(f"column {shorten(name)} is {shown}, no logit. {way_out([name])}")
        refuse_too_large(8 * file.metadata.num_rows * len(names), "a table")
        table = file.read(columns=names)
        places = dict(columns.texts) if columns.label is None else {LABEL: columns.label, **columns.texts}
        texts = {name: column_values(file, path, header[place]) for name, place in places.items()}
    for name in (*texts, *names):
        missing = [value is None for value in texts[name]] if name in texts else table[name].is_null().to_numpy()
        if any(missing):
            raise FileError(f"row {int(np.argmax(missing))}, column {name!r} is empty. Fill it, or drop the row.")
    values = [table[name].to_numpy() for name in names]
    n_classes = len(columns.places)
    logits = np.column_stack(values[:n_classes]) if n_classes else np.empty((table.num_rows, 0))
    labels = np.column_stack(values[n_classes:]) if columns.label is None else [str(value) for value in texts[LABEL]]
    return _raw(logits, labels, texts, columns, how, ("row", 0))


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


def _raw(
    logits: NDArray[Any],
    labels: Sequence[str] | NDArray[Any],
    texts: Mapping[str, list[Any]],
    columns: Columns,
    how: Reading,
    where: tuple[str, int],
    *,
    decimal_comma: bool = False,
) -> RawSamples:
    """What a table holds, once it is known which columns are what; ``where`` is what its first row is called."""
    if isinstance(labels, np.ndarray):
        found = Labels(one_hot_labels(labels, *where), named=frozenset(columns.names))
    else:
        found = read_labels(labels, columns, how, *where)
    unnamed = () if columns.given or columns.renamed else found.unnamed
    if unnamed and not how.piece:
        refuse_unnamed(unnamed)
    if not columns.given:
        refuse_strangers(columns.names, columns.written, logits, found.indices, found.named, piece=how.piece)
    return RawSamples(
        logits=logits,
        labels=found.indices,
        class_names=columns.names,
        groups=texts.get(GROUP),
        sample_ids=texts.get(SAMPLE_ID),
        table=TableNotes(
            left_out=columns.left_out,
            named=found.named,
            unnamed=unnamed,
            labels_are=found.labels_are,
            decimal_comma=decimal_comma,
        ),
    )
