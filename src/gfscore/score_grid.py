r"""Scores in [0, 1] as whole numbers, which add up in any order: counts on a grid, and sums without rounding.

Edges of bins :math:`\sin^2(\pi b / 2B)` lie closer together near 0 and 1, as the spread of a mean does there. Exactly 0
(every misclassified sample) and exactly 1 have bins of their own. A score lies between floor and ceiling of its bin.

Intervals of merged scores bet block by block, and the lower end of the NRGC ranks classes by one half of the samples
and estimates them by the other. Both need a deal that knows nothing of the scores. Here it is a fixed function of the
seed and of the sample's number in the whole, its row. So, whatever the seed:

- If the scores of a class are independent draws in the order in which they are numbered, they still are given who went
  where: within each block, and over all blocks. That needs nothing of the function, not even that numbers differ. Two
  shards which both count from 0 are dealt alike; they lose nothing but evenness.
- If the rows are sorted by score, or numbered in any other way that the scores decided, a deal that is fixed goes with
  the scores as well, and only a seed that was drawn apart from them helps: the coins of different numbers are then as
  good as independent of everything. Here numbers must differ, and what is promised holds on average over seeds.

The order of :class:`~gfscore.bounds.class_means.PartScores`, in which betting takes the rows, has both properties too.

In a sum a number x is kept as two whole numbers of 30 bits, :math:`x \approx (h + l\,2^{-30})\,2^{-30}`, cut off after
60 bits. The sums of h and of l fit into 64 bits for 8 thousand million samples.
"""

from typing import NamedTuple, Self

import numpy as np

from gfscore.arrays import FloatArray, IntArray

N_BLOCKS = 8  # the first has 1/128 of the samples: more blocks make no interval narrower, and take room
# By the last seven bits of a hash: the last block for an odd number, the one before for twice an odd one, and so on
_BLOCK_OF_BITS: IntArray = np.array(
    [N_BLOCKS - (low & -low).bit_length() for low in (1 << (N_BLOCKS - 1) | n for n in range(1 << (N_BLOCKS - 1)))]
)
BITS = 30  # of each half of a number in an exact sum
INNER_BINS = 512
EDGES: FloatArray = np.sin(np.pi * np.arange(INNER_BINS + 1) / (2 * INNER_BINS)) ** 2
EDGES[0], EDGES[-1] = 0.0, 1.0
N_BINS = INNER_BINS + 2
N_CELLS = N_BLOCKS * N_BINS  # of a part
FLOORS: FloatArray = np.concatenate(([0.0], EDGES[:-1], [1.0]))
CEILINGS: FloatArray = np.concatenate(([0.0], EDGES[1:], [1.0]))
WIDEST = float((CEILINGS - FLOORS).max())  # 0.003, in the middle


def bins_of(values: FloatArray) -> IntArray:
    """Bin of each score, ``(N,)``.

    >>> found = bins_of(np.array([0.0, 1e-9, 0.5, 1.0]))
    >>> found, FLOORS[found].round(3), CEILINGS[found].round(3)
    (array([  0,   1, 257, 513]), array([0. , 0. , 0.5, 1. ]), array([0.   , 0.   , 0.503, 1.   ]))
    """
    inner = np.searchsorted(EDGES, values, side="right")  # 1 to INNER_BINS; beyond it for 1
    return np.where(values == 0.0, 0, inner).astype(np.int64)


class Cells(NamedTuple):
    """Where samples are counted, one number per sample or per cell."""

    parts: IntArray
    blocks: IntArray
    bins: IntArray

    @property
    def keys(self) -> IntArray:
        """One number for all three, which sorts by part, then block, then bin."""
        return np.asarray(self.parts * N_CELLS + self.blocks * N_BINS + self.bins)

    @classmethod
    def of_keys(cls, keys: IntArray) -> Self:
        """Cells from their keys.

        >>> Cells.of_keys(Cells(np.array([3]), np.array([7]), np.array([513])).keys)
        Cells(parts=array([3]), blocks=array([7]), bins=array([513]))
        """
        return cls(keys // N_CELLS, keys % N_CELLS // N_BINS, keys % N_BINS)


class Deal(NamedTuple):
    """Of each sample, ``(n,)`` each."""

    blocks: IntArray  # 0, the smallest, to N_BLOCKS - 1, which has every second sample
    halves: IntArray  # 0 or 1


def deal(rows: IntArray, seed: int) -> Deal:
    """Block and half of the samples with these numbers, whenever they are asked for.

    The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) of a sequence that begins where the seed says.

    >>> found = deal(np.arange(1024), seed=0)
    >>> np.bincount(found.blocks), found.halves.mean().round(2)
    (array([  7,   3,  20,  42,  71, 129, 242, 510]), np.float64(0.52))
    """
    start = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64 is meant
        mixed = start + (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    last = (mixed & np.uint64(len(_BLOCK_OF_BITS) - 1)).astype(np.int64)
    return Deal(blocks=_BLOCK_OF_BITS[last], halves=(mixed >> np.uint64(63)).astype(np.int64))


def high_and_low(values: FloatArray) -> tuple[IntArray, IntArray]:
    """Both halves of each number in [0, 1], for exact sums; ``(N,)`` each.

    >>> high, low = high_and_low(np.array([0.0, 0.5, 1.0]))
    >>> high.tolist(), low.tolist()
    ([0, 536870912, 1073741824], [0, 0, 0])
    """
    scaled = values * (1 << BITS)  # a power of two: exact, and so are the subtraction and the next product
    high = np.floor(scaled)
    return high.astype(np.int64), np.floor((scaled - high) * (1 << BITS)).astype(np.int64)


def ratios(high: IntArray, low: IntArray, counts: IntArray) -> FloatArray:
    """An exact sum divided by ``counts``, rounded once; ``(K,)``. 0 where there are none.

    >>> ratios(np.array([3 << 29]), np.array([0]), np.array([3]))
    array([0.5])
    """
    rows = zip(high.tolist(), low.tolist(), counts.tolist(), strict=True)
    # Python's whole numbers have no limit, and their division rounds correctly
    return np.array([((upper << BITS) + lower) / (max(n, 1) << 2 * BITS) for upper, lower, n in rows])
