"""Lipschitz constants of networks that are chains of layers: the product of bounds of their spectral norms."""

import math
from collections.abc import Iterator

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.errors import InvalidInputError, ModelError, first_line, naming
from gfscore.inputs.chains.layers import Layer, Shape, refuse
from gfscore.inputs.models.forward_passes import forward_batches
from gfscore.inputs.models.torch_model import TorchModel
from gfscore.inputs.protocols import Model

__all__ = ["TOLERANCE", "chain_bound"]

COMPARED = 4  # images of each kind: given, random, and random far outside of what images are
FAR = 10.0  # times the spread of the images
TOLERANCE = 1e-5  # of the largest logit: float32 networks and the chain in float64 differ by some 1e-7 to 1e-6


def chain_bound(model: Model, inputs: FloatArray) -> float:
    """Upper bound of the L2 Lipschitz constant of the logits in the model's inputs, such as ``inputs`` (n, ...).

    For ONNX graphs and ``torch.nn.Sequential`` in which every operator is known and nothing joins two branches;
    anything else is refused by name: a product that left something out would certify nothing. The layers, as they are
    understood, are then run beside the model itself, on some of the inputs and on random ones: a chain whose logits
    are others is refused, too.
    """
    with naming(model.name):
        layers = _layers(model, inputs.shape[1:])
        for images in _test_images(inputs):
            shapes = _compare(model, images, layers)
        bound = math.prod(layer.norm(shape) for layer, shape in zip(layers, shapes, strict=True))
        if not math.isfinite(bound):
            raise refuse("a layer has weights that are not finite")
        if bound == 0:
            raise ModelError("has logits that do not depend on the image: every image has the same class.")
        return bound


def _layers(model: Model, shape: Shape) -> tuple[Layer, ...]:
    """The layers of a model that shows them."""
    if isinstance(model, TorchModel):
        from gfscore.inputs.chains.torch_chain import sequential_layers

        return tuple(sequential_layers(model))
    from gfscore.inputs.models.onnx_model import OnnxModel

    if isinstance(model, OnnxModel):
        from gfscore.inputs.chains.onnx_chain import graph_layers

        return graph_layers(model, shape)
    raise refuse(f"{type(model).__name__} shows no layers")


def _test_images(inputs: FloatArray) -> Iterator[FloatArray]:
    """Images on which chain and model are held against each other: given ones, and two kinds of random ones."""
    rng = np.random.default_rng(0)
    given = np.ascontiguousarray(inputs[:COMPARED], dtype=np.float32)
    middle, spread = float(given.mean()), float(given.std()) or 1.0
    yield given
    for scale in (spread, FAR * spread):
        yield rng.normal(middle, scale, (COMPARED, *given.shape[1:])).astype(np.float32)


def _compare(model: Model, inputs: FloatArray, layers: tuple[Layer, ...]) -> list[Shape]:
    """Refuse layers whose logits are not those of the model, which then does something that was not seen.

    Returns the shape of what each layer is given.
    """
    own = forward_batches(model, inputs.copy(), len(inputs)).values  # a copy: a layer may write into what it is given
    values: FloatArray = np.asarray(inputs, dtype=np.float64)
    shapes = []
    for layer in layers:
        shapes.append(values.shape)
        try:
            values = layer.run(values)
        except InvalidInputError:
            raise
        except ValueError as error:  # numpy's, of shapes that do not fit
            raise refuse(f"{layer.name} does not run as it is understood ({first_line(error)})") from error
    largest = float(np.abs(own).max()) or 1.0  # zeros everywhere are matched by zeros
    off = float(np.abs(values.reshape(own.shape) - own).max()) / largest if values.size == own.size else math.inf
    if not off <= TOLERANCE:  # also when it is NaN
        raise refuse(f"run layer by layer its logits are off by {off:.1e} of the largest: it does more than it shows")
    return shapes
