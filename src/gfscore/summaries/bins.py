r"""The grid on which scores in [0, 1] are counted.

Edges :math:`\sin^2(\pi b / 2B)` lie closer together near 0 and 1, as the spread of a mean does there. Exactly 0 (every
misclassified sample) and exactly 1 have bins of their own. A score lies between the floor and the ceiling of its bin.
"""

import numpy as np

from gfscore.samples import FloatArray, IntArray

INNER = 512
EDGES: FloatArray = np.sin(np.pi * np.arange(INNER + 1) / (2 * INNER)) ** 2
EDGES[0], EDGES[-1] = 0.0, 1.0
N_BINS = INNER + 2
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
