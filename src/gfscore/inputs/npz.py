"""Logits from ``.npz``: no pickle, and no array larger than the file really holds."""

import struct
import zipfile
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from gfscore.errors import FileError, first_line
from gfscore.inputs.raw import IN_PIECES, RawSamples, labels_key, logits_key, refuse_bomb, refuse_too_large
from gfscore.names import LONGEST_NAME

ENCRYPTED = 0x1  # flag bit of a zip member
LOCAL_HEADER = struct.Struct("<26xHH")  # stands before each member; ends with the lengths of its name and extra field


def read_npz(path: Path, *, probabilities: bool) -> RawSamples:
    """Read ``logits``, ``labels`` and, where they exist, ``class_names``, ``groups`` and ``sample_ids``."""
    with open_npz(path) as archive:
        names = array_names(archive)

        def optional(name: str) -> NDArray[Any] | None:
            return read_member(archive, name) if name in names else None

        class_names = optional("class_names")
        return RawSamples(
            logits=read_member(archive, logits_key(names, probabilities=probabilities)),
            labels=read_member(archive, labels_key(names)),
            class_names=None if class_names is None else name_strings(class_names),
            groups=optional("groups"),
            sample_ids=optional("sample_ids"),
        )


def open_npz(path: Path) -> zipfile.ZipFile:
    """The archive, for a ``with`` block."""
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as error:
        raise FileError("is not an npz archive, or is cut short. Save it again with numpy.savez.") from error


def array_names(archive: zipfile.ZipFile) -> list[str]:
    """Names of the arrays in the archive."""
    return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]


def read_member(archive: zipfile.ZipFile, name: str, *, advice: str = IN_PIECES) -> NDArray[Any]:
    """One array, after its header was held against the bytes there are; ``advice`` is for one that is too large."""
    info = archive.getinfo(f"{name}.npy")
    header = _checked_header(archive, name)
    characters = header.dtype.itemsize // {"U": 4, "S": 1}.get(header.dtype.kind, header.dtype.itemsize + 1)
    if characters > LONGEST_NAME:  # of few bytes, when it is compressed
        raise FileError(
            f"array {name!r} holds text of {characters:,} characters. Save at most {LONGEST_NAME:,} a name."
        )
    refuse_too_large(header.n_bytes, f"array {name!r}", advice)
    refuse_bomb(header.n_bytes, info.compress_size, f"array {name!r}")
    try:
        with archive.open(info) as member:
            return np.asarray(npy_format.read_array(member, allow_pickle=False))
    except Exception as error:  # a hostile file makes the zip and npy modules raise almost anything
        raise FileError(f"array {name!r} is damaged ({first_line(error)}). Save the file again.") from error


def map_member(archive: zipfile.ZipFile, name: str, path: Path) -> NDArray[Any] | None:
    """One array mapped into memory where it stands in the file; None when it is compressed, encrypted or empty.

    Checked like :func:`read_member`, but for the checksum, which only reading the whole array could tell.
    """
    info = archive.getinfo(f"{name}.npy")
    if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & ENCRYPTED or info.compress_size != info.file_size:
        return None
    header = _checked_header(archive, name)
    if header.n_bytes == 0:
        return None  # an empty range cannot be mapped
    with path.open("rb") as file:
        file.seek(info.header_offset)
        local = file.read(LOCAL_HEADER.size)
        if len(local) < LOCAL_HEADER.size:
            return None
        name_length, extra_length = LOCAL_HEADER.unpack(local)
    offset = info.header_offset + LOCAL_HEADER.size + name_length + extra_length + header.size
    if offset + header.n_bytes > path.stat().st_size:
        raise FileError(f"array {name!r} ends after the file does. The file is damaged: save it again.")
    order: Literal["F", "C"] = "F" if header.fortran else "C"
    return np.memmap(path, dtype=header.dtype, mode="r", offset=offset, shape=header.shape, order=order)


class _Header(NamedTuple):
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    size: int  # bytes of the header itself

    @property
    def n_bytes(self) -> int:
        """Bytes of the array."""
        return int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize


def _checked_header(archive: zipfile.ZipFile, name: str) -> _Header:
    """What the array declares of itself, once it is known to hold numbers or strings, and as many as it says."""
    info = archive.getinfo(f"{name}.npy")
    try:
        with archive.open(info) as member:
            header = _Header(*_read_header(member), size=member.tell())
    except Exception as error:  # a hostile header makes the zip, tokenize and ast modules raise almost anything
        raise FileError(f"array {name!r} has no readable header ({first_line(error)}). Save the file again.") from error
    if header.dtype.hasobject:
        raise FileError(
            f"array {name!r} holds Python objects, which only pickle can load, and pickle can run code. "
            "Save it as numbers or strings (dtype float32, int64 or str)."
        )
    held = info.file_size - header.size
    if header.n_bytes != held:
        raise FileError(
            f"array {name!r} declares shape {header.shape} of {header.dtype} ({header.n_bytes:,} bytes) "
            f"but holds {held:,} bytes. The file is damaged: save it again."
        )
    return header


def _read_header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy_format.read_magic(member)
    if version == (1, 0):
        return npy_format.read_array_header_1_0(member)
    if version == (2, 0):
        return npy_format.read_array_header_2_0(member)
    raise ValueError(f"npy version {version[0]}.{version[1]}")


def name_strings(array: NDArray[Any]) -> list[str]:
    """Class names as they were saved, as text."""
    if array.ndim != 1 or array.dtype.kind not in "US":
        raise FileError(f"array 'class_names' is {array.dtype} of shape {array.shape}. Save one string per class.")
    try:
        return [name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name) for name in array.tolist()]
    except (SystemError, ValueError) as error:  # code points that no text has
        raise FileError("array 'class_names' holds no text. Save one string per class.") from error
