"""First-order radii of a model on data: norms of gradients, or their forward-only estimates, shard by shard."""

import uuid
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from gfscore.engines.local import DEFAULT_BATCH, Progress, fill
from gfscore.errors import MissingExtraError, ModelError, OptionError
from gfscore.inputs.pixels import PixelModel
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.protocols import Dataset, Model
from gfscore.inputs.store import Recipe, Store
from gfscore.samples import FloatArray, IntArray, Samples
from gfscore.scores.directions import estimated_norms
from gfscore.scores.first_order import (
    STEP_CHECKS,
    FirstOrder,
    first_order_scores,
    gradient_norms,
    strongest_rivals,
)
from gfscore.scores.local import LocalScores

NAME = "gradient_norms"  # of what is stored
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


def score_first_order(
    model: Model,
    data: Dataset,
    preprocessing: Preprocessing,
    store: Store,
    samples: Samples,
    how: FirstOrder,
    *,
    gradients: Gradients | str = Gradients.NO,
    batch_size: int = DEFAULT_BATCH,
    progress: Progress = lambda _done, _total: None,
) -> LocalScores:
    """First-order radii of ``samples``, the model's logits on the data; the norms they rest on are kept in the store.

    A second call, also with another ``eps`` or largest radius, computes nothing again.
    """
    pixel_model = PixelModel(model=model, preprocessing=preprocessing, batch_size=batch_size)
    module, fallback = _module(pixel_model, data, Gradients.named(gradients))
    recipe = Recipe(
        model=model.fingerprint or f"unknown-{uuid.uuid4().hex}",  # found by nobody again
        data=data.fingerprint,
        n_samples=samples.n_samples,
        preprocessing=preprocessing.describe(),
        batch_size=batch_size,
        shard_rows=batch_size * max(1, round(SHARD_ROWS / batch_size)),
        measure={"name": NAME, "norm": str(how.kind), **how.measure(gradients=module is not None)},
    )
    entry = store.entry(recipe, {"model": model.name, "data": data.source, "n": samples.n_samples})
    rivals = strongest_rivals(samples.logits, samples.labels, how.rivals)
    shard = _Shard(model=pixel_model, module=module, data=data, samples=samples, rivals=rivals, how=how)
    path = fill(entry, recipe, data, shard.from_gradients if module is not None else shard.forward_only, progress)
    with safe_open(path, framework="np") as file:
        stored = file.get_tensor(NAME)
    n_rivals = rivals.shape[1]
    return first_order_scores(
        samples,
        stored[:, :n_rivals],
        how,
        gradients=module is not None,
        halved=stored[:, n_rivals:] if module is None else None,
        fallback=fallback,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shard:
    """What is computed for some rows; a misclassified sample has radius 0, so its norms are left out as NaN."""

    model: PixelModel
    module: Any
    data: Dataset
    samples: Samples
    rivals: IntArray
    how: FirstOrder

    def from_gradients(self, rows: slice) -> FloatArray:
        """Norms of gradients (n, R), a batch at a time."""
        from gfscore.inputs.models.gradients import margin_gradients

        norms, pixels = self._blank(rows), self.model.pixels(self.data, rows)
        labels, rivals, correct = self.samples.labels[rows], self.rivals[rows], np.flatnonzero(self._correct(rows))
        for start in range(0, len(correct), self.model.batch_size):
            few = correct[start : start + self.model.batch_size]
            norms[few] = gradient_norms(
                margin_gradients(self.module, pixels[few], labels[few], rivals[few]), self.how.kind
            )
        return norms

    def forward_only(self, rows: slice) -> FloatArray:
        """Estimated norms (n, R), and beside them those with half the step, which a few samples have: (n, 2R)."""
        pixels, correct = self.model.pixels(self.data, rows), self._correct(rows)
        every = max(1, self.samples.n_samples // STEP_CHECKS)
        again = correct & (np.arange(rows.start, rows.stop) % every == 0)
        ids = np.asarray(self.samples.sample_ids or range(self.samples.n_samples), dtype=object)[rows]
        columns = []
        for chosen, step in ((correct, self.how.step), (again, self.how.step / 2)):
            norms = self._blank(rows)
            norms[chosen] = estimated_norms(
                self.model,
                pixels[chosen],
                self.samples.labels[rows][chosen],
                self.rivals[rows][chosen],
                ids[chosen],
                norm=self.how.kind,
                directions=self.how.count,
                step=step,
                seed=self.how.seed,
            )
            columns.append(norms)
        return np.concatenate(columns, axis=1)

    def _blank(self, rows: slice) -> FloatArray:
        return np.full(self.rivals[rows].shape, np.nan, dtype=np.float32)

    def _correct(self, rows: slice) -> NDArray[np.bool_]:
        logits = self.samples.logits[rows]
        own, rival = (
            np.take_along_axis(logits, classes[rows, None], axis=1)[:, 0]
            for classes in (self.samples.labels, self.rivals[:, 0])
        )
        return np.asarray(own > rival)


def _module(model: PixelModel, data: Dataset, gradients: Gradients) -> tuple[Any, str | None]:
    """The model as a differentiable module, or None; and why it is not one, if that was asked for."""
    if gradients is Gradients.NO:
        return None, None
    from gfscore.inputs.models.gradients import COMPARED, differentiable

    try:
        return differentiable(model, model.pixels(data, slice(0, COMPARED))), None
    except (ModelError, MissingExtraError) as error:
        if gradients is Gradients.YES:
            raise
        return None, str(error)
