"""How far radii of a run can be trusted: what is asked of the model for that, and the flags that follow."""

from gfscore.arrays import IntArray
from gfscore.judge.radius_flags import boundary_flags, radius_flags
from gfscore.measures import RadiusSums, Run
from gfscore.measures.boundary import look_at_boundary, look_at_rows, rows_to_look_at
from gfscore.measures.logits import forward_rows
from gfscore.results import Flag
from gfscore.samples import Samples
from gfscore.scores import FirstOrder, LocalScores


def trust_flags(
    run: Run, samples: Samples, local: LocalScores, how: FirstOrder, rows: IntArray | None = None
) -> tuple[Flag, ...]:
    """Flags about radii ``local`` of all samples of a run, or of some rows; a few samples are looked at again.

    Radii without gradients get none: random directions blur them more than what the flags are about.
    """
    if not (local.settings or {}).get("gradients"):
        return ()
    seen = look_at_boundary(run, samples, how, rows)
    part = samples if rows is None else samples.rows(rows)
    partition = "class" if samples.groups is None else "group"
    return radius_flags(part, local, (seen.still_right, seen.already_wrong, seen.spread), partition)


def trust_flags_of_sums(run: Run, measure: RadiusSums) -> tuple[Flag, ...]:
    """The same about radii that were summed: the same samples are looked at, whose logits are found again.

    Whether margins order samples as radii do is not asked: that takes all of both, which sums do not keep.
    """
    if not measure.gradients:
        return ()
    rows = rows_to_look_at(measure.drawn(run), run.data.sample_ids)
    if len(rows) == 0:
        return ()
    seen = look_at_rows(run, rows, forward_rows(run, rows), run.data.labels[rows], measure.how)
    return tuple(boundary_flags(seen.still_right, seen.already_wrong, seen.spread))
