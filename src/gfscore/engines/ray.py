"""Any measure on a Ray cluster: one pool of workers for everything a command asks, into the same store as a local run.

This process plans, holds the locks and writes every shard; workers compute, and know nothing of the store.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from gfscore.arrays import IntArray
from gfscore.engines.filling import Gathering, ListRows, Shards
from gfscore.engines.homes import Home, Plan, Progress, Stored, rows_home, sum_home
from gfscore.engines.loading import Loading
from gfscore.engines.pool import Cluster, Pool
from gfscore.engines.workers import Job
from gfscore.errors import ModelError, naming
from gfscore.inputs.probes import to_bytes
from gfscore.measures import Measure, RowMeasure, Run, Sums
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
    model: str
    data: str
    ahead: int = AHEAD

    def measured(self, run: Run, measure: RowMeasure, progress: Progress) -> Stored:
        """What :func:`~gfscore.engines.local.measured` does, and in the same entries of the store."""
        return self._whole(self._filling(run, measure, progress))

    def summed(self, run: Run, measure: Sums, progress: Progress, look: Look) -> Summary:
        """What :func:`~gfscore.engines.local.summed` does, and in the same places of the store; no logits are sent."""
        return self._whole(self._filling(run, measure, progress, look))

    def begin(
        self, run: Run, measure: Measure[Any], progress: Progress, look: Look, then: Callable[[Any], None]
    ) -> None:
        """Begin with what will be asked for, unless another process works on it already."""
        try:
            filling = self._filling(run, measure, progress, look, wait=False)
        except BlockingIOError:  # whoever asks will wait for it
            return
        filling.then = then
        self.pool.settle(filling)

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
        probe = to_bytes(run.check().probe).hex()
        return Job(model=self.model, data=self.data, parts=run.parts(), probe=probe, measure=to_plain(measure))

    def _filling(
        self,
        run: Run,
        measure: Measure[Any],
        progress: Progress,
        look: Look = lambda _so_far: None,
        *,
        wait: bool = True,
    ) -> Shards[Any, Any]:
        """What is under way already, or begins now.

        A lock that others hold is waited for only once this process holds none, so that two never wait for each other.
        """
        there = self._there(run)
        plan = Plan.of(there, measure)
        known = self.pool.known(plan.recipe.key)
        if known is not None:
            return known

        def home(*, wait: bool) -> AbstractContextManager[Home[Any, Any]]:
            if isinstance(measure, RowMeasure):
                return rows_home(plan, run.store, progress, wait=wait)
            return sum_home(plan, run.store, progress, look, wait=wait)

        job, lock = self._job(there, measure), ExitStack()
        try:
            opened = lock.enter_context(home(wait=False))
        except BlockingIOError:
            if not wait:
                raise
            self.pool.finish_all()
            opened = lock.enter_context(home(wait=True))
        filling = Shards(job=job, key=plan.recipe.key, measure=measure, home=opened, lock=lock)
        self.pool.add(filling)
        return filling

    def _whole(self, filling: Shards[Any, Whole]) -> Whole:
        self.pool.wait_for(filling)
        return filling.whole()
