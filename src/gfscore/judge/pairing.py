"""May rows be matched by their order? Not when the order goes with the score: then any two files look paired."""

import numpy as np

from gfscore.arrays import FloatArray, IntArray

LIMIT = 0.5  # of the rank correlation of order and score: at it the deviation of a change looks 13 % too small
DEVIATIONS = 4.0  # that it must be away from 0, for chance to have no part in it


def follows_order(old: FloatArray, new: FloatArray, codes: IntArray) -> bool:
    r"""Whether the scores of two versions, row by row, both rise or both fall with the row number.

    Two samples of n that are sorted by the score are paired quantile by quantile. With a correlation r of order and
    score, the differences have the variance :math:`2\sigma^2(1 - r^2)`, but their mean that of two independent samples,
    :math:`2\sigma^2/n`: a change is taken to be surer than it is, and chance for a fall. ``codes`` are the parts,
    ``(N,)`` as the scores.
    """
    found = [order_correlation(scores, codes) for scores in (old, new)]
    needed = max(LIMIT, DEVIATIONS / np.sqrt(max(len(codes) - len(np.unique(codes)), 1)))
    return bool(min(found) >= needed or max(found) <= -needed)


def order_correlation(scores: FloatArray, codes: IntArray) -> float:
    """Spearman's correlation of the scores with the row number within the parts, over all of them; 0 without any.

    >>> codes = np.array([0, 0, 0, 1, 1, 1])
    >>> order_correlation(np.array([0.1, 0.2, 0.3, 0.7, 0.8, 0.9]), codes)
    1.0
    >>> order_correlation(np.array([0.3, 0.2, 0.1, 0.7, 0.7, 0.7]), codes)
    -0.707...
    """
    rows, ranks = np.zeros(len(codes)), np.zeros(len(codes))
    for part in np.unique(codes):
        inside = codes == part
        n = int(inside.sum())
        rows[inside] = (np.arange(n) + 0.5) / n - 0.5
        _, place, counts = np.unique(scores[inside], return_inverse=True, return_counts=True)
        ranks[inside] = (np.cumsum(counts) - 0.5 * counts)[place] / n - 0.5  # equals share their middle
    scale = np.sqrt((rows @ rows) * (ranks @ ranks))
    return float(np.clip(rows @ ranks / scale, -1.0, 1.0)) if scale > 0 else 0.0
