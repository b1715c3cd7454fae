r"""The grid on which scores in [0, 1] are counted.

Edges :math:`\sin^2(\pi b / 2B)` lie closer together near 0 and 1, as the spread of a mean does there. Exactly 0 (every
misclassified sample) and exactly 1 have bins of their own. A score lies between the floor and the ceiling of its bin.
Each block of :mod:`~gfscore.summaries.dealing` is counted by itself.
"""

from typing import NamedTuple, Self

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.summaries.dealing import N_BLOCKS

INNER = 512
EDGES: FloatArray = np.sin(np.pi * np.arange(INNER + 1) / (2 * INNER)) ** 2
EDGES[0], EDGES[-1] = 0.0, 1.0
N_BINS = INNER + 2
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
    inner = np.searchsorted(EDGES, values, side="right")  # 1 to INNER; beyond it for 1
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
        """Back from there.

        >>> Cells.of_keys(Cells(np.array([3]), np.array([7]), np.array([513])).keys)
        Cells(parts=array([3]), blocks=array([7]), bins=array([513]))
        """
        return cls(keys // N_CELLS, keys % N_CELLS // N_BINS, keys % N_BINS)
