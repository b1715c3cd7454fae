"""The first of AutoAttack's four attacks on every sample that is likely to fall, before any is drawn for all four.

AutoAttack is four attacks, one after the other, and what the first breaks is broken. The first, APGD on the
cross-entropy, takes about a fiftieth of the passes of all four, and it breaks nearly everything that the radii say will
be broken. What it broke is known from then on, whatever is drawn later: the accuracy under AutoAttack of these samples
is at most the share that it left, for certain, and attacks of the budget go to what may withstand.
"""

from collections.abc import Callable

import numpy as np

from gfscore.arrays import BoolArray, FloatArray
from gfscore.engines.local import shard_by_shard
from gfscore.measures import Assault, Attacks, Run

FIRST = ("apgd-ce",)  # of AutoAttack's attacks
LIKELY = 1.25  # times the size of the attack: samples with radii up to that are attacked beforehand
TOGETHER = 50  # samples


def attack_likely(
    run: Run,
    radii: FloatArray,
    right: BoolArray,
    assault: Assault,
    *,
    seed: int,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> tuple[BoolArray, BoolArray]:
    """Which samples (N,) the first attack saw, and which it broke: none where there is no first of several attacks.

    It sees the ``right`` ones with a radius of at most ``LIKELY`` times the size of the attack.
    """
    seen, broken = np.zeros((2, len(radii)), dtype=bool)
    if assault.quick or len(assault.parts) == 1 or assault.parts[:1] != FIRST:
        return seen, broken
    rows = np.flatnonzero(right & (radii <= LIKELY * assault.eps))
    first = Assault(norm=assault.norm, eps=assault.eps, parts=FIRST)
    measure = Attacks.of(first, [rows], seed=seed, block=TOGETHER)
    blocks = len(measure.places) // measure.block
    with shard_by_shard(run, measure, sure=range(blocks)) as give:
        for block in range(blocks):
            members = measure.members(block)
            broken[members] = give(block)[0][: len(members), 0] == 0
            progress(min((block + 1) * measure.block, len(rows)), len(rows))
    seen[rows] = True
    return seen, broken
