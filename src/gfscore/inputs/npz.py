"""Logits from ``.npz``: no pickle, and no array larger than the file really holds."""

import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from gfscore.errors import FileError
from gfscore.inputs.raw import RawSamples, labels_key, logits_key, reason, refuse_too_large


def read_npz(path: Path, *, probabilities: bool) -> RawSamples:
    """Read ``logits``, ``labels`` and, where they exist, ``class_names``, ``groups`` and ``sample_ids``."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise FileError("is not an npz archive, or is cut short. Save it again with numpy.savez.") from error
    with archive:
        names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]

        def optional(name: str) -> NDArray[Any] | None:
            return read_member(archive, name) if name in names else None

        class_names = optional("class_names")
        return RawSamples(
            logits=read_member(archive, logits_key(names, probabilities=probabilities)),
            labels=read_member(archive, labels_key(names)),
            class_names=None if class_names is None else _strings(class_names),
            groups=optional("groups"),
            sample_ids=optional("sample_ids"),
        )


def read_member(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """One array, after its header was held against the bytes that are there."""
    info = archive.getinfo(f"{name}.npy")
    try:
        with archive.open(info) as member:
            shape, dtype = _read_header(member)
            header_size = member.tell()
    except Exception as error:  # a hostile header makes the zip, tokenize and ast modules raise almost anything
        raise FileError(f"array {name!r} has no readable header ({reason(error)}). Save the file again.") from error
    if dtype.hasobject:
        raise FileError(
            f"array {name!r} holds Python objects, which only pickle can load, and pickle can run code. "
            "Save it as numbers or strings (dtype float32, int64 or str)."
        )
    declared = int(np.prod(shape, dtype=object)) * dtype.itemsize
    held = info.file_size - header_size
    if declared != held:
        raise FileError(
            f"array {name!r} declares shape {shape} of {dtype} ({declared:,} bytes) but holds {held:,} bytes. "
            "The file is damaged: save it again."
        )
    refuse_too_large(declared, f"array {name!r}")
    try:
        with archive.open(info) as member:
            return np.asarray(npy_format.read_array(member, allow_pickle=False))
    except Exception as error:  # likewise for compressed data
        raise FileError(f"array {name!r} is damaged ({reason(error)}). Save the file again.") from error


def _read_header(member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = npy_format.read_magic(member)
    if version == (1, 0):
        shape, _, dtype = npy_format.read_array_header_1_0(member)
    elif version == (2, 0):
        shape, _, dtype = npy_format.read_array_header_2_0(member)
    else:
        raise ValueError(f"npy version {version[0]}.{version[1]}")
    return shape, dtype


def _strings(array: NDArray[Any]) -> list[str]:
    if array.ndim != 1 or array.dtype.kind not in "US":
        raise FileError(f"array 'class_names' is {array.dtype} of shape {array.shape}. Save one string per class.")
    return [name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name) for name in array.tolist()]
