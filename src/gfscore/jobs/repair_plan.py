"""What a repair by a bias takes, as steps of a dry run: logits, slopes to all rivals, and the attacks that judge."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gfscore.arrays import IntArray
from gfscore.engines.local import measured
from gfscore.jobs.attack_steps import judging_steps
from gfscore.jobs.repair_parts import IN_ALL, MOST_RIVALS
from gfscore.jobs.repair_steps import Bargain
from gfscore.jobs.steps import FLOAT, LABEL, RADII_TOGETHER, logits_step, missing_rows, module_of
from gfscore.jobs.trials import Amount, Step, Stopwatch, Tried
from gfscore.measures import Logits, Run
from gfscore.measures.radii import draw_rows
from gfscore.measures.rival_slopes import RivalSlopes
from gfscore.measures.slopes import Gradients
from gfscore.samples import Samples
from gfscore.scores import FirstOrder

NETWORKS = 2  # that are judged: before and after


def plan_repair(
    how: Bargain, radius: FirstOrder, choice: Gradients, per_class: int | None, *, apart: bool
) -> Callable[[Run], list[Step]]:
    """Steps of a run, or with ``apart`` first of the data that choose, then of those that judge."""
    opened = list[Run]()

    def steps(run: Run) -> list[Step]:
        opened.append(run)
        of_class = per_class if per_class is None or not apart else (per_class + 1) // 2
        rows = _drawn(run, choice, of_class, how.seed)
        found = [logits_step(run), slopes_step(run, radius, choice, rows)]
        if how.attack is None or (apart and len(opened) == 1):
            return found
        judge = rows if apart else rows[::2]  # half of each class, whichever
        if how.attacked is not None:
            judge = judge[draw_rows(judge.tolist(), run.data.labels[judge], how.attacked, how.seed)]
        return [*found, judging_steps(run, judge, how.attack, NETWORKS)]

    return steps


def _drawn(run: Run, choice: Gradients, per_class: int | None, seed: int) -> IntArray:
    """The rows of which slopes are measured, by classes: groups are not known beforehand."""
    if per_class is None:
        per_class = max(2, IN_ALL[module_of(run, choice) is not None] // run.check().n_classes)
    return draw_rows(run.data.sample_ids or range(run.n_samples), run.data.labels, per_class, seed)


def slopes_step(run: Run, how: FirstOrder, choice: Gradients, rows: IntArray) -> Step:
    """Slopes to all rivals of some rows, right or wrong; the norms are kept."""
    n_classes, exact = run.check().n_classes, module_of(run, choice) is not None
    n_rivals = min(n_classes - 1, MOST_RIVALS)
    how = replace(how, rivals=n_rivals, refine=0)
    few = Samples.of(np.zeros((2, n_classes)), [0, 1], piece=True)  # neither rows nor key depend on them
    left = np.intersect1d(missing_rows(run, RivalSlopes(samples=few, how=how, gradients=exact, only=rows)), rows)

    def measure(part: Run, watch: Stopwatch) -> None:
        samples, before = part.read(measured(part, Logits()).path), part.notes.passes
        with watch.running():
            measured(part, RivalSlopes(samples=samples, how=how, gradients=exact))
        watch.work = part.n_samples
        watch.forward = part.n_samples if exact else part.notes.passes - before

    def amount(tried: Tried) -> Amount:
        forward = len(left) if exact else round(len(left) * tried.per_image("forward"))
        backward = n_rivals * len(left) if exact else 0
        return Amount(work=len(left), forward=forward, backward=backward, are="exact" if exact else "estimated")

    return Step(
        what="slopes",
        images=len(rows),
        rows=left,
        measure=measure,
        amount=amount,
        bytes_written=0 if len(left) == 0 else (FLOAT * n_rivals + LABEL) * run.n_samples,
        together=RADII_TOGETHER,
    )
