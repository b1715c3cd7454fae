"""Forward passes on this machine, shard by shard into the store; a run that was killed goes on where it was."""

import json
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.digests import refuse_changed
from gfscore.engines.batches import Batched, forward_batches
from gfscore.errors import naming
from gfscore.inputs.guards import check_batch_independence, check_class_count, in_one_batch
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.probes import NOISE, noise_inputs
from gfscore.inputs.protocols import Dataset, Model
from gfscore.inputs.reading import READ_ROWS, read_inputs, rows_together
from gfscore.inputs.store import NAMES, ON_GPU, Entry, Recipe, Store

DEFAULT_BATCH = 128
SHARD_ROWS = 2048  # about; rounded to whole batches

Progress = Callable[[int, int], None]  # rows done, rows in all


def compute_logits(
    model: Model,
    data: Dataset,
    preprocessing: Preprocessing,
    store: Store,
    *,
    batch_size: int = DEFAULT_BATCH,
    progress: Progress = lambda _done, _total: None,
) -> Path:
    """Logits file of the model on the data: from the store where it is there, computed where it is not."""
    batch_size = model.fixed_batch or batch_size
    n_classes, probe = check_run(model, data, preprocessing)
    recipe = store.probed(recipe_for(model, data, preprocessing, batch_size), model, probe)
    entry = store.entry(recipe, about_run(model, data, n_classes))

    def forward(rows: slice) -> Batched:
        return forward_shard(model, data, preprocessing, rows, batch_size, n_classes, progress)

    return fill(entry, recipe, model, data, forward, progress)


def recipe_for(
    model: Model, data: Dataset, preprocessing: Preprocessing, batch_size: int, *, gpu: bool = False
) -> Recipe:
    """The recipe of a model's logits on the data, on whatever machine; those of a GPU differ in their last digits."""
    fingerprint = model.fingerprint or f"unknown-{uuid.uuid4().hex}"  # found by nobody again
    return Recipe(
        model=f"{fingerprint}{ON_GPU}" if gpu else fingerprint,
        data=data.fingerprint,
        n_samples=len(data.labels),
        preprocessing=preprocessing.describe(),
        batch_size=batch_size,
        shard_rows=batch_size * max(1, round(SHARD_ROWS / batch_size)),
    )


def about_run(model: Model, data: Dataset, n_classes: int) -> dict[str, Any]:
    """What an entry of logits says to people."""
    return {"model": model.name, "data": data.source, "n": len(data.labels), "classes": n_classes}


def fill(
    entry: Entry,
    recipe: Recipe,
    model: Model,
    data: Dataset,
    compute: Callable[[slice], Batched],
    progress: Progress,
) -> Path:
    """The finished file of an entry: as it is there, or with the shards computed that are missing or damaged.

    Nothing is taken or kept when a file of the model or the data is no longer what the recipe was made of.
    """
    shards, n_samples = recipe.shards(), recipe.n_samples
    with entry.locked():
        refuse_changed(model, data)
        missing = missing_shards(entry, recipe)
        for index in missing or ():
            done = compute(shards[index])
            refuse_changed(model, data)
            entry.write_shard(index, done.values, halved=done.halved)
            progress(shards[index].stop, n_samples)
        progress(n_samples, n_samples)
        return entry.finished if missing is None else finish(entry, recipe, data)


def missing_shards(entry: Entry, recipe: Recipe) -> list[int] | None:
    """What must be computed before an entry, whose lock is held, can be finished; None when it is finished."""
    shards = recipe.shards()
    damaged = entry.damaged_shards(shards)
    if damaged == []:
        entry.drop_shards()  # a run may have been killed between finishing and this
        return None
    if damaged:
        entry.reopen(shards, damaged)
    return [index for index in range(len(shards)) if entry.read_shard(index) is None]


def finish(entry: Entry, recipe: Recipe, data: Dataset) -> Path:
    """Join the shards of an entry from which none is missing."""
    return entry.finish(len(recipe.shards()), data.labels, names_of(data))


def names_of(data: Dataset) -> dict[str, str]:
    """What the data call their classes and samples, for the metadata of a file: it can be audited by itself."""
    named = {name: getattr(data, name) for name in NAMES}
    return {name: json.dumps(values) for name, values in named.items() if values is not None}


class Checked(NamedTuple):
    """What is known of a model on data before it is run."""

    n_classes: int
    probe: FloatArray  # its logits on the first images and on noise, which tell it from other models


def check_run(model: Model, data: Dataset, preprocessing: Preprocessing) -> Checked:
    """Look at the first images and at what the model makes of them."""
    with naming(data.source):
        first = max(2, rows_together(data))  # a model whose images depend on each other shows it in two
        images = data.images(slice(0, min(first, len(data.labels))))
        preprocessing.check_range(images)
        inputs = preprocessing.apply(images, data.layout, model.layout)
    logits = check_batch_independence(model, inputs)
    check_class_count(model, logits.shape[1], data.class_names, int(data.labels.max()))
    together = [range(start, min(start + first, NOISE)) for start in range(0, NOISE, first)]
    noise = (noise_inputs(rows, inputs.shape[1:], preprocessing, model) for rows in together)
    return Checked(logits.shape[1], np.concatenate([logits, *(in_one_batch(model, few) for few in noise)]))


def forward_rows(
    model: Model, data: Dataset, preprocessing: Preprocessing, rows: IntArray, *, batch_size: int = DEFAULT_BATCH
) -> FloatArray:
    """Logits of some rows in any order, (n, K); nothing is kept. What is run should pass :func:`check_run` first."""
    parts = []
    step = _step(model, data, batch_size)
    for piece in np.split(rows, range(step, len(rows), step)):
        inputs = read_inputs(model, data, preprocessing, piece)
        parts.append(forward_batches(model, inputs, batch_size, rows=piece).values)
    return np.concatenate(parts)


def forward_shard(
    model: Model,
    data: Dataset,
    preprocessing: Preprocessing,
    rows: slice,
    batch_size: int,
    n_classes: int,
    progress: Progress = lambda _done, _total: None,
) -> Batched:
    """Logits of one shard."""
    parts: list[Batched] = []
    for done, inputs in _inputs(model, data, preprocessing, rows, batch_size):
        piece = range(done - len(inputs), done)
        parts.append(forward_batches(model, inputs, batch_size, rows=piece, n_classes=n_classes))
        progress(done, len(data.labels))
    return Batched(np.concatenate([part.values for part in parts]), sum(part.halved for part in parts))


def _inputs(
    model: Model, data: Dataset, preprocessing: Preprocessing, rows: slice, batch_size: int
) -> Iterator[tuple[int, FloatArray]]:
    """Preprocessed inputs in pieces of whole batches, each with the row it ends at.

    The next piece is read and preprocessed while the model works on this one.
    """
    step = _step(model, data, batch_size)
    pieces = [slice(start, min(start + step, rows.stop)) for start in range(rows.start, rows.stop, step)]

    read = partial(read_inputs, model, data, preprocessing)
    with ThreadPoolExecutor(1) as reader:
        ahead = reader.submit(read, pieces[0])
        for piece, following in zip(pieces, [*pieces[1:], None], strict=True):
            inputs = ahead.result()
            if following is not None:
                ahead = reader.submit(read, following)
            yield piece.stop, inputs


def _step(model: Model, data: Dataset, batch_size: int) -> int:
    """Rows that are read together: whole batches, but a batch of large images shrinks unless its size is fixed."""
    rows = rows_together(data, max(READ_ROWS, batch_size))
    return rows if rows < batch_size and model.fixed_batch is None else batch_size * max(1, rows // batch_size)
