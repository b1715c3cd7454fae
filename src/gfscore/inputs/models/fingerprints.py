"""Hashes that stand for everything that decides a model's logits, as far as it can be written down."""

import argparse
import hashlib
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

PLAIN = (bool, int, float, complex, str, bytes, type(None))
DEEPEST = 8  # dictionaries in lists in dictionaries: what lies deeper, or in a circle, is named by its type


def hash_texts(*parts: str) -> str:
    """One hash of several texts; where one ends and the next begins counts.

    >>> hash_texts("ab", "c") == hash_texts("a", "bc")
    False
    """
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def module_fingerprint(module: Any, *also: str) -> str:
    """Hash of a torch module: weights, all buffers, structure, attributes, source files of its classes, version.

    ``forward`` is Python, so the weights alone would not tell when it changes. The files of all classes outside torch
    itself are hashed, and so is what a module keeps as attributes, private or not: tensors, arrays, numbers, texts, and
    lists, dictionaries, namespaces and dataclasses of them. Hooks, lambdas and objects of other classes are named only
    by their type, and functions that ``forward`` calls from other files are not seen: a probe of the logits tells those
    models apart (:mod:`gfscore.inputs.probes`).
    """
    torch = sys.modules["torch"]  # the module could not exist without it
    classes = {kind for part in module.modules() for kind in inspect.getmro(type(part))}
    files = sorted({kind.__module__ for kind in classes})
    sources = [f"{name} {source_hash(name)}" for name in files if name.partition(".")[0] not in ("torch", "builtins")]
    return hash_texts("torch", repr(module), *sources, *also, str(torch.__version__), *_content(module, torch))


def source_hash(name: str) -> str:
    """Hash of the file that a loaded Python module came from; nothing for one that has no file."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""


def _content(module: Any, torch: Any, depth: int = 0) -> Iterator[str]:
    """Weights, buffers and attributes of a module and of all modules in it, a text each."""
    state = module.state_dict()
    unsaved = {name: buffer for name, buffer in module.named_buffers() if name not in state}
    for key, value in (*state.items(), *sorted(unsaved.items())):
        yield _describe(key, value, torch, depth)
    own = vars(torch.nn.Module()).keys()  # what every module has: its parameters, parts and hooks
    for path, part in module.named_modules():
        for key, value in sorted(vars(part).items()):
            if key not in own:
                yield _describe(f"{path}.{key}", value, torch, depth)


def _describe(name: str, value: Any, torch: Any, depth: int = 0) -> str:
    """Name, type and content of a value, where it has a content that can be written down."""

    def inner(values: Any) -> list[str]:
        return [_describe("", item, torch, depth + 1) for item in values]

    kind = type(value).__qualname__
    if isinstance(value, torch.Tensor):
        flat = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        return f"{name} {value.dtype} {tuple(value.shape)} {hashlib.sha256(flat.numpy()).hexdigest()}"
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        return f"{name} {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, PLAIN):
        return f"{name} {value!r}"
    if depth < DEEPEST:
        if isinstance(value, torch.nn.Module):  # in a list, perhaps, where its parent does not know of it
            return f"{name} {value!r} {'; '.join(_content(value, torch, depth + 1))}"
        if isinstance(value, list | tuple):
            return f"{name} [{', '.join(inner(value))}]"
        if isinstance(value, set | frozenset):
            return f"{name} {{{', '.join(sorted(inner(value)))}}}"
        if isinstance(value, argparse.Namespace | SimpleNamespace):
            value = vars(value)
        elif is_dataclass(value) and not isinstance(value, type):
            value = {field.name: getattr(value, field.name, None) for field in fields(value)}
        if isinstance(value, Mapping):
            return f"{name} {kind} {{{', '.join(inner(value.items()))}}}"
    return f"{name} {kind}"
