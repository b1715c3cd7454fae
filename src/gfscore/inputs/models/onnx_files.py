"""The files behind an ONNX graph, found without the onnx package.

Large weights may stand outside the graph, under a path that the graph names: a graph from elsewhere must not make us
read other files than those beside it. Only the fields that lead to such a path are followed, in the wire format of
protocol buffers (https://protobuf.dev/programming-guides/encoding/) and with the field numbers of onnx.proto
(https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
"""

import mmap
from collections.abc import Iterator
from pathlib import Path

from gfscore.errors import FileError, OptionError
from gfscore.storage import address_of, with_beside

VARINT, WITH_LENGTH = 0, 2  # wire types
FIXED_BYTES = {1: 8, 5: 4}  # likewise, with the bytes they take
# For each kind of message the fields that hold messages in which an external tensor may be found.
FOLLOWED: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
    "entry": {1: "key", 2: "value"},
}


def external_files(path: Path) -> tuple[Path, ...]:
    """Files with the weights of the graph at ``path``, sorted; all stand in its folder, or the graph is refused."""
    return tuple(_beside(path, location) for location in _external(path))


def with_weights(path: Path) -> Path:
    """Where the graph stands with its weights: those of a copy from elsewhere are fetched from its folder first."""
    address = address_of(path)
    if address is None:
        return path
    locations = _external(path)
    for location in locations:
        try:
            address.beside(location)
        except OptionError as error:
            raise _outside(location) from error
    return with_beside(path, locations)


def _external(path: Path) -> list[str]:
    """The paths of weights that the graph names, sorted."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return sorted(set(_locations(content)))
    except (IndexError, ValueError) as error:  # ValueError: bad wire data, or bytes that are no text
        raise FileError("is not an ONNX file, or is cut short. Export it again.") from error
    except OSError as error:
        raise FileError(f"cannot be read ({error.strerror}). Check its permissions.") from error


def _outside(location: str) -> FileError:
    return FileError(f"takes weights from {location!r}, outside its folder. Put them beside it and export it again.")


def _beside(path: Path, location: str) -> Path:
    file = path.parent / location
    # A download cache links both the graph and its data to another folder: beside the real graph is fine, too.
    if not any(file.resolve().is_relative_to(folder) for folder in (path.parent.resolve(), path.resolve().parent)):
        raise _outside(location)
    if not file.is_file():
        raise FileError(f"takes weights from {location!r}, which does not exist. Put that file beside it.")
    return file


def _locations(content: mmap.mmap) -> Iterator[str]:
    """Values of the entries called 'location' of all tensors."""
    stack = [("model", 0, len(content))]
    while stack:
        kind, start, end = stack.pop()
        key = value = b""
        for field, first, last in _fields(content, start, end):
            inner = FOLLOWED[kind].get(field)
            if inner == "key":
                key = content[first:last]
            elif inner == "value":
                value = content[first:last]
            elif inner is not None:
                stack.append((inner, first, last))
        if b"\0" in value:
            raise ValueError("a path with a zero byte")
        if key == b"location":
            yield value.decode()


def _fields(content: mmap.mmap, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Number, first and last position of every field that has a length; the others are passed over."""
    while start < end:
        tag, start = _varint(content, start)
        wire_type = tag & 7
        if wire_type == WITH_LENGTH:
            length, start = _varint(content, start)
            yield tag >> 3, start, start + length
            start += length
        elif wire_type == VARINT:
            _, start = _varint(content, start)
        elif wire_type in FIXED_BYTES:
            start += FIXED_BYTES[wire_type]
        else:
            raise ValueError(f"wire type {wire_type}")
    if start > end:
        raise ValueError("a field ends after its message")


def _varint(content: mmap.mmap, start: int) -> tuple[int, int]:
    """An integer of seven bits a byte, lowest first, and the position after it."""
    value = shift = 0
    while True:
        byte = content[start]
        start += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, start
        shift += 7
        if shift > 63:
            raise ValueError("an integer of more than 64 bits")
