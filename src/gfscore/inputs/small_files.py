"""Small files beside logits: names, groups, policies, references, and radii that were proven elsewhere."""

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import FloatArray
from gfscore.errors import FileError, MissingFileError, OptionError, first_line, naming, require
from gfscore.inputs.array_files import array_names, open_npz, read_member
from gfscore.inputs.known_data import WITH_NAMES
from gfscore.inputs.table_columns import SAMPLE_ID, is_plain
from gfscore.inputs.table_files import csv_table, open_parquet_file
from gfscore.names import listing, shorten
from gfscore.samples import Samples
from gfscore.storage import refuse_unreadable, to_read

Ids = Sequence[object] | NDArray[Any] | None
GroupNames = Sequence[str] | Mapping[str, Sequence[str]]
RADIUS = "radius"
Radii = tuple[list[Any], list[Any] | None]  # and the ids of their samples, where there are any


def read_class_names(path: Path) -> list[str]:
    """Class names from a text file with one name per line, or from a JSON list."""
    with naming(path):
        if not path.exists():
            raise MissingFileError(f"does not exist. Give a file of names, or one of {', '.join(WITH_NAMES)}.")
        if path.suffix.lower() != ".json":
            return _read_text(path).splitlines()
        names = _read_json(path, "Write a list of names.")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise FileError('is not a JSON list of names. Write ["first", "second", ...].')
        return names


def refuse_moved(given: Sequence[str], found: Sequence[str]) -> None:
    """Refuse names for the classes that are theirs already, but of other classes: that would rename them silently."""
    place_of = {name: place for place, name in enumerate(found)}
    for place, name in enumerate(given):
        if place_of.get(name, place) != place:
            raise OptionError(
                f"class name {shorten(name)} is given for class {place}, which is called "
                f"{shorten(found[place]) if place < len(found) else 'nothing'} there: {shorten(name)} is class "
                f"{place_of[name]}. Give the names in their order, or leave --class-names out."
            )


def read_groups(path: Path, sample_ids: Ids, n_samples: int) -> GroupNames:
    """Groups from a text file with one name per line, or from a CSV with one column per attribute.

    A CSV with a column ``sample_id`` is joined on it; otherwise its rows are taken in the order of the samples.
    """
    with naming(path):
        if path.suffix.lower() != ".csv":
            return _read_text(path).splitlines()
        refuse_unreadable(path)
        header, rows = csv_table(path)
        if SAMPLE_ID in header:
            rows = join_rows(rows, header.index(SAMPLE_ID), sample_ids, "group")
        elif len(rows) != n_samples:
            raise FileError(f"has {len(rows)} rows for {n_samples} samples. Give one each, or a sample_id column.")
        attributes = {name: [row[index] for row in rows] for index, name in enumerate(header) if name != SAMPLE_ID}
        if not attributes:
            raise FileError("has no column of groups. Add one beside sample_id.")
        return next(iter(attributes.values())) if len(attributes) == 1 else attributes


def join_rows(rows: list[list[Any]], column: int, sample_ids: Ids, what: str) -> list[list[Any]]:
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
        raise FileError(f"has no {what} for sample_id {listing(missing, most=3)}. Add a row for every sample.")
    return [by_id[sample_id] for sample_id in wanted]


def read_reference(spec: str) -> dict[str, float]:
    """A number per model: a CSV with the columns ``model`` and ``value``, or a JSON object."""
    path = to_read(spec)
    with naming(spec):
        refuse_unreadable(path)
        values: dict[str, float] = {}
        for name, text in _json_pairs(path) if path.suffix.lower() == ".json" else _csv_pairs(path):
            if name in values:
                raise FileError(f"has model {name!r} twice. Keep one value each.")
            try:
                values[name] = _number(text)
            except (OverflowError, TypeError, ValueError):
                raise FileError(f"has {text!r} for model {name!r}, which is no number. Give a number each.") from None
        return values


def _number(value: Any) -> float:
    """A number, or the text of one as tables have it."""
    if isinstance(value, str) and not is_plain(value):
        raise ValueError
    return float(value)


def for_models(values: Mapping[str, float], names: Iterable[str], source: str) -> dict[str, float]:
    """The values of these models; one that has none is an error."""
    missing = [name for name in names if name not in values]
    if missing:
        raise OptionError(f"{source} has no value for model {missing[0]!r}; it has {listing(list(values))}.")
    return {name: values[name] for name in names}


def _json_pairs(path: Path) -> list[tuple[str, Any]]:
    data = _read_json(path, "Write an object of model names and numbers.")
    if not isinstance(data, dict):
        raise FileError('is not a JSON object. Write {"model": number, ...}.')
    return list(data.items())


def _csv_pairs(path: Path) -> list[tuple[str, Any]]:
    header, rows = csv_table(path)
    if "model" not in header or "value" not in header:
        raise FileError(f"has the columns {listing(header)}. Name them 'model' and 'value'.")
    model, value = header.index("model"), header.index("value")
    return [(row[model], row[value]) for row in rows]


def read_policy(path: Path) -> dict[str, Any]:
    """The tables of a ``policy.toml``. What they mean is for the judge to say."""
    return read_toml(path, "Write [rules], and below it a line such as wcr = 0.1.")


def read_toml(path: Path, advice: str) -> dict[str, Any]:
    """The tables of a TOML file; ``advice`` is for one that is none."""
    with naming(path):
        text = _read_text(path)
        try:
            return tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # also a number of thousands of digits, or lists in lists
            raise FileError(f"is not TOML ({first_line(error)}). {advice}") from error


def extend_policy(table: dict[str, Any], name: str, entries: Mapping[str, Any]) -> None:
    """Add entries to a table in a table; what is no table is left for the policy to complain about."""
    there = table.get(name, {})
    if entries and isinstance(there, dict):
        table[name] = {**there, **entries}


def allow_also(table: dict[str, Any], codes: Sequence[str]) -> None:
    """Allow more flags than the policy does; what is no list is left for the policy to complain about."""
    there = table.get("allow", [])
    if codes and isinstance(there, list):
        table["allow"] = [*there, *codes]


def _read_json(path: Path, advice: str) -> Any:
    text = _read_text(path)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f"is not JSON ({error}). {advice}") from error


def read_note(path: Path) -> str:
    """A text for people, such as the notes of a report."""
    with naming(path):
        return _read_text(path)


def _read_text(path: Path) -> str:
    refuse_unreadable(path)
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"is not UTF-8 text (byte {error.start}). Save it as UTF-8.") from error
    except OSError as error:
        raise FileError(f"cannot be read ({error.strerror}). Check its permissions.") from error


def read_radii(path: Path, samples: Samples) -> FloatArray:
    """Radii in the order of the samples, ``(N,)``.

    A table has a column ``radius``, an npz the array ``radii``. With ``sample_id`` (``sample_ids``) they are joined on
    it; otherwise they are taken in the order of the samples. Other columns are passed over.
    """
    with naming(path):
        refuse_unreadable(path)
        match path.suffix.lower():
            case ".csv":
                radii, ids = _from_csv(path)
            case ".npz":
                radii, ids = _from_npz(path)
            case ".parquet":
                radii, ids = _from_parquet(path)
            case ending:
                raise FileError(f"has the ending {ending!r}. Radii are .csv, .npz or .parquet.")
        if ids is not None:
            rows = [[str(name), radius] for name, radius in zip(ids, radii, strict=True)]
            radii = [radius for _, radius in join_rows(rows, 0, samples.sample_ids, RADIUS)]
        elif len(radii) != samples.n_samples:
            raise FileError(
                f"has {len(radii)} radii for {samples.n_samples} samples. Give one each, or their sample_id."
            )
        return np.array(radii, dtype=np.float64)


def _from_csv(path: Path) -> Radii:
    header, lines = csv_table(path)
    _refuse_other_columns(header)
    texts = [line[header.index(RADIUS)] for line in lines]
    radii = []
    for number, text in enumerate(texts, start=2):
        try:
            radii.append(_number(text))
        except ValueError:
            raise FileError(f"line {number} has radius {text!r}, which is no number. Write 0 if none.") from None
    return radii, [line[header.index(SAMPLE_ID)] for line in lines] if SAMPLE_ID in header else None


def _from_npz(path: Path) -> Radii:
    with open_npz(path) as archive:
        names = array_names(archive)
        if "radii" not in names:
            raise FileError(
                f"has no 'radii'; it holds {listing(names)}. Name the array of one radius per sample 'radii'."
            )
        radii = read_member(archive, "radii")
        ids = read_member(archive, "sample_ids") if "sample_ids" in names else None
    if radii.ndim != 1 or radii.dtype.kind not in "fiu":
        raise FileError(f"array 'radii' is {radii.dtype} of shape {radii.shape}. Save one number per sample.")
    if ids is not None and ids.shape != radii.shape:
        raise FileError(f"has {len(radii)} radii but sample_ids of shape {ids.shape}. Save one id per radius.")
    return radii.tolist(), None if ids is None else ids.tolist()


def _from_parquet(path: Path) -> Radii:
    types = require("pyarrow.types", extra="tables", purpose="reading parquet")
    with open_parquet_file(path) as file:
        table = file.read()
        _refuse_other_columns(table.column_names)
        radii = table[RADIUS]
        if radii.null_count or not (types.is_floating(radii.type) or types.is_integer(radii.type)):
            kind = " ".join(str(radii.type).split())
            raise FileError(f"column 'radius' is {kind} with {radii.null_count} empty rows. Make all of them numbers.")
        return radii.to_pylist(), table[SAMPLE_ID].to_pylist() if SAMPLE_ID in table.column_names else None


def _refuse_other_columns(header: list[str]) -> None:
    if RADIUS not in header:
        raise FileError(f"has no column 'radius'; it has {listing(header)}. Name the column of radii 'radius'.")
