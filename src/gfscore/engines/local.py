"""Any measure on this machine, shard by shard into the store; a run that was killed goes on where it was."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.engines.homes import Home, Plan, Progress, Stored, rows_home, sum_home
from gfscore.measures import Measure, RowMeasure, Run, Sums
from gfscore.measures.run import RowsDone
from gfscore.measures.slopes import Gradients, choose_slopes, exact_norms
from gfscore.samples import Samples
from gfscore.scores import FirstOrder, LocalScores, first_order_scores, forward_only_norms, is_leading, strongest_rivals
from gfscore.summaries import Look, Summary

Part = TypeVar("Part")
Whole = TypeVar("Whole")


def measured(run: Run, measure: RowMeasure, progress: Progress = lambda _done, _total: None) -> Stored:
    """The rows of a measure: from the store of the run where they are there, computed where they are not.

    Nothing is taken or kept when a file of the model or the data is no longer what the recipe was made of.
    """
    with rows_home(Plan.of(run, measure), run.store, progress) as home:
        return _filled(home, run, measure)


def summed(
    run: Run,
    measure: Sums,
    progress: Progress = lambda _done, _total: None,
    look: Look = lambda _so_far: None,
) -> Summary:
    """The summary of a run's scores, with a look at it after each shard."""
    with sum_home(Plan.of(run, measure), run.store, progress, look) as home:
        return _filled(home, run, measure)


@contextmanager
def shard_by_shard(run: Run, measure: RowMeasure) -> Iterator[Callable[[int], tuple[FloatArray, bool]]]:
    """A function that gives one shard of a measure, and whether the store had it; else it is computed and kept.

    Who needs the rest never, or who decides by one shard which comes next, computes no more than that. No other process
    writes to the shards meanwhile.
    """
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
    n_rivals, exact = slopes.rivals.shape[1], slopes.module is not None
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


def first_order_rows(run: Run, rows: IntArray, how: FirstOrder, module: Any = None) -> LocalScores:
    """First-order radii of some rows in any order, by gradients of a ``module`` or forward passes; nothing is kept.

    Directions belong to a sample, so a row has the same radius whatever rows it comes with.
    """
    pixels, data = run.pixels(rows), run.data
    ids = [str(row) if data.sample_ids is None else data.sample_ids[row] for row in rows.tolist()]
    samples = Samples.of(run.logits_of(pixels), data.labels[rows], sample_ids=ids)
    rivals = strongest_rivals(samples.logits, samples.labels, how.rivals)
    if module is None:
        norms, with_half_the_step = forward_only_norms(run.logits_of, pixels, samples, rivals, how)
        return first_order_scores(samples, norms, how, gradients=False, halved=with_half_the_step)
    norms, correct = np.full(rivals.shape, np.nan), is_leading(samples.logits, samples.labels, rivals)
    if correct.any():
        few = (pixels[correct], samples.labels[correct], rivals[correct])
        norms[correct] = exact_norms(run, module, *few, how.kind, rows[correct])
    return first_order_scores(samples, norms, how, gradients=True)
