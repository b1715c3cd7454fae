"""A torch module as a model, and the user's own factory of one."""

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.errors import InvalidInputError, ModelError, OptionError, first_line
from gfscore.inputs.models.batches import as_logits, cannot_run, padded
from gfscore.inputs.models.fingerprints import of_module, source_of
from gfscore.inputs.models.shims import no_deprecations, torch_for
from gfscore.inputs.models.suggested import SuggestedPreprocessing
from gfscore.inputs.protocols import Layout
from gfscore.names import listing
from gfscore.storage import Watched, changed_file


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TorchModel:
    """A module, run without gradients on its own device; whether it is in eval mode is up to who made it."""

    module: Any
    name: str
    fingerprint: str | None
    device: Any
    dtype: Any  # of its weights; float32 inputs are cast to it
    layout: Layout = "NCHW"
    fixed_batch: int | None = None
    output: str | int | None = None
    suggested_preprocessing: SuggestedPreprocessing | None = None
    files: Watched | None = None  # what it was read from, where the fingerprint is of that and not of the module

    def __call__(self, inputs: FloatArray) -> FloatArray:
        """Logits (n, K) of a batch."""
        torch = sys.modules["torch"]  # the module could not exist without it
        try:
            batch = np.require(padded(inputs, self.fixed_batch), requirements=["C", "W"])  # else torch warns, or fails
            with torch.inference_mode():
                returned = self.module(torch.from_numpy(batch).to(self.device, self.dtype))
            logits = picked(returned, self.output, torch.Tensor)
            return as_logits(logits.detach().float().cpu().numpy(), len(batch))[: len(inputs)]
        except InvalidInputError as error:
            raise error.found_in(self.name) from error
        except Exception as error:  # a forward pass may raise anything
            raise cannot_run(inputs.shape, error).found_in(self.name) from error

    def changed_file(self) -> Path | None:
        """A file behind it that changed since it was opened, if there is one."""
        return changed_file(self.files)


def wrap_module(module: Any, *, name: str, fingerprint: str | None = None, **fields: Any) -> TorchModel:
    """A :class:`TorchModel` that runs where and in what precision the weights of ``module`` are.

    The fingerprint is made from the module unless it is given; ``fields`` are the others of :class:`TorchModel`.
    """
    torch = torch_for("a torch model")
    weight = next((tensor for tensor in module.parameters() if tensor.is_floating_point()), torch.empty(0))
    return TorchModel(
        module=module,
        name=name,
        fingerprint=fingerprint or of_module(module, torch),
        device=weight.device,
        dtype=weight.dtype,
        **fields,
    )


def picked(returned: Any, output: str | int | None, tensor: type) -> Any:
    """The tensor of logits among what a module returned: itself, or an entry of a mapping or sequence."""
    if isinstance(returned, tensor):
        if output not in (None, 0, "0"):
            raise ModelError(f"has one output, so there is no {output!r}. Leave out --output (output=...).")
        return returned
    entries: dict[str, Any] = {}
    if isinstance(returned, Mapping):
        entries = {str(key): value for key, value in returned.items()}
    elif isinstance(returned, list | tuple):
        entries = {str(position): value for position, value in enumerate(returned)}
    else:
        raise ModelError(f"returned {type(returned).__name__}; logits are a tensor. Wrap the model.")
    if output is None or not isinstance(entries.get(str(output)), tensor):
        asked = "" if output is None else f", none called {output!r}"
        tensors = [key for key, value in entries.items() if isinstance(value, tensor)]
        raise ModelError(f"has the outputs {listing(tensors)}{asked}. Choose the logits with --output (output=...).")
    return entries[str(output)]


def load_factory(
    target: str, *, name: str | None = None, output: str | int | None = None, layout: Layout | None = None
) -> TorchModel:
    """The module that ``package.module:factory`` makes, where ``factory`` takes no argument (or is the module itself).

    This runs the user's own code. It is left in the mode the factory chose: call ``.eval()`` there.
    """
    spec = f"torch:{target}"
    module_name, _, attribute = target.partition(":")
    if not all(part.isidentifier() for part in [*module_name.split("."), attribute]):
        raise OptionError(f"model {spec!r} does not name a factory. Write torch:package.module:factory.")
    torch = torch_for(f"the model {spec!r}")
    with _importable_from_here(), no_deprecations():
        try:
            factory = getattr(importlib.import_module(module_name), attribute)
        except AttributeError as error:
            raise OptionError(f"model {spec!r}: {first_line(error)}. Check the name after the colon.") from error
        except ImportError as error:
            raise OptionError(f"model {spec!r}: {first_line(error)}. Run where it can be imported.") from error
        try:
            module = factory if isinstance(factory, torch.nn.Module) else factory()
        except Exception as error:
            told = f"{type(error).__name__}: {first_line(error)}"
            raise ModelError(f"model {spec!r}: the factory failed ({told}). Call it in Python to see where.") from error
    if not isinstance(module, torch.nn.Module):
        kind = type(module).__name__
        raise ModelError(f"model {spec!r}: the factory returned {kind}. Return a torch.nn.Module.")
    return wrap_module(
        module,
        name=name or target,
        fingerprint=of_module(module, torch, also=(source_of(module_name),)),
        output=output,
        layout=layout or "NCHW",
    )


@contextmanager
def _importable_from_here() -> Iterator[None]:
    """Let the folder we are in be searched first, as ``python -m`` does and an installed command does not."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
