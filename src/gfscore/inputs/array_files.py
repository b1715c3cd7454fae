"""Arrays from ``.npz`` and ``.safetensors``: no pickle, and nothing larger than the file really holds or fits.

Tensors hold no text: in safetensors, names stand in the metadata as JSON lists.
"""

import json
import os
import struct
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open

from gfscore.errors import FileError, first_line
from gfscore.names import LONGEST_NAME, listing
from gfscore.results import RunInfo
from gfscore.samples import TableNotes
from gfscore.storage import redact
from gfscore.storage.array_bytes import LENGTH_BYTES
from gfscore.storage.store import RUN, halved_batches

PROBABILITY_KEYS = ("probabilities", "probs", "logits")
IN_PIECES = "Save it as .safetensors, which is read in pieces."  # what to do with logits that do not fit
BOMB_BYTES, BOMB_RATIO = 1 << 28, 100  # what is unpacked may be small, or this many times what was packed
ENCRYPTED = 0x1  # flag bit of a zip member
LONGEST_RUN = 1 << 16  # characters that say how a model was run: some hundreds, where nothing is wrong
LOCAL_HEADER = struct.Struct("<26xHH")  # stands before each member; ends with the lengths of its name and extra field
DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RawSamples:
    """Arrays as they stood in a file, before they are checked."""

    logits: NDArray[Any]
    labels: NDArray[Any]
    class_names: Sequence[str] | None = None
    groups: NDArray[Any] | Sequence[str] | None = None
    sample_ids: NDArray[Any] | Sequence[object] | None = None
    halved_batches: int = 0  # of the model that made the logits, that did not fit into memory
    table: TableNotes | None = None  # how the columns of a table were read
    class_sizes: Sequence[int] | None = None  # of the set that the rows, or a random part of each class, are
    data: str | None = None  # fingerprint of that set


def read_npz(path: Path, *, probabilities: bool) -> RawSamples:
    """Read ``logits``, ``labels`` and, where they exist, ``class_names``, ``groups`` and ``sample_ids``."""
    with open_npz(path) as archive:
        names = array_names(archive)
        logits, labels = _keys(names, probabilities=probabilities)
        beside = {name: read_member(archive, name) for name in ("class_names", "groups", "sample_ids") if name in names}
        return RawSamples(
            logits=read_member(archive, logits),
            labels=read_member(archive, labels),
            class_names=name_strings(beside["class_names"]) if "class_names" in beside else None,
            groups=beside.get("groups"),
            sample_ids=beside.get("sample_ids"),
        )


def read_safetensors(path: Path, *, probabilities: bool) -> RawSamples:
    """Map ``logits``, which may be larger than memory; read ``labels`` and, where they exist, names, groups and ids."""
    header, start = _header(path)
    metadata = header.pop("__metadata__", None) or {}
    logits, labels = _keys(list(header), probabilities=probabilities)

    def tensor(name: str) -> NDArray[Any]:
        return _tensor(path, name, header[name], start)

    def texts(name: str) -> Any:
        return _json_list(metadata[name], name) if name in metadata else tensor(name) if name in header else None

    return RawSamples(
        logits=tensor(logits),
        labels=np.asarray(tensor(labels)),
        class_names=texts("class_names") if "class_names" in metadata else None,
        groups=texts("groups"),
        sample_ids=texts("sample_ids"),
        halved_batches=halved_batches(metadata),
        class_sizes=_json_sizes(metadata["class_sizes"]) if "class_sizes" in metadata else None,
        data=metadata.get("data"),
    )


def remembered_run(path: Path) -> RunInfo | None:
    """How the model behind a logits file was run, where the file says it; only ``gfscore logits`` writes that.

    What cannot be read at all is left to the reader of the samples, which says why.
    """
    if path.suffix.lower() != ".safetensors" or not path.is_file():
        return None
    try:
        metadata = _header(path)[0].get("__metadata__") or {}
    except FileError:
        return None
    if RUN not in metadata:
        return None
    text = metadata[RUN]
    try:
        if len(text) > LONGEST_RUN:
            raise ValueError(f"{len(text):,} characters")
        found = RunInfo.model_validate_json(text)
        for name in (found.model.name, found.data.source):
            if not name.strip() or len(name) > LONGEST_NAME:
                raise ValueError(f"a name of {len(name.strip()):,} characters")
    except ValidationError as error:
        first = error.errors()[0]
        why = ".".join(map(str, first["loc"])) or "no JSON"
    except ValueError as error:
        why = str(error)
    else:
        return found
    raise FileError(
        f"metadata {RUN!r} does not say how a model was run ({why}). It is damaged: make the file again, with gfscore "
        "logits."
    ).found_in(redact(path))


def _keys(names: Sequence[str], *, probabilities: bool) -> tuple[str, str]:
    """Names of the arrays that hold the logits (or probabilities, when those are expected) and the labels."""
    announced = [key for key in PROBABILITY_KEYS if key in names]
    if "logits" not in names and not (probabilities and announced):
        if announced:
            raise FileError(
                f"has no 'logits' but {announced[0]!r}. Save the logits (before softmax), or say --probabilities "
                "(probabilities=True)."
            )
        raise FileError(
            f"has no 'logits'; it holds {listing(names)}. Name the array of shape (samples, classes) 'logits'."
        )
    if "labels" not in names:
        raise FileError(f"has no 'labels'; it holds {listing(names)}. Name the array of true classes 'labels'.")
    return announced[0] if probabilities else "logits", "labels"


def refuse_too_large(n_bytes: int, what: str, advice: str = IN_PIECES) -> None:
    """Stop before an array that cannot fit is read, whatever made the file declare it."""
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf, macOS not this name
        return
    if n_bytes > free:
        raise FileError(
            f"declares {what} of {n_bytes / 1e9:,.1f} GB, more than the {free / 1e9:,.1f} GB of free memory. {advice}"
        )


def refuse_bomb(n_bytes: int, stored: int, what: str) -> None:
    """Stop before a few compressed bytes become gigabytes: no logits or images compress like that."""
    if n_bytes > BOMB_BYTES and n_bytes > BOMB_RATIO * stored:
        raise FileError(
            f"declares {what} of {n_bytes / 1e9:,.1f} GB in {stored / 1e6:,.1f} MB: a decompression bomb, or one "
            "value again and again. Save it uncompressed if it is meant."
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
    header = _member_header(archive, name)
    characters = header.dtype.itemsize // {"U": 4, "S": 1}.get(header.dtype.kind, header.dtype.itemsize + 1)
    if characters > LONGEST_NAME:  # of few bytes, when it is compressed
        raise FileError(
            f"array {name!r} holds text of {characters:,} characters. Save at most {LONGEST_NAME:,} a name."
        )
    refuse_too_large(header.n_bytes, f"array {name!r}", advice)
    refuse_bomb(header.n_bytes, header.info.compress_size, f"array {name!r}")
    try:
        with archive.open(header.info) as member:
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
    header = _member_header(archive, name)
    if header.n_bytes == 0:
        return None  # an empty range cannot be mapped
    with path.open("rb") as file:
        file.seek(info.header_offset)
        local = file.read(LOCAL_HEADER.size)
    if len(local) < LOCAL_HEADER.size:
        return None
    offset = info.header_offset + LOCAL_HEADER.size + sum(LOCAL_HEADER.unpack(local)) + header.size
    if offset + header.n_bytes > path.stat().st_size:
        raise FileError(f"array {name!r} ends after the file does. The file is damaged: save it again.")
    return np.memmap(path, header.dtype, "r", offset, header.shape, "F" if header.fortran else "C")


class _MemberHeader(NamedTuple):
    info: zipfile.ZipInfo
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    size: int  # bytes of the header itself
    n_bytes: int  # of the array


def _member_header(archive: zipfile.ZipFile, name: str) -> _MemberHeader:
    """What the array declares of itself, once it is known to hold numbers or strings, and as many as it says."""
    info = archive.getinfo(f"{name}.npy")
    try:
        with archive.open(info) as member:
            version = npy_format.read_magic(member)
            if version not in ((1, 0), (2, 0)):
                raise ValueError(f"npy version {version[0]}.{version[1]}")
            read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
            shape, fortran, dtype = read(member)
            size = member.tell()
    except Exception as error:  # a hostile header makes the zip, tokenize and ast modules raise almost anything
        raise FileError(f"array {name!r} has no readable header ({first_line(error)}). Save the file again.") from error
    if dtype.hasobject:
        raise FileError(
            f"array {name!r} holds Python objects, which only pickle can load, and pickle can run code. "
            "Save it as numbers or strings (dtype float32, int64 or str)."
        )
    n_bytes, held = int(np.prod(shape, dtype=object)) * dtype.itemsize, info.file_size - size
    if n_bytes != held:
        raise FileError(
            f"array {name!r} declares shape {shape} of {dtype} ({n_bytes:,} bytes) "
            f"but holds {held:,} bytes. The file is damaged: save it again."
        )
    return _MemberHeader(info, shape, fortran, dtype, size, n_bytes)


def name_strings(array: NDArray[Any]) -> list[str]:
    """Class names as they were saved, as text."""
    if array.ndim != 1 or array.dtype.kind not in "US":
        raise FileError(f"array 'class_names' is {array.dtype} of shape {array.shape}. Save one string per class.")
    try:
        return [name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name) for name in array.tolist()]
    except (SystemError, ValueError) as error:  # code points that no text has
        raise FileError("array 'class_names' holds no text. Save one string per class.") from error


def _header(path: Path) -> tuple[dict[str, Any], int]:
    """The header of a safetensors file, once the library has found that it fits, and where the tensors begin."""
    try:
        with safe_open(path, framework="np"):
            pass  # checks offsets, overlaps and the length of the file
        with path.open("rb") as file:
            length = int.from_bytes(file.read(LENGTH_BYTES), "little")
            return json.loads(file.read(length)), LENGTH_BYTES + length
    except (SafetensorError, OSError, ValueError) as error:
        raise FileError(f"is not a safetensors file, or is cut short ({first_line(error)}). Save it again.") from error


def _tensor(path: Path, name: str, entry: dict[str, Any], start: int) -> NDArray[Any]:
    dtype, shape, offset = entry["dtype"], tuple(entry["shape"]), start + entry["data_offsets"][0]
    if dtype not in DTYPES and dtype != "BF16":
        raise FileError(f"tensor {name!r} has type {dtype}. Save it as F32, F16, BF16 or F64 (labels as I64).")
    stored = DTYPES.get(dtype, "<u2")
    if 0 in shape:
        # an empty range cannot be mapped; and the other lengths may be larger than any array
        values: NDArray[Any] = np.empty([min(length, 1) for length in shape], dtype=stored)
    else:
        values = np.memmap(path, dtype=stored, mode="r", offset=offset, shape=shape)
    if dtype != "BF16":
        return values
    refuse_too_large(2 * values.nbytes, f"tensor {name!r}")
    widened = values.astype(np.uint32)
    widened <<= 16  # bfloat16 is the upper half of a float32
    return widened.view(np.float32)


def _json_sizes(text: str) -> list[int]:
    try:
        sizes = json.loads(text)
    except (ValueError, RecursionError):
        sizes = None
    if not isinstance(sizes, list) or not all(type(size) is int and 0 <= size < 1 << 62 for size in sizes):
        raise FileError("metadata 'class_sizes' is not a JSON list of whole numbers. Write one size per class.")
    return sizes


def _json_list(text: str, name: str) -> list[str]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list) or not all(isinstance(value, str | int) for value in values):
        raise FileError(f"metadata {name!r} is not a JSON list of names. Write json.dumps(names).")
    return [str(value) for value in values]
