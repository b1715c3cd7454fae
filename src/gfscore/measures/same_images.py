"""Images that stand in two sets, by their pixels: who chose something by an image cannot judge it by a copy."""

import hashlib

import numpy as np

from gfscore.arrays import BoolArray, IntArray
from gfscore.measures.run import Run

TOGETHER = 64  # images that are read at once

Rows = tuple[Run, IntArray]  # some images of a run


def copies_of(these: Rows, *others: Rows) -> BoolArray:
    """Which of these images are among the others, pixel by pixel, ``(n,)``."""
    known = {digest for other in others for digest in _digests(*other)}
    return np.array([digest in known for digest in _digests(*these)], dtype=bool)


def _digests(run: Run, rows: IntArray) -> list[bytes]:
    """A hash of the pixels of each image."""
    parts = (run.pixels(rows[start : start + TOGETHER]) for start in range(0, len(rows), TOGETHER))
    return [hashlib.sha256(image.tobytes()).digest() for part in parts for image in part]
