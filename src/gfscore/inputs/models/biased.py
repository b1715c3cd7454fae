"""Models in memory with a constant added to the logit of each class."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import FloatArray
from gfscore.errors import OptionError
from gfscore.inputs.models.model_objects import Classifier, open_object
from gfscore.inputs.models.torch_model import pick_output


def apply_repair(repair: Any, model: Any) -> Any:
    """The model with the bias of a repair: see :meth:`gfscore.results.Repair.apply`."""
    return with_bias(model, repair.bias)


def with_bias(model: Any, bias: Sequence[float] | FloatArray) -> Any:
    """A model that Python holds, with ``bias`` (K,) added to its logits.

    A torch module becomes a module, whose gradients go through it; a scikit-learn classifier becomes a function from
    rows to decision values (log-probabilities where it has nothing else), and any other function a function.

    >>> doubled = with_bias(lambda inputs: 2 * inputs, [0.5, -0.5])
    >>> doubled(np.array([[1.0, 2.0]], dtype=np.float32))
    array([[2.5, 3.5]], dtype=float32)
    """
    if isinstance(model, str):
        raise OptionError(f"{model} is a path or spec. Say --out: the command writes the repaired model there.")
    row = np.asarray(bias, dtype=np.float32)
    torch = sys.modules.get("torch")  # whoever has a module has imported it
    if torch is not None and isinstance(model, torch.nn.Module):
        return biased_module(model, row)
    opened = open_object(model, name="model")
    if isinstance(opened, Classifier):
        return _biased_classifier(opened, row)
    return lambda inputs: np.asarray(opened(inputs)) + row


def _biased_classifier(opened: Classifier, row: NDArray[np.float32]) -> Callable[[Any], Any]:
    def decide(inputs: Any) -> Any:
        values = np.asarray(opened(np.asarray(inputs)))
        return (log_probabilities(values) if opened.gives_probabilities else values) + row

    return decide


def log_probabilities(values: FloatArray) -> FloatArray:
    """Logarithms of probabilities, of which those that were rounded to 0 are the smallest number there is."""
    wide = np.asarray(values, dtype=np.float64)
    return np.asarray(np.log(np.maximum(wide, np.finfo(np.float32).tiny)))


def biased_module(module: Any, row: NDArray[np.float32], output: str | int | None = None) -> Any:
    """A torch module that adds ``row`` to the logits of another, wherever and in whatever precision that runs."""
    torch = sys.modules["torch"]

    class WithClassBias(torch.nn.Module):  # type: ignore[misc, name-defined]  # torch is an extra, so Any here
        def __init__(self) -> None:
            super().__init__()
            self.module = module
            self.register_buffer("class_bias", torch.from_numpy(np.array(row)))

        def forward(self, *inputs: Any, **words: Any) -> Any:
            logits = pick_output(self.module(*inputs, **words), output, torch.Tensor)
            return logits + self.class_bias.to(device=logits.device, dtype=logits.dtype)

    made = WithClassBias()
    made.train(module.training)
    if hasattr(module, "scale"):  # what knows where the pixels go
        made.scale = module.scale
    return made
