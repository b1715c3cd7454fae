"""What is asked of rows in any order, a piece of the list at a time: nothing of it is stored by the engines.

The pieces are cut alike wherever they are computed, so that numbers do not depend on the engine.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.measures.logits import forward_rows
from gfscore.measures.run import Run
from gfscore.measures.sending import Sendable, pack, unpack
from gfscore.measures.slopes import exact_norms, measured_slope
from gfscore.scores import FirstOrder, is_leading, strongest_rivals
from gfscore.scores.margin_slopes import slopes_along

PIECE_ROWS = 8  # so few that a round of an adaptive gate is work for several
VALUES = "values"

Part = TypeVar("Part")


class ListMeasure(Sendable[Part]):
    """Something that is asked of a list of rows."""

    @abstractmethod
    def piece_rows(self, run: Run) -> int:
        """Rows of a piece."""

    @abstractmethod
    def compute(self, run: Run, rows: IntArray) -> Part:
        """What is found in some rows."""

    def pieces(self, run: Run, rows: IntArray) -> list[IntArray]:
        """The list, cut."""
        step = self.piece_rows(run)
        return [rows[start : start + step] for start in range(0, len(rows), step)]


class NumbersOfRows(ListMeasure[FloatArray]):
    """A list measure with a row of numbers for each row that is asked for."""

    def piece_rows(self, run: Run) -> int:
        """A few; a model with a fixed batch would fill it up anyway."""
        return max(PIECE_ROWS, run.model.fixed_batch or 1)

    def to_bytes(self, part: FloatArray) -> bytes:
        """The numbers as a safetensors file."""
        return pack({VALUES: part})

    def from_bytes(self, content: bytes) -> FloatArray:
        """What :meth:`to_bytes` gave."""
        return unpack(content)[0][VALUES]


@dataclass(frozen=True, slots=True)
class LogitsOfRows(NumbersOfRows):
    """Logits, (n, K)."""

    def compute(self, run: Run, rows: IntArray) -> FloatArray:
        """Logits of some rows."""
        return forward_rows(run, rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlopesOfRows(NumbersOfRows):
    """Logits, and norms of the gradients of the margins to the strongest rivals, (n, K + R); NaN where misclassified.

    Directions belong to a sample, so a row has the same slopes whatever rows it comes with.
    """

    how: FirstOrder
    gradients: bool = False  # of the differentiable model; otherwise forward passes alone

    def compute(self, run: Run, rows: IntArray) -> FloatArray:
        """Logits and norms of some rows."""
        pixels, data, labels = run.pixels(rows), run.data, run.data.labels[rows]
        logits = run.logits_of(pixels)
        rivals = strongest_rivals(logits, labels, self.how.rivals)
        norms, correct = np.full(rivals.shape, np.nan), is_leading(logits, labels, rivals)
        few = (pixels[correct], labels[correct], rivals[correct])
        if self.gradients and correct.any():
            norms[correct] = exact_norms(run, run.differentiable(), *few, self.how, rows[correct])
        elif correct.any():
            ids = [str(row) if data.sample_ids is None else data.sample_ids[row] for row in rows[correct].tolist()]
            norms[correct], _ = slopes_along(run.logits_of, *few, ids, self.how, here=logits[correct])
        return np.concatenate([logits, norms], axis=1)


@dataclass(frozen=True, slots=True)
class SteepestOfRows(NumbersOfRows):
    """The steepest slope of the logits that is seen around some rows, (1, 1), for any number of them."""

    def piece_rows(self, run: Run) -> int:
        """All of them: what is seen around one leads on to the next."""
        return run.n_samples

    def compute(self, run: Run, rows: IntArray) -> FloatArray:
        """Measure around some rows."""
        return np.array([[measured_slope(run.logits_of, run.pixels(rows))]])
