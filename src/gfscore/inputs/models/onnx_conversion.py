"""An ONNX graph as a torch module, which has gradients; through onnx2torch, which knows opsets up to about 17."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gfscore.errors import ModelError, first_line, require
from gfscore.inputs.models.onnx_model import FATAL_ONLY, OnnxModel
from gfscore.inputs.models.runtime import onnxruntime
from gfscore.inputs.models.shims import no_deprecations, torch_for

EXTRA, PURPOSE = "gradients", "the gradient of an ONNX model"
WITHOUT = "--gradients no, or --method bisection in a check."  # how a command is told to
KNOWN_OPSET = 17  # what a newer graph is declared to be, once what has changed since is rewritten
AXES_MOVED = ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2")  # to an input, in opset 18


def converted(model: OnnxModel) -> Any:
    """A torch module that computes the chosen output of the graph; a reason in one line where there is none.

    A fixed batch is opened: the module takes any, unless the graph itself holds the number. Nothing here proves that
    the module computes what the graph does: :func:`gfscore.inputs.models.gradients.differentiable` compares them.
    """
    torch_for(PURPOSE, extra=EXTRA)  # before onnx2torch, which imports torchvision
    onnx = require("onnx", extra=EXTRA, purpose=PURPOSE)
    with no_deprecations():
        onnx2torch = require("onnx2torch", extra=EXTRA, purpose=PURPOSE)
    graph = _opened(onnx.load(model.path), model)
    newer = any(entry.domain == "" and entry.version > KNOWN_OPSET for entry in graph.opset_import)
    try:
        with no_deprecations():
            try:
                module = onnx2torch.convert(_rewritten(graph, onnx) if newer else graph)
            except NotImplementedError:  # an operator in a version it does not know
                module = onnx2torch.convert(graph if newer else _rewritten(graph, onnx))
    except Exception as error:
        told = first_line(error) or type(error).__name__
        raise ModelError(f"has no gradients: onnx2torch cannot convert it ({told}). Go without: {WITHOUT}") from error
    return module.eval().requires_grad_(requires_grad=False)


def _opened(graph: Any, model: OnnxModel) -> Any:
    """The graph with the chosen output alone and any number of images; shapes noted inside it are dropped."""
    kept = [entry for entry in graph.graph.output if entry.name == model.output]
    del graph.graph.output[:], graph.graph.value_info[:]
    graph.graph.output.extend(kept)
    for entry in (*graph.graph.input, *graph.graph.output):
        if entry.name in (model.input, model.output) and entry.type.tensor_type.shape.dim:
            entry.type.tensor_type.shape.dim[0].dim_param = "n"
    return graph


def _rewritten(graph: Any, onnx: Any) -> Any:
    """A newer graph in the words of opset 17: constants folded by onnxruntime, axes as attributes again."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL_ONLY
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    with TemporaryDirectory() as folder:
        options.optimized_model_filepath = str(Path(folder) / "folded.onnx")
        onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])
        folded = onnx.load(options.optimized_model_filepath)
    constants = {tensor.name: tensor for tensor in folded.graph.initializer}
    for node in folded.graph.node:
        if node.op_type in AXES_MOVED and len(node.input) == 2:
            axes = onnx.numpy_helper.to_array(constants[node.input.pop()])
            node.attribute.append(onnx.helper.make_attribute("axes", axes.tolist()))
    del folded.opset_import[:]
    folded.opset_import.append(onnx.helper.make_opsetid("", KNOWN_OPSET))
    return folded
