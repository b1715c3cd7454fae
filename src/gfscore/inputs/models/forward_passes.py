"""Forward passes in batches: one that does not fit into memory is halved, one that fails says which rows it held."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import GFScoreError, InvalidInputError, ModelError, RunError, first_line
from gfscore.inputs.models.batches import out_of_memory
from gfscore.inputs.protocols import Model

NAMED_ROWS = 3  # rows in no order that a message names


@dataclass(frozen=True, slots=True, eq=False)
class Batched:
    """What was computed for some rows, and how it went."""

    values: FloatArray  # (n, ...)
    halved: int = 0  # batches that did not fit into memory and were run in halves


def forward_batches(
    model: Model,
    inputs: FloatArray,
    batch_size: int,
    *,
    rows: range | IntArray | None = None,
    n_classes: int | None = None,
) -> Batched:
    """Logits (n, K) of preprocessed inputs (n, ...), a batch at a time.

    A batch that does not fit into memory is halved, down to one image, and counted. One that fails otherwise, or gives
    logits that are not finite or not ``n_classes``, raises :class:`~gfscore.errors.RunError` with the model, the rows
    and the cause; ``rows`` are the numbers of the inputs in the data, for that message.

    >>> from gfscore.inputs.models.callable_model import CallableModel
    >>> def narrow(inputs):
    ...     if len(inputs) > 2:
    ...         raise MemoryError
    ...     return inputs
    >>> images = np.arange(12, dtype=np.float32).reshape(6, 2)
    >>> done = forward_batches(CallableModel(narrow, name="narrow"), images, 4)
    >>> bool((done.values == images).all()), done.halved
    (True, 1)
    """
    expected, fixed = n_classes, model.fixed_batch

    def checked(logits: FloatArray) -> FloatArray:
        nonlocal expected
        expected = expected or logits.shape[1]
        if logits.shape[1] != expected:
            raise ModelError(f"gives {logits.shape[1]:,} logits per image here and {expected:,} elsewhere")
        if not np.isfinite(logits).all():
            raise ModelError("gives logits that are not finite; look for an overflow in it")
        return logits

    if fixed is not None:  # often 1, and a check of each would take longer than a small network does
        try:
            return Batched(
                checked(np.concatenate([model(inputs[i : i + fixed]) for i in range(0, len(inputs), fixed)]))
            )
        except Exception:  # again below, one at a time: that says which
            expected = n_classes

    def forward(batch: slice) -> FloatArray:
        return checked(model(inputs[batch]))

    return in_batches(forward, len(inputs), batch_size, name=model.name, fixed_batch=fixed, rows=rows)


def in_batches(
    compute: Callable[[slice], FloatArray],
    n_rows: int,
    batch_size: int,
    *,
    name: str,
    fixed_batch: int | None = None,
    rows: range | IntArray | None = None,
) -> Batched:
    """The same for anything that a model called ``name`` computes from slices of rows."""
    parts: list[FloatArray] = []
    halved = 0
    step = fixed_batch or batch_size
    for start in range(0, n_rows, step):
        batch = slice(start, min(start + step, n_rows))
        before = len(parts)
        parts.extend(_halving(compute, batch, name, fixed_batch, rows))
        halved += len(parts) > before + 1
    return Batched(parts[0] if len(parts) == 1 else np.concatenate(parts), halved)


def _halving(
    compute: Callable[[slice], FloatArray],
    batch: slice,
    name: str,
    fixed_batch: int | None,
    rows: range | IntArray | None,
) -> Iterator[FloatArray]:
    """The batch in one part, or in as many as fit."""
    try:
        values: FloatArray | None = compute(batch)
    except Exception as error:  # a forward pass may raise anything
        if isinstance(error, GFScoreError) and not isinstance(error, InvalidInputError):
            raise  # an extra that is missing, or a run that failed further inside
        too_large = out_of_memory(error)
        if not too_large or fixed_batch is not None or batch.stop - batch.start == 1:
            raise _failed(name, batch, rows, error, fixed_batch if too_large else None) from error
        values = None
    # after the block above: the error would keep alive what the batch that failed has allocated
    if values is not None:
        yield values
        return
    middle = (batch.start + batch.stop) // 2
    for half in (slice(batch.start, middle), slice(middle, batch.stop)):
        yield from _halving(compute, half, name, fixed_batch, rows)


def _failed(
    name: str, batch: slice, rows: range | IntArray | None, error: Exception, fixed_batch: int | None
) -> RunError:
    cause = error if error.__cause__ is None or not isinstance(error, ModelError) else error.__cause__
    told = str(cause.args[0]) if isinstance(cause, GFScoreError) else f"{type(cause).__name__}: {first_line(cause)}"
    cannot = "" if fixed_batch is None else f"; its fixed batch of {fixed_batch} cannot be halved"
    return RunError(
        f"{name} failed on {_named(batch, rows)} ({told.rstrip('.')}{cannot}). "
        "What was finished before is kept: mend this, and run it again."
    )


def _named(batch: slice, rows: range | IntArray | None) -> str:
    """The rows of a batch, for people."""
    n_rows = batch.stop - batch.start
    if rows is None:
        return f"a batch of {n_rows:,} images" if n_rows > 1 else "an image"
    chosen = rows[batch]
    first, last = int(chosen[0]), int(chosen[-1])
    if n_rows == 1:
        return f"row {first}"
    if isinstance(chosen, range):
        return f"rows {first} to {last}"
    some = ", ".join(str(int(row)) for row in chosen[:NAMED_ROWS])
    return f"rows {some}" + (f" and {n_rows - NAMED_ROWS:,} more" if n_rows > NAMED_ROWS else "")
