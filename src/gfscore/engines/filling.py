"""What is asked of a pool of workers and not all there yet: shards on their way to a home, pieces of a list of rows."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from gfscore.arrays import FloatArray, IntArray
from gfscore.engines.homes import Home, Progress
from gfscore.engines.workers import Job
from gfscore.errors import GFScoreError
from gfscore.measures import Measure, RowMeasure
from gfscore.measures.row_lists import ListMeasure
from gfscore.storage.store import Entry

Part = TypeVar("Part")
Whole = TypeVar("Whole")


class Filling(ABC):
    """Parts that workers compute, by their numbers."""

    def __init__(self, job: Job, todo: Sequence[int], key: str | None = None) -> None:
        self.job, self.key = job, key
        self.todo = deque(todo)  # that no worker was asked for yet
        self.error: GFScoreError | None = None  # then nothing more is asked for
        self.number: int | None = None  # by which workers know the job

    @property
    @abstractmethod
    def is_full(self) -> bool:
        """Whether nothing is missing."""

    @abstractmethod
    def message(self, part: int) -> tuple[dict[str, Any], bytes]:
        """Which rows a part is of, and what a worker must know of them."""

    @abstractmethod
    def take(self, part: int, content: bytes, halved: int) -> None:
        """Take in what a worker computed."""

    def close(self) -> None:  # noqa: B027 (most hold nothing)
        """Let go of what is held."""

    def fail(self, error: GFScoreError) -> None:
        """Note why nothing more will come."""
        self.error = error
        self.todo.clear()
        self.close()


class Shards(Filling, Generic[Part, Whole]):
    """The shards of a measure, on their way to a home that this process has locked."""

    def __init__(self, *, job: Job, key: str, measure: Measure[Part], home: Home[Part, Whole], lock: ExitStack) -> None:
        super().__init__(job, sorted(home.missing), key)
        self._measure, self._home, self._lock = measure, home, lock
        self._whole: Whole | None = None
        self.then: Callable[[Whole], None] | None = None

    @property
    def is_full(self) -> bool:
        """Whether nothing is missing from the home."""
        return not self._home.missing

    def message(self, part: int) -> tuple[dict[str, Any], bytes]:
        """The rows of a shard."""
        rows = self._home.shards[part]
        return {"start": rows.start, "stop": rows.stop}, self._measure.payload(rows)

    def take(self, part: int, content: bytes, halved: int) -> None:
        """Bring a shard home."""
        self._home.take(part, self._measure.from_bytes(content), halved=halved)

    def whole(self) -> Whole:
        """What all shards make; the lock is let go of."""
        if self._whole is None:
            self._whole = self._home.whole()
            self._lock.close()
        return self._whole

    def close(self) -> None:
        """Let go of the lock."""
        self._lock.close()


class Picking(Filling):
    """Some shards of an entry of the store that this process has locked: those that are sure, and those picked."""

    def __init__(self, *, job: Job, measure: RowMeasure, entry: Entry, sure: Sequence[int]) -> None:
        self._measure, self._entry = measure, entry
        self._given = dict[int, FloatArray]()
        self._wanted, self._is_over = set[int](), False
        super().__init__(job, [])
        for shard in sure:
            self.want(shard)

    @property
    def is_full(self) -> bool:
        """Whether nobody picks any more."""
        return self._is_over

    def want(self, shard: int) -> None:
        """Ask for a shard, unless it is there, on its way, or does not exist."""
        if shard in self._wanted or shard >= len(self._entry.shards) or self._entry.read_shard(shard) is not None:
            return
        self._wanted.add(shard)
        self.todo.append(shard)

    def is_wanted(self, shard: int) -> bool:
        """Whether a shard was not there when it was first asked for."""
        return shard in self._wanted

    def is_there(self, shard: int) -> bool:
        """Whether a shard that was asked for has come."""
        return shard in self._given

    def give(self, shard: int) -> FloatArray:
        """A shard that has come."""
        return self._given[shard]

    def message(self, part: int) -> tuple[dict[str, Any], bytes]:
        """The rows of a shard."""
        rows = self._entry.shards[part]
        return {"start": rows.start, "stop": rows.stop}, self._measure.payload(rows)

    def take(self, part: int, content: bytes, halved: int) -> None:
        """Keep a shard; once it is over, nobody holds the lock any more."""
        if not self._is_over:
            self._given[part] = self._measure.from_bytes(content)
            self._entry.write_shard(part, self._given[part], halved=halved)

    def close(self) -> None:
        """Pick no more."""
        self._is_over = True
        self.todo.clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRows(Generic[Part]):
    """A list of rows, cut into pieces."""

    measure: ListMeasure[Part]
    pieces: list[IntArray]
    progress: Progress

    def report(self, parts: dict[int, Part]) -> None:
        """Say how many rows are done."""
        self.progress(sum(len(self.pieces[part]) for part in parts), sum(map(len, self.pieces)))


class Gathering(Filling, Generic[Part]):
    """Pieces of a list of rows, which are kept in memory."""

    def __init__(self, *, job: Job, rows: ListRows[Part]) -> None:
        super().__init__(job, range(len(rows.pieces)))
        self._rows, self._parts = rows, dict[int, Part]()

    @property
    def is_full(self) -> bool:
        """Whether all pieces are there."""
        return len(self._parts) == len(self._rows.pieces)

    def message(self, part: int) -> tuple[dict[str, Any], bytes]:
        """The rows of a piece."""
        rows = self._rows.pieces[part]
        return {"list": rows.tolist()}, self._rows.measure.payload(rows)

    def take(self, part: int, content: bytes, halved: int) -> None:
        """Keep a piece."""
        del halved  # of what nobody stores
        self._parts[part] = self._rows.measure.from_bytes(content)
        self._rows.report(self._parts)

    def whole(self) -> list[Part]:
        """All pieces in their order."""
        return [self._parts[part] for part in range(len(self._rows.pieces))]
