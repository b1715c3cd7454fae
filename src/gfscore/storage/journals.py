"""A folder that one process at a time works on: locked, swept of what killed runs left, and labelled with what it is.

Entries of the store, scores of adaptive gates and sums of streams are such folders. Each is named by the hash of what
decides its contents, says so in a label for people, and is deleted only once nobody holds it.
"""

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import FloatArray, IntArray
from gfscore.storage.files import cannot_write, hold_file, remove_held, sweep, write_text

LOCK = "lock"
SCORES_FOLDER, SCORES = "gate", "scores.bin"
SCORES_FORMAT = 1
RECORD = np.dtype([("row", "<i8"), ("value", "<f8"), ("predicted", "<i8"), ("checksum", "<u4")])

Score = Callable[[IntArray], tuple[FloatArray, IntArray]]


class Journal:
    """One such folder."""

    label: ClassVar[str] = "about.json"
    lock: ClassVar[str] = LOCK  # the file that is held
    mode: ClassVar[str] = "r+b"  # in which that file is opened
    files: ClassVar[tuple[str, ...]] = ()  # names, or patterns, of what is written beside it

    def __init__(self, path: Path, info: Mapping[str, Any]) -> None:
        self.path = path
        self.info = info  # what the label says

    @contextmanager
    def hold(self, *, or_read: bool = False, wait: bool = True) -> Iterator[IO[bytes]]:
        """The lock of the folder, which is made where it is missing; a second process waits here.

        The lock ends with the process, however it ends. ``or_read``: a folder that may only be read will do. Without
        ``wait`` a folder that another process holds is a :class:`BlockingIOError`.
        """
        with hold_file(self.path / self.lock, self.mode, or_read=or_read, wait=wait) as file:
            sweep(self.path, self.label, *self.files)
            if not self.is_labelled():
                write_text(self.path / self.label, json.dumps(self.info, indent=1) + "\n")
            yield file

    def is_labelled(self) -> bool:
        """Whether the folder says what it is."""
        return (self.path / self.label).exists()


def remove_journals(root: Path, folder: str, lock: str = LOCK) -> int:
    """Delete all folders of one kind below a store, each once nobody works on it; says how many there were."""
    found = [path.parent for path in root.glob(f"{folder}/*/{lock}")]
    for path in found:
        remove_held(path, lock)
    return len(found)


class ScoreLog(Journal):
    """Scores and predictions that were paid for, by row: a gate that was killed goes on without paying twice.

    A file of fixed-size records, only ever appended to: a record that was not written whole, or is damaged, is computed
    again. What decides the scores is in the name of its folder; what was asked of them is not.
    """

    lock = SCORES
    mode = "a+b"

    def __init__(self, root: Path, recipe: Mapping[str, Any]) -> None:
        canonical = json.dumps({"format": SCORES_FORMAT, **recipe}, sort_keys=True)
        super().__init__(root / SCORES_FOLDER / hashlib.sha256(canonical.encode()).hexdigest(), recipe)
        self.known: dict[int, tuple[float, int]] = {}
        self.reused = 0  # rows that were asked for and known from an earlier run

    @contextmanager
    def open(self) -> Iterator[Self]:
        """Know every sound record; a torn one at the end is cut off, so that the next begins where it should."""
        with self.hold() as file:
            self.file = file
            file.seek(0)
            stored = file.read()
            whole = len(stored) - len(stored) % RECORD.itemsize
            file.truncate(whole)
            records = np.frombuffer(stored[:whole], dtype=RECORD)
            self._know(records[records["checksum"] == _checksums(records)])
            yield self

    def remember(self, score: Score) -> Score:
        """The scores, each row of which is computed once, and kept before it is used."""

        def known(rows: IntArray) -> tuple[FloatArray, IntArray]:
            new = np.array([row for row in rows.tolist() if row not in self.known], dtype=np.int64)
            self.reused += len(rows) - len(new)
            if len(new):
                self._add(new, *score(new))
            pairs = [self.known[row] for row in rows.tolist()]
            return np.array([value for value, _ in pairs]), np.array([label for _, label in pairs], dtype=np.int64)

        return known

    def _add(self, rows: IntArray, values: FloatArray, predicted: IntArray) -> None:
        records = np.empty(len(rows), dtype=RECORD)
        records["row"], records["value"], records["predicted"] = rows, values, predicted
        records["checksum"] = _checksums(records)
        left = records.tobytes()
        try:
            while left:  # an unbuffered file may take a part
                left = left[self.file.write(left) :]
        except OSError as error:
            raise cannot_write(self.path / SCORES, error, begun=True) from error
        self._know(records)

    def _know(self, records: NDArray[Any]) -> None:
        self.known.update((row, (value, predicted)) for row, value, predicted, _ in records.tolist())


def remove_scores(root: Path) -> int:
    """Delete the scores of all gates below a store, each once nobody adds to it; says of how many."""
    return remove_journals(root, SCORES_FOLDER, SCORES)


def _checksums(records: NDArray[Any]) -> NDArray[np.uint32]:
    width = RECORD.itemsize - 4
    return np.array([zlib.crc32(record.tobytes()[:width]) for record in records], dtype=np.uint32)
