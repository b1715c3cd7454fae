"""Torch files: TorchScript and torch.export programs, which hold code, and checkpoints, which must not."""

import logging
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gfscore.errors import FileError, ModelError, first_line, naming
from gfscore.inputs.models.fingerprints import combined
from gfscore.inputs.models.shims import no_deprecations, torch_for
from gfscore.inputs.models.torch_model import TorchModel, wrap_module
from gfscore.inputs.protocols import Layout
from gfscore.names import listing
from gfscore.storage import Watched, refuse_unreadable

WRAPPERS = ("state_dict", "model")  # keys under which training scripts store the weights beside other things


def load_torchscript(
    path: Path, *, name: str | None = None, output: str | int | None = None, layout: Layout | None = None
) -> TorchModel:
    """A scripted or traced module, in the mode it was saved in. It holds code: only for files that are trusted."""
    with naming(path):
        refuse_unreadable(path)
        torch, files = torch_for("a TorchScript model"), Watched([path])
        try:
            with no_deprecations():
                module = torch.jit.load(path, map_location="cpu")
        except Exception as error:
            raise FileError(f"is not TorchScript ({first_line(error)}). Save it again with torch.jit.save.") from error
        return wrap_module(
            module,
            name=name or path.stem,
            fingerprint=combined("torchscript", torch.__version__, *files.hashes().values()),
            files=files,
            output=output,
            layout=layout or "NCHW",
        )


def load_exported(
    path: Path, *, name: str | None = None, output: str | int | None = None, layout: Layout | None = None
) -> TorchModel:
    """A program saved by ``torch.export``. It holds code: only for files that are trusted."""
    with naming(path):
        refuse_unreadable(path)
        torch, files = torch_for("a torch.export model"), Watched([path])
        try:
            with no_deprecations(), _silent("torch.export"):
                program = torch.export.load(path)
        except Exception as error:
            raise FileError(
                f"is not a torch.export program ({first_line(error)}). Save it with torch.export.save."
            ) from error
        return wrap_module(
            program.module(),
            name=name or path.stem,
            fingerprint=combined("pt2", torch.__version__, *files.hashes().values()),
            files=files,
            fixed_batch=_fixed_batch(program),
            output=output,
            layout=layout or "NCHW",
        )


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
            raise refused_pickle(path) from error
        except Exception as error:
            raise FileError(f"is not a checkpoint ({first_line(error)}). Save model.state_dict() again.") from error
        for key in WRAPPERS:
            if isinstance(checkpoint, dict) and isinstance(checkpoint.get(key), dict):
                checkpoint = checkpoint[key]
        if not isinstance(checkpoint, dict) or not all(isinstance(key, str) for key in checkpoint):
            raise FileError(f"holds {type(checkpoint).__name__}, no state dict. Save model.state_dict().")
        return {key.removeprefix("module."): value for key, value in checkpoint.items()}  # from DataParallel


def refused_pickle(path: Path) -> FileError:
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


def _fixed_batch(program: Any) -> int | None:
    """The batch size the program was exported for, unless that was left open."""
    inputs = program.graph_signature.user_inputs
    if len(inputs) != 1:
        raise ModelError(f"has {len(inputs)} inputs: {listing([str(name) for name in inputs])}. Export it with one.")
    node = next(node for node in program.graph.nodes if node.op == "placeholder" and node.name == inputs[0])
    size = node.meta["val"].shape[0]
    return size if isinstance(size, int) else None  # a symbol when it was left open


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
