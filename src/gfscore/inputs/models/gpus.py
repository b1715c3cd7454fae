"""Models on the GPU that a worker was given."""

import sys
from dataclasses import replace

from gfscore.errors import ModelError, first_line, naming
from gfscore.inputs.models.torch_model import TorchModel
from gfscore.inputs.protocols import Model


def on_gpu(model: Model) -> Model:
    """The same model on the GPU of this process; refused where its runtime finds none, as it would be slow and idle."""
    with naming(model.name):
        if isinstance(model, TorchModel):
            return _torch_on_gpu(model)
        from gfscore.inputs.models.onnx_model import CUDA, OnnxModel, open_session
        from gfscore.inputs.models.runtime import onnxruntime

        if isinstance(model, OnnxModel):
            if CUDA not in onnxruntime.get_available_providers():
                raise ModelError(
                    "was given a GPU that onnxruntime cannot use here. Install onnxruntime-gpu on the nodes, or leave "
                    "--gpus-per-actor out."
                )
            return replace(model, session=open_session(model.path, gpu=True))
        raise ModelError("runs where it likes: it cannot be put on a GPU. Leave --gpus-per-actor out.")


def _torch_on_gpu(model: TorchModel) -> TorchModel:
    torch = sys.modules["torch"]  # the module could not exist without it
    if not torch.cuda.is_available():
        raise ModelError(
            "was given a GPU that torch cannot use here. Install torch with CUDA on the nodes, or leave "
            "--gpus-per-actor out."
        )
    device = torch.device("cuda")
    try:
        return replace(model, module=model.module.to(device), device=device)
    except (RuntimeError, NotImplementedError) as error:  # too large for it, or a program that is bound to a device
        raise ModelError(f"cannot be put on a GPU ({first_line(error)}). Leave --gpus-per-actor out.") from error
