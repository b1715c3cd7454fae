"""A look at the boundary that radii predict: whether it is there, and how the slopes are spread over the pixels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.measures.logits import forward_rows
from gfscore.measures.row_lists import NumbersOfRows
from gfscore.measures.run import Run
from gfscore.samples import Samples
from gfscore.scores import FirstOrder, is_leading, strongest_rivals
from gfscore.scores.margin_slopes import is_drawn
from gfscore.scores.midpoints import MIDPOINT_RIVALS, midpoint_ends

LOOKS = 64  # samples, about, that are looked at
BEYOND = 1.2  # times the predicted distance: a fifth too far, the other side should have been reached
SHORT = 0.8  # a fifth too near, it should not have been
TOGETHER = 16  # samples of a piece


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundaryLook:
    """What was seen of some correct samples."""

    still_right: BoolArray  # (n,): a fifth beyond its predicted boundary the sample is still decided correctly
    already_wrong: BoolArray  # (n,): a fifth before it, the sample is decided otherwise
    spread: FloatArray  # (n,): |g|_1 / (|g|_2 sqrt(D)) of the gradient of its margin; 1 where all pixels matter alike

    @classmethod
    def of(cls, pieces: Sequence[FloatArray]) -> Self:
        """What :class:`BoundaryOfRows` found in some pieces, of the samples that are correct."""
        whole = np.concatenate([np.zeros((0, 3)), *pieces])
        right, wrong, spread = whole[~np.isnan(whole[:, 0])].T
        return cls(still_right=right > 0, already_wrong=wrong == 0, spread=spread)


def rows_to_look_at(asked: IntArray, ids: Sequence[object] | None) -> IntArray:
    """Some 64 of the rows that are asked for, by the ids of all, or their numbers."""
    share = LOOKS / max(len(asked), 1)
    drawn: BoolArray = np.array([is_drawn(ids[row] if ids else row, share) for row in asked.tolist()], dtype=bool)
    return np.asarray(asked[drawn])


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryOfRows(NumbersOfRows):
    """What the boundary of some rows shows by gradients, (n, 3): the columns of a look; NaN where misclassified."""

    how: FirstOrder

    def piece_rows(self, run: Run) -> int:
        """Few enough that a look is work for several."""
        return max(TOGETHER, run.model.fixed_batch or 1)

    def compute(self, run: Run, rows: IntArray) -> FloatArray:
        """Look at some rows."""
        logits, labels = forward_rows(run, rows), run.data.labels[rows]
        rivals = strongest_rivals(logits, labels, self.how.rivals)
        correct = is_leading(logits, labels, rivals)
        found = np.full((len(rows), 3), np.nan)
        if correct.any():
            found[correct] = self._look(run, rows[correct], labels[correct], rivals[correct])
        return found

    def _look(self, run: Run, rows: IntArray, labels: IntArray, rivals: IntArray) -> FloatArray:
        """The columns for rows that are classified correctly."""
        from gfscore.inputs.models.gradients import margins_and_gradients

        module, pixels, how = run.differentiable(), run.pixels(rows), self.how

        def looked(batch: slice) -> FloatArray:
            found = margins_and_gradients(module, pixels[batch], labels[batch], rivals[batch])
            slopes = found[1][:, 0].astype(np.float64)
            with np.errstate(divide="ignore", invalid="ignore"):
                spread = np.abs(slopes).sum(axis=1) / np.linalg.norm(slopes, axis=1) / math.sqrt(slopes.shape[1])
            _, ends = midpoint_ends(
                lambda moved: margins_and_gradients(module, moved, labels[batch], MIDPOINT_RIVALS),
                *(pixels[batch], *found, how.kind, how.refine),
            )
            flat = pixels[batch].reshape(len(ends), -1)
            right = []
            for share in (BEYOND, SHORT):
                there = np.clip(flat + share * (ends - flat), 0, 1).astype(np.float32).reshape(pixels[batch].shape)
                right.append(run.logits_of(there).argmax(axis=1) == labels[batch])
            return np.stack([*right, spread], axis=1)

        return run.in_batches(looked, len(rows), rows)


def look_at_boundary(run: Run, samples: Samples, how: FirstOrder) -> BoundaryLook:
    """What some 64 samples of a run show, by gradients, which it must have; nothing is kept.

    Which ones is decided by their ids, so a second look sees the same.
    """
    rows, measure = rows_to_look_at(np.arange(samples.n_samples), samples.sample_ids), BoundaryOfRows(how=how)
    return BoundaryLook.of([measure.compute(run, piece) for piece in measure.pieces(run, rows)])
