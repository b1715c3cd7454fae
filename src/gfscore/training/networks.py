"""Networks before and after training: a copy that can be trained, a model of it that can be run, and its files."""

import copy
import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.errors import ModelError, first_line, naming, require
from gfscore.inputs.models.biased import biased_module
from gfscore.inputs.models.fingerprints import hash_texts
from gfscore.inputs.models.onnx_bias import write_biased
from gfscore.inputs.models.onnx_model import OnnxModel, load_onnx
from gfscore.inputs.models.shims import no_deprecations, torch_for
from gfscore.inputs.models.torch_model import TorchModel, pick_output
from gfscore.measures import Run
from gfscore.measures.changed_runs import Change
from gfscore.storage import atomic_file
from gfscore.training.trainer import EXTRA, PURPOSE

OPSET = 17  # of the graph that is written: what onnx2torch can read again
OFF = 1e-4  # of the largest logit, that the written graph may be off
CHECKED_IMAGES = 8


def trainable_copy(run: Run) -> Any:
    """The network of a run as a module of [0, 1] pixels that may be changed: the user's own is left as it is."""
    torch_for(PURPOSE, extra=EXTRA)
    require("onnx", extra=EXTRA, purpose=PURPOSE)  # what the repaired graph is written with
    module = run.differentiable()
    with naming(run.name):
        try:
            return copy.deepcopy(module)
        except Exception as error:  # a module may hold anything
            raise ModelError(f"cannot be copied, and so not be trained ({first_line(error)}).") from error


def with_weights(module: Any, weights: Mapping[str, Any], bias: FloatArray | None = None) -> Any:
    """A copy of a module of pixels with other weights, and constants on its logits where some are given."""
    made = copy.deepcopy(module)
    made.load_state_dict(dict(weights))
    made.eval().requires_grad_(requires_grad=False)
    return made if bias is None or not bias.any() else biased_module(made, bias.astype(np.float32)).eval()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Retrained(Change):
    """The network of a run with other weights, and constants on its logits."""

    name: str
    weights: Mapping[str, Any]  # of the module of pixels, tensors by name
    bias: FloatArray

    def sent(self) -> dict[str, Any]:
        """The name, and the constants."""
        return {"name": self.name, "bias": self.bias.tolist()}

    def content(self) -> bytes:
        """The weights as a safetensors file."""
        from safetensors.torch import save

        return bytes(save(_state_on_cpu(self.weights)))

    @classmethod
    def received(cls, said: Mapping[str, Any], content: bytes) -> "Retrained":
        """What has the same weights."""
        from safetensors.torch import load

        return cls(name=said["name"], weights=load(content), bias=np.array(said["bias"]))

    def made(self, run: Run) -> Run:
        """The run of the trained network."""
        return run_of(run, trainable_copy(run), self)


def run_of(run: Run, module: Any, trained: Retrained) -> Run:
    """A run of a trained network on the data of another, ``module`` of which has the layers: it is left as it is.

    The trained one takes pixels, so that nothing is normalised.
    """
    torch, name = torch_for(PURPOSE, extra=EXTRA), trained.name
    module = with_weights(module, trained.weights, trained.bias)
    model = TorchModel(
        module=module,
        name=name,
        fingerprint=hash_texts("trained", torch.__version__, run.model.fingerprint or name, weights_hash(module)),
        device=module.scale.device,
        dtype=torch.float32,
        layout=run.model.layout,
    )
    plain = replace(run.preprocessing, mean=(0.0,), std=(1.0,))
    changes = (*run.changes, trained)
    return replace(run, model=model, preprocessing=plain, name=name, told=True, changes=changes)


def weights_hash(module: Any) -> str:
    """A hash of all numbers of a module, by their names."""
    found = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        found.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        found.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return found.hexdigest()


def write_weights(path: Path, module: Any, bias: FloatArray, about: Mapping[str, Any]) -> None:
    """Write the weights of the user's own network by its own names; the bias of the logits is in the metadata."""
    from safetensors.torch import save_file

    state = _state_on_cpu(module.inner.state_dict())
    told = {**about, "class_bias": bias.tolist()}
    with atomic_file(path) as temporary:
        save_file(state, temporary, metadata={"gfscore.repair": json.dumps(told)})


def _state_on_cpu(weights: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors of their own, as a file takes them."""
    return {name: each.detach().cpu().clone().contiguous() for name, each in weights.items()}


def write_graph(path: Path, run: Run, module: Any, bias: FloatArray) -> None:
    """Write a trained network as ONNX, with the input that the network had: the images as ``run`` preprocesses them.

    ``run`` is of the network before training, ``module`` its trained copy without the bias. The file is run on images
    and compared with the module before it gets its name.
    """
    model = run.model
    with TemporaryDirectory() as folder, naming(model.name):
        plain = Path(folder) / "trained.onnx"
        _export(plain, run, module)
        exported = load_onnx(plain, name=model.name, layout=model.layout)
        few = run.inputs(slice(0, exported.fixed_batch or min(CHECKED_IMAGES, run.n_samples)))
        _compare(exported, few, module, run)
        path.parent.mkdir(parents=True, exist_ok=True)
        if bias.any():
            write_biased(exported, bias, path, few)
        else:
            with atomic_file(path) as temporary:
                temporary.write_bytes(plain.read_bytes())


def _export(path: Path, run: Run, module: Any) -> None:
    torch, model = torch_for(PURPOSE, extra=EXTRA), run.model
    is_graph = isinstance(model, OnnxModel)
    names = (model.input, model.output) if is_graph else ("images", "logits")  # type: ignore[attr-defined]
    output = None if is_graph else getattr(model, "output", None)

    class Logits(torch.nn.Module):  # type: ignore[misc, name-defined]  # torch is an extra, so its classes are Any here
        def __init__(self) -> None:
            super().__init__()
            self.inner = module.inner

        def forward(self, inputs: Any) -> Any:
            return pick_output(self.inner(inputs), output, torch.Tensor)

    example = torch.from_numpy(np.array(run.inputs(slice(0, model.fixed_batch or min(2, run.n_samples)))))
    weight = next(module.inner.parameters())
    free = None if model.fixed_batch else {names[0]: {0: "n"}, names[1]: {0: "n"}}
    with no_deprecations(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch.onnx.export(
                Logits().eval(),
                (example.to(device=weight.device, dtype=weight.dtype),),
                str(path),
                input_names=[names[0]],
                output_names=[names[1]],
                dynamic_axes=free,
                opset_version=OPSET,
                dynamo=False,
            )
        except Exception as error:  # an operator without a translation may raise anything
            raise ModelError(f"cannot be written as ONNX ({first_line(error)}).") from error


def _compare(exported: OnnxModel, few: FloatArray, module: Any, run: Run) -> None:
    """Refuse a written graph whose logits are not those of the module."""
    torch = torch_for(PURPOSE, extra=EXTRA)
    pixels = torch.from_numpy(np.array(run.pixels(slice(0, len(few))))).to(module.scale.device)
    with torch.no_grad():
        expected = module(pixels).cpu().numpy()
    largest = max(float(np.abs(expected).max()), float(np.finfo(np.float32).tiny))
    off = float(np.abs(exported(few) - expected).max()) / largest
    if off > OFF:
        raise ModelError(f"as ONNX gives logits that are off by {off:.1e} of the largest: it is not written.")
