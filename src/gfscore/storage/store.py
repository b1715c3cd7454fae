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
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from gfscore.arrays import FloatArray, IntArray, row_chunks
from gfscore.errors import FileError, RunError, first_line
from gfscore.storage.addresses import local_folder, user_cache
from gfscore.storage.array_bytes import METADATA, array_bytes, begin_file
from gfscore.storage.files import atomic_file, remove_held, remove_where_allowed
from gfscore.storage.journals import LOCK, Journal

FORMAT = 1
INFO = "entry.json"
# Metadata of a finished file: the checksum of each shard's rows, of all that is not in a shard, and for each shard the
# batches that did not fit into memory.
DIGESTS, REST, HALVED = "shard_sha256", "rest_sha256", "halved_batches"
# metadata that makes it a logits file by itself: names, which part of which data its rows are, what made them
RUN = "gfscore.run"  # the name of a key that nobody else writes
FACTS = ("class_names", "sample_ids", "class_sizes", "data", RUN)
UNREADABLE = (SafetensorError, OSError, ValueError, KeyError, IndexError)


def default_root() -> Path:
    """Where logits are kept: ``$GFSCORE_STORE``, or the user's cache folder."""
    named = os.environ.get("GFSCORE_STORE")
    return local_folder(named, "GFSCORE_STORE") if named else user_cache()


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
        return {name: value for name, value in asdict(self).items() if value is not None}

    def shards(self) -> list[slice]:
        """The rows of each shard, in order."""
        starts = range(0, self.n_samples, self.shard_rows)
        return [slice(start, min(start + self.shard_rows, self.n_samples)) for start in starts]


class Entry(Journal):
    """One run's logits, finished or under way; its label has the recipe, and for people what that is."""

    label = INFO
    files = ("*.safetensors",)

    def __init__(self, path: Path, info: Mapping[str, Any]) -> None:
        super().__init__(path, info)
        self.recipe = Recipe(**info["recipe"])
        self.shards = self.recipe.shards()
        self.content = str((self.recipe.measure or {}).get("name", "logits"))  # what it holds per sample
        self.finished = path / f"{self.content}.safetensors"  # the file of a finished run

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(int(_stat(path, "st_size")) for path in self.path.glob("*"))

    def is_labelled(self) -> bool:
        """Whether its label can be read, and is its own."""
        return _read_info(self.path / INFO) is not None

    def is_damaged(self) -> bool:
        """Whether a file in it is not as it was written."""
        if self.finished.exists():
            return self.damaged_shards() != []
        there = (index for index in range(len(self.shards)) if self._shard_path(index).exists())
        return any(self.read_shard(index) is None for index in there)

    def shards_there(self) -> list[int]:
        """The shards that are there, finished or not, without a look into them."""
        whole = self.finished.exists()
        return [index for index in range(len(self.shards)) if whole or self._shard_path(index).exists()]

    def read_shard(self, index: int) -> tuple[FloatArray, int] | None:
        """Logits of a shard and how many of its batches were halved, or None when it is missing or damaged."""
        try:
            with safe_open(self._shard_path(index), framework="np") as file:
                logits, noted = file.get_tensor(self.content), file.metadata() or {}
            halved = int(noted[HALVED])
        except UNREADABLE:
            return None
        return (logits, halved) if noted.get("sha256") == _digest(logits, halved) else None

    def write_shard(self, index: int, logits: FloatArray, *, halved: int = 0) -> None:
        """Put a shard in its place, whole; ``halved`` of its batches did not fit into memory."""
        metadata = {"sha256": _digest(logits, halved), HALVED: str(halved)}
        with atomic_file(self._shard_path(index)) as temporary:
            temporary.write_bytes(array_bytes({self.content: logits}, metadata))

    def finish(self, labels: IntArray, metadata: Mapping[str, str]) -> Path:
        """Join the shards into one logits file, and drop them."""
        sound = (self._sound_shard(index) for index in range(len(self.shards)))
        digests, counts, widths = zip(
            *((_digest(logits, halved), halved, logits.shape[1]) for logits, halved in sound), strict=True
        )
        if len(set(widths)) > 1:
            raise RunError(
                f"{self.path}: its shards have {min(widths)} to {max(widths)} columns. Delete it: store clear."
            )
        noted = {HALVED: json.dumps(counts)} if any(counts) else {}
        about = {**metadata, **noted, DIGESTS: json.dumps(digests)}
        parts = (self._sound_shard(index)[0] for index in range(len(self.shards)))
        write_safetensors(self.finished, parts, widths[0], labels, _sealed(labels, about), name=self.content)
        self._drop_shards()
        return self.finished

    def damaged_shards(self) -> list[int] | None:
        """Which shards of the finished file are damaged; None when there is none, or damage is not in shards alone."""
        try:
            with safe_open(self.finished, framework="np") as file:
                about, labels = dict(file.metadata() or {}), file.get_tensor("labels")
                rest = about.pop(REST, None)
                if rest != _sealed(labels, about)[REST] or len(labels) != self.recipe.n_samples:
                    return None
                logits, digests, halved = file.get_slice(self.content), json.loads(about[DIGESTS]), _counts(about)
                found = [_digest(logits[rows], halved[index]) for index, rows in enumerate(self.shards)]
                return [index for index, digest in enumerate(found) if digest != digests[index]]
        except UNREADABLE:
            return None

    def missing_shards(self) -> list[int] | None:
        """What must be computed before the entry, whose lock is held, can be finished; None when it is finished."""
        damaged = self.damaged_shards()
        if damaged == []:
            self._drop_shards()  # a run may have been killed between finishing and this
            return None
        if damaged:
            self._reopen(damaged)
        return [index for index in range(len(self.shards)) if self.read_shard(index) is None]

    def _reopen(self, damaged: list[int]) -> None:
        """Turn a damaged finished file back into its sound shards, so that only the others are computed again."""
        with safe_open(self.finished, framework="np") as file:
            logits, halved = file.get_slice(self.content), _counts(file.metadata() or {})
            for index, rows in enumerate(self.shards):
                if index not in damaged:
                    self.write_shard(index, logits[rows], halved=halved[index])
        self.finished.unlink()

    def _drop_shards(self) -> None:
        remove_where_allowed(self.path.glob("shard-*"))

    def _sound_shard(self, index: int) -> tuple[FloatArray, int]:
        shard = self.read_shard(index)
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
        """The entry of a recipe, which is made once it is held; ``about`` says for people what it is."""
        info = {"format": FORMAT, "about": dict(about), "recipe": recipe.as_dict()}
        return Entry(self.root / recipe.key[:2] / recipe.key, info)

    def entries(self) -> list[Entry]:
        """Every entry that can be read, oldest first."""
        paths = sorted(self.root.glob(f"??/*/{INFO}"), key=lambda path: _stat(path, "st_mtime"))
        found = ((path.parent, _read_info(path)) for path in paths)
        return [Entry(path, info) for path, info in found if info is not None]

    def remove(self, entry: Entry) -> None:
        """Delete an entry, once nobody else holds it."""
        remove_held(entry.path, LOCK)


def fact_metadata(facts: Mapping[str, Any]) -> dict[str, str]:
    """What is known of the data behind logits, for the metadata of a file: it can be audited by itself."""
    return {name: json.dumps(facts[name]) for name in FACTS if facts.get(name) is not None}


def export_logits(finished: Path, target: Path, names: Mapping[str, str]) -> None:
    """Copy a finished file of logits, with these names in its metadata: an earlier run may have given it others."""
    try:
        opened = safe_open(finished, framework="np")
    except (OSError, SafetensorError) as error:  # it was whole when the run ended
        raise RunError(
            f"{finished}: is gone or damaged ({first_line(error)}). Run it again: it is made anew."
        ) from error
    with opened as file:
        stored, labels, logits = file.metadata() or {}, file.get_tensor("labels"), file.get_slice("logits")
        if {key: stored[key] for key in FACTS if key in stored} == names:
            with atomic_file(target) as temporary:
                shutil.copyfile(finished, temporary)
            return
        about = {**names, **{key: stored[key] for key in sorted(stored) if key not in (*FACTS, REST)}}
        n_samples, n_classes = logits.get_shape()
        parts = (logits[rows] for rows in row_chunks(n_samples, n_classes))
        write_safetensors(target, parts, n_classes, labels, _sealed(labels, about))


def write_safetensors(
    path: Path,
    parts: Iterable[FloatArray],
    n_columns: int,
    labels: IntArray,
    metadata: Mapping[str, str],
    *,
    name: str = "logits",
) -> None:
    """Write float32 logits (or rows of another ``name``) that come in parts, and labels, without holding the whole.

    Atomically. The library's own writer wants every array in memory. The format is a length, a JSON header and bytes.
    """
    n_rows = len(labels)
    size = 4 * n_rows * n_columns
    header = {
        METADATA: dict(metadata),
        name: {"dtype": "F32", "shape": [n_rows, n_columns], "data_offsets": [0, size]},
        "labels": {"dtype": "I64", "shape": [n_rows], "data_offsets": [size, size + 8 * n_rows]},
    }
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        file.write(begin_file(header))
        for part in parts:
            file.write(np.ascontiguousarray(part, dtype="<f4").tobytes())
        file.write(np.ascontiguousarray(labels, dtype="<i8").tobytes())


def halved_batches(metadata: Mapping[str, str] | None) -> int:
    """How many batches of the model did not fit into memory: what the store notes for each shard, added up.

    >>> halved_batches({HALVED: "[0, 2, 1]"}), halved_batches({})
    (3, 0)
    """
    try:
        counts = json.loads((metadata or {}).get(HALVED, "[]"))
    except (ValueError, RecursionError):
        counts = None
    if not isinstance(counts, list) or not all(isinstance(count, int) and count >= 0 for count in counts):
        raise FileError(f"metadata {HALVED!r} is not a JSON list of counts. It is damaged: make it again.")
    return sum(counts)


def _counts(about: Mapping[str, str]) -> list[int]:
    """How many batches of each shard were halved."""
    return json.loads(about[HALVED]) if HALVED in about else [0] * len(json.loads(about[DIGESTS]))


def _stat(path: Path, name: str) -> float:
    """What the disk says of a file; 0 when another run has just removed it."""
    try:
        return float(getattr(path.stat(), name))
    except FileNotFoundError:
        return 0.0


def _read_info(path: Path) -> dict[str, Any] | None:
    """What an entry says that it holds, or None when that cannot be read, or is about another entry."""
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
        sound = Recipe(**info["recipe"]).key == path.parent.name and {"model", "data", "n"} <= info["about"].keys()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return info if sound else None


def _digest(logits: FloatArray, halved: int) -> str:
    """Of the numbers, and of what says how to read them."""
    digest = hashlib.sha256(f"{logits.dtype.str} {logits.shape} {halved}".encode())
    digest.update(np.ascontiguousarray(logits).data)
    return digest.hexdigest()


def _sealed(labels: IntArray, about: Mapping[str, str]) -> dict[str, str]:
    """Metadata of a finished file, with the checksum of all that stands beside its logits."""
    digest = hashlib.sha256(json.dumps([labels.dtype.str, labels.shape, about], sort_keys=True).encode())
    digest.update(np.ascontiguousarray(labels).data)
    return {**about, REST: digest.hexdigest()}
