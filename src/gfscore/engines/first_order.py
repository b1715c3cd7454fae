"""First-order radii of a model on data: norms of gradients, or their forward-only estimates, shard by shard."""

import uuid
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from safetensors import safe_open

from gfscore.arrays import FloatArray, IntArray
from gfscore.engines.batches import Batched, in_batches
from gfscore.engines.local import DEFAULT_BATCH, Progress, check_run, fill
from gfscore.errors import MissingExtraError, ModelError, OptionError
from gfscore.inputs.pixels import PixelModel
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.protocols import Dataset, Model
from gfscore.inputs.reading import rows_together
from gfscore.inputs.safetensors_file import halved_batches
from gfscore.inputs.store import Recipe, Store
from gfscore.samples import Samples
from gfscore.scores.first_order import (
    FirstOrder,
    first_order_scores,
    forward_only_norms,
    gradient_norms,
    is_leading,
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
        shard_rows=rows_together(data, batch_size * max(1, round(SHARD_ROWS / batch_size))),
        measure={"name": NAME, "norm": str(how.kind), **how.measure(gradients=module is not None)},
    )
    recipe = store.probed(recipe, model, check_run(model, data, preprocessing).probe)
    entry = store.entry(recipe, {"model": model.name, "data": data.source, "n": samples.n_samples})
    rivals = strongest_rivals(samples.logits, samples.labels, how.rivals)
    shard = _Shard(model=pixel_model, module=module, data=data, samples=samples, rivals=rivals, how=how)
    compute = shard.from_gradients if module is not None else shard.forward_only
    path = fill(entry, recipe, model, data, compute, progress)
    with safe_open(path, framework="np") as file:
        stored, halved = file.get_tensor(NAME), halved_batches(file.metadata())
    n_rivals = rivals.shape[1]
    local = first_order_scores(
        samples,
        stored[:, :n_rivals],
        how,
        gradients=module is not None,
        halved=stored[:, n_rivals:] if module is None else None,
        fallback=fallback,
    )
    return replace(local, halved_batches=halved)


def first_order_rows(model: PixelModel, data: Dataset, rows: IntArray, how: FirstOrder) -> LocalScores:
    """First-order radii of some rows in any order, by forward passes alone; nothing is kept.

    Directions belong to a sample, so a row has the same radius whatever rows it comes with.
    """
    pixels = model.rows(data, rows)
    ids = [str(row) if data.sample_ids is None else data.sample_ids[row] for row in rows.tolist()]
    samples = Samples.of(model(pixels), data.labels[rows], sample_ids=ids)
    rivals = strongest_rivals(samples.logits, samples.labels, how.rivals)
    norms, halved = forward_only_norms(model, pixels, samples, rivals, how)
    return first_order_scores(samples, norms, how, gradients=False, halved=halved)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shard:
    """What is computed for some rows."""

    model: PixelModel
    module: Any
    data: Dataset
    samples: Samples
    rivals: IntArray
    how: FirstOrder

    def from_gradients(self, rows: slice) -> Batched:
        """Norms of gradients (n, R), a batch at a time; NaN for misclassified samples."""
        from gfscore.inputs.models.gradients import margin_gradients

        pixels, labels, rivals = self.model.pixels(self.data, rows), self.samples.labels[rows], self.rivals[rows]
        norms = np.full(rivals.shape, np.nan, dtype=np.float32)
        correct = np.flatnonzero(is_leading(self.samples.logits[rows], labels, rivals))
        if not len(correct):
            return Batched(norms)

        def measured(batch: slice) -> FloatArray:
            few = correct[batch]
            return gradient_norms(margin_gradients(self.module, pixels[few], labels[few], rivals[few]), self.how.kind)

        name, batch_size = self.model.model.name, self.model.batch_size
        done = in_batches(measured, len(correct), batch_size, name=name, rows=rows.start + correct)
        with np.errstate(over="ignore"):  # infinite, then: a slope that is beyond float32 is no slope
            norms[correct] = done.values
        return Batched(norms, done.halved)

    def forward_only(self, rows: slice) -> Batched:
        """Estimated norms, and beside them those with half the step: (n, 2R)."""
        pixels, before = self.model.pixels(self.data, rows), sum(self.model.halved)
        norms = forward_only_norms(self.model, pixels, self.samples, self.rivals, self.how, first=rows.start)
        with np.errstate(over="ignore"):
            narrow = np.concatenate(norms, axis=1).astype(np.float32)
        return Batched(narrow, sum(self.model.halved) - before)


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
