"""Lipschitz constants of networks that are chains of layers: the product of bounds of their spectral norms."""

from gfscore.errors import ModelError, naming
from gfscore.inputs.chains.refusals import refuse
from gfscore.inputs.models.torch_model import TorchModel
from gfscore.inputs.protocols import Model

__all__ = ["chain_bound"]


def chain_bound(model: Model, shape: tuple[int, ...]) -> float:
    """Upper bound of the L2 Lipschitz constant of the logits in the model's inputs, images of ``shape``.

    ``shape`` has no batch axis and is in the model's layout. For ONNX graphs and ``torch.nn.Sequential`` in which every
    operator is known and nothing joins two branches; anything else is refused by name: a product that left something
    out would certify nothing.
    """
    with naming(model.name):
        if isinstance(model, TorchModel):
            from gfscore.inputs.chains.torch_chain import sequential_bound

            bound = sequential_bound(model, shape)
        elif hasattr(model, "path"):
            from gfscore.inputs.chains.onnx_chain import graph_bound

            bound = graph_bound(model, shape)  # type: ignore[arg-type]
        else:
            raise refuse(f"{type(model).__name__} shows no layers")
        if bound == 0:
            raise ModelError("has logits that do not depend on the image: every image has the same class.")
        return bound
