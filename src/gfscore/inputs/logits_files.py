"""One door for logits files, whatever their format."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from gfscore.errors import FileError, naming
from gfscore.inputs.columns import SAMPLE_ID
from gfscore.inputs.npz import read_npz
from gfscore.inputs.raw import Groups, RawSamples, listed, refuse_moved
from gfscore.inputs.safetensors_file import read_safetensors
from gfscore.inputs.tabular import csv_blocks, read_csv, read_parquet
from gfscore.names import name_texts
from gfscore.samples import Samples
from gfscore.storage import redact, refuse_unreadable, to_read

Ids = Sequence[object] | NDArray[Any] | None
SUFFIXES = (".npz", ".safetensors", ".parquet", ".csv")


def read_samples(
    path: str | Path,
    *,
    probabilities: bool = False,
    class_names: Sequence[str] | None = None,
    groups: Path | None = None,
    piece: bool = False,
) -> Samples:
    """Read and check a logits file: ``.npz``, ``.safetensors``, ``.parquet`` or ``.csv``, here or at an address.

    ``class_names`` take the place of the names in the file, or say which columns of a table are its classes; in both
    cases names that the file has stay in its order. ``groups`` is a file with one group per sample, or with a
    column ``sample_id`` to join on. A ``piece`` is one of several files, as in :meth:`~gfscore.Samples.of`. No pickle
    is ever loaded. Formats: :doc:`files`.
    """
    path = to_read(path)
    with naming(redact(path)):
        given = None if class_names is None else name_texts(class_names)
        raw = _read(path, given, probabilities=probabilities, piece=piece)
        if given is not None and raw.class_names is not None:
            refuse_moved(given, raw.class_names)
        return Samples.of(
            raw.logits,
            raw.labels,
            class_names=raw.class_names if given is None else given,
            groups=raw.groups if groups is None else read_groups(groups, raw.sample_ids, raw.labels.size),
            sample_ids=raw.sample_ids,
            probabilities=probabilities,
            piece=piece,
            halved_batches=raw.halved_batches,
            table=raw.table,
        )


def _read(path: Path, class_names: Sequence[str] | None, *, probabilities: bool, piece: bool) -> RawSamples:
    refuse_unreadable(path)
    try:
        match path.suffix.lower():
            case ".npz":
                return read_npz(path, probabilities=probabilities)
            case ".safetensors":
                return read_safetensors(path, probabilities=probabilities)
            case ".parquet":
                return read_parquet(path, class_names, piece=piece)
            case ".csv":
                return read_csv(path, class_names, piece=piece)
    except OSError as error:
        raise FileError(f"cannot be read ({error.strerror or error}). Check the file and its permissions.") from error
    raise FileError(f"has the ending {path.suffix!r}. Logits files are {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.")


def read_class_names(path: Path) -> list[str]:
    """Class names from a text file with one name per line, or from a JSON list."""
    with naming(path):
        text = _read_text(path)
        if path.suffix.lower() != ".json":
            return text.splitlines()
        try:
            names = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise FileError(f"is not JSON ({error}). Write a list of names.") from error
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise FileError('is not a JSON list of names. Write ["first", "second", ...].')
        return names


def read_groups(path: Path, sample_ids: Ids, n_samples: int) -> Groups:
    """Groups from a text file with one name per line, or from a CSV with one column per attribute.

    A CSV with a column ``sample_id`` is joined on it; otherwise its rows are taken in the order of the samples.
    """
    with naming(path):
        if path.suffix.lower() != ".csv":
            return _read_text(path).splitlines()
        refuse_unreadable(path)
        header, *rows = [row for _, block in csv_blocks(path) for row in block]
        if SAMPLE_ID in header:
            rows = joined(rows, header.index(SAMPLE_ID), sample_ids, "group")
        elif len(rows) != n_samples:
            raise FileError(f"has {len(rows)} rows for {n_samples} samples. Give one each, or a sample_id column.")
        attributes = {name: [row[index] for row in rows] for index, name in enumerate(header) if name != SAMPLE_ID}
        if not attributes:
            raise FileError("has no column of groups. Add one beside sample_id.")
        return next(iter(attributes.values())) if len(attributes) == 1 else attributes


def joined(rows: list[list[Any]], column: int, sample_ids: Ids, what: str) -> list[list[Any]]:
    """The rows in the order of the samples, by the id in a column; ``what`` is what a row holds, for messages."""
    if sample_ids is None:
        raise FileError("has a sample_id column but the logits have no sample ids. Add them, or drop the column.")
    by_id: dict[str, list[Any]] = {}
    for row in rows:
        if row[column] in by_id:
            raise FileError(f"has sample_id {row[column]!r} twice. Keep one row per sample.")
        by_id[row[column]] = row
    wanted = [str(sample_id) for sample_id in sample_ids]
    missing = [sample_id for sample_id in wanted if sample_id not in by_id]
    if missing:
        raise FileError(f"has no {what} for sample_id {listed(missing, most=3)}. Add a row for every sample.")
    return [by_id[sample_id] for sample_id in wanted]


def _read_text(path: Path) -> str:
    refuse_unreadable(path)
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"is not UTF-8 text (byte {error.start}). Save it as UTF-8.") from error
    except OSError as error:
        raise FileError(f"cannot be read ({error.strerror}). Check its permissions.") from error
