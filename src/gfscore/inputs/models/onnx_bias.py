"""An ONNX graph with a constant added to its logits: everything else stays, byte by byte.

The default install has no onnx package, and needs none for this: a message of protocol buffers is a row of fields, of
which all but a few are copied as they are (https://protobuf.dev/programming-guides/encoding/; the numbers of the fields
are those of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto). What is written is checked: by the ONNX checker
where that package is there, and always by running it.
"""

import mmap
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.errors import MissingExtraError, ModelError, first_line, naming, require
from gfscore.inputs.models.onnx_model import OnnxModel, external_files, open_session
from gfscore.storage import atomic_file

VARINT, WITH_LENGTH = 0, 2  # wire types
FIXED_BYTES = {1: 8, 5: 4}
GRAPH, OPSETS = 7, 8  # fields of a model
NODE, VALUES = 1, 13  # of a graph: nodes, and types of values inside it
INPUT, OUTPUT, NODE_NAME, OPERATOR, ATTRIBUTE = 1, 2, 3, 4, 5  # of a node
SUBGRAPH, SUBGRAPHS = 6, 11  # of an attribute
# number of the type in a tensor
TYPES: dict[str, tuple[int, Any]] = {
    "tensor(float)": (1, np.float32),
    "tensor(float16)": (10, np.float16),
    "tensor(double)": (11, np.float64),
}
FIRST_BROADCAST = 7  # opset in which Add learned to add a row to every row
OFF = 1e-5  # of the largest logit: more than an addition in float32 rounds by
OFF_HALF = 2e-3  # the same in float16

Content = mmap.mmap | bytes


def write_biased(model: OnnxModel, bias: FloatArray, path: Path, inputs: FloatArray) -> None:
    """Write the graph of ``model`` with ``bias`` (K,) added to its logits, under the names that it had.

    Weights that stand beside the graph are copied. It is run on preprocessed ``inputs`` before it gets its name: a file
    that does not give the logits of the model plus the bias is not kept.
    """
    logits = np.asarray(model.session.run([model.output], {model.input: inputs.astype(model.dtype)})[0])
    kind = next(entry.type for entry in model.session.get_outputs() if entry.name == model.output)
    row = bias.reshape((1, -1, *([1] * (logits.ndim - 2)))).astype(TYPES[kind][1])
    with naming(model.name):
        with model.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            written = add_to_output(content, model.output, row, TYPES[kind][0])
        for weights in external_files(model.path):
            _copy_beside(weights, path.parent / weights.relative_to(model.path.parent))
        with atomic_file(path) as temporary:
            temporary.write_bytes(written)
            _check(temporary, model, inputs, logits + row)


def _check(path: Path, model: OnnxModel, inputs: FloatArray, expected: Any) -> None:
    refused = _checker_refuses(path)
    if refused is not None and _checker_refuses(model.path) is None:  # what it refuses of the user's graph is not ours
        raise ModelError(f"with the bias is no valid graph ({refused}). Export it again.")
    found = open_session(path).run([model.output], {model.input: inputs.astype(model.dtype)})[0]
    largest = max(float(np.abs(expected).max()), float(np.finfo(np.float32).tiny))
    off = float(np.abs(found.astype(np.float64) - expected).max()) / largest
    if off > (OFF_HALF if expected.dtype == np.float16 else OFF):
        raise ModelError(f"with the bias gives logits that are off by {off:.1e} of the largest. Export it again.")


def _checker_refuses(path: Path) -> str | None:
    """What the ONNX checker says against a graph; None where it says nothing, or is not installed."""
    try:
        checker = require("onnx.checker", extra="onnx", purpose="the ONNX checker")
        checker.check_model(str(path))
    except MissingExtraError:
        return None
    except Exception as error:  # its errors have no base of their own
        return first_line(error)
    return None


def _copy_beside(weights: Path, copy: Path) -> None:
    if copy.resolve() != weights.resolve():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(weights, copy)


def add_to_output(content: Content, output: str, row: Any, kind: int) -> bytes:
    """The bytes of a model that adds ``row`` to one of its outputs; ``kind`` is the number of the output's type.

    What made the output gets another name, and a node behind it adds the constant under the name that it had.
    """
    if _opset(content) < FIRST_BROADCAST:
        raise ModelError(
            f"is of opset {_opset(content)}, in which Add takes no row. Export it with opset {FIRST_BROADCAST} or more."
        )
    names = _names(content)
    inner, constant = (_fresh(f"{output}_{what}", names) for what in ("without_bias", "class_bias"))
    return _rewrite(content, {GRAPH: lambda graph: _biased_graph(graph, output, inner, constant, row, kind)})


def _biased_graph(graph: bytes, output: str, inner: str, constant: str, row: Any, kind: int) -> bytes:
    changed = _rewrite(graph, {NODE: lambda node: _rename(node, output.encode(), inner.encode())})
    tensor = b"".join(
        [*(_number(1, size) for size in row.shape), _number(2, kind), _text(8, constant), _bytes(9, row.tobytes())]
    )
    value = _text(1, "value") + _bytes(5, tensor) + _number(20, 4)  # an attribute that is a tensor
    holds = _text(OUTPUT, constant) + _text(NODE_NAME, constant) + _text(OPERATOR, "Constant")
    adds = _text(INPUT, inner) + _text(INPUT, constant) + _text(OUTPUT, output)
    adds += _text(NODE_NAME, f"{constant}_add") + _text(OPERATOR, "Add")
    return changed + _bytes(NODE, holds + _bytes(ATTRIBUTE, value)) + _bytes(NODE, adds)


def _rename(node: bytes, name: bytes, other: bytes) -> bytes:
    """A node that takes and gives ``other`` instead of ``name``, also in the graphs inside it."""

    def value(found: bytes) -> bytes:
        return other if found == name else found

    def attribute(found: bytes) -> bytes:
        inside = {NODE: lambda each: _rename(each, name, other), 12: lambda each: _rewrite(each, {1: value})}
        return _rewrite(found, dict.fromkeys((SUBGRAPH, SUBGRAPHS), lambda graph: _rewrite(graph, inside)))

    return _rewrite(node, {INPUT: value, OUTPUT: value, ATTRIBUTE: attribute})


def _rewrite(content: Content, changes: dict[int, Callable[[bytes], bytes]]) -> bytes:
    """A message in which some fields are changed by a function, and the others are as they were."""
    parts = []
    for field, start, first, last in _fields(content):
        if field in changes:
            parts.append(_bytes(field, changes[field](bytes(content[first:last]))))
        else:
            parts.append(bytes(content[start:last]))
    return b"".join(parts)


def _names(content: Content) -> set[str]:
    """Names of all values of the graph, and of its nodes."""
    found = set[str]()
    for graph in _every(content, GRAPH):
        for node in _every(graph, NODE):
            for field in (INPUT, OUTPUT, NODE_NAME):
                found |= {each.decode(errors="replace") for each in _every(node, field)}
        for field in (5, 11, 12, VALUES):  # initialisers, inputs, outputs, values
            for entry in _every(graph, field):
                found |= {each.decode(errors="replace") for each in _every(entry, 8 if field == 5 else 1)}
    return found


def _fresh(name: str, taken: set[str]) -> str:
    return name if name not in taken else _fresh(f"{name}_", taken)


def _opset(content: Content) -> int:
    """The version of the standard operators."""
    for entry in _every(content, OPSETS):
        if next(_every(entry, 1), b"") in (b"", b"ai.onnx"):
            return next((_varint(entry, first)[0] for field, _, first, _ in _fields(entry) if field == 2), 0)
    return 0


def _every(content: Content, wanted: int) -> Iterator[bytes]:
    for field, _, first, last in _fields(content):
        if field == wanted:
            yield bytes(content[first:last])


def _fields(content: Content) -> Iterator[tuple[int, int, int, int]]:
    """Of every field its number, where it starts, and where its value does and ends."""
    start = 0
    while start < len(content):
        tag, first = _varint(content, start)
        wire_type = tag & 7
        if wire_type == WITH_LENGTH:
            length, first = _varint(content, first)
            last = first + length
        elif wire_type == VARINT:
            _, last = _varint(content, first)
        else:
            last = first + FIXED_BYTES[wire_type]
        yield tag >> 3, start, first, last
        start = last


def _varint(content: Content, start: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[start]
        start += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, start
        shift += 7


def _whole(number: int) -> bytes:
    """A number of seven bits a byte, lowest first."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _number(field: int, number: int) -> bytes:
    return _whole(field << 3 | VARINT) + _whole(number)


def _bytes(field: int, value: bytes) -> bytes:
    return _whole(field << 3 | WITH_LENGTH) + _whole(len(value)) + value


def _text(field: int, text: str) -> bytes:
    return _bytes(field, text.encode())
