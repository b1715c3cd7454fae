"""Where the shards of a measure come home to, whoever computed them: rows into the store, summaries into a sum."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np
from safetensors import SafetensorError, safe_open

from gfscore.arrays import FloatArray
from gfscore.errors import RunError, first_line
from gfscore.inputs.protocols import Dataset
from gfscore.measures import Measure, RowMeasure, Run
from gfscore.measures.run import facts_of
from gfscore.measures.summary_files import SumLog
from gfscore.results import RunInfo
from gfscore.storage.store import Entry, Recipe, Store, fact_metadata, halved_batches
from gfscore.summaries import Look, Summary

Progress = Callable[[int, int], None]  # rows done, rows in all
Part = TypeVar("Part")  # of a shard
Whole = TypeVar("Whole")  # of all of them


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """What is to be computed, without the model: a leaderboard of them would not fit into memory."""

    name: str
    recipe: Recipe
    data: Dataset
    about: dict[str, Any]  # for people
    made_by: RunInfo  # what the finished file remembers
    columns: int = 0  # of a row, where rows are kept

    @classmethod
    def of(cls, run: Run, measure: Measure[Any]) -> Self:
        """The plan of a measure of a run."""
        recipe = run.recipe(measure)
        if not isinstance(measure, RowMeasure):
            return cls(name=run.name, recipe=recipe, data=run.data, about={}, made_by=run.about)
        about, columns = measure.about(run), measure.columns(run)
        return cls(name=run.name, recipe=recipe, data=run.data, about=about, made_by=run.about, columns=columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The finished file of a measure that keeps rows."""

    path: Path
    name: str  # of the rows in it

    def rows(self) -> tuple[FloatArray, int]:
        """All of them, and how many batches did not fit into memory when they were computed."""
        try:
            with safe_open(self.path, framework="np") as file:
                return np.asarray(file.get_tensor(self.name)), halved_batches(file.metadata())
        except (OSError, SafetensorError) as error:  # it was whole when it was finished: somebody cleared the store
            raise RunError(
                f"{self.path}: is gone or damaged ({first_line(error)}). Run it again: it is made anew."
            ) from error


class Home(ABC, Generic[Part, Whole]):
    """The home of the shards of one plan, locked by this process: it knows which are missing."""

    def __init__(self, plan: Plan, progress: Progress, missing: Iterable[int]) -> None:
        self.plan, self.missing, self.shards = plan, set(missing), plan.recipe.shards()
        self._progress = progress
        self._done = plan.recipe.n_samples - sum(map(self._rows, self.missing))
        self.report()

    def take(self, shard: int, part: Part, *, halved: int = 0) -> None:
        """Take in a shard. One that is not missing was computed twice, as happens after a loss: it is dropped."""
        if shard not in self.missing:
            return
        n_rows = self._rows(shard)
        self._keep(shard, part, n_rows, halved)
        self.missing.remove(shard)
        self._done += n_rows
        self.report()

    def report(self, on_the_way: int = 0) -> None:
        """Say how many rows are done, and how many of a shard that is under way."""
        self._progress(self._done + on_the_way, self.plan.recipe.n_samples)

    @abstractmethod
    def whole(self) -> Whole:
        """What all shards make, once none is missing."""

    @abstractmethod
    def _keep(self, shard: int, part: Part, n_rows: int, halved: int) -> None:
        """Put a shard where it belongs."""

    def _rows(self, shard: int) -> int:
        rows = self.shards[shard]
        return int(rows.stop - rows.start)


class RowsHome(Home[FloatArray, Stored]):
    """Rows, written to an entry of the store."""

    def __init__(self, plan: Plan, progress: Progress, entry: Entry) -> None:
        missing = entry.missing_shards()
        self._entry, self._complete = entry, missing is None
        super().__init__(plan, progress, missing or ())

    def _keep(self, shard: int, part: FloatArray, n_rows: int, halved: int) -> None:
        expected = (n_rows, self.plan.columns)
        if part.shape != expected:
            raise RunError(f"{self._entry.content} of a shard came with shape {part.shape}, not {expected}.")
        self._entry.write_shard(shard, part, halved=halved)

    def whole(self) -> Stored:
        """The finished file."""
        if not self._complete:
            data = self.plan.data
            self._entry.finish(data.labels, fact_metadata(facts_of(data, self.plan.made_by)))
            self._complete = True
        return Stored(path=self._entry.finished, name=self._entry.content)


class SumHome(Home[Summary, Summary]):
    """Summaries, added up in a log; no array of all samples exists anywhere."""

    def __init__(self, plan: Plan, progress: Progress, log: SumLog) -> None:
        self._log = log
        super().__init__(plan, progress, log.missing)

    def _keep(self, shard: int, part: Summary, n_rows: int, halved: int) -> None:
        del halved  # which the summary knows itself
        if part.n_rows != n_rows:
            raise RunError(f"the summary of a shard came with {part.n_rows} rows, not {n_rows}.")
        self._log.add(shard, part)

    def whole(self) -> Summary:
        """The sum."""
        return self._log.summary


@contextmanager
def rows_home(plan: Plan, store: Store, progress: Progress, *, wait: bool = True) -> Iterator[RowsHome]:
    """The entry of a plan in the store, which no other process writes to meanwhile."""
    entry = store.entry(plan.recipe, plan.about)
    with entry.hold(or_read=True, wait=wait):
        yield RowsHome(plan, progress, entry)


@contextmanager
def sum_home(plan: Plan, store: Store, progress: Progress, look: Look, *, wait: bool = True) -> Iterator[SumHome]:
    """The sum of a plan in the store, which no other process adds to meanwhile."""
    with SumLog(store.root, plan.recipe, look, class_names=plan.data.class_names).open(wait=wait) as log:
        yield SumHome(plan, progress, log)
