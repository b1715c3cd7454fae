"""Torch modules as models: a user's own, from a factory, from files that hold code, and the weights in checkpoints."""

import importlib
import logging
import pickle
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.errors import FileError, ModelError, OptionError, first_line, naming
from gfscore.inputs.models.fingerprints import hash_texts, module_fingerprint, source_hash
from gfscore.inputs.models.forward_passes import run_batch
from gfscore.inputs.models.shims import no_deprecations, torch_for
from gfscore.inputs.models.transfers import computing, to_device
from gfscore.inputs.protocols import LOGITS, Layout, SuggestedPreprocessing
from gfscore.names import listing
from gfscore.storage import Watched, changed_file, refuse_unreadable

WRAPPERS = ("state_dict", "model")  # keys under which training scripts store the weights beside other things
# What each kind of file with code is called, and how to save it.
PROGRAMS = {
    "torchscript": ("TorchScript", "Save it again with torch.jit.save"),
    "pt2": ("a torch.export program", "Save it with torch.export.save"),
}


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
    precision: str | None = None  # of forward passes, where torch allows it; None: that of the weights

    def __call__(self, inputs: FloatArray) -> FloatArray:
        """Logits (n, K) of a batch."""
        return run_batch(self, inputs, self._forward)

    def _forward(self, batch: FloatArray) -> FloatArray:
        torch = sys.modules["torch"]  # the module could not exist without it
        batch = np.require(batch, requirements=["C", "W"])  # else torch warns, or fails
        with torch.inference_mode(), computing(torch, self.device, self.precision):
            returned = self.module(to_device(torch, batch, self.device).to(self.dtype))
        logits = pick_output(returned, self.output, torch.Tensor)
        return np.asarray(logits.detach().float().cpu().numpy())

    def changed_file(self) -> Path | None:
        """A file behind it that changed since it was opened, if there is one."""
        return changed_file(self.files)


def wrap_module(module: Any, *, name: str, fingerprint: str | None = None, **fields: Any) -> TorchModel:
    """A :class:`TorchModel` that runs where and in what precision the weights of ``module`` are.

    The fingerprint is made from the module unless it is given; ``fields`` are the others of :class:`TorchModel`.
    """
    torch = torch_for("a torch model")
    weight = next((tensor for tensor in module.parameters() if tensor.is_floating_point()), torch.empty(0))
    fingerprint = fingerprint or module_fingerprint(module)
    return TorchModel(
        module=module, name=name, fingerprint=fingerprint, device=weight.device, dtype=weight.dtype, **fields
    )


def pick_output(returned: Any, output: str | int | None, tensor: type) -> Any:
    """The tensor of logits among what a module returned: itself, or an entry of a mapping or sequence.

    Where no ``output`` is asked for, it is the entry that is called ``logits``.
    """
    if isinstance(returned, tensor):
        if output not in (None, 0, "0"):
            raise ModelError(f"has one output, so there is no {output!r}. Leave out --output (output=...).")
        return returned
    if not isinstance(returned, Mapping | list | tuple):
        raise ModelError(f"returned {type(returned).__name__}; logits are a tensor. Wrap the model.")
    pairs = returned.items() if isinstance(returned, Mapping) else enumerate(returned)
    entries = {str(key): value for key, value in pairs}
    if output is None and isinstance(entries.get(LOGITS), tensor):  # as models of transformers call them
        return entries[LOGITS]
    if output is None or not isinstance(entries.get(str(output)), tensor):
        asked = "" if output is None else f", none called {output!r}"
        tensors = [key for key, value in entries.items() if isinstance(value, tensor)]
        raise ModelError(f"has the outputs {listing(tensors)}{asked}. Choose the logits with --output (output=...).")
    return entries[str(output)]


def load_factory(target: str, *, name: str | None = None, **fields: Any) -> TorchModel:
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
    fingerprint = module_fingerprint(module, source_hash(module_name))
    return wrap_module(module, name=name or target, fingerprint=fingerprint, **fields)


def load_program(
    path: Path, form: Literal["torchscript", "pt2"], *, name: str | None = None, **fields: Any
) -> TorchModel:
    """A TorchScript module, in the mode it was saved in, or a ``torch.export`` program.

    Both hold code: only for files that are trusted.
    """
    with naming(path):
        refuse_unreadable(path)
        torch = torch_for("a TorchScript model" if form == "torchscript" else "a torch.export model")
        files = Watched([path])
        try:
            with no_deprecations(), _silent("torch.export"):
                loaded = torch.jit.load(path, map_location="cpu") if form == "torchscript" else torch.export.load(path)
        except Exception as error:
            what, advice = PROGRAMS[form]
            raise FileError(f"is not {what} ({first_line(error)}). {advice}.") from error
        if form == "pt2":
            fields["fixed_batch"] = _fixed_batch(loaded)
            loaded = loaded.module()
        fingerprint = hash_texts(form, torch.__version__, *files.hashes().values())
        return wrap_module(loaded, name=name or path.stem, fingerprint=fingerprint, files=files, **fields)


def _fixed_batch(program: Any) -> int | None:
    """The batch size the program was exported for, unless that was left open."""
    inputs = program.graph_signature.user_inputs
    if len(inputs) != 1:
        raise ModelError(f"has {len(inputs)} inputs: {listing([str(name) for name in inputs])}. Export it with one.")
    node = next(node for node in program.graph.nodes if node.op == "placeholder" and node.name == inputs[0])
    size = node.meta["val"].shape[0]
    return size if isinstance(size, int) else None  # a symbol when it was left open


def load_weights(path: Path) -> dict[str, Any]:
    """A state dict from a checkpoint or a safetensors file; a checkpoint that needs more than weights is refused."""
    with naming(path):
        refuse_unreadable(path)
        torch = torch_for("a checkpoint")
        try:
            if path.suffix.lower() == ".safetensors":
                from safetensors.torch import load_file

                return dict(load_file(path))
            checkpoint = torch.load(path, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError as error:
            raise pickle_refusal(path) from error
        except Exception as error:
            raise FileError(f"is not a checkpoint ({first_line(error)}). Save model.state_dict() again.") from error
        for key in WRAPPERS:
            if isinstance(checkpoint, dict) and isinstance(checkpoint.get(key), dict):
                checkpoint = checkpoint[key]
        if not isinstance(checkpoint, dict) or not all(isinstance(key, str) for key in checkpoint):
            raise FileError(f"holds {type(checkpoint).__name__}, no state dict. Save model.state_dict().")
        return {key.removeprefix("module."): value for key, value in checkpoint.items()}  # from DataParallel


def pickle_refusal(path: Path) -> FileError:
    """Why a checkpoint was not loaded: which names it wants besides weights, when it can be told."""
    torch = torch_for("a checkpoint")
    try:
        wanted = listing(torch.serialization.get_unsafe_globals_in_checkpoint(path), most=3)
    except Exception:  # not even the list can be read
        return FileError("is not a checkpoint, or is damaged. Save model.state_dict() again.")
    return FileError(
        f"holds more than weights ({wanted}), and loading that could run code. Save model.state_dict() alone, "
        "or load it in your own torch:module:factory."
    )


@contextmanager
def _silent(logger: str) -> Iterator[None]:
    """Hold back what a library logs about a file that we refuse in one line of our own."""
    log = logging.getLogger(logger)
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


@contextmanager
def _importable_from_here() -> Iterator[None]:
    """Let the folder we are in be searched first, as ``python -m`` does and an installed command does not."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
