"""ONNX models through onnxruntime: what the default install runs. A graph holds no code.

Large weights may stand outside the graph, under a path that the graph names: a graph from elsewhere must not make us
read other files than those beside it. These paths are found without the onnx package: only the fields that lead to one
are followed, in the wire format of protocol buffers (https://protobuf.dev/programming-guides/encoding/) and with the
field numbers of onnx.proto (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
"""

import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.errors import FileError, ModelError, OptionError, first_line, naming
from gfscore.inputs.models.fingerprints import hash_texts
from gfscore.inputs.models.forward_passes import run_batch
from gfscore.inputs.protocols import EVIDENT_CHANNELS, LOGITS, Layout
from gfscore.names import listing
from gfscore.storage import Watched, address_of, changed_file, refuse_changed, refuse_unreadable, with_beside

# onnxruntime reports its use to its maker unless told not to before it is loaded: gfscore loads it from here only.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # whoever wants it on says 0
import onnxruntime as onnxruntime

FLOATS: dict[str, type[np.floating[Any]]] = {
    "tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64,
}  # fmt: skip
FATAL_ONLY = 4  # onnxruntime's severity
VARINT, WITH_LENGTH = 0, 2  # wire types
FIXED_BYTES = {1: 8, 5: 4}  # wire types of a fixed length, with the bytes they take
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OnnxModel:
    """A graph with one image input and one chosen output, as :func:`load_onnx` opens it."""

    name: str
    fingerprint: str
    fixed_batch: int | None
    layout: Layout
    path: Path
    session: Any
    input: str
    output: str
    dtype: type[np.floating[Any]]  # of the input; float32 is cast to it
    files: Watched  # the graph and its weights, as they were before they were opened
    device: str = "cpu"  # of the session
    gradients_on: str = "cpu"  # where the torch module goes that the graph is converted to; auto: the best there is

    def __call__(self, inputs: FloatArray) -> FloatArray:
        """Logits (n, K) of a batch, with hardly anything per call beyond what the runtime itself costs."""
        return run_batch(self, inputs, self._forward)

    def _forward(self, batch: FloatArray) -> Any:
        return self.session.run([self.output], {self.input: batch.astype(self.dtype, copy=False)})[0]

    def changed_file(self) -> Path | None:
        """A file behind it that changed since it was opened, if there is one."""
        return changed_file(self.files)


def open_graph(path: Path, threads: int | None = None) -> tuple[Path, Any, Watched, list[str]]:
    """A graph, where it stands with its weights: path, session, files and their hashes.

    Weights outside of its folder are refused, and so is a file that was changed while it was opened.
    """
    refuse_unreadable(path)
    path = _with_weights(path)
    graph = Watched([path])  # before anything is read from it
    files = Watched([path, *external_files(path)])
    session = open_session(path, threads)
    hashes = list(files.hashes().values())
    refuse_changed(graph)
    return path, session, files, hashes


def load_onnx(
    path: Path,
    *,
    name: str | None = None,
    output: str | int | None = None,
    layout: Layout | None = None,
    threads: int | None = None,
) -> OnnxModel:
    """Open a graph; ``threads`` is the number it may use, all cores by default.

    The layout is read from the declared input shape where that tells (``[n, 32, 32, 3]`` is NHWC), else NCHW. The
    fingerprint covers the graph, its external weights, the chosen output and the version of onnxruntime.
    """
    with naming(path):
        path, session, files, hashes = open_graph(path, threads)
        declared = only_input(session.get_inputs())
        chosen = chosen_output(session.get_outputs(), output)
        batch = declared.shape[0] if declared.shape else None
        return OnnxModel(
            name=name or path.stem,
            fingerprint=hash_texts("onnx", onnxruntime.__version__, chosen.name, *hashes),
            fixed_batch=batch if isinstance(batch, int) and batch > 0 else None,
            layout=layout or declared_layout(declared.shape),
            path=path,
            session=session,
            input=declared.name,
            output=chosen.name,
            dtype=FLOATS[declared.type],
            files=files,
        )


def declared_layout(shape: Sequence[int | str | None]) -> Layout:
    """NHWC when only the last axis can be the channels, NCHW otherwise.

    >>> declared_layout(["n", 32, 32, 3]), declared_layout(["n", 3, 32, 32]), declared_layout(["n", 784])
    ('NHWC', 'NCHW', 'NCHW')
    """
    last_alone = len(shape) == 4 and shape[3] in EVIDENT_CHANNELS and shape[1] not in EVIDENT_CHANNELS
    return "NHWC" if last_alone else "NCHW"


def quiet_options() -> Any:
    """Options of a session that logs nothing: what it raises is told once, and warnings are of no use here."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL_ONLY
    return options


def open_session(
    path: Path, threads: int | None = None, *, provider: tuple[str, Mapping[str, str]] | None = None
) -> Any:
    """A runtime for the graph, on the CPU alone or first of all by a ``provider``, with what that is told."""
    options = quiet_options()
    options.intra_op_num_threads = threads or 0  # 0: all cores
    options.enable_mem_pattern = provider is None or provider[0] != "DmlExecutionProvider"  # which cannot have it
    providers = [*([provider] if provider is not None else []), "CPUExecutionProvider"]
    try:
        # no fallback: onnxruntime announces it on standard output, and there is no other provider to fall back to
        session = onnxruntime.InferenceSession(path, options, providers=providers, enable_fallback=0)
    except Exception as error:  # onnxruntime's errors have no other base
        raise FileError(f"cannot be opened by onnxruntime ({first_line(error)}). Export it again.") from error
    try:
        _ = [(node.name, node.shape) for node in session.get_inputs()], [node.name for node in session.get_outputs()]
    except UnicodeDecodeError as error:  # onnxruntime takes any bytes for a name, and fails where Python asks for it
        raise FileError("names an input, an output or an axis in bytes that are no text. Export it again.") from error
    return session


def only_input(inputs: Sequence[Any]) -> Any:
    """The input of a graph, which must have one, of floats."""
    if len(inputs) != 1:
        names = listing([entry.name for entry in inputs])
        raise ModelError(f"has {len(inputs)} inputs: {names}. Export it with one, the images.")
    if inputs[0].type not in FLOATS:
        raise ModelError(
            f"takes {inputs[0].type} for input {inputs[0].name!r}. Export it with a float input, to which "
            "preprocessed images are given."
        )
    return inputs[0]


def chosen_output(outputs: Sequence[Any], wanted: str | int | None) -> Any:
    """The output with the wanted name or position; digits are a position only where no output has that name.

    Where nothing is wanted, it is the only one, or the one that is called ``logits``.
    """
    names = [entry.name for entry in outputs]
    if wanted is None and LOGITS in names:
        wanted = LOGITS
    if wanted is None and len(outputs) > 1:
        raise ModelError(f"has {len(outputs)} outputs: {listing(names)}. Choose the logits with --output (output=...).")
    position = 0 if wanted is None else int(wanted) if str(wanted).isdecimal() else -1
    if wanted in names:
        position = names.index(wanted)
    if not 0 <= position < len(names):
        raise ModelError(f"has no output {wanted!r}; it has {listing(names)}. Give a name, or a position from 0.")
    if outputs[position].type not in FLOATS:
        raise ModelError(
            f"gives {outputs[position].type} as output {names[position]!r}; logits are floats. "
            "Choose another output, or export the model without what follows the logits."
        )
    return outputs[position]


def external_files(path: Path) -> tuple[Path, ...]:
    """Files with the weights of the graph at ``path``, sorted; all stand in its folder, or the graph is refused."""
    return tuple(_beside(path, location) for location in _external_locations(path))


def _with_weights(path: Path) -> Path:
    """Where the graph stands with its weights: those of a copy from elsewhere are fetched from its folder first."""
    address = address_of(path)
    if address is None:
        return path
    locations = _external_locations(path)
    for location in locations:
        try:
            address.beside(location)
        except OptionError as error:
            raise _outside(location) from error
    return with_beside(path, locations)


def _external_locations(path: Path) -> list[str]:
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
