"""How far radii of a run can be trusted: what is asked of the model for that, and the flags that follow."""

from gfscore.arrays import IntArray
from gfscore.judge.radius_flags import radius_flags
from gfscore.measures import Run
from gfscore.measures.boundary import look_at_boundary
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
    return radius_flags(part, local, (seen.still_right, seen.spread), partition)
