"""ONNX models through onnxruntime: what the default install runs. A graph holds no code."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.errors import FileError, InvalidInputError, ModelError, first_line, naming
from gfscore.inputs.models.batches import as_logits, cannot_run, padded
from gfscore.inputs.models.fingerprints import combined
from gfscore.inputs.models.onnx_files import external_files, with_weights
from gfscore.inputs.models.runtime import onnxruntime
from gfscore.inputs.models.suggested import SuggestedPreprocessing
from gfscore.inputs.protocols import Layout
from gfscore.names import listing
from gfscore.storage import Watched, changed_file, refuse_changed, refuse_unreadable

FLOATS: dict[str, type[np.floating[Any]]] = {
    "tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64,
}  # fmt: skip
CHANNELS = (1, 3)  # what a declared axis of an image model is when it is not a height or a width
CUDA = "CUDAExecutionProvider"
FATAL_ONLY = 4  # onnxruntime's severity; what it raises is told once, and warnings are of no use here


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
    suggested_preprocessing: SuggestedPreprocessing | None = None  # a graph does not say

    def __call__(self, inputs: FloatArray) -> FloatArray:
        """Logits (n, K) of a batch, with nothing per call beyond what the runtime itself costs."""
        try:
            batch = padded(inputs, self.fixed_batch).astype(self.dtype, copy=False)
            returned = self.session.run([self.output], {self.input: batch})[0]
            return as_logits(returned, len(batch))[: len(inputs)]
        except InvalidInputError as error:
            raise error.found_in(self.name) from error
        except Exception as error:  # onnxruntime's errors have no other base
            raise cannot_run(inputs.shape, error).found_in(self.name) from error

    def changed_file(self) -> Path | None:
        """A file behind it that changed since it was opened, if there is one."""
        return changed_file(self.files)


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
        refuse_unreadable(path)
        path = with_weights(path)
        graph = Watched([path])  # before anything is read from it
        files = Watched([path, *external_files(path)])
        session = open_session(path, threads)
        declared = _only_input(session.get_inputs())
        chosen = _chosen_output(session.get_outputs(), output)
        batch = declared.shape[0] if declared.shape else None
        hashes = files.hashes()
        refuse_changed(graph)
        return OnnxModel(
            name=name or path.stem,
            fingerprint=combined("onnx", onnxruntime.__version__, chosen.name, *hashes.values()),
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
    if len(shape) == 4 and shape[3] in CHANNELS and shape[1] not in CHANNELS:
        return "NHWC"
    return "NCHW"


def open_session(path: Path, threads: int | None = None, *, gpu: bool = False) -> Any:
    """A runtime for the graph, on the CPU alone or first of all on a GPU."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL_ONLY
    options.intra_op_num_threads = threads or 0  # 0: all cores
    providers = [*([CUDA] if gpu else []), "CPUExecutionProvider"]
    try:
        # no fallback: onnxruntime announces it on standard output, and there is no other provider to fall back to
        return onnxruntime.InferenceSession(path, options, providers=providers, enable_fallback=0)
    except Exception as error:  # onnxruntime's errors have no other base
        raise FileError(f"cannot be opened by onnxruntime ({first_line(error)}). Export it again.") from error


def _only_input(inputs: Sequence[Any]) -> Any:
    if len(inputs) != 1:
        names = listing([entry.name for entry in inputs])
        raise ModelError(f"has {len(inputs)} inputs: {names}. Export it with one, the images.")
    if inputs[0].type not in FLOATS:
        raise ModelError(
            f"takes {inputs[0].type} for input {inputs[0].name!r}. Export it with a float input, to which "
            "preprocessed images are given."
        )
    return inputs[0]


def _chosen_output(outputs: Sequence[Any], wanted: str | int | None) -> Any:
    """The output with the wanted name or position; digits are a position only where no output has that name."""
    names = [entry.name for entry in outputs]
    if wanted is None and len(outputs) > 1:
        raise ModelError(f"has {len(outputs)} outputs: {listing(names)}. Choose the logits with --output (output=...).")
    if wanted in names:
        position = names.index(wanted)
    else:
        position = 0 if wanted is None else int(wanted) if str(wanted).isdecimal() else -1
        if not 0 <= position < len(names):
            raise ModelError(f"has no output {wanted!r}; it has {listing(names)}. Give a name, or a position from 0.")
    if outputs[position].type not in FLOATS:
        raise ModelError(
            f"gives {outputs[position].type} as output {names[position]!r}; logits are floats. "
            "Choose another output, or export the model without what follows the logits."
        )
    return outputs[position]
