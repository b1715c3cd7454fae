"""Slopes of the margins at each sample: norms of gradients, or their forward-only estimates."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import MissingExtraError, ModelError, OptionError
from gfscore.measures.base import RowMeasure, RowsDone
from gfscore.measures.run import Run, rows_together
from gfscore.samples import Samples
from gfscore.scores import FirstOrder, forward_only_norms, gradient_norms, is_leading, strongest_rivals

SHARD_ROWS = 256  # about; a sample costs a hundred times what its logits do, so that fewer are at risk


class Gradients(StrEnum):
    """Whether gradients are used."""

    NO = "no"  # forward passes alone, which every model has
    AUTO = "auto"  # where the model has them; forward passes otherwise, with a flag that says why
    YES = "yes"  # or an error

    @classmethod
    def named(cls, name: str) -> "Gradients":
        """The choice of that name, or an error that lists them."""
        try:
            return cls(name)
        except ValueError:
            raise OptionError(f"gradients {name!r} is not a choice. Choose no, auto or yes.") from None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slopes(RowMeasure):
    """Norms of the gradients of the margins to the strongest rivals, (n, R); NaN for misclassified samples.

    Without a ``module`` they are estimated from forward passes, with those of half the step beside them: (n, 2R).
    """

    name = "gradient_norms"
    samples: Samples  # the model's logits on the data
    how: FirstOrder
    module: Any = None  # the model as a differentiable module; None: forward passes alone
    rivals: IntArray = field(init=False)

    def __post_init__(self) -> None:
        rivals = strongest_rivals(self.samples.logits, self.samples.labels, self.how.rivals)
        object.__setattr__(self, "rivals", rivals)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The norm, and how slopes are found."""
        return {"norm": str(self.how.kind), **self.how.measure(gradients=self.module is not None)}

    def rows_per_shard(self, run: Run) -> int:
        """Whole batches, unless images are large."""
        return rows_together(run.data, run.batch_size * max(1, round(SHARD_ROWS / run.batch_size)))

    def columns(self, run: Run) -> int:
        """One for each rival, twice where they are estimated."""
        del run
        return int(self.rivals.shape[1]) * (1 if self.module is not None else 2)

    def compute(self, run: Run, rows: slice, done: RowsDone = lambda _rows: None) -> FloatArray:
        """Norms for some rows."""
        norms = self._estimated(run, rows) if self.module is None else self._exact(run, rows)
        done(rows.stop - rows.start)
        with np.errstate(over="ignore"):  # infinite, then: a slope that is beyond float32 is no slope
            return norms.astype(np.float32)

    def _estimated(self, run: Run, rows: slice) -> FloatArray:
        pixels = run.pixels(rows)
        norms = forward_only_norms(run.logits_of, pixels, self.samples, self.rivals, self.how, first=rows.start)
        return np.concatenate(norms, axis=1)

    def _exact(self, run: Run, rows: slice) -> FloatArray:
        from gfscore.inputs.models.gradients import margin_gradients

        pixels, labels, rivals = run.pixels(rows), self.samples.labels[rows], self.rivals[rows]
        norms = np.full(rivals.shape, np.nan)
        correct = np.flatnonzero(is_leading(self.samples.logits[rows], labels, rivals))

        def norms_of(batch: slice) -> FloatArray:
            few = correct[batch]
            return gradient_norms(margin_gradients(self.module, pixels[few], labels[few], rivals[few]), self.how.kind)

        if len(correct):
            norms[correct] = run.in_batches(norms_of, len(correct), rows.start + correct)
        return norms


def choose_slopes(
    run: Run, samples: Samples, how: FirstOrder, gradients: Gradients | str = Gradients.NO
) -> tuple[Slopes, str | None]:
    """The slopes of a run, from gradients if that was asked for; and why not from gradients, where they were wanted."""
    choice = Gradients.named(gradients)
    if choice is Gradients.NO:
        return Slopes(samples=samples, how=how), None
    try:
        return Slopes(samples=samples, how=how, module=run.differentiable()), None
    except (ModelError, MissingExtraError) as error:
        if choice is Gradients.YES:
            raise
        return Slopes(samples=samples, how=how), str(error)
