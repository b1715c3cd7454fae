"""How far radii of a run can be trusted: what is asked of the model for that, and the flags that follow."""

from collections.abc import Sequence

import numpy as np

from gfscore.arrays import IntArray
from gfscore.engines.local import gathered
from gfscore.judge.radius_flags import boundary_flags, radius_flags
from gfscore.measures import RadiusSums, Run
from gfscore.measures.boundary import BoundaryLook, BoundaryOfRows, rows_to_look_at
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
    seen = _look(run, np.arange(samples.n_samples) if rows is None else rows, samples.sample_ids, how)
    part = samples if rows is None else samples.rows(rows)
    partition = "class" if samples.groups is None else "group"
    return radius_flags(part, local, (seen.still_right, seen.already_wrong, seen.spread), partition)


def trust_flags_of_sums(run: Run, measure: RadiusSums) -> tuple[Flag, ...]:
    """The same about radii that were summed: the same samples are looked at, whose logits are found again.

    Whether margins order samples as radii do is not asked: that takes all of both, which sums do not keep.
    """
    if not measure.gradients:
        return ()
    seen = _look(run, measure.drawn(run), run.data.sample_ids, measure.how)
    return tuple(boundary_flags(seen.still_right, seen.already_wrong, seen.spread))


def _look(run: Run, asked: IntArray, ids: Sequence[object] | None, how: FirstOrder) -> BoundaryLook:
    """What some of the rows that are asked for show, whoever computes for the run."""
    return BoundaryLook.of(gathered(run, BoundaryOfRows(how=how), rows_to_look_at(asked, ids)))
