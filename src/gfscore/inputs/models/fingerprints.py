"""Hashes that stand for everything that decides a model's logits."""

import hashlib
import inspect
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

PLAIN = (bool, int, float, complex, str, bytes, type(None))


def combined(*parts: str) -> str:
    """One hash of several texts; where one ends and the next begins counts.

    >>> combined("ab", "c") == combined("a", "bc")
    False
    """
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def of_module(module: Any, torch: Any, *, also: tuple[str, ...] = ()) -> str:
    """Hash of a torch module: weights and buffers, structure, plain attributes, source files of its classes, version.

    ``forward`` is Python, so the weights alone would not tell when it changes. The files of all classes outside torch
    itself are hashed, and so are tensors and numbers kept as plain attributes, as many models keep a mean and a std.
    Functions that ``forward`` calls from other files are not seen.
    """
    parts = [repr(module), *_sources(module), *also, str(torch.__version__)]
    parts += [_of_value(key, value, torch) for key, value in module.state_dict().items()]
    for path, part in module.named_modules():
        attributes = {key: value for key, value in vars(part).items() if not key.startswith("_")}
        parts += [_of_value(f"{path}.{key}", value, torch) for key, value in sorted(attributes.items())]
    return combined("torch", *parts)


def source_of(name: str) -> str:
    """Hash of the file that a loaded Python module came from; nothing for one that has no file."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""


def _sources(module: Any) -> list[str]:
    classes = {kind for part in module.modules() for kind in inspect.getmro(type(part))}
    names = {kind.__module__ for kind in classes}
    return [
        f"{name} {source_of(name)}" for name in sorted(names) if name.partition(".")[0] not in ("torch", "builtins")
    ]


def _of_value(name: str, value: Any, torch: Any) -> str:
    """Name, type and content of a value, where it has a content that can be written down."""
    if isinstance(value, torch.Tensor):
        flat = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        return f"{name} {value.dtype} {tuple(value.shape)} {hashlib.sha256(flat.numpy()).hexdigest()}"
    if isinstance(value, np.ndarray):
        return f"{name} {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, list | tuple):
        return f"{name} [{', '.join(_of_value('', item, torch) for item in value)}]"
    return f"{name} {value!r}" if isinstance(value, PLAIN) else f"{name} {type(value).__qualname__}"
