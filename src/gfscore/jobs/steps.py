"""What each measure takes: its steps, with the passes that are known beforehand, and what the store has already."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gfscore.arrays import BoolArray, IntArray
from gfscore.engines.local import measured, score_first_order, summed
from gfscore.errors import MissingExtraError, ModelError
from gfscore.jobs.options import Options
from gfscore.jobs.robustness import MeasuredRadii, has_gradients
from gfscore.jobs.summed_radii import part_sums, radius_sums
from gfscore.jobs.trials import Amount, Step, Stopwatch, Tried
from gfscore.measures import Logits, Measure, RadiusSums, RowMeasure, Run, Slopes, Sums, Votes
from gfscore.measures.radii import draw_rows
from gfscore.measures.slopes import Gradients
from gfscore.measures.summary_files import SumLog
from gfscore.samples import Samples
from gfscore.score_grid import N_CELLS
from gfscore.scores import FirstOrder, Noise
from gfscore.scores.margin_slopes import STEP_CHECKS, is_drawn
from gfscore.storage.store import Entry
from gfscore.summaries import COLUMNS

FLOAT, LABEL = 4, 8  # bytes
CELL = 10  # bytes of a count and its place in the file of a sum, at most
RADII_TOGETHER = 256
VOTES_TOGETHER = 64

Steps = Callable[[Run], list[Step]]


def missing_rows(run: Run, measure: Measure[Any]) -> IntArray:
    """Rows of which the store does not have a measure yet."""
    recipe = run.stored_recipe(measure)
    if recipe is None:
        return np.arange(run.n_samples)
    entry: Entry | SumLog = SumLog(run.store.root, recipe)
    if isinstance(measure, RowMeasure):
        entry = run.store.entry(recipe, {})
    there, shards = set(entry.shards_there()), recipe.shards()
    left = [np.arange(rows.start, rows.stop) for index, rows in enumerate(shards) if index not in there]
    return np.concatenate(left) if left else np.zeros(0, dtype=np.int64)


def logits_step(run: Run, *, most: bool = False) -> Step:
    """Forward passes over the data, whose logits are kept; as many at most, where a rule may be decided before."""
    rows, n_classes = missing_rows(run, Logits()), run.check().n_classes

    def measure(few: Run, watch: Stopwatch) -> None:
        with watch.running():
            measured(few, Logits())
        watch.work = few.notes.passes

    def amount(_tried: Tried) -> Amount:
        return Amount(work=len(rows), forward=len(rows), are="at most" if most else "exact")

    bytes_each = FLOAT * n_classes
    return Step(
        what="logits",
        images=run.n_samples,
        rows=rows,
        measure=measure,
        amount=amount,
        bytes_written=0 if most else bytes_each * len(rows) + LABEL * run.n_samples,
        held=bytes_each * run.n_samples,
        together=8192,
    )


def sums_step(run: Run, sums: Sums) -> Step:
    """Class sums of a score that logits decide; logits are not kept."""
    rows = missing_rows(run, sums)

    def measure(few: Run, watch: Stopwatch) -> None:
        with watch.running():
            summed(few, sums)
        watch.work = few.notes.passes

    return Step(
        what="sums",
        images=run.n_samples,
        rows=rows,
        measure=measure,
        amount=lambda _tried: Amount(work=len(rows), forward=len(rows)),
        **_of_sums(run, len(rows)),
        together=8192,
    )


def _of_sums(run: Run, n: int) -> dict[str, int]:
    """Bytes written and held of sums over the classes, at most."""
    k = run.check().n_classes
    return {
        "bytes_written": CELL * min(n, k * N_CELLS) + 8 * len(COLUMNS) * k,
        "held": 8 * k * (N_CELLS + len(COLUMNS)),
    }


def known_correct(run: Run) -> BoolArray | None:
    """Which samples are classified correctly, where the store has all logits."""
    recipe = run.stored_recipe(Logits())
    entry = None if recipe is None else run.store.entry(recipe, {})
    if entry is None or not entry.finished.exists():
        return None
    samples = run.read(entry.finished)
    return np.asarray(samples.logits.argmax(axis=1) == samples.labels)


def radii_step(
    run: Run, how: FirstOrder, choice: Gradients, asked: IntArray | None = None, *, most: bool = False
) -> Step:
    """Slopes at all samples, or at those that are ``asked`` for, which radii follow from; the norms are kept."""
    exact = module_of(run, choice) is not None
    few = Samples.of(np.zeros((2, run.check().n_classes)), [0, 1], piece=True)  # neither rows nor key depend on them
    slopes = Slopes(samples=few, how=how, module=run.differentiable() if exact else None, only=asked)
    rows = missing_rows(run, slopes)
    rows = rows if asked is None else np.intersect1d(rows, asked)

    def measure(part: Run, watch: Stopwatch) -> None:
        samples = part.read(measured(part, Logits()).path)
        watch.correct, before = int((samples.logits.argmax(axis=1) == samples.labels).sum()), part.notes.passes
        with watch.running():
            score_first_order(part, samples, how, gradients=choice)
        watch.forward = part.notes.passes - before
        watch.work = watch.correct if exact else watch.forward

    columns = slopes.columns(run)
    return Step(
        what="radii",
        images=run.n_samples if asked is None else len(asked),
        rows=rows,
        measure=measure,
        amount=lambda tried: _radius_amount(run, rows, how, tried, exact=exact, most=most),
        bytes_written=0 if most or len(rows) == 0 else FLOAT * columns * run.n_samples + LABEL * run.n_samples,
        together=RADII_TOGETHER,
    )


def _radius_amount(
    run: Run, rows: IntArray, how: FirstOrder, tried: Tried, *, exact: bool, most: bool, again: int = 0
) -> Amount:
    """Passes of radii of some rows: two a direction of each correct sample, or one and a gradient a rival.

    ``again`` are passes of every row beside them.
    """
    known, ids = known_correct(run), run.data.sample_ids
    share = tried.per_image("correct")
    n_correct = len(rows) * share if known is None else int(known[rows].sum())
    are = "at most" if most else "estimated" if known is None else "exact"
    if exact:
        correct, rivals = round(n_correct), min(how.rivals, run.check().n_classes - 1)
        return Amount(work=correct + again, forward=correct + again, backward=rivals * correct, are=are)
    twice = [row for row in rows.tolist() if is_drawn(row if ids is None else ids[row], STEP_CHECKS / run.n_samples)]
    n_twice = len(twice) * share if known is None else int(known[twice].sum()) if twice else 0
    passes = round(2 * how.count * (n_correct + n_twice)) + again
    return Amount(work=passes, forward=passes, are=are)


def part_step(run: Run, radii: MeasuredRadii) -> Step | None:
    """Slopes at the random part of each class that robust accuracy beside a score takes; None where there is none."""
    count = radii.of_class(run.check().n_classes, by_gradients=has_gradients(run, radii.gradients))
    if count == 0:
        return None
    ids = run.data.sample_ids or range(run.n_samples)
    asked = None if count is None else draw_rows(ids, run.data.labels, count, radii.how.seed)
    whole = asked is None or len(asked) == run.n_samples
    return radii_step(run, radii.how, radii.gradients, None if whole else asked)


def radius_sums_step(run: Run, measure: RadiusSums) -> Step:
    """Sums of radii, of all samples or of some of each class: nothing else is kept."""
    asked = measure.drawn(run)
    rows = np.intersect1d(missing_rows(run, measure), asked)

    def sum_up(part: Run, watch: Stopwatch) -> None:
        with watch.running():
            found = summed(part, measure)
        watch.correct = 0 if found.radii is None else found.radii.totals.get("correct", 0)
        watch.forward = part.notes.passes
        watch.work = watch.correct + watch.images if measure.by_gradients else watch.forward

    def amount(tried: Tried) -> Amount:
        exact, again = measure.by_gradients, len(rows)
        return _radius_amount(run, rows, measure.how, tried, exact=exact, most=False, again=again)

    return Step(
        what="sums of radii",
        images=len(asked),
        rows=rows,
        measure=sum_up,
        amount=amount,
        **_of_sums(run, len(rows)),
        together=RADII_TOGETHER,
    )


def stream_steps(run: Run, options: Options, sums: Sums, radii: MeasuredRadii | None) -> list[Step]:
    """What a stream asks for: sums of the score, and of radii beside it."""
    if options.radius is not None:
        return [radius_sums_step(run, radius_sums(run, options.radius, options.choice)[0])]
    found = [sums_step(run, sums)]
    count: int | None = 0
    if radii is not None:
        count = radii.of_class(run.check().n_classes, by_gradients=has_gradients(run, radii.gradients))
    if radii is not None and count != 0:
        found.append(radius_sums_step(run, part_sums(run, radii, count)[0]))
    return found


def score_steps(run: Run, options: Options, radii: MeasuredRadii | None) -> list[Step]:
    """What an audit that holds its samples asks for: logits, and radii as the score or beside it."""
    found = [logits_step(run)]
    if options.radius is not None:
        found.append(radii_step(run, options.radius, options.choice))
    beside = None if radii is None else part_step(run, radii)
    return found if beside is None else [*found, beside]


def certificate_steps(run: Run, noise: Noise | None) -> list[Step]:
    """What a certificate asks for: logits, and votes where there is noise."""
    return [logits_step(run), *([] if noise is None else [votes_step(run, noise)])]


def votes_step(run: Run, noise: Noise) -> Step:
    """Votes under noise: the same number of passes for every image."""
    rows, each = missing_rows(run, Votes.of(run, noise)), noise.n0 + noise.n

    def measure(part: Run, watch: Stopwatch) -> None:
        with watch.running():
            measured(part, Votes.of(part, noise))
        watch.work = part.notes.passes

    return Step(
        what="votes",
        images=run.n_samples,
        rows=rows,
        measure=measure,
        amount=lambda _tried: Amount(work=each * len(rows), forward=each * len(rows)),
        bytes_written=(2 * FLOAT + LABEL) * len(rows),
        together=VOTES_TOGETHER,
    )


def module_of(run: Run, choice: Gradients) -> Any:
    """The differentiable model, where radii would use it."""
    if choice is Gradients.NO:
        return None
    try:
        return run.differentiable()
    except (ModelError, MissingExtraError):
        if choice is Gradients.YES:
            raise
        return None
