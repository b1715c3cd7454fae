"""Where the shards that workers computed come home to: logits into the store, summaries into a sum."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gfscore.engines.local import Progress, finish, missing_shards
from gfscore.engines.workers import Job, logits_from_bytes
from gfscore.errors import RunError
from gfscore.inputs.protocols import Dataset
from gfscore.inputs.store import Entry
from gfscore.inputs.sum_log import SumLog
from gfscore.inputs.summary_files import summary_from_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A shard that a worker computed."""

    job: int
    shard: int
    content: bytes
    halved: int = 0  # batches that did not fit into its memory


class Home(ABC):
    """The home of one job's shards: it knows which are missing."""

    def __init__(self, job: Job, progress: Progress, missing: Iterable[int]) -> None:
        self.job, self.missing = job, set(missing)
        self._progress, self._shards = progress, job.recipe.shards()
        self._done = job.recipe.n_samples - sum(map(self._rows, self.missing))
        self._report()

    def take(self, answer: Answer) -> None:
        """Take in a shard. One that is not missing was computed twice, as happens after a loss: it is dropped."""
        if answer.shard not in self.missing:
            return
        n_rows = self._rows(answer.shard)
        self._keep(answer, n_rows)
        self.missing.remove(answer.shard)
        self._done += n_rows
        self._report()

    @abstractmethod
    def _keep(self, answer: Answer, n_rows: int) -> None:
        """Put a shard where it belongs."""

    def _rows(self, shard: int) -> int:
        rows = self._shards[shard]
        return int(rows.stop - rows.start)

    def _report(self) -> None:
        self._progress(self._done, self.job.recipe.n_samples)


class StoreHome(Home):
    """Logits, written to an entry of the store that is locked by this process."""

    def __init__(self, job: Job, progress: Progress, entry: Entry, data: Dataset) -> None:
        missing = missing_shards(entry, job.recipe)
        self._entry, self._data, self._complete = entry, data, missing is None
        super().__init__(job, progress, missing or ())

    def _keep(self, answer: Answer, n_rows: int) -> None:
        logits = logits_from_bytes(answer.content)
        if logits.shape != (n_rows, self.job.n_classes):
            raise RunError(f"a worker sent logits of shape {logits.shape}, not {(n_rows, self.job.n_classes)}.")
        self._entry.write_shard(answer.shard, logits, halved=answer.halved)

    def finished(self) -> Path:
        """The logits file, once nothing is missing."""
        if not self._complete:
            finish(self._entry, self.job.recipe, self._data)
            self._complete = True
        return self._entry.finished


class SumHome(Home):
    """Summaries, added up in a log that is locked by this process; no array of all samples exists anywhere."""

    def __init__(self, job: Job, progress: Progress, log: SumLog) -> None:
        self.log = log
        super().__init__(job, progress, log.missing)

    def _keep(self, answer: Answer, n_rows: int) -> None:
        summary = summary_from_bytes(answer.content)
        if summary.n_samples != n_rows:
            raise RunError(f"a worker sent a summary of {summary.n_samples} samples, not {n_rows}.")
        self.log.add(answer.shard, summary)
