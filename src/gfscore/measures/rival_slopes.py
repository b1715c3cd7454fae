"""Slopes of the margins to all rivals, also of samples that are misclassified: another bias may win them."""

from dataclasses import dataclass

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.measures.run import Run
from gfscore.measures.slopes import Slopes
from gfscore.scores.margin_slopes import estimated_norms


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RivalSlopes(Slopes):
    """Norms of the gradients of the margins to the strongest rivals, (n, R), of every sample that is asked for.

    Without ``gradients`` they are estimated from forward passes. Rows that are not asked for are NaN.
    """

    name = "rival_norms"

    def columns(self, run: Run) -> int:
        """One for each rival."""
        del run
        return int(self.rivals.shape[1])

    def measured_rows(self, asked: IntArray) -> IntArray:
        """All of them."""
        return asked

    def _estimate(self, run: Run, rows: IntArray) -> FloatArray:
        samples, at = self.samples, rows - self.first
        ids = np.asarray(samples.sample_ids or range(samples.n_samples), dtype=object)[at]
        return estimated_norms(run.logits_of, run.pixels(rows), samples.labels[at], self.rivals[at], ids, self.how)
