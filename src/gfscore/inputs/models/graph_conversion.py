"""An ONNX graph as a torch module, through onnx2torch: what makes its gradients."""

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gfscore.errors import ModelError, first_line, require
from gfscore.inputs.models.older_opset import KNOWN_OPSET, in_older_words
from gfscore.inputs.models.onnx_model import OnnxModel, onnxruntime, quiet_options
from gfscore.inputs.models.shims import no_deprecations

EXTRA, PURPOSE = "gradients", "the gradient of an ONNX model"
WITHOUT = "--gradients no, or --method bisection in a check."  # how a command is told to go without gradients


def convert_graph(model: OnnxModel) -> Iterator[Any]:
    """Torch modules for the chosen output of the graph, the likeliest first; a reason in one line where there is none.

    A graph is converted as it is, and folded: by onnxruntime's basic optimisation, which computes what is constant,
    removes ``Identity`` and merges batch norms into convolutions, and then in the operators of opset 17. Up to opset 17
    the graph as it is comes first. Folding first converts the same graphs (``scripts/conversion_table.py`` counts both)
    but changes the order of sums, and needs a graph that onnxruntime can write. What fails as it is are weights that
    are no initialisers: torch's exporter keeps one of several equal weights, such as biases of zero, and gives the
    others as an ``Identity`` of it, where onnx2torch looks for numbers. Newer graphs are folded first.

    A fixed batch is opened: the module takes any, unless the graph itself holds the number. Nothing here proves that a
    module computes what the graph does: :func:`~gfscore.inputs.models.gradients.differentiable` compares them.
    """
    onnx = require("onnx", extra=EXTRA, purpose=PURPOSE)
    with no_deprecations():
        onnx2torch = require("onnx2torch", extra=EXTRA, purpose=PURPOSE)
    graph = open_batch(onnx.load(model.path), model)
    newer = any(entry.domain == "" and entry.version > KNOWN_OPSET for entry in graph.opset_import)
    converted, why = 0, None
    for folded in (True, False) if newer else (False, True):
        try:
            with no_deprecations():
                module = onnx2torch.convert(in_older_words(fold_graph(graph, onnx), onnx) if folded else graph)
        except Exception as error:  # it raises anything, from a missing operator to a missing key
            why = error if folded or why is None else why  # a newer graph as it is fails at its first operator
            continue
        converted += 1
        yield module.eval().requires_grad_(requires_grad=False)
    if not converted:
        raise ModelError(f"has no gradients: onnx2torch cannot convert it ({_reason(why)}). Go without: {WITHOUT}")


def _reason(error: Exception | None) -> str:
    """Why a conversion failed; an operator that is missing by its name alone."""
    told = "" if error is None else first_line(error) or type(error).__name__
    missing = re.search(r"operation_type='(\w+)', version=(\d+)", told)
    return told if missing is None else f"it does not know {missing[1]} of opset {missing[2]}"


def open_batch(graph: Any, model: OnnxModel) -> Any:
    """The graph with the chosen output alone and any number of images; shapes noted inside it are dropped."""
    kept = [entry for entry in graph.graph.output if entry.name == model.output]
    del graph.graph.output[:], graph.graph.value_info[:]
    graph.graph.output.extend(kept)
    for entry in (*graph.graph.input, *graph.graph.output):
        if entry.name in (model.input, model.output) and entry.type.tensor_type.shape.dim:
            entry.type.tensor_type.shape.dim[0].dim_param = "n"
    return graph


def fold_graph(graph: Any, onnx: Any) -> Any:
    """What onnxruntime's basic optimisation makes of the graph: constants computed, nothing of its own operators."""
    options = quiet_options()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    with TemporaryDirectory() as folder:
        options.optimized_model_filepath = str(Path(folder) / "folded.onnx")
        onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return onnx.load(options.optimized_model_filepath)
