"""A device of torch that is none, to see what goes where: it computes on the processor, but nothing else may there.

It is a backend of its own to torch, called ``standin``. A tensor on it holds one of the processor, out of reach of
torch: an operation that mixes the two fails as on a GPU, and :func:`no_work_elsewhere` refuses the work of a network on
tensors that never got there. What is moved in and out is written down.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "standin"
WORK = ("convolution", "conv2d", "mm", "addmm", "bmm", "linear", "matmul", "convolution_backward", "native_batch_norm")
INDEXING = ("index", "index_put", "index_put_", "_index_put_impl_")  # by indices of either place, as on a GPU
moved: list[tuple[str, tuple[int, ...]]] = []  # "in" or "out", and the shape
most_rows: list[int] = []  # of a tensor that a convolution or product takes, where memory is short


class HeldTensor(torch.Tensor):
    """A tensor on the device."""

    @staticmethod
    def __new__(cls, raw: torch.Tensor) -> "HeldTensor":
        made = torch.Tensor._make_wrapper_subclass(
            cls, raw.size(), strides=raw.stride(), storage_offset=raw.storage_offset(), dtype=raw.dtype, device=NAME
        )
        made.raw = raw
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __repr__(self, **_: Any) -> str:
        return f"{self.raw!r} on {NAME}"

    def __format__(self, how: str) -> str:
        return format(self.raw, how)

    @classmethod
    def __torch_dispatch__(cls, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        return _compute(operator, args, kwargs or {})


HeldTensor.__module__ = "torch"  # foolbox looks at nothing else


def _raw(value: Any) -> Any:
    if isinstance(value, torch.device):
        return torch.device("cpu")
    return value.raw if isinstance(value, HeldTensor) else value


def _compute(operator: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    name = operator.overloadpacket.__name__
    flat = tree_flatten((args, kwargs))[0]
    wanted = next((value for value in flat if isinstance(value, torch.device)), None)
    if name in ("to", "_to_copy") and wanted is not None and wanted.type == "cpu":
        moved.append(("out", tuple(args[0].shape)))
        return operator(*tree_map(_raw, args), **kwargs)
    if name == "copy_" and isinstance(args[0], HeldTensor) != isinstance(args[1], HeldTensor):
        moved.append(("in" if isinstance(args[0], HeldTensor) else "out", tuple(args[1].shape)))
        _raw(args[0]).copy_(_raw(args[1]))
        return args[0]
    tensors = [value for value in flat if isinstance(value, torch.Tensor)]
    bound = [args[0], *args[2:3]] if name in INDEXING else tensors
    if any(isinstance(each, torch.Tensor) and not isinstance(each, HeldTensor) and each.dim() > 0 for each in bound):
        raise RuntimeError(f"Expected all tensors to be on the same device, but found standin and cpu in {name}")
    if name in WORK and most_rows and len(tensors[0]) > most_rows[0]:
        raise torch.OutOfMemoryError("standin out of memory")
    found = operator(*tree_map(_raw, args), **tree_map(_raw, kwargs))
    return tree_map(lambda value: HeldTensor(value) if isinstance(value, torch.Tensor) else value, found)


class _Refusing(TorchDispatchMode):
    def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        tensors = [value for value in tree_flatten((args, kwargs or {}))[0] if isinstance(value, torch.Tensor)]
        name = operator.overloadpacket.__name__
        if name in WORK and not any(isinstance(each, HeldTensor) for each in tensors):
            raise AssertionError(f"{name} was computed on the processor, unseen")
        return operator(*args, **(kwargs or {}))


@contextmanager
def no_work_elsewhere() -> Iterator[None]:
    """Refuse convolutions and products of the processor's tensors; gradients are computed in this thread."""
    with _Refusing(), torch.autograd.set_multithreading_enabled(False):
        yield


_KEPT: list[Any] = []


class _Module:
    """What torch asks of ``torch.standin``: one device, whose random numbers are the processor's."""

    def is_initialized(self) -> bool:
        return True

    def is_available(self) -> bool:
        return True

    def current_device(self) -> int:
        return 0

    def device_count(self) -> int:
        return 1

    def _is_in_bad_fork(self) -> bool:
        return False

    def manual_seed_all(self, seed: int) -> None:
        del seed

    def get_rng_state(self, device: Any = None) -> torch.Tensor:
        del device
        return torch.random.get_rng_state()

    def set_rng_state(self, state: torch.Tensor, device: Any = None) -> None:
        del state, device


def register() -> None:
    """Let torch know the device, once in a process."""
    if _KEPT:
        return
    _setup_privateuseone_for_python_backend(NAME, backend_module=_Module())
    library, others = torch.library.Library("aten", "IMPL"), torch.library.Library("_", "IMPL")
    _KEPT.extend([library, others])
    others.fallback(
        lambda operator, *args, **kwargs: _compute(operator, args, kwargs), "PrivateUse1"
    )  # torch.rand, ...

    def empty_strided(size: Any, stride: Any, *, dtype: Any = None, **_: Any) -> HeldTensor:
        return HeldTensor(torch.empty_strided(size, stride, dtype=dtype))

    def empty(size: Any, *, dtype: Any = None, **_: Any) -> HeldTensor:
        return HeldTensor(torch.empty(size, dtype=dtype))

    library.impl("empty_strided", empty_strided, "PrivateUse1")
    library.impl("empty.memory_format", empty, "PrivateUse1")
