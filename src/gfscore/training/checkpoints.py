"""Checkpoints of training: one safetensors file, written whole, from which a run goes on to the same weights."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from gfscore.storage import atomic_file

FOLDER = "training"
PROGRESS = "gfscore.training"  # in the metadata, as JSON
UNREADABLE = (SafetensorError, OSError, ValueError, KeyError)
Tensors = dict[str, dict[str, Any]]  # by part: weights, average, best, momentum, strategy


def checkpoint_path(root: Path, key: str) -> Path:
    """Where the checkpoint of a key stands, below the folder of a store."""
    return root / FOLDER / f"{key}.safetensors"


def remove_checkpoints(root: Path) -> int:
    """Delete all checkpoints of a store; how many there were."""
    found = sorted((root / FOLDER).glob("*.safetensors"))
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)


def write_checkpoint(path: Path, parts: Mapping[str, Mapping[str, Any]], progress: Mapping[str, Any]) -> None:
    """Write tensors by part and name, and what is plain about them; a reader sees the old file or the new one."""
    from safetensors.torch import save_file

    flat = {f"{part}:{name}": tensor.detach().cpu().clone().contiguous() for part, all_ in parts.items()
            for name, tensor in all_.items()}  # fmt: skip
    with atomic_file(path) as temporary:
        save_file(flat, temporary, metadata={PROGRESS: json.dumps(dict(progress))})


def read_checkpoint(path: Path, key: str) -> tuple[Tensors, dict[str, Any]] | None:
    """What was written under that key; None where there is nothing, or nothing that can be read."""
    if not path.exists():
        return None
    found: Tensors = {}
    try:
        with safe_open(path, framework="pt") as file:
            progress = json.loads((file.metadata() or {})[PROGRESS])
            if progress.get("key") != key:
                return None
            for name in file.keys():  # noqa: SIM118 (no mapping)
                part, _, rest = name.partition(":")
                found.setdefault(part, {})[rest] = file.get_tensor(name)
    except UNREADABLE:
        return None
    return found, progress
