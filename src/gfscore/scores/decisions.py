"""What the logits decide, and by how much, without any activation."""

import numpy as np

from gfscore.arrays import FloatArray, IntArray, Scratch, row_chunks
from gfscore.samples import Samples
from gfscore.scores.great import own_and_rival, writable_logits


def decisions(samples: Samples) -> tuple[FloatArray, FloatArray, IntArray]:
    """Logit of the true class, largest other logit, and prediction of each sample; ``(N,)`` each.

    >>> own, rival, predicted = decisions(Samples.of([[2.0, 0.5], [0.0, 1.0]], [0, 0]))
    >>> own, rival, predicted
    (array([2., 0.]), array([0.5, 1. ]), array([0, 1]))
    """
    own, rival = np.empty(samples.n_samples), np.empty(samples.n_samples)
    predicted = np.empty(samples.n_samples, dtype=np.int64)
    scratch = Scratch()
    for rows in row_chunks(*samples.logits.shape):
        own[rows], rival[rows], predicted[rows] = own_and_rival(
            writable_logits(samples, rows, scratch), samples.labels[rows]
        )
    return own, rival, predicted
