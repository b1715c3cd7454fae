"""Logits: forward passes over the data, the next images read while the model works on these."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.measures.run import READ_ROWS, RowMeasure, RowsDone, Run, rows_together

SHARD_ROWS = 2048  # about; rounded to whole batches


@dataclass(frozen=True, slots=True)
class Logits(RowMeasure):
    """What the model says about each image, (n, K)."""

    name = "logits"

    @property
    def settings(self) -> None:
        """Nothing beside the run decides logits."""

    def rows_per_shard(self, run: Run) -> int:
        """Whole batches: a shard never cuts one."""
        return run.batch_size * max(1, round(SHARD_ROWS / run.batch_size))

    def columns(self, run: Run) -> int:
        """A logit for each class."""
        return run.check().n_classes

    def about(self, run: Run) -> dict[str, Any]:
        """What an entry of logits says to people."""
        return {"model": run.model.name, "data": run.data.source, "n": run.n_samples, "classes": self.columns(run)}

    def compute(self, run: Run, rows: slice, done: RowsDone = lambda _rows: None) -> FloatArray:
        """Logits of some rows."""
        parts: list[FloatArray] = []
        for stop, inputs in _inputs(run, rows):
            piece = range(stop - len(inputs), stop)
            parts.append(run.forward(inputs, rows=piece, n_classes=run.check().n_classes))
            done(stop - rows.start)
        return np.concatenate(parts)


def forward_rows(run: Run, rows: IntArray) -> FloatArray:
    """Logits of some rows in any order, (n, K); nothing is kept. What is run should pass :meth:`Run.check` first."""
    step = _step(run)
    pieces = np.split(rows, range(step, len(rows), step))
    return np.concatenate([run.forward(run.inputs(piece), rows=piece) for piece in pieces])


def _inputs(run: Run, rows: slice) -> Iterator[tuple[int, FloatArray]]:
    """Preprocessed inputs in pieces of whole batches, each with the row it ends at.

    The next piece is read and preprocessed while the model works on this one.
    """
    step = _step(run)
    pieces = [slice(start, min(start + step, rows.stop)) for start in range(rows.start, rows.stop, step)]
    reader = _reader(os.getpid())
    ahead = reader.submit(run.inputs, pieces[0])
    for piece, following in zip(pieces, [*pieces[1:], None], strict=True):
        inputs = ahead.result()
        if following is not None:
            ahead = reader.submit(run.inputs, following)
        yield piece.stop, inputs


@cache
def _reader(process: int) -> ThreadPoolExecutor:
    """The thread that reads ahead, one for a ``process``: a new one for each shard would keep memory of its own."""
    return ThreadPoolExecutor(1, thread_name_prefix=f"images of {process}")


def _step(run: Run) -> int:
    """Rows that are read together: whole batches, but a batch of large images shrinks unless its size is fixed."""
    rows = rows_together(run.data, max(READ_ROWS, run.batch_size))
    if rows < run.batch_size and run.model.fixed_batch is None:
        return rows
    return run.batch_size * max(1, rows // run.batch_size)
