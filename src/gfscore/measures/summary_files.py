"""Summaries in files, and the sum of a stream: safetensors, so no pickle, and small numbers take little room."""

import hashlib
import json
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load

from gfscore.arrays import IntArray
from gfscore.errors import FileError, first_line, naming
from gfscore.probabilities import RowSums
from gfscore.score_grid import N_BINS, N_BLOCKS, N_CELLS
from gfscore.scores import RadiusCounts
from gfscore.storage.addresses import redact
from gfscore.storage.array_bytes import LENGTH_BYTES, METADATA, array_bytes
from gfscore.storage.copies import to_read
from gfscore.storage.files import atomic_file, refuse_unreadable
from gfscore.storage.journals import Journal, remove_journals
from gfscore.storage.object_stores import to_write
from gfscore.storage.store import Recipe
from gfscore.summaries import COLUMNS, Look, ScoreKind, Summary, Tally

FORMAT = "gfscore.summary/2"
UNDEALT = "gfscore.summary/1"  # counts of all blocks together: no interval that holds for every seed comes from them
ARRAYS = ("cells", "cell_counts", "sums", "confusions", "confusion_counts")
ABOVE = "above"  # counts of radii, of scores that are such
SUMS_FOLDER, SUM = "sums", "sum.safetensors"
SAVED_EVERY = 30.0  # seconds of work that a run which is killed may lose
DAMAGED = (SafetensorError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError)


def write_summary(path: str | Path, summary: Summary) -> None:
    """Write a summary, whole or not at all."""
    with atomic_file(to_write(path)) as temporary:
        temporary.write_bytes(summary_to_bytes(summary))


def read_summary(path: str | Path) -> Summary:
    """Read what :func:`write_summary` wrote."""
    path = to_read(path)
    with naming(redact(path)):
        refuse_unreadable(path)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise FileError(f"cannot be read ({error.strerror}). Check the path.") from error
        return summary_from_bytes(content)


def summary_to_bytes(summary: Summary) -> bytes:
    """The contents of a summary file."""
    about = {
        "kind": asdict(summary.kind),
        "partition": summary.partition,
        "names": summary.names,
        "class_names": summary.class_names,
        "columns": COLUMNS,
        "bins": N_BINS,
        "blocks": N_BLOCKS,
        "seed": summary.seed,
        "value_range": summary.value_range,
        "row_sums": None if summary.row_sums is None else asdict(summary.row_sums),
        "halved_batches": summary.halved_batches,
    }
    arrays = {name: _small(getattr(summary, name)) for name in ARRAYS}
    if summary.kind.norm is None:
        about["kind"] = {name: value for name, value in asdict(summary.kind).items() if name != "norm"}
    if (radii := summary.radii) is not None:
        arrays[ABOVE] = _small(radii.above)
        said = {name: getattr(radii, name) for name in ("norm", "eps", "ladder", "settings", "rows", "totals")}
        about["radii"] = {**said, "changes": radii.changes.tolist()}
    text = json.dumps(about)
    return array_bytes(arrays, {"format": FORMAT, "about": text, "checksum": _checksum(text, arrays)})


def summary_from_bytes(content: bytes) -> Summary:
    """A summary from the contents of its file, once everything in it was found to fit together."""
    try:
        metadata = _metadata(content)
        if metadata.get("format") == UNDEALT:
            raise FileError(
                f"has format {UNDEALT!r}, whose samples were not dealt into blocks when they were counted. "
                "Summarise again."
            )
        if metadata.get("format") != FORMAT:
            raise FileError(f"has format {metadata.get('format')!r}; this version reads {FORMAT!r}. Summarise again.")
        about, arrays = json.loads(metadata["about"]), load(content)
        if (tuple(about["columns"]), about["bins"], about["blocks"]) != (COLUMNS, N_BINS, N_BLOCKS):
            raise FileError("holds other sums than this version makes. Summarise again.")
        summary = Summary(
            kind=ScoreKind(**about["kind"]),
            partition=str(about["partition"]),
            names=tuple(map(str, about["names"])),
            class_names=tuple(map(str, about["class_names"])),
            value_range=(float(about["value_range"][0]), float(about["value_range"][1])),
            row_sums=None if about["row_sums"] is None else RowSums.restore(about["row_sums"]),
            seed=int(about["seed"]),
            halved_batches=int(about["halved_batches"]),
            radii=_read_radii(about["radii"], arrays[ABOVE]) if "radii" in about else None,
            **{name: _whole(arrays[name]) for name in ARRAYS},
        )
        checksum = _checksum(metadata["about"], arrays)
    except FileError:
        raise
    except DAMAGED as error:
        raise FileError(f"is no summary, or is damaged ({first_line(error)}). Summarise again.") from error
    _check(summary)
    if metadata.get("checksum") != checksum:
        raise FileError("does not have the checksum that it was written with. It is damaged: summarise again.")
    return summary


def _checksum(about: str, arrays: Mapping[str, Any]) -> str:
    """Of everything in the file: sums look right with a digit that is wrong."""
    total = zlib.crc32(about.encode())
    for name in (*ARRAYS, *((ABOVE,) if ABOVE in arrays else ())):
        total = zlib.crc32(f"{name} {arrays[name].dtype.str} {arrays[name].shape}".encode(), total)
        total = zlib.crc32(np.ascontiguousarray(arrays[name]).data, total)
    return f"{total:08x}"


def _small(array: IntArray) -> Any:
    """In the smallest type that holds it: most counts of a piece are small."""
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


def _whole(array: Any) -> IntArray:
    if array.dtype.kind != "u":
        raise ValueError(f"numbers of type {array.dtype}")
    return np.asarray(array.astype(np.int64))


def _read_radii(about: Mapping[str, Any], above: Any) -> RadiusCounts:
    eps, ladder = about["eps"], tuple(map(float, about["ladder"]))
    totals = {str(name): int(value) for name, value in about["totals"].items()}
    totals["samples"] += 0  # without it nothing is known
    return RadiusCounts(
        norm=str(about["norm"]),
        eps=None if eps is None else float(eps),
        ladder=ladder,
        settings=dict(about["settings"]),
        rows=int(about["rows"]),
        above=_whole(above),
        totals=totals,
        changes=np.array([float(change) for change in about["changes"]]),
    )


def _check(summary: Summary) -> None:
    """Refuse numbers that no samples have: keys out of order or out of range, and counts that disagree."""
    n_parts, n_classes = len(summary.names), len(summary.class_names)
    kind = summary.kind
    sound = (
        summary.partition in ("class", "group")
        and (summary.partition == "group" or summary.names == summary.class_names)
        and len(set(summary.names)) == n_parts
        and 0 < float(kind.maximum) < np.inf
        and summary.seed >= 0
        and summary.sums.shape == (n_parts, len(COLUMNS))
        and (summary.sums >= 0).all()
        and _keys_fit(summary.cells, summary.cell_counts, n_parts * N_CELLS)
        and _keys_fit(summary.confusions, summary.confusion_counts, n_parts * n_classes)
    )
    if not sound or not _adds_up(summary):
        raise FileError("holds sums that no samples have. It is damaged: summarise again.")


def _keys_fit(keys: IntArray, counts: IntArray, limit: int) -> bool:
    return bool(
        keys.ndim == 1
        and keys.shape == counts.shape
        and (counts > 0).all()
        and (np.diff(keys) > 0).all()
        and (keys < limit).all()
        and (keys >= 0).all()
    )


def _adds_up(summary: Summary) -> bool:
    """Each part has as many samples as correct ones and mistakes, and no more in one half than in all."""
    counts = summary.counts
    mistakes = np.zeros_like(counts)
    np.add.at(mistakes, summary.confusions // len(summary.class_names), summary.confusion_counts)
    halves = summary.column("half_count") <= counts
    if (radii := summary.radii) is not None:
        if radii.above.shape != (len(counts), len(radii.ladder)):
            return False
        falling = (np.diff(np.column_stack([counts, radii.above]), axis=1) <= 0).all()  # fewer above a larger eps
        if not falling or radii.n_samples != counts.sum() or radii.rows < radii.n_samples:
            return False
    return bool((summary.column("correct") + mistakes == counts).all() and halves.all())


class SumLog(Journal):
    """What a stream has added up so far, to ``look`` at after each shard: one that was killed goes on where it was.

    One small file, replaced whole now and then: the sum of all shards that were summarised, and which these are.
    Summaries add up exactly, so the end is the same however often a run was interrupted.
    """

    files = (SUM,)

    def __init__(
        self, root: Path, recipe: Recipe, look: Look = lambda _: None, *, class_names: Sequence[str] | None = None
    ) -> None:
        super().__init__(root / SUMS_FOLDER / recipe.key, recipe.as_dict())
        self.recipe = recipe
        self.class_names = class_names  # of this run: names decide no number, and an earlier run may have had others
        self._tally, self._shards, self._saved = Tally(), set[int](), 0.0
        self._adding = False  # the sum may hold a part of a shard that is not among its shards
        self._look = look

    @contextmanager
    def open(self, *, wait: bool = True) -> Iterator[Self]:
        """Go on from what an earlier run left, and leave what there is in the end."""
        with self.hold(wait=wait):
            self._read()
            self._saved = time.monotonic()
            try:
                yield self
            finally:
                self._save()

    def shards_there(self) -> list[int]:
        """The shards of the sum that an earlier run left, without holding it."""
        self._read()
        return sorted(self._shards)

    @property
    def missing(self) -> list[int]:
        """The shards that are not in the sum yet."""
        return [shard for shard in range(len(self.recipe.shards())) if shard not in self._shards]

    @property
    def summary(self) -> Summary:
        """The sum."""
        return self._tally.summary()

    def add(self, shard: int, summary: Summary) -> None:
        """Take in a shard that is missing. Ctrl-C in between leaves the file as it was: no shard counts twice."""
        self._adding = True
        self._tally.add(summary)
        self._shards.add(shard)
        self._adding = False
        if time.monotonic() - self._saved > SAVED_EVERY:
            self._save()
        self._look(self._tally)

    def _save(self) -> None:
        if self._adding or not self._shards:
            return
        content = summary_to_bytes(self.summary)
        shards = np.array(sorted(self._shards), dtype=np.int64)
        arrays: dict[str, NDArray[Any]] = {"summary": np.frombuffer(content, dtype=np.uint8), "shards": shards}
        metadata = {"sha256": _digest(content, shards.tobytes())}
        with atomic_file(self.path / SUM) as temporary:
            temporary.write_bytes(array_bytes(arrays, metadata))
        self._saved = time.monotonic()

    def _read(self) -> None:
        """What an earlier run left; a file that is damaged, or of other rows than its shards have, counts as none."""
        try:
            stored = (self.path / SUM).read_bytes()
            metadata, arrays = _metadata(stored), load(stored)
            content, shards = arrays["summary"].tobytes(), arrays["shards"]
            if metadata["sha256"] != _digest(content, shards.tobytes()):
                return
            summary, in_it = summary_from_bytes(content), set(shards.tolist())
            rows = self.recipe.shards()
            if summary.n_rows != sum(rows[shard].stop - rows[shard].start for shard in in_it):
                return
        except (OSError, SafetensorError, FileError, ValueError, KeyError, TypeError, IndexError):
            return
        self._tally.add(summary.named(self.class_names))
        self._shards = in_it


def remove_sums(root: Path) -> int:
    """Delete the sums of all streams below a store, each once nobody adds to it; says of how many."""
    return remove_journals(root, SUMS_FOLDER)


def _digest(content: bytes, shards: bytes) -> str:
    return hashlib.sha256(content + shards).hexdigest()


def _metadata(content: bytes) -> dict[str, str]:
    """The metadata of a file by its contents; the library reads them from files alone."""
    length = int.from_bytes(content[:LENGTH_BYTES], "little")
    return dict(json.loads(content[LENGTH_BYTES : LENGTH_BYTES + length]).get(METADATA) or {})
