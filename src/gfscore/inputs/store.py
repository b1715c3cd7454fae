"""Logits on disk: found by what they were made of, written shard by shard, checked whenever they are read.

An entry is a folder named by the hash of everything that decides the logits: model, data, preprocessing, batch size
and versions. What else is measured per sample, such as gradient norms, is kept in the same way. While a run is under
way it holds one safetensors file per shard, each written whole or not at all and carrying the checksum of its rows. A
finished run is one file; one of logits is what ``gfscore audit`` reads as it is.
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from gfscore.errors import FileError
from gfscore.files import replacing, write_text
from gfscore.inputs.safetensors_file import write_safetensors
from gfscore.places.addresses import here, user_cache
from gfscore.samples import FloatArray, IntArray

FORMAT = 1
INFO, LOCK = "entry.json", "lock"
DIGESTS = "shard_sha256"  # metadata of a finished file: the checksum of each shard's rows


def default_root() -> Path:
    """Where logits are kept: ``$GFSCORE_STORE``, or the user's cache folder."""
    named = os.environ.get("GFSCORE_STORE")
    if named:
        return here(named, "GFSCORE_STORE")
    return user_cache()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything that decides the logits of a run; its hash is the name of the entry."""

    model: str
    data: str
    n_samples: int
    preprocessing: Mapping[str, Any]
    batch_size: int
    shard_rows: int  # a multiple of the batch size: a shard never cuts a batch
    measure: Mapping[str, Any] | None = None  # what is measured besides the logits: its "name", and all that decides it

    @property
    def key(self) -> str:
        """Hash of the recipe."""
        canonical = json.dumps({"format": FORMAT, **self.as_dict()}, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """The recipe, for JSON."""
        measured = {} if self.measure is None else {"measure": dict(self.measure)}
        return {
            "model": self.model,
            "data": self.data,
            "n_samples": self.n_samples,
            "preprocessing": dict(self.preprocessing),
            "batch_size": self.batch_size,
            "shard_rows": self.shard_rows,
            **measured,
        }

    def shards(self) -> list[slice]:
        """The rows of each shard, in order."""
        starts = range(0, self.n_samples, self.shard_rows)
        return [slice(start, min(start + self.shard_rows, self.n_samples)) for start in starts]


class Entry:
    """One run's logits, finished or under way."""

    def __init__(self, path: Path, info: Mapping[str, Any]) -> None:
        self.path = path
        self.info = info

    @property
    def content(self) -> str:
        """What it holds per sample: logits, or what else was measured."""
        return str(self.info["recipe"].get("measure", {}).get("name", "logits"))

    @property
    def finished(self) -> Path:
        """The file of a finished run."""
        return self.path / f"{self.content}.safetensors"

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(file.stat().st_size for file in self.path.iterdir())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the entry alone; a second process waits here. The lock ends with the process, however it ends."""
        with (self.path / LOCK).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def shard_exists(self, index: int) -> bool:
        """Whether there is a shard, sound or not."""
        return self._shard_path(index).exists()

    def read_shard(self, index: int) -> FloatArray | None:
        """Logits of a shard, or None when it is missing or damaged."""
        path = self._shard_path(index)
        try:
            with safe_open(path, framework="np") as file:
                logits, recorded = file.get_tensor(self.content), (file.metadata() or {}).get("sha256")
        except (FileNotFoundError, SafetensorError, OSError):
            return None
        return logits if recorded == _digest(logits) else None

    def write_shard(self, index: int, logits: FloatArray) -> None:
        """Put a shard in its place, whole."""
        with replacing(self._shard_path(index)) as temporary:
            save_file({self.content: logits}, temporary, metadata={"sha256": _digest(logits)})

    def finish(self, n_shards: int, labels: IntArray, metadata: Mapping[str, str]) -> Path:
        """Join the shards into one logits file, and drop them."""
        digests = json.dumps([_digest(self._sound_shard(index)) for index in range(n_shards)])
        shards = (self._sound_shard(index) for index in range(n_shards))
        shape = (len(labels), self._sound_shard(0).shape[1])
        write_safetensors(self.finished, shards, shape, labels, {**metadata, DIGESTS: digests}, name=self.content)
        self.drop_shards()
        return self.finished

    def drop_shards(self) -> None:
        """Remove the shards of a finished run."""
        for path in self.path.glob("shard-*"):
            path.unlink()

    def damaged_shards(self, shards: list[slice]) -> list[int] | None:
        """Which shards of the finished file are damaged; None when there is no finished file that can be read."""
        try:
            with safe_open(self.finished, framework="np") as file:
                digests = json.loads((file.metadata() or {})[DIGESTS])
                logits = file.get_slice(self.content)
                return [index for index, rows in enumerate(shards) if _digest(logits[rows]) != digests[index]]
        except (FileNotFoundError, SafetensorError, OSError, ValueError, KeyError, IndexError):
            return None

    def reopen(self, shards: list[slice], damaged: list[int]) -> None:
        """Turn a damaged finished file back into its sound shards, so that only the others are computed again."""
        with safe_open(self.finished, framework="np") as file:
            logits = file.get_slice(self.content)
            for index, rows in enumerate(shards):
                if index not in damaged:
                    self.write_shard(index, logits[rows])
        self.finished.unlink()

    def _sound_shard(self, index: int) -> FloatArray:
        shard = self.read_shard(index)
        if shard is None:
            raise FileError(f"lost shard {index} during the run. Run it again: it resumes.").found_in(self.path)
        return shard

    def _shard_path(self, index: int) -> Path:
        return self.path / f"shard-{index:06d}.safetensors"


class Store:
    """All entries below one folder."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or default_root()

    def entry(self, recipe: Recipe, about: Mapping[str, Any]) -> Entry:
        """The entry of a recipe, made if it is not there; ``about`` says for people what it is."""
        path = self.root / recipe.key[:2] / recipe.key
        info = {"format": FORMAT, "about": dict(about), "recipe": recipe.as_dict()}
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"cannot be made ({error.strerror}). Choose another --store.").found_in(path) from error
        if not (path / INFO).exists():
            write_text(path / INFO, json.dumps(info, indent=1) + "\n")
        return Entry(path, info)

    def entries(self) -> list[Entry]:
        """Every entry that can be read, oldest first."""
        found = []
        for path in sorted(self.root.glob(f"??/*/{INFO}"), key=lambda path: path.stat().st_mtime):
            try:
                info = json.loads(path.read_text(encoding="utf-8"))
                recipe_of(info)
            except (OSError, ValueError, KeyError, TypeError):
                continue
            found.append(Entry(path.parent, info))
        return found

    def remove(self, entry: Entry) -> None:
        """Delete an entry, once nobody else holds it."""
        with entry.locked():
            shutil.rmtree(entry.path)


def recipe_of(info: Mapping[str, Any]) -> Recipe:
    """The recipe that an entry's info holds."""
    return Recipe(**info["recipe"])


def _digest(logits: FloatArray) -> str:
    return hashlib.sha256(np.ascontiguousarray(logits).tobytes()).hexdigest()
