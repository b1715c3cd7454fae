"""Logits on disk: found by what they were made of, written shard by shard, checked whenever they are read.

An entry is a folder named by the hash of everything that decides the logits: model (its fingerprint and its probe),
data, preprocessing, batch size and versions. What else is measured per sample, such as gradient norms, is kept in the
same way. While a run is under way it holds one safetensors file per shard, each written whole or not at all and
carrying the checksum of its rows. A finished run is one file; one of logits is what ``gfscore audit`` reads as it is.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from gfscore.arrays import FloatArray, IntArray, row_chunks
from gfscore.errors import RunError, first_line
from gfscore.files import remove_held, remove_where_allowed, replacing
from gfscore.inputs.journal import LOCK, Journal
from gfscore.inputs.probes import GPU_TOLERANCE, NOISE, TOLERANCE, distance, stored_probe
from gfscore.inputs.protocols import Dataset
from gfscore.inputs.safetensors_file import HALVED, write_safetensors
from gfscore.places.addresses import here, user_cache

FORMAT = 1
INFO = "entry.json"
# Metadata of a finished file: the checksum of each shard's rows, and of all that is not in a shard.
DIGESTS, REST = "shard_sha256", "rest_sha256"
ON_GPU = " on a GPU"  # after the fingerprint of a model: its logits differ there in their last digits
NAMES = ("class_names", "sample_ids")  # metadata that makes it a logits file by itself, and decides no number


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
    probe: str | None = None  # of the model, by its name; None for a model that nobody finds again

    @property
    def key(self) -> str:
        """Hash of the recipe."""
        canonical = json.dumps({"format": FORMAT, **self.as_dict()}, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """The recipe, for JSON."""
        measured = {} if self.measure is None else {"measure": dict(self.measure)}
        probed = {} if self.probe is None else {"probe": self.probe}
        return {
            "model": self.model,
            "data": self.data,
            "n_samples": self.n_samples,
            "preprocessing": dict(self.preprocessing),
            "batch_size": self.batch_size,
            "shard_rows": self.shard_rows,
            **measured,
            **probed,
        }

    def shards(self) -> list[slice]:
        """The rows of each shard, in order."""
        starts = range(0, self.n_samples, self.shard_rows)
        return [slice(start, min(start + self.shard_rows, self.n_samples)) for start in starts]


class Entry(Journal):
    """One run's logits, finished or under way."""

    label = INFO
    files = ("*.safetensors",)

    @property
    def info(self) -> Mapping[str, Any]:
        """What its label says: the recipe, and for people what that is."""
        return self.about

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
        return sum(map(_size, self.path.glob("*")))

    def locked(self) -> AbstractContextManager[object]:
        """Hold the entry alone, if only to read it."""
        return self.hold(or_read=True)

    def is_labelled(self) -> bool:
        """Whether its label can be read, and is its own."""
        return _read_info(self.path / INFO) is not None

    def shard_exists(self, index: int) -> bool:
        """Whether there is a shard, sound or not."""
        return self._shard_path(index).exists()

    def read_shard(self, index: int) -> FloatArray | None:
        """Logits of a shard, or None when it is missing or damaged."""
        shard = self._shard(index)
        return None if shard is None else shard[0]

    def write_shard(self, index: int, logits: FloatArray, *, halved: int = 0) -> None:
        """Put a shard in its place, whole; ``halved`` of its batches did not fit into memory."""
        metadata = {"sha256": _digest(logits, halved), HALVED: str(halved)}
        with replacing(self._shard_path(index)) as temporary:
            temporary.write_bytes(save({self.content: logits}, metadata=metadata))

    def finish(self, n_shards: int, labels: IntArray, metadata: Mapping[str, str]) -> Path:
        """Join the shards into one logits file, and drop them."""
        sound = (self._sound_shard(index) for index in range(n_shards))
        digests, counts, widths = zip(
            *((_digest(logits, halved), halved, logits.shape[1]) for logits, halved in sound), strict=True
        )
        if len(set(widths)) > 1:
            raise RunError(
                f"{self.path}: its shards have {min(widths)} to {max(widths)} columns. Delete it: store clear."
            )
        noted = {HALVED: json.dumps(counts)} if any(counts) else {}
        about = {**metadata, **noted, DIGESTS: json.dumps(digests)}
        write_safetensors(
            self.finished,
            (self._sound_shard(index)[0] for index in range(n_shards)),
            (len(labels), widths[0]),
            labels,
            {**about, REST: _rest(labels, about)},
            name=self.content,
        )
        self.drop_shards()
        return self.finished

    def drop_shards(self) -> None:
        """Remove the shards of a finished run."""
        remove_where_allowed(self.path.glob("shard-*"))

    def damaged_shards(self, shards: list[slice]) -> list[int] | None:
        """Which shards of the finished file are damaged; None when there is none, or damage is not in shards alone."""
        try:
            with safe_open(self.finished, framework="np") as file:
                about = dict(file.metadata() or {})
                labels = file.get_tensor("labels")
                if about.pop(REST, None) != _rest(labels, about) or len(labels) != shards[-1].stop:
                    return None
                logits, digests, halved = file.get_slice(self.content), json.loads(about[DIGESTS]), _counts(about)
                return [
                    index for index, rows in enumerate(shards) if _digest(logits[rows], halved[index]) != digests[index]
                ]
        except (FileNotFoundError, SafetensorError, OSError, ValueError, KeyError, IndexError):
            return None

    def missing_shards(self, shards: list[slice]) -> list[int] | None:
        """What must be computed before the entry, whose lock is held, can be finished; None when it is finished."""
        damaged = self.damaged_shards(shards)
        if damaged == []:
            self.drop_shards()  # a run may have been killed between finishing and this
            return None
        if damaged:
            self.reopen(shards, damaged)
        return [index for index in range(len(shards)) if self.read_shard(index) is None]

    def reopen(self, shards: list[slice], damaged: list[int]) -> None:
        """Turn a damaged finished file back into its sound shards, so that only the others are computed again."""
        with safe_open(self.finished, framework="np") as file:
            logits, halved = file.get_slice(self.content), _counts(file.metadata() or {})
            for index, rows in enumerate(shards):
                if index not in damaged:
                    self.write_shard(index, logits[rows], halved=halved[index])
        self.finished.unlink()

    def _shard(self, index: int) -> tuple[FloatArray, int] | None:
        """Logits of a shard and how many of its batches were halved, or None when it is missing or damaged."""
        try:
            with safe_open(self._shard_path(index), framework="np") as file:
                logits, noted = file.get_tensor(self.content), file.metadata() or {}
            halved = int(noted[HALVED])
        except (FileNotFoundError, SafetensorError, OSError, ValueError, KeyError):
            return None
        return (logits, halved) if noted.get("sha256") == _digest(logits, halved) else None

    def _sound_shard(self, index: int) -> tuple[FloatArray, int]:
        shard = self._shard(index)
        if shard is None:
            raise RunError(f"{self.path}: lost shard {index} during the run. Run it again: it goes on from there.")
        return shard

    def _shard_path(self, index: int) -> Path:
        return self.path / f"shard-{index:06d}.safetensors"


class Store:
    """All entries below one folder."""

    def __init__(self, root: Path | None = None) -> None:
        self._given = root

    @cached_property
    def root(self) -> Path:
        """The folder, found out when it is first needed: who keeps nothing needs none."""
        return self._given or default_root()

    def entry(self, recipe: Recipe, about: Mapping[str, Any]) -> Entry:
        """The entry of a recipe, which is made once it is locked; ``about`` says for people what it is."""
        info = {"format": FORMAT, "about": dict(about), "recipe": recipe.as_dict()}
        return Entry(self.root / recipe.key[:2] / recipe.key, info)

    def entries(self) -> list[Entry]:
        """Every entry that can be read, oldest first."""
        found = []
        for path in sorted(self.root.glob(f"??/*/{INFO}"), key=_modified):
            info = _read_info(path)
            if info is not None:
                found.append(Entry(path.parent, info))
        return found

    def is_of_its_model(self, entry: Entry) -> bool:
        """Whether the first logits of a finished run are those of its model's probe, as far as both are there."""
        name = recipe_of(entry.info).probe
        probe = None if name is None or entry.content != "logits" else stored_probe(self.root, name)
        if probe is None or not entry.finished.exists():
            return True
        with safe_open(entry.finished, framework="np") as file:
            first = file.get_slice("logits")[: len(probe) - NOISE]
        on_gpu = str(entry.info["recipe"]["model"]).endswith(ON_GPU)
        return distance(probe[:-NOISE], first) <= (GPU_TOLERANCE if on_gpu else TOLERANCE)

    def remove(self, entry: Entry) -> None:
        """Delete an entry, once nobody else holds it."""
        remove_held(entry.path, LOCK)


def names_of(data: Dataset) -> dict[str, str]:
    """What the data call their classes and samples, for the metadata of a file: it can be audited by itself."""
    named = {name: getattr(data, name) for name in NAMES}
    return {name: json.dumps(values) for name, values in named.items() if values is not None}


def export(finished: Path, target: Path, names: Mapping[str, str]) -> None:
    """Copy a finished file of logits, with these names in its metadata: an earlier run may have given it others."""
    try:
        opened = safe_open(finished, framework="np")
    except (OSError, SafetensorError) as error:  # it was whole when the run ended
        raise RunError(
            f"{finished}: is gone or damaged ({first_line(error)}). Run it again: it is made anew."
        ) from error
    with opened as file:
        stored, labels, logits = file.metadata() or {}, file.get_tensor("labels"), file.get_slice("logits")
        if {key: stored[key] for key in NAMES if key in stored} == names:
            with replacing(target) as temporary:
                shutil.copyfile(finished, temporary)
            return
        about = {**names, **{key: stored[key] for key in sorted(stored) if key not in (*NAMES, REST)}}
        n_samples, n_classes = logits.get_shape()
        parts = (logits[rows] for rows in row_chunks(n_samples, n_classes))
        write_safetensors(target, parts, (n_samples, n_classes), labels, {**about, REST: _rest(labels, about)})


def recipe_of(info: Mapping[str, Any]) -> Recipe:
    """The recipe that an entry's info holds."""
    return Recipe(**info["recipe"])


def _size(path: Path) -> int:
    """Bytes of a file; 0 when another run has just removed it."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _modified(path: Path) -> float:
    """When a file was written, for an order that people find natural and nothing else."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _read_info(path: Path) -> dict[str, Any] | None:
    """What an entry says that it holds, or None when that cannot be read, or is about another entry."""
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
        sound = recipe_of(info).key == path.parent.name and {"model", "data", "n"} <= info["about"].keys()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return info if sound else None


def _digest(logits: FloatArray, halved: int) -> str:
    """Of the numbers, and of what says how to read them."""
    digest = hashlib.sha256(f"{logits.dtype.str} {logits.shape} {halved}".encode())
    digest.update(np.ascontiguousarray(logits).data)
    return digest.hexdigest()


def _rest(labels: IntArray, about: Mapping[str, str]) -> str:
    """Of what stands beside the logits in a finished file."""
    digest = hashlib.sha256(json.dumps([labels.dtype.str, labels.shape, about], sort_keys=True).encode())
    digest.update(np.ascontiguousarray(labels).data)
    return digest.hexdigest()


def _counts(about: Mapping[str, str]) -> list[int]:
    """How many batches of each shard were halved."""
    return json.loads(about[HALVED]) if HALVED in about else [0] * len(json.loads(about[DIGESTS]))
