"""Scores that were paid for, row by row, so that a gate that was killed goes on without paying twice.

A file of fixed-size records, only ever appended to: a record that was not written whole, or is damaged, is computed
again. What decides the scores is in the name of its folder; what was asked of them is not.
"""

import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import FloatArray, IntArray
from gfscore.files import cannot_write
from gfscore.inputs.journal import Journal, remove_journals

FOLDER, SCORES = "gate", "scores.bin"
FORMAT = 1
CONTENT = [("row", "<i8"), ("value", "<f8"), ("predicted", "<i8")]
RECORD = np.dtype([*CONTENT, ("checksum", "<u4")])

Score = Callable[[IntArray], tuple[FloatArray, IntArray]]


class ScoreLog(Journal):
    """Local scores and predictions by row; a context in which no other process writes to them."""

    lock = SCORES
    mode = "a+b"

    def __init__(self, root: Path, recipe: Mapping[str, Any]) -> None:
        canonical = json.dumps({"format": FORMAT, **recipe}, sort_keys=True)
        super().__init__(root / FOLDER / hashlib.sha256(canonical.encode()).hexdigest(), recipe)
        self.known: dict[int, tuple[float, int]] = {}
        self.reused = 0  # rows that were asked for and known from an earlier run

    def _begin(self, file: IO[bytes]) -> None:
        self.file = file
        self._read()

    def scoring(self, score: Score) -> Score:
        """The same scores, but each row is computed once, and kept before it is used."""

        def known(rows: IntArray) -> tuple[FloatArray, IntArray]:
            new = np.array([row for row in rows.tolist() if row not in self.known], dtype=np.int64)
            self.reused += len(rows) - len(new)
            if len(new):
                self._add(new, *score(new))
            pairs = [self.known[row] for row in rows.tolist()]
            return np.array([value for value, _ in pairs]), np.array([label for _, label in pairs], dtype=np.int64)

        return known

    def _read(self) -> None:
        """Every sound record; a torn one at the end is cut off, so that the next begins where it should."""
        self.file.seek(0)
        stored = self.file.read()
        whole = len(stored) - len(stored) % RECORD.itemsize
        self.file.truncate(whole)
        records = np.frombuffer(stored[:whole], dtype=RECORD)
        for record in records[records["checksum"] == _checksums(records)].tolist():
            self.known[record[0]] = (record[1], record[2])

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
        for record in records.tolist():
            self.known[record[0]] = (record[1], record[2])


def remove_scores(root: Path) -> int:
    """Delete the scores of all gates below a store, each once nobody adds to it; says of how many."""
    return remove_journals(root, FOLDER, SCORES)


def _checksums(records: NDArray[Any]) -> NDArray[np.uint32]:
    width = RECORD.itemsize - 4
    return np.array([zlib.crc32(record.tobytes()[:width]) for record in records], dtype=np.uint32)
