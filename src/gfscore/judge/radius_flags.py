"""Trust in radii: what logits, the predicted boundary and the slopes say about them; each flag with when it is raised.

The limits lie beyond what ten networks that others trained show (``scripts/trust_table.py``, docs/scores.md).
"""

from collections.abc import Iterator, Sequence

import numpy as np

from gfscore.arrays import BoolArray, FloatArray
from gfscore.errors import PLURALS, first_few
from gfscore.ranking import spearman
from gfscore.results import Flag
from gfscore.samples import Samples
from gfscore.scores import LocalScores

LEAST_AGREEMENT = 0.6  # Spearman of margins and radii within a class; the lowest of ten networks was 0.77
LEAST_CORRECT = 20  # samples of a class, below which its Spearman is mostly chance
MOST_STILL_RIGHT = 1 / 3  # of those looked at, a fifth beyond the predicted boundary; at most 0.31 on ten networks
MOST_ALREADY_WRONG = 0.1  # of those looked at, a fifth before it; none on ten networks
LEAST_SPREAD = 0.25  # of |g|_1 / (|g|_2 sqrt(D)), in the median: a sixteenth of the pixels; at least 0.39 on ten
LEAST_LOOKS = 10  # below which a share of them says nothing


def agreements(samples: Samples, local: LocalScores) -> dict[str, float]:
    """Spearman of logit margins and radii over the correct samples of each class, or group, that has enough of them.

    Radii at the maximum are left out: they are not known.
    """
    if local.own_logits is None or local.rival_logits is None:
        return {}
    margins = local.own_logits - local.rival_logits
    known = (margins > 0) & (local.values > 0) & (local.values < local.maximum)
    codes = samples.partition[0]
    names = samples.class_names if samples.groups is None else samples.groups.names
    found = {}
    for part in np.unique(codes):
        rows = known & (codes == part)
        if rows.sum() >= LEAST_CORRECT:
            value = spearman(margins[rows].tolist(), local.values[rows].tolist())
            if value is not None:
                found[names[part]] = value
    return found


def agreement_flag(found: dict[str, float], partition: str = "class") -> Flag | None:
    """The flag of classes in which margins of logits order the samples otherwise than radii do."""
    low = sorted((name for name in found if found[name] < LEAST_AGREEMENT), key=found.__getitem__)
    if not low:
        return None
    shown = first_few([f"{name} {found[name]:.2f}" for name in low])
    return Flag(
        code="margins_disagree",
        message=f"in {len(low)} of {len(found)} {PLURALS[partition]} the margins of logits do not order the samples as "
        f"their radii do (Spearman below {LEAST_AGREEMENT:g}: {shown}): scores from logits alone, such as GREAT, say "
        "little there. Read robust accuracy instead.",
    )


def boundary_flags(still_right: BoolArray, already_wrong: BoolArray, spread: FloatArray) -> Iterator[Flag]:
    """The flags of a look at some samples: a boundary further or nearer than radii predict, slopes in few pixels."""
    n, share = len(still_right), float(np.mean(still_right)) if len(still_right) else 0.0
    if n >= LEAST_LOOKS and share > MOST_STILL_RIGHT:
        yield Flag(
            code="boundary_not_there",
            message=f"of {n} samples that were looked at, {100 * share:.0f} % are still decided correctly a fifth "
            "beyond the boundary that their radius predicts: the network bends on the way, and radii are off. Attack "
            "it: gfscore check --autoattack.",
        )
    early = float(np.mean(already_wrong)) if n else 0.0
    if n >= LEAST_LOOKS and early > MOST_ALREADY_WRONG:
        yield Flag(
            code="boundary_nearer",
            message=f"of {n} samples that were looked at, {100 * early:.0f} % are decided otherwise a fifth before the "
            "boundary that their radius predicts: radii are too long, as where gradients are masked, and robust "
            "accuracy is lower than they say. Attack it: gfscore check --autoattack.",
        )
    middle = float(np.median(spread)) if n else 1.0
    if n >= LEAST_LOOKS and middle < LEAST_SPREAD:
        yield Flag(
            code="slopes_in_few_pixels",
            message=f"slopes sit in few pixels, as if {100 * middle**2:.1g} % of them mattered (|g|_1 is {middle:.2f} "
            "of its largest ratio to |g|_2): a radius in one norm says little about another. Measure both: --norm.",
        )


def radius_flags(
    samples: Samples, local: LocalScores, look: tuple[BoolArray, BoolArray, FloatArray] | None, partition: str = "class"
) -> tuple[Flag, ...]:
    """All flags about trust in some radii; ``look`` is what :func:`boundary_flags` takes, where there was one."""
    found: Sequence[Flag | None] = (
        agreement_flag(agreements(samples, local), partition),
        *(() if look is None else boundary_flags(*look)),
    )
    return tuple(flag for flag in found if flag is not None)
