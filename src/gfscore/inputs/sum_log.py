"""What a stream has added up so far, so that one that was killed goes on where it was.

One small file, replaced whole now and then: the sum of all shards that were summarised, and which these are. Summaries
add up exactly, so the end is the same however often a run was interrupted.
"""

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from gfscore.errors import FileError
from gfscore.files import replacing
from gfscore.inputs.journal import Journal, remove_journals
from gfscore.inputs.safetensors_file import metadata_of
from gfscore.inputs.store import Recipe
from gfscore.inputs.summary_files import summary_from_bytes, summary_to_bytes
from gfscore.summaries import Look, Summary, Tally

FOLDER, SUM = "sums", "sum.safetensors"
EVERY = 30.0  # seconds of work that a run which is killed may lose


class SumLog(Journal):
    """A sum of summaries, shard by shard, to ``look`` at after each; a context in which no other process adds to it."""

    files = (SUM,)

    def __init__(
        self,
        root: Path,
        recipe: Recipe,
        look: Look = lambda _so_far: None,
        *,
        class_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(root / FOLDER / recipe.key, recipe.as_dict())
        self.recipe = recipe
        self.class_names = class_names  # of this run: names decide no number, and an earlier run may have had others
        self._tally, self._shards, self._saved = Tally(), set[int](), 0.0
        self._adding = False  # the sum may hold a part of a shard that is not among its shards
        self._look = look

    def _begin(self, file: IO[bytes]) -> None:
        del file  # the lock says nothing
        self._read()
        self._saved = time.monotonic()

    def _end(self) -> None:
        self._save()

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
        if time.monotonic() - self._saved > EVERY:
            self._save()
        self._look(self._tally)

    def _save(self) -> None:
        if self._adding or not self._shards:
            return
        content = summary_to_bytes(self.summary)
        shards = np.array(sorted(self._shards), dtype=np.int64)
        arrays: dict[str, NDArray[Any]] = {"summary": np.frombuffer(content, dtype=np.uint8), "shards": shards}
        metadata = {"sha256": _digest(content, shards.tobytes())}
        with replacing(self.path / SUM) as temporary:
            temporary.write_bytes(save(arrays, metadata=metadata))
        self._saved = time.monotonic()

    def _read(self) -> None:
        """What an earlier run left; a file that is damaged, or of other rows than its shards have, counts as none."""
        try:
            stored = (self.path / SUM).read_bytes()
            metadata, arrays = metadata_of(stored), load(stored)
            content, shards = arrays["summary"].tobytes(), arrays["shards"]
            if metadata["sha256"] != _digest(content, shards.tobytes()):
                return
            summary, in_it = summary_from_bytes(content), set(shards.tolist())
            rows = self.recipe.shards()
            if summary.n_samples != sum(rows[shard].stop - rows[shard].start for shard in in_it):
                return
        except (OSError, SafetensorError, FileError, ValueError, KeyError, TypeError, IndexError):
            return
        self._tally.add(summary.named(self.class_names))
        self._shards = in_it


def remove_sums(root: Path) -> int:
    """Delete the sums of all streams below a store, each once nobody adds to it; says of how many."""
    return remove_journals(root, FOLDER)


def _digest(content: bytes, shards: bytes) -> str:
    return hashlib.sha256(content + shards).hexdigest()
