"""Images in parquet files as the Hugging Face hub keeps them; needs pyarrow, from the extra ``tables``.

A column ``image`` (or ``img``) holds the encoded bytes, plain or as a struct {bytes, path}; ``label`` (or ``labels``,
``fine_label``) the classes, as indices or names; these are ordered as folders are. Row groups are read when a batch
needs them, one at a time.
"""

import json
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gfscore.arrays import IntArray
from gfscore.errors import FileError, OptionError, naming
from gfscore.inputs.data.base import Data, FilesDigest, check_labels, class_order, names_for_labels, unique_ids
from gfscore.inputs.data.image_files import DecodedImages
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.small_files import refuse_moved
from gfscore.inputs.table_files import column_values, open_parquet_file
from gfscore.names import listing, shorten

IMAGES, LABELS = ("image", "img"), ("label", "labels", "fine_label")


class _Group(NamedTuple):
    """A row group: the unit in which parquet is read."""

    path: Path
    number: int  # in its file
    first: int  # row of the file
    rows: int


class _EncodedRows:
    """Encoded images in row groups of one or several files, one of which is held at a time."""

    def __init__(self, column: str, groups: Sequence[_Group]) -> None:
        self.column, self.groups = column, groups
        self.starts = _starts([group.rows for group in groups])  # first row of each group
        self.held: dict[int, list[bytes | None]] = {}  # the group read last

    def __call__(self, row: int) -> tuple[str, bytes]:
        """Where an image stands, and its bytes."""
        index = bisect_right(self.starts, row) - 1
        group, within = self.groups[index], row - self.starts[index]
        name = f"{group.path}, row {group.first + within}"
        if index not in self.held:
            self.held.clear()
            with naming(group.path), open_parquet_file(group.path) as file:
                self.held[index] = _values(file, group.path, self.column, [group])
        content = self.held[index][within]
        if not content:
            raise FileError("has no image bytes. Embed the images in the file, or drop the row.").found_in(name)
        return name, content


def find_parquet(folder: Path) -> list[Path]:
    """Parquet files in a folder, sorted."""
    return sorted(path for path in folder.glob("*.parquet") if not path.name.startswith("."))


def open_parquet(
    paths: Sequence[Path],
    source: str,
    preprocessing: Preprocessing,
    *,
    split: str | None,
    class_names: Sequence[str] | None,
) -> Data:
    """Read the labels, and note where the images are. ``split`` picks files named ``test-00000-of-00002.parquet``.

    ``class_names`` that hold every label that is text give the order of the classes; others take their place.
    """
    chosen = _of_split(paths, split)
    digest = FilesDigest(chosen, decoded=True)  # before they are read
    tables = [_read_table(path) for path in chosen]
    first = tables[0]
    for path, table in zip(chosen, tables, strict=True):
        if (table.image, table.label, table.class_names) != (first.image, first.label, first.class_names):
            raise FileError(f"has other columns or class names than {chosen[0].name}. Name one file.").found_in(path)
    values = [label for table in tables for label in table.labels]
    labels, names = _labels(values, first.class_names, class_names)
    if isinstance(values[0], str):
        digest.extra = labels.tobytes()  # which number a name has is not in the files
    encoded = _EncodedRows(first.image, [group for table in tables for group in table.groups])
    return Data(
        source=source,
        labels=labels,
        layout="NHWC",
        read=DecodedImages(encoded, len(labels), preprocessing),
        digest=digest,
        class_names=names,
        sample_ids=unique_ids([name for table in tables for name in table.ids], len(labels)),
    )


def _of_split(paths: Sequence[Path], split: str | None) -> list[Path]:
    splits = sorted({path.name.partition("-")[0] for path in paths if "-" in path.name})
    if split is None:
        if len(splits) > 1:
            raise FileError(f"holds files of {listing(splits)}. Name one: --split {splits[0]}.")
        return list(paths)
    chosen = [path for path in paths if path.name.partition("-")[0] == split]
    if not chosen:
        raise OptionError(f"split is {split!r}; there are files of {listing(splits)}.")
    return chosen


class _Table(NamedTuple):
    image: str
    label: str
    labels: list[Any]
    class_names: tuple[str, ...] | None
    ids: list[str | None]
    groups: list[_Group]


def _read_table(path: Path) -> _Table:
    with naming(path), open_parquet_file(path) as file:
        schema = file.schema_arrow
        image = _column(schema.names, IMAGES, "image", "encoded images")
        label = _column(schema.names, LABELS, "label", "true classes")
        kind = schema.field(image).type
        parts = {child.name for child in kind} if str(kind).startswith("struct") else set()
        if "bytes" not in parts and str(kind) not in ("binary", "large_binary"):
            shown = " ".join(str(kind).split())  # a field's name may hold anything
            raise FileError(f"column {image!r} is {shown}. It must hold encoded images: bytes, or {{bytes, path}}.")
        sizes = [file.metadata.row_group(index).num_rows for index in range(file.metadata.num_row_groups)]
        groups = [
            _Group(path, number, first, rows)
            for number, (first, rows) in enumerate(zip(_starts(sizes), sizes, strict=True))
        ]
        return _Table(
            image=f"{image}.bytes" if parts else image,
            label=label,
            labels=_values(file, path, label, groups),
            class_names=_hub_names(schema.metadata or {}, label),
            ids=_values(file, path, f"{image}.path", groups) if "path" in parts else [],
            groups=groups,
        )


def _values(file: Any, path: Path, column: str, groups: Sequence[_Group]) -> list[Any]:
    """A column of some row groups of one file: as many values as they declare rows."""
    values = column_values(file, path, column, [group.number for group in groups])
    declared = sum(group.rows for group in groups)
    if len(values) != declared:
        raise FileError(f"column {column!r} holds {len(values)} rows of {declared} declared. Save it again.")
    return values


def _starts(sizes: Sequence[int]) -> tuple[int, ...]:
    """First row of each group."""
    return tuple(accumulate(sizes, initial=0))[:-1]


def _column(names: Sequence[str], wanted: Sequence[str], name: str, what: str) -> str:
    found = next((column for column in wanted if column in names), None)
    if found is None:
        raise FileError(f"has no column {name!r}; it has {listing(names)}. Name the column of {what} {name!r}.")
    return found


def _hub_names(metadata: dict[bytes, bytes], label: str) -> tuple[str, ...] | None:
    """Names of the classes, where the ``datasets`` library left them in the schema."""
    try:
        names = json.loads(metadata[b"huggingface"])["info"]["features"][label]["names"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    return tuple(names) if isinstance(names, list) and all(isinstance(name, str) for name in names) else None


def _labels(
    values: list[Any], own: tuple[str, ...] | None, given: Sequence[str] | None
) -> tuple[IntArray, tuple[str, ...] | None]:
    """Indices of the classes, and their names: ``own`` are those in the file."""
    if None in values:
        raise FileError(f"row {values.index(None)} has no label. Give it one, or drop the row.")
    if values and all(isinstance(value, str) for value in values):
        found = sorted(set(values)) if own is None else own
        unknown = set(values) - set(found)
        if unknown:
            raise FileError(
                f"has the label {shorten(min(unknown))}, which is none of its class names. Make them agree."
            )
        label_of, names = class_order(found, given, "label")
        return check_labels(np.array([label_of[value] for value in values])), names
    labels = check_labels(np.array(values))
    if own is not None and given is not None:
        refuse_moved(given, own)
    chosen = own if given is None else given
    return labels, names_for_labels(chosen, labels)
