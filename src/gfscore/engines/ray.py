"""Any measure on a Ray cluster: one pool of workers for everything a command asks, into the same store as a local run.

This process plans, holds the locks and writes every shard; workers compute, and know nothing of the store.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from gfscore.arrays import FloatArray, IntArray
from gfscore.engines.filling import Gathering, ListRows, Picking, Shards
from gfscore.engines.homes import Home, Plan, Progress, Stored, rows_home, sum_home
from gfscore.engines.loading import Loading
from gfscore.engines.pool import Cluster, Pool
from gfscore.engines.workers import Job
from gfscore.errors import ModelError, naming
from gfscore.inputs.probes import to_bytes
from gfscore.measures import Measure, RowMeasure, Run, Sums
from gfscore.measures.changed_runs import pack_changes
from gfscore.measures.row_lists import ListMeasure
from gfscore.measures.sending import to_plain
from gfscore.summaries import Look, Summary

AHEAD = 3  # models that are begun while one is waited for

Part = TypeVar("Part")
Whole = TypeVar("Whole")
Tell = Callable[[str], None]
_command: ContextVar["_Command | None"] = ContextVar("pools", default=None)


class _Command:
    """The pools of a command, and where it says how they are."""

    def __init__(self, tell: Tell) -> None:
        self.tell, self.pools = tell, dict[Any, Pool]()


@contextmanager
def one_cluster(tell: Tell = lambda _text: None) -> Iterator[None]:
    """Let everything within share one cluster of each kind, which ends with it; ``tell`` hears of workers and nodes."""
    if _command.get() is not None:  # a command that another one calls
        yield
        return
    command = _Command(tell)
    token = _command.set(command)
    try:
        yield
        for pool in command.pools.values():
            pool.end()
    finally:
        _command.reset(token)
        for pool in command.pools.values():
            pool.kill()


def pool_of(cluster: Cluster, how: Loading) -> Pool:
    """The pool of workers of this command; where none is under way, one that ends with whoever holds it."""
    how = replace(how, threads=how.threads or 1, gpu=cluster.gpus_per_actor > 0)
    command = _command.get()
    if command is None:
        return Pool(cluster, how)
    key = (cluster, repr(how))
    if key not in command.pools:
        command.pools[key] = Pool(cluster, how, command.tell)
    return command.pools[key]


@dataclass(frozen=True, slots=True)
class OnRay:
    """The engine of a run whose model and data workers open by their specs."""

    pool: Pool
    model: str | Path
    data: str
    ahead: int = AHEAD

    def measured(self, run: Run, measure: RowMeasure, progress: Progress) -> Stored:
        """What :func:`~gfscore.engines.local.measured` does, and in the same entries of the store."""
        return cast("Stored", self._whole(self._filling(run, measure, progress)))

    def summed(self, run: Run, measure: Sums, progress: Progress, look: Look) -> Summary:
        """What :func:`~gfscore.engines.local.summed` does, and in the same places of the store; no logits are sent."""
        return cast("Summary", self._whole(self._filling(run, measure, progress, look)))

    def begin(
        self, run: Run, measure: Measure[Any], progress: Progress, look: Look, then: Callable[[Any], None] | None
    ) -> None:
        """Begin with what will be asked for, unless another process works on it already."""
        try:
            filling = self._filling(run, measure, progress, look, wait=False)
        except BlockingIOError:  # whoever asks will wait for it
            return
        filling.then = then
        self.pool.settle(filling)

    @contextmanager
    def shard_by_shard(
        self, run: Run, measure: RowMeasure, sure: Sequence[int]
    ) -> Iterator[Callable[[int], tuple[FloatArray, bool]]]:
        """What :func:`~gfscore.engines.local.shard_by_shard` does, with as many shards at once as there are workers.

        Those that follow the one that is asked for are computed too, and kept, whether or not somebody needs them.
        """
        there = self._there(run)
        plan = Plan.of(there, measure)
        entry = run.store.entry(plan.recipe, plan.about)
        with ExitStack() as lock:
            self._locked(lock, lambda wait: entry.hold(or_read=True, wait=wait))
            picked = Picking(job=self._job(there, measure), measure=measure, entry=entry, sure=sure)
            lock.callback(self.pool.drop, picked)
            self.pool.add(picked)

            def give(shard: int) -> tuple[FloatArray, bool]:
                for soon in range(shard, shard + self.pool.workers):
                    picked.want(soon)
                if not picked.is_wanted(shard):
                    return cast("tuple[FloatArray, int]", entry.read_shard(shard))[0], True
                self.pool.wait_for(picked, until=lambda: picked.is_there(shard))
                return picked.give(shard), False

            yield give

    def gathered(self, run: Run, measure: ListMeasure[Part], rows: IntArray, progress: Progress) -> list[Part]:
        """What is found in each piece of a list of rows, in their order."""
        there = self._there(run)
        pieces = ListRows(measure=measure, pieces=measure.pieces(run, rows), progress=progress)
        filling = Gathering(job=self._job(there, measure), rows=pieces)
        self.pool.add(filling)
        self.pool.wait_for(filling)
        return filling.whole()

    def _there(self, run: Run) -> Run:
        if run.model.fingerprint is None:
            with naming(run.name):
                raise ModelError("has no fingerprint, so a worker cannot tell whether it has the same. Run it locally.")
        run.refuse_changed()
        return replace(run, gpu=self.pool.cluster.gpus_per_actor > 0, engine=None)

    def _job(self, run: Run, measure: Any) -> Job:
        changes, content = pack_changes(run.changes)
        return Job(
            model=str(self.model),
            data=str(self.data),
            parts=run.parts(),
            probe=to_bytes(run.check().probe).hex(),
            measure=to_plain(measure),
            changes=changes,
            content=content,
        )

    def _filling(
        self,
        run: Run,
        measure: Measure[Any],
        progress: Progress,
        look: Look = lambda _so_far: None,
        *,
        wait: bool = True,
    ) -> Shards[Any, Any]:
        """What is under way already, or begins now."""
        there = self._there(run)
        plan = Plan.of(there, measure)
        known = self.pool.known(plan.recipe.key)
        if known is not None:
            return known

        def home(wait: bool) -> AbstractContextManager[Home[Any, Any]]:
            if isinstance(measure, RowMeasure):
                return rows_home(plan, run.store, progress, wait=wait)
            return sum_home(plan, run.store, progress, look, wait=wait)

        job, lock = self._job(there, measure), ExitStack()
        opened = self._locked(lock, home, wait=wait)
        filling = Shards(job=job, key=plan.recipe.key, measure=measure, home=opened, lock=lock)
        self.pool.add(filling)
        return filling

    def _locked(
        self, lock: ExitStack, hold: Callable[[bool], AbstractContextManager[Whole]], *, wait: bool = True
    ) -> Whole:
        """What ``hold`` gives; a lock that others hold is waited for only once this process holds no other.

        So two processes never wait for each other.
        """
        try:
            return lock.enter_context(hold(False))
        except BlockingIOError:
            if not wait:
                raise
        self.pool.finish_all()
        return lock.enter_context(hold(True))

    def _whole(self, filling: Shards[Any, Any]) -> Any:
        self.pool.wait_for(filling)
        return filling.whole()
