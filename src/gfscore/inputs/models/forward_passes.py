"""Forward passes: what goes into a model and comes out of it, in batches that fit, and the mistakes that show at once.

A batch that does not fit into memory is halved, one that fails says which rows it held.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import GFScoreError, InvalidInputError, ModelError, RunError, first_line
from gfscore.inputs.protocols import Model
from gfscore.names import as_array

# How runtimes without an exception of their own for it say that an allocation failed.
OUT_OF_MEMORY = (
    "Failed to allocate memory for requested buffer",  # onnxruntime's arena, on any device
    "std::bad_alloc",  # onnxruntime outside its arena
    "bad allocation",  # the same on Windows
    "DefaultCPUAllocator: can't allocate memory",  # torch on Linux and macOS
    "DefaultCPUAllocator: not enough memory",  # torch on Windows
    "CUDA error: out of memory",  # torch, outside its own allocator
    "MPS backend out of memory",
    "CUDA failure 2: out of memory",  # onnxruntime
    "8007000E",  # DirectML: E_OUTOFMEMORY
    "CUBLAS_STATUS_ALLOC_FAILED",
    "RESOURCE_EXHAUSTED: Out of memory",  # JAX
    "OOM when allocating tensor",  # TensorFlow
)
NAMED_ROWS = 3  # rows in no order that a message names
TRIED_ROWS = 12  # that are run again in another batch and order
DIFFERENCE = 1e-4  # of the largest logit, or of 1: what another batch may change
ROUGH_DIFFERENCE = 0.05  # the same where forward passes are in float16 or bfloat16, with 10 or 7 bits after the point
Rows = range | IntArray  # numbers of inputs in the data


class BatchDependenceError(InvalidInputError):
    """The same image gives other logits in another batch."""


class ClassCountError(InvalidInputError):
    """Model and data do not agree on the number of classes."""


@dataclass(frozen=True, slots=True, eq=False)
class Batched:
    """What was computed for some rows, and how it went."""

    values: FloatArray  # (n, ...)
    halved: int = 0  # batches that did not fit into memory and were run in halves


def pad(inputs: FloatArray, size: int | None) -> FloatArray:
    """Inputs filled up to a fixed batch ``size`` with copies of the last row; as they are when any size will do.

    >>> pad(np.array([[1.0], [2.0]]), 4).ravel()
    array([1., 2., 2., 2.])
    """
    missing = 0 if size is None else size - len(inputs)
    if missing == 0:
        return inputs
    if missing < 0:
        raise ModelError(f"takes batches of {size} and was given {len(inputs)} rows. Give it {size} at a time.")
    return np.concatenate([inputs, np.repeat(inputs[-1:], missing, axis=0)])


def as_logits(returned: Any, rows: int) -> FloatArray:
    """Logits (n, K) as float32 from what a model returned: (n, K), or (n, K, 1, 1) from a convolutional head."""
    logits = as_array(returned, "its outputs")
    if logits.ndim == 4 and logits.shape[2:] == (1, 1):
        logits = logits[:, :, 0, 0]
    if logits.ndim != 2 or len(logits) != rows:
        raise ModelError(
            f"returned shape {logits.shape} for {rows} inputs; logits have shape ({rows}, classes). "
            "Choose another output, or wrap the model."
        )
    if logits.dtype.kind != "f":
        raise ModelError(f"returned {logits.dtype}; logits are floats. Choose the output before argmax.")
    return logits.astype(np.float32, copy=False)


def run_batch(model: Model, inputs: FloatArray, forward: Callable[[FloatArray], Any]) -> FloatArray:
    """Logits (n, K) of a batch, which ``forward`` gets filled up; whatever fails names the model, in one line."""
    try:
        batch = pad(inputs, model.fixed_batch)
        return as_logits(forward(batch), len(batch))[: len(inputs)]
    except InvalidInputError as error:
        raise error.found_in(model.name) from error
    except Exception as error:  # a forward pass may raise anything
        told = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        given = f"inputs of shape {inputs.shape} ({told})."
        message = f"cannot run on {given} Check layout, size and channels of the images."
        if "on the same device" in told:
            message = (
                f"makes tensors that are not where it runs ({told}). Register them as buffers, or say --device cpu."
            )
        if out_of_memory(error):
            message = f"needs more memory than there is for {given} Give it more."
        raise ModelError(message).found_in(model.name) from error


def out_of_memory(error: BaseException) -> bool:
    """Whether an error, or what it was made from, says that memory ran out.

    >>> out_of_memory(MemoryError()), out_of_memory(RuntimeError("an odd shape"))
    (True, False)
    """
    torch = sys.modules.get("torch")  # its errors exist only where it was imported
    kinds = (MemoryError,) if torch is None else (MemoryError, torch.OutOfMemoryError)
    if isinstance(error, kinds) or any(text in str(error) for text in OUT_OF_MEMORY):
        return True
    # one that was raised again with the name of a file is its own cause
    return error.__cause__ not in (None, error) and out_of_memory(error.__cause__)


def forward_batches(
    model: Model, inputs: FloatArray, batch_size: int, *, rows: Rows | None = None, n_classes: int | None = None
) -> Batched:
    """Logits (n, K) of preprocessed inputs (n, ...), a batch at a time.

    A batch that does not fit into memory is halved, down to one image, and counted. One that fails otherwise, or gives
    logits that are not finite or not ``n_classes``, raises :class:`~gfscore.errors.RunError` with the model, the rows
    and the cause; ``rows`` are the numbers of the inputs in the data, for that message.

    >>> from gfscore.inputs.models import CallableModel
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

    def check(logits: FloatArray) -> FloatArray:
        nonlocal expected
        expected = expected or logits.shape[1]
        if logits.shape[1] != expected:
            raise ModelError(f"gives {logits.shape[1]:,} logits per image here and {expected:,} elsewhere")
        if not np.isfinite(logits).all():
            raise ModelError("gives logits that are not finite; look for an overflow in it")
        return logits

    if fixed is not None:  # often 1, and a check of each would take longer than a small network does
        try:
            return Batched(check(np.concatenate([model(inputs[i : i + fixed]) for i in range(0, len(inputs), fixed)])))
        except Exception:  # again below, one at a time: that says which
            expected = n_classes

    def forward(batch: slice) -> FloatArray:
        return check(model(inputs[batch]))

    return in_batches(forward, len(inputs), batch_size, name=model.name, fixed_batch=fixed, rows=rows)


def in_batches(
    compute: Callable[[slice], FloatArray],
    n_rows: int,
    batch_size: int,
    *,
    name: str,
    fixed_batch: int | None = None,
    rows: Rows | None = None,
) -> Batched:
    """Anything that a model called ``name`` computes from slices of rows, on the terms of :func:`forward_batches`."""
    parts: list[FloatArray] = []
    halved = 0
    step = fixed_batch or batch_size
    for start in range(0, n_rows, step):
        before = len(parts)
        parts.extend(_attempt(compute, slice(start, min(start + step, n_rows)), name, fixed_batch, rows))
        halved += len(parts) > before + 1
    return Batched(parts[0] if len(parts) == 1 else np.concatenate(parts), halved)


def _attempt(
    compute: Callable[[slice], FloatArray], batch: slice, name: str, fixed_batch: int | None, rows: Rows | None
) -> Iterator[FloatArray]:
    """The batch in one part, or in as many as fit.

    No inner function that calls itself: it would hold itself, and with it the inputs, until rubbish is collected.
    """
    try:
        values = compute(batch)
    except Exception as error:  # a forward pass may raise anything
        if isinstance(error, GFScoreError) and not isinstance(error, InvalidInputError):
            raise  # an extra that is missing, or a run that failed further inside
        fatal = not out_of_memory(error)
        if fatal or fixed_batch is not None or batch.stop - batch.start == 1:
            where = f"{name} failed on {_name_rows(batch, rows)}"
            raise _run_error(where, error, None if fatal else fixed_batch) from error
    else:
        yield values
        return
    # after the block above: the error would keep alive what the batch that failed has allocated
    middle = (batch.start + batch.stop) // 2
    for half in (slice(batch.start, middle), slice(middle, batch.stop)):
        yield from _attempt(compute, half, name, fixed_batch, rows)


def _run_error(where: str, error: Exception, fixed_batch: int | None) -> RunError:
    cause = error if error.__cause__ is None or not isinstance(error, ModelError) else error.__cause__
    told = str(cause.args[0]) if isinstance(cause, GFScoreError) else f"{type(cause).__name__}: {first_line(cause)}"
    cannot = "" if fixed_batch is None else f"; its fixed batch of {fixed_batch} cannot be halved"
    return RunError(
        f"{where} ({told.rstrip('.')}{cannot}). What was finished before is kept: mend this, and run it again."
    )


def _name_rows(batch: slice, rows: Rows | None) -> str:
    """The rows of a batch, for people."""
    n_rows = batch.stop - batch.start
    if rows is None:
        return f"a batch of {n_rows:,} images" if n_rows > 1 else "an image"
    chosen = rows[batch]
    if n_rows == 1:
        return f"row {int(chosen[0])}"
    if isinstance(chosen, range):
        return f"rows {chosen[0]} to {chosen[-1]}"
    some = ", ".join(str(int(row)) for row in chosen[:NAMED_ROWS])
    return f"rows {some}" + (f" and {n_rows - NAMED_ROWS:,} more" if n_rows > NAMED_ROWS else "")


def logits_of_few(model: Model, inputs: FloatArray, batch_size: int | None = None) -> FloatArray:
    """Logits of a few inputs, together unless a size is given or the model takes but one."""
    size = model.fixed_batch or batch_size or len(inputs)
    # copies: a single row of reversed ones counts as contiguous with a negative stride, which torch refuses
    parts = [model(np.array(inputs[start : start + size], order="C")) for start in range(0, len(inputs), size)]
    return np.concatenate(parts)


def check_batch_independence(model: Model, inputs: FloatArray) -> FloatArray:
    """Refuse a model whose logits for an image depend on the images beside it, as with batch norm in train mode.

    Returns the logits of the first images, (n, K).
    """
    rows = inputs[:TRIED_ROWS]
    together = logits_of_few(model, rows)
    apart = logits_of_few(model, rows[::-1], max(1, len(rows) // 3))[::-1]
    if not np.isfinite(together).all():
        message = "gives logits that are not finite for the first images. Look for an overflow in it."
        raise ModelError(message).found_in(model.name)
    scale = max(1.0, float(np.abs(together).max()))
    difference = float(np.abs(together - apart).max())
    allowed = DIFFERENCE if getattr(model, "precision", None) is None else ROUGH_DIFFERENCE
    if not difference <= allowed * scale:  # also when it is NaN, in the other batch
        raise BatchDependenceError(
            f"{model.name} gives other logits when the same images come in another batch (difference "
            f"{difference:.2g}). Put it in evaluation mode: model.eval()."
        )
    return together


def check_class_count(model: Model, n_classes: int, class_names: tuple[str, ...] | None, highest_label: int) -> None:
    """Refuse a model that does not have the classes of the data."""
    if n_classes == 1:
        raise ClassCountError(
            f"{model.name} gives one number an image, and each class needs a logit of its own here. Of two classes "
            "with the logit z of the second, let it give 0 and z; of a probability, its logit."
        )
    gives = f"{model.name} gives {n_classes:,} logits but the data"
    if class_names is not None and len(class_names) != n_classes:
        raise ClassCountError(
            f"{gives} names {len(class_names):,} classes. "
            "Use the data set the model was trained for, or give --class-names."
        )
    if highest_label == n_classes:
        raise ClassCountError(
            f"{gives} has label {highest_label:,}. If labels count from 1, subtract 1 from them; else use the data set "
            "the model was trained for."
        )
    if highest_label > n_classes:
        raise ClassCountError(f"{gives} has label {highest_label:,}. Use the data set the model was trained for.")
