"""First-order radii of a model on data: from slopes that are kept in the store, or of a few rows at once."""

from dataclasses import replace

from gfscore.arrays import IntArray
from gfscore.engines.homes import Progress
from gfscore.engines.local import measured
from gfscore.measures import Run
from gfscore.measures.slopes import Gradients, choose_slopes
from gfscore.samples import Samples
from gfscore.scores import FirstOrder, LocalScores, first_order_scores, forward_only_norms, strongest_rivals


def score_first_order(
    run: Run,
    samples: Samples,
    how: FirstOrder,
    *,
    gradients: Gradients | str = Gradients.NO,
    progress: Progress = lambda _done, _total: None,
) -> LocalScores:
    """First-order radii of ``samples``, the model's logits on the data; the norms they rest on are kept in the store.

    A second call, also with another ``eps`` or largest radius, computes nothing again.
    """
    slopes, fallback = choose_slopes(run, samples, how, gradients)
    stored, halved_batches = measured(run, slopes, progress).rows()
    n_rivals, exact = slopes.rivals.shape[1], slopes.module is not None
    local = first_order_scores(
        samples,
        stored[:, :n_rivals],
        how,
        gradients=exact,
        halved=None if exact else stored[:, n_rivals:],
        fallback=fallback,
    )
    return replace(local, halved_batches=halved_batches)


def first_order_rows(run: Run, rows: IntArray, how: FirstOrder) -> LocalScores:
    """First-order radii of some rows in any order, by forward passes alone; nothing is kept.

    Directions belong to a sample, so a row has the same radius whatever rows it comes with.
    """
    pixels, data = run.pixels(rows), run.data
    ids = [str(row) if data.sample_ids is None else data.sample_ids[row] for row in rows.tolist()]
    samples = Samples.of(run.logits_of(pixels), data.labels[rows], sample_ids=ids)
    rivals = strongest_rivals(samples.logits, samples.labels, how.rivals)
    norms, with_half_the_step = forward_only_norms(run.logits_of, pixels, samples, rivals, how)
    return first_order_scores(samples, norms, how, gradients=False, halved=with_half_the_step)
