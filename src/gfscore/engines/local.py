"""Any measure, shard by shard into the store, by this process unless the run has an engine of its own.

A run that was killed goes on where it was.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.engines.homes import Home, Plan, Progress, Stored, rows_home, sum_home
from gfscore.measures import Measure, RowMeasure, Run
from gfscore.measures.row_lists import ListMeasure, LogitsOfRows, SlopesOfRows
from gfscore.measures.run import RowsDone
from gfscore.measures.slopes import Gradients, choose_slopes
from gfscore.samples import Samples
from gfscore.scores import FirstOrder, LocalScores, first_order_scores
from gfscore.summaries import Look, Summary

Part = TypeVar("Part")
Whole = TypeVar("Whole")


def measured(run: Run, measure: RowMeasure, progress: Progress = lambda _done, _total: None) -> Stored:
    """The rows of a measure: from the store of the run where they are there, computed where they are not.

    Nothing is taken or kept when a file of the model or the data is no longer what the recipe was made of.
    """
    if run.engine is not None:
        return cast("Stored", run.engine.measured(run, measure, progress))
    with rows_home(Plan.of(run, measure), run.store, progress) as home:
        return _filled(home, run, measure)


def summed(
    run: Run,
    measure: Measure[Summary],
    progress: Progress = lambda _done, _total: None,
    look: Look = lambda _so_far: None,
) -> Summary:
    """The summary of a run's scores, with a look at it after each shard."""
    if run.engine is not None:
        return cast("Summary", run.engine.summed(run, measure, progress, look))
    with sum_home(Plan.of(run, measure), run.store, progress, look) as home:
        return _filled(home, run, measure)


def gathered(
    run: Run, measure: ListMeasure[Part], rows: IntArray, progress: Progress = lambda _done, _total: None
) -> list[Part]:
    """What is found in each piece of a list of rows, in their order; nothing is kept."""
    if run.engine is not None:
        return cast("list[Part]", run.engine.gathered(run, measure, rows, progress))
    found, done = list[Part](), 0
    for piece in measure.pieces(run, rows):
        found.append(measure.compute(run, piece))
        done += len(piece)
        progress(done, len(rows))
    return found


def begin(
    run: Run,
    then: Callable[[Any], None] | None,
    measure: Measure[Any],
    progress: Progress = lambda _done, _total: None,
    look: Look = lambda _so_far: None,
) -> None:
    """Let an engine begin with a measure that will be asked for; this process computes when it is asked.

    ``then``, if there is one, is called with what :func:`measured` or :func:`summed` would return, once that is there,
    perhaps never.
    """
    if run.engine is not None:
        run.engine.begin(run, measure, progress, look, then)


@contextmanager
def shard_by_shard(
    run: Run, measure: RowMeasure, sure: Sequence[int] = ()
) -> Iterator[Callable[[int], tuple[FloatArray, bool]]]:
    """A function that gives one shard of a measure, and whether the store had it; else it is computed and kept.

    Who needs the rest never, or who decides by one shard which comes next, computes no more than that. No other process
    writes to the shards meanwhile. An engine that computes elsewhere begins with what is ``sure`` to be asked for, and
    with what comes next after that.
    """
    if run.engine is not None:
        with run.engine.shard_by_shard(run, measure, sure) as give_there:
            yield give_there
        return
    plan = Plan.of(run, measure)
    entry = run.store.entry(plan.recipe, plan.about)

    def give(shard: int) -> tuple[FloatArray, bool]:
        known = entry.read_shard(shard)
        if known is not None:
            return known[0], True
        part, halved = compute_shard(run, measure, entry.shards[shard])
        entry.write_shard(shard, part, halved=halved)
        return part, False

    with entry.hold(or_read=True):
        run.refuse_changed()
        yield give


def compute_shard(
    run: Run, measure: Measure[Part], rows: slice, done: RowsDone = lambda _rows: None
) -> tuple[Part, int]:
    """What a measure finds in some rows, and how many batches were halved; refused when a file changed meanwhile."""
    run.notes.take()  # what was noted before is not about this shard
    part = measure.compute(run, rows, done)
    run.refuse_changed()
    return part, run.notes.take()


def _filled(home: Home[Part, Whole], run: Run, measure: Measure[Part]) -> Whole:
    """The whole, with the shards computed that are missing or damaged."""
    run.refuse_changed()
    for shard in sorted(home.missing):
        part, halved = compute_shard(run, measure, home.shards[shard], home.report)
        home.take(shard, part, halved=halved)
    return home.whole()


def score_first_order(
    run: Run,
    samples: Samples,
    how: FirstOrder,
    *,
    gradients: Gradients | str = Gradients.NO,
    only: IntArray | None = None,
    progress: Progress = lambda _done, _total: None,
) -> LocalScores:
    """First-order radii of ``samples``, the model's logits on the data; the norms they rest on are kept in the store.

    With ``only`` those of some rows, ascending. A second call, also with another ``eps`` or largest radius, computes
    nothing again.
    """
    slopes, fallback = choose_slopes(run, samples, how, gradients, only=only)
    stored, halved_batches = measured(run, slopes, progress).rows()
    n_rivals, exact = slopes.rivals.shape[1], slopes.gradients
    if only is not None:
        samples, stored = samples.rows(only), stored[only]
    local = first_order_scores(
        samples,
        stored[:, :n_rivals],
        how,
        gradients=exact,
        halved=None if exact else stored[:, n_rivals:],
        fallback=fallback,
    )
    return replace(local, halved_batches=halved_batches)


def logits_of_rows(run: Run, rows: IntArray) -> FloatArray:
    """Logits of some rows in any order, (n, K); nothing is kept. What is run should pass :meth:`Run.check` first."""
    return np.concatenate(gathered(run, LogitsOfRows(), rows))


def first_order_rows(run: Run, rows: IntArray, how: FirstOrder, *, gradients: bool = False) -> LocalScores:
    """First-order radii of some rows in any order, by ``gradients`` or by forward passes; nothing is kept."""
    found = np.concatenate(gathered(run, SlopesOfRows(how=how, gradients=gradients), rows))
    n_classes = run.check().n_classes
    samples = Samples.of(found[:, :n_classes], run.data.labels[rows])
    return first_order_scores(samples, found[:, n_classes:], how, gradients=gradients)
