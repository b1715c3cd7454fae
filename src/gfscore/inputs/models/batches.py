"""What goes into a model and what comes out of it, whatever it is made of."""

import sys
from typing import Any

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.errors import ModelError

# How runtimes without an exception of their own for it say that an allocation failed.
OUT_OF_MEMORY = (
    "Failed to allocate memory for requested buffer",  # onnxruntime's arena, on any device
    "std::bad_alloc",  # onnxruntime outside its arena
    "bad allocation",  # the same on Windows
    "DefaultCPUAllocator: can't allocate memory",  # torch on Linux and macOS
    "DefaultCPUAllocator: not enough memory",  # torch on Windows
    "CUDA error: out of memory",  # torch, outside its own allocator
    "CUBLAS_STATUS_ALLOC_FAILED",
    "RESOURCE_EXHAUSTED: Out of memory",  # JAX
    "OOM when allocating tensor",  # TensorFlow
)


def padded(inputs: FloatArray, size: int | None) -> FloatArray:
    """Inputs filled up to a fixed batch ``size`` with copies of the last row; as they are when any size will do.

    >>> padded(np.array([[1.0], [2.0]]), 4).ravel()
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
    logits = np.asarray(returned)
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


def cannot_run(shape: tuple[int, ...], error: Exception) -> ModelError:
    """A model's own complaint about its inputs, in one line."""
    told = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    if out_of_memory(error):
        return ModelError(f"needs more memory than there is for inputs of shape {shape} ({told}). Give it more.")
    return ModelError(f"cannot run on inputs of shape {shape} ({told}). Check layout, size and channels of the images.")
