"""A look at the boundary that radii predict: whether it is there, and how the slopes are spread over the pixels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.measures.run import Run
from gfscore.samples import Samples
from gfscore.scores import FirstOrder, is_leading, strongest_rivals
from gfscore.scores.margin_slopes import is_drawn
from gfscore.scores.midpoints import MIDPOINT_RIVALS, midpoint_ends

LOOKS = 64  # samples, about, that are looked at
BEYOND = 1.2  # times the predicted distance: a fifth too far, the other side should have been reached
SHORT = 0.8  # a fifth too near, it should not have been


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundaryLook:
    """What was seen of some correct samples."""

    still_right: BoolArray  # (n,): a fifth beyond its predicted boundary the sample is still decided correctly
    already_wrong: BoolArray  # (n,): a fifth before it, the sample is decided otherwise
    spread: FloatArray  # (n,): |g|_1 / (|g|_2 sqrt(D)) of the gradient of its margin; 1 where all pixels matter alike


def look_at_boundary(run: Run, samples: Samples, how: FirstOrder, rows: IntArray | None = None) -> BoundaryLook:
    """What some 64 of the rows show, by gradients of the run, which must have some; nothing is kept.

    Which ones is decided by their ids, so a second look sees the same.
    """
    asked = np.arange(samples.n_samples) if rows is None else rows
    few = rows_to_look_at(asked, samples.sample_ids)
    return look_at_rows(run, few, samples.logits[few], samples.labels[few], how)


def rows_to_look_at(asked: IntArray, ids: Sequence[object] | None) -> IntArray:
    """Some 64 of the rows that are asked for, by the ids of all, or their numbers."""
    share = LOOKS / max(len(asked), 1)
    drawn: BoolArray = np.array([is_drawn(ids[row] if ids else row, share) for row in asked.tolist()], dtype=bool)
    return np.asarray(asked[drawn])


def look_at_rows(run: Run, rows: IntArray, logits: FloatArray, labels: IntArray, how: FirstOrder) -> BoundaryLook:
    """What those of the rows show that are classified correctly; ``logits`` (n, K) and ``labels`` (n,) are theirs."""
    from gfscore.inputs.models.gradients import margins_and_gradients

    rivals = strongest_rivals(logits, labels, how.rivals)
    correct = is_leading(logits, labels, rivals)
    few, rivals, labels = rows[correct], rivals[correct], labels[correct]
    if len(few) == 0:
        nothing = np.zeros(0, dtype=bool)
        return BoundaryLook(still_right=nothing, already_wrong=nothing, spread=np.zeros(0))
    module, pixels = run.differentiable(), run.pixels(few)

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

    seen = run.in_batches(looked, len(few), few)
    return BoundaryLook(still_right=seen[:, 0] > 0, already_wrong=seen[:, 1] == 0, spread=seen[:, 2])
