"""Three parts of the data without an image in common: one trains, one selects, one judges."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gfscore.arrays import IntArray
from gfscore.inputs.data.base import some_rows
from gfscore.measures import Run
from gfscore.measures.changed_runs import Change
from gfscore.measures.same_images import copies_of

HELD_BYTES = 1 << 30  # of training images as floats that are kept in memory


@dataclass(frozen=True, kw_only=True, eq=False)
class PartOfRun:
    """Some rows of a run: its images as pixels, for the trainer; and a run of its own, for whoever measures."""

    run: Run
    rows: IntArray

    @cached_property
    def labels(self) -> IntArray:
        """True classes."""
        return np.asarray(self.run.data.labels[self.rows])

    def take(self, rows: IntArray) -> Any:
        """Pixels of some of the rows, in any order."""
        return self.run.pixels(self.rows[rows]) if self._pixels is None else self._pixels[rows]

    @cached_property
    def _pixels(self) -> Any:
        """All of them, unless they are many."""
        one = self.run.pixels(self.rows[:1])
        return None if 4 * one.size * len(self.rows) > HELD_BYTES else self.run.pixels(self.rows)

    @property
    def fingerprint(self) -> str:
        """A hash of the images: of the data, and of which rows these are."""
        told = hashlib.sha256(self.run.data.fingerprint.encode())
        told.update(np.asarray(self.rows, dtype="<i8").tobytes())
        return told.hexdigest()

    def as_run(self) -> Run:
        """The model on these rows alone, under a name of their own in the store."""
        data = replace(some_rows(self.run.data, self.rows), digest=lambda: self.fingerprint)
        return replace(self.run, data=data, changes=(*self.run.changes, RowsTaken(rows=self.rows)))

    def mixed(self, seed: int) -> "PartOfRun":
        """The same rows in an order in which classes alternate: the first n of them hold about n / K of each."""
        rng, order = np.random.default_rng([seed, 1]), np.empty(len(self.rows))
        for label in np.unique(self.labels):
            inside = np.flatnonzero(self.labels == label)
            order[inside] = (rng.permutation(len(inside)) + rng.random()) / len(inside)
        return PartOfRun(run=self.run, rows=self.rows[np.argsort(order, kind="stable")])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowsTaken(Change):
    """A run on some of its rows alone."""

    rows: IntArray

    def sent(self) -> dict[str, Any]:
        """The rows."""
        return {"rows": self.rows.tolist()}

    @classmethod
    def received(cls, said: Mapping[str, Any], content: bytes) -> "RowsTaken":
        """What takes the same rows."""
        del content
        return cls(rows=np.array(said["rows"], dtype=np.int64))

    def made(self, run: Run) -> Run:
        """The run on these rows."""
        return PartOfRun(run=run, rows=self.rows).as_run()


def split_rows(run: Run, shares: tuple[float, ...], seed: int) -> list[IntArray]:
    """Rows of each part, ascending: of every class as many as its share says, by the hash of the samples' names.

    No row is in two parts; shares sum to 1.
    """
    labels = run.data.labels
    names = run.data.sample_ids or range(len(labels))
    lots = np.array([_lot(seed, name) for name in names])
    part, ends = np.zeros(len(labels), dtype=np.int64), np.cumsum(shares)[:-1]
    for label in np.unique(labels):
        inside = np.flatnonzero(labels == label)
        places = np.empty(len(inside), dtype=np.int64)
        places[np.argsort(lots[inside], kind="stable")] = np.arange(len(inside))
        part[inside] = np.searchsorted(np.rint(ends * len(inside)), places, side="right")
    return [np.flatnonzero(part == number) for number in range(len(shares))]


def _lot(seed: int, name: object) -> int:
    return int.from_bytes(hashlib.sha256(f"training {seed} {name}".encode()).digest()[:8], "little")


def without_copies(part: PartOfRun, *others: PartOfRun) -> tuple[PartOfRun, int]:
    """The images of a part that are in none of the others, pixel by pixel; and how many were left out."""
    copied = copies_of((part.run, part.rows), *((other.run, other.rows) for other in others))
    return PartOfRun(run=part.run, rows=part.rows[~copied]), int(copied.sum())
