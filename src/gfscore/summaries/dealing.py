r"""Which block and which half of its class a sample is counted in: dealt by its number, before its score is known.

Intervals of merged scores bet block by block, and the lower end of the NRGC ranks classes by one half of the samples
and estimates them by the other. Both need a deal that knows nothing of the scores. Here it is a fixed function of the
seed and of the sample's number in the whole, its row. So, whatever the seed:

- If the scores of a class are independent draws in the order in which they are numbered, they still are given who went
  where: within each block, and over all blocks. That needs nothing of the function, not even that numbers differ. Two
  shards which both count from 0 are dealt alike; they lose nothing but evenness.
- If the rows are sorted by score, or numbered in any other way that the scores decided, a deal that is fixed goes with
  the scores as well, and only a seed that was drawn apart from them helps: the coins of different numbers are then as
  good as independent of everything. Here numbers must differ, and what is promised holds on average over seeds.

The same is true of the order of :class:`~gfscore.bounds.parts.PartScores`, in which betting takes the rows.
"""

from typing import NamedTuple

import numpy as np

from gfscore.arrays import IntArray

N_BLOCKS = 8  # the first has 1/128 of the samples: more blocks make no interval narrower, and take room
# By the last seven bits of a hash: the last block for an odd number, the one before for twice an odd one, and so on
_BLOCKS: IntArray = np.array(
    [N_BLOCKS - (low & -low).bit_length() for low in (1 << (N_BLOCKS - 1) | n for n in range(1 << (N_BLOCKS - 1)))]
)


class Dealt(NamedTuple):
    """Of each sample, ``(n,)`` each."""

    blocks: IntArray  # 0, the smallest, to N_BLOCKS - 1, which has every second sample
    halves: IntArray  # 0 or 1


def dealt(rows: IntArray, seed: int) -> Dealt:
    """Block and half of the samples with these numbers, the same whenever they are asked for.

    The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) of a sequence that begins where the seed says.

    >>> found = dealt(np.arange(1024), seed=0)
    >>> np.bincount(found.blocks), found.halves.mean().round(2)
    (array([  7,   3,  20,  42,  71, 129, 242, 510]), np.float64(0.52))
    """
    start = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64 is meant
        mixed = start + (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    last = (mixed & np.uint64(len(_BLOCKS) - 1)).astype(np.int64)
    return Dealt(blocks=_BLOCKS[last], halves=(mixed >> np.uint64(63)).astype(np.int64))
