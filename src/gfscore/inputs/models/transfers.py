"""What a torch model is given on a device: arrays on their way there, and the precision in which it computes."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any


def to_device(torch: Any, array: Any, device: Any) -> Any:
    """A numpy array as a tensor on a device.

    To a CUDA device it goes through pinned memory and without waiting: the processor prepares the next batch meanwhile.
    Elsewhere pinning costs a copy and gains nothing.
    """
    tensor = torch.from_numpy(array)
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


@contextmanager
def computing(torch: Any, device: Any, precision: str | None = None) -> Iterator[None]:
    """Forward passes inside the block are in float32 as it is written, or in a ``precision`` that was asked for.

    On CUDA torch multiplies in convolutions with 10 bits after the point (TensorFloat-32) unless told otherwise, and
    nobody asked for that here. Its setting is put back after the block.
    """
    with ExitStack() as stack:
        if device.type == "cuda":
            before = torch.backends.cudnn.allow_tf32
            stack.callback(setattr, torch.backends.cudnn, "allow_tf32", before)
            torch.backends.cudnn.allow_tf32 = False
        if precision is not None:
            stack.enter_context(torch.autocast(device.type, dtype=getattr(torch, precision)))
        yield
