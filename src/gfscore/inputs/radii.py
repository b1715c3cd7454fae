"""Radii that a verifier computed elsewhere: a number per sample from ``.csv``, ``.npz`` or ``.parquet``."""

from pathlib import Path
from typing import Any

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.errors import FileError, naming, require
from gfscore.inputs.array_files import array_names, open_npz, read_member
from gfscore.inputs.small_files import join_rows
from gfscore.inputs.table_files import SAMPLE_ID, csv_table, open_parquet_file
from gfscore.names import listing
from gfscore.samples import Samples
from gfscore.storage import refuse_unreadable

RADIUS = "radius"
Radii = tuple[list[Any], list[Any] | None]  # and the ids of their samples, where there are any


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
            radii.append(float(text))
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
    with open_parquet_file(path) as file:
        table = file.read()
    _refuse_other_columns(table.column_names)
    radii, types = table[RADIUS], require("pyarrow.types", extra="tables", purpose="reading parquet")
    if radii.null_count or not (types.is_floating(radii.type) or types.is_integer(radii.type)):
        raise FileError(
            f"column 'radius' is {radii.type} with {radii.null_count} empty rows. Make all of them numbers."
        )
    return radii.to_pylist(), table[SAMPLE_ID].to_pylist() if SAMPLE_ID in table.column_names else None


def _refuse_other_columns(header: list[str]) -> None:
    if RADIUS not in header:
        raise FileError(f"has no column 'radius'; it has {listing(header)}. Name the column of radii 'radius'.")
