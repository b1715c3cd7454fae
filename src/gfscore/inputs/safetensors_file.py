"""Logits from and to ``.safetensors``, memory-mapped: the file may be larger than memory.

Tensors hold no text, so names stand in the metadata as JSON lists under ``class_names``, ``groups`` and ``sample_ids``.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import FileError, first_line
from gfscore.files import replacing
from gfscore.inputs.raw import RawSamples, labels_key, logits_key, refuse_too_large

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1",
}  # fmt: skip
HALVED = "halved_batches"  # metadata: batches that did not fit into memory, for each shard
LENGTH_BYTES = 8  # the file begins with the length of its JSON header


def read_safetensors(path: Path, *, probabilities: bool) -> RawSamples:
    """Map ``logits``, read ``labels`` and, where they exist, names, groups and ids."""
    header, start = _header(path)
    metadata = header.pop("__metadata__", None) or {}
    names = list(header)

    def tensor(name: str) -> NDArray[Any]:
        return _tensor(path, name, header[name], start)

    def texts(name: str) -> Any:
        if name in metadata:
            return _json_list(metadata[name], name)
        return tensor(name) if name in header else None

    return RawSamples(
        logits=tensor(logits_key(names, probabilities=probabilities)),
        labels=np.asarray(tensor(labels_key(names))),
        class_names=None if "class_names" not in metadata else _json_list(metadata["class_names"], "class_names"),
        groups=texts("groups"),
        sample_ids=texts("sample_ids"),
        halved_batches=halved_batches(metadata),
    )


def halved_batches(metadata: Mapping[str, str] | None) -> int:
    """How many batches of the model did not fit into memory: what the store notes for each shard, added up.

    >>> halved_batches({HALVED: "[0, 2, 1]"}), halved_batches({})
    (3, 0)
    """
    try:
        counts = json.loads((metadata or {}).get(HALVED, "[]"))
    except (ValueError, RecursionError):
        counts = None
    if not isinstance(counts, list) or not all(isinstance(count, int) and count >= 0 for count in counts):
        raise FileError(f"metadata {HALVED!r} is not a JSON list of counts. It is damaged: make it again.")
    return sum(counts)


def metadata_of(content: bytes) -> dict[str, str]:
    """The metadata of a file by its contents; the library reads them from files alone."""
    length = int.from_bytes(content[:LENGTH_BYTES], "little")
    return dict(json.loads(content[LENGTH_BYTES : LENGTH_BYTES + length]).get("__metadata__") or {})


def _header(path: Path) -> tuple[dict[str, Any], int]:
    """The header, once the library has found that it fits the file, and where the tensors begin."""
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
    if dtype == "BF16":
        halves = _mapped(path, "<u2", shape, offset)
        refuse_too_large(2 * halves.nbytes, f"tensor {name!r}")
        widened = halves.astype(np.uint32)
        widened <<= 16  # bfloat16 is the upper half of a float32
        return widened.view(np.float32)
    if dtype not in DTYPES:
        raise FileError(f"tensor {name!r} has type {dtype}. Save it as F32, F16, BF16 or F64 (labels as I64).")
    return _mapped(path, DTYPES[dtype], shape, offset)


def _mapped(path: Path, dtype: str, shape: tuple[int, ...], offset: int) -> NDArray[Any]:
    if 0 in shape:
        # an empty range cannot be mapped; and the other lengths may be larger than any array
        return np.empty([min(length, 1) for length in shape], dtype=dtype)
    return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape)


def _json_list(text: str, name: str) -> list[str]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list) or not all(isinstance(value, str | int) for value in values):
        raise FileError(f"metadata {name!r} is not a JSON list of names. Write json.dumps(names).")
    return [str(value) for value in values]


def write_safetensors(
    path: Path,
    parts: Iterable[FloatArray],
    shape: tuple[int, int],
    labels: IntArray,
    metadata: Mapping[str, str],
    *,
    name: str = "logits",
) -> None:
    """Write float32 logits (or rows of another ``name``) that come in parts, and labels, without holding the whole.

    Atomically. The library's own writer wants every array in memory. The format is a length, a JSON header and bytes.
    """
    size = 4 * shape[0] * shape[1]
    header = {
        "__metadata__": dict(metadata),
        name: {"dtype": "F32", "shape": list(shape), "data_offsets": [0, size]},
        "labels": {"dtype": "I64", "shape": [shape[0]], "data_offsets": [size, size + 8 * shape[0]]},
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # aligned, as the format asks
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(len(text).to_bytes(LENGTH_BYTES, "little") + text)
        for part in parts:
            file.write(np.ascontiguousarray(part, dtype="<f4").tobytes())
        file.write(np.ascontiguousarray(labels, dtype="<i8").tobytes())
