"""Radii that a verifier computed elsewhere: a number per sample from ``.csv``, ``.npz`` or ``.parquet``."""

from pathlib import Path
from typing import Any

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.errors import FileError, first_line, naming, require
from gfscore.inputs.array_files import array_names, open_npz, read_member
from gfscore.inputs.small_files import join_rows
from gfscore.inputs.table_files import SAMPLE_ID, csv_table
from gfscore.names import listing
from gfscore.samples import Samples
from gfscore.storage import refuse_unreadable

RADIUS = "radius"
Rows = list[list[Any]]  # of each sample its id, or "", and its radius


def read_radii(path: Path, samples: Samples) -> FloatArray:
    """Radii in the order of the samples, ``(N,)``.

    A table has a column ``radius``, an npz the array ``radii``. With ``sample_id`` (``sample_ids``) they are joined on
    it; otherwise they are taken in the order of the samples. Other columns are passed over.
    """
    with naming(path):
        refuse_unreadable(path)
        match path.suffix.lower():
            case ".csv":
                rows, has_ids = _from_csv(path)
            case ".npz":
                rows, has_ids = _from_npz(path)
            case ".parquet":
                rows, has_ids = _from_parquet(path)
            case ending:
                raise FileError(f"has the ending {ending!r}. Radii are .csv, .npz or .parquet.")
        if has_ids:
            rows = join_rows(rows, 0, samples.sample_ids, RADIUS)
        elif len(rows) != samples.n_samples:
            raise FileError(
                f"has {len(rows)} radii for {samples.n_samples} samples. Give one each, or their sample_id."
            )
        return np.array([radius for _, radius in rows], dtype=np.float64)


def _from_csv(path: Path) -> tuple[Rows, bool]:
    header, lines = csv_table(path)
    radius, name = _columns(header)
    rows: Rows = []
    for number, line in enumerate(lines, start=2):
        try:
            rows.append([line[name] if name is not None else "", float(line[radius])])
        except ValueError:
            raise FileError(
                f"line {number} has radius {line[radius]!r}, which is no number. Write 0 if none."
            ) from None
    return rows, name is not None


def _from_npz(path: Path) -> tuple[Rows, bool]:
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
    texts = [""] * len(radii) if ids is None else [str(name) for name in ids.tolist()]
    return [[name, radius] for name, radius in zip(texts, radii.tolist(), strict=True)], ids is not None


def _from_parquet(path: Path) -> tuple[Rows, bool]:
    pyarrow = require("pyarrow", extra="tables", purpose="reading parquet")
    parquet = require("pyarrow.parquet", extra="tables", purpose="reading parquet")
    try:
        table = parquet.read_table(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise FileError(f"is not a parquet file, or is damaged ({first_line(error)}). Save it again.") from error
    _, name = _columns(table.column_names)
    radii = table[RADIUS]
    if radii.null_count or not (pyarrow.types.is_floating(radii.type) or pyarrow.types.is_integer(radii.type)):
        raise FileError(
            f"column 'radius' is {radii.type} with {radii.null_count} empty rows. Make all of them numbers."
        )
    texts = [""] * len(radii) if name is None else [str(value) for value in table[SAMPLE_ID].to_pylist()]
    return [[text, radius] for text, radius in zip(texts, radii.to_pylist(), strict=True)], name is not None


def _columns(header: list[str]) -> tuple[int, int | None]:
    """Where the radii stand, and the ids if there are any."""
    if RADIUS not in header:
        raise FileError(f"has no column 'radius'; it has {listing(header)}. Name the column of radii 'radius'.")
    return header.index(RADIUS), header.index(SAMPLE_ID) if SAMPLE_ID in header else None
