"""Logits from ``.safetensors``, memory-mapped: the file may be larger than memory.

Tensors hold no text, so names stand in the metadata as JSON lists under ``class_names``, ``groups`` and ``sample_ids``.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from gfscore.errors import FileError, first_line
from gfscore.inputs.raw import RawSamples, labels_key, logits_key, refuse_too_large
from gfscore.storage.store import LENGTH_BYTES, halved_batches

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1",
}  # fmt: skip


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
