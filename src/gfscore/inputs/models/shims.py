"""Work-arounds for libraries that do not import as they are; called before anything that may import them.

- torchvision's wheel for CUDA does not load beside the CPU build of torch, and its import then fails for want of the
  operators ``nms`` and ``qnms``, which no classifier uses. timm, transformers and RobustBench import torchvision.
- RobustBench imports ``autoattack``, which is not on PyPI; ``pyautoattack`` is the same package under another name.
"""

import importlib.util
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from gfscore.errors import require

_KEPT: list[Any] = []  # a torch library vanishes with its last reference
_HUSHING = Lock()
_HUSHED: list[Any] = []  # the same filters, once for each who wants them


def torch_for(purpose: str, *, extra: str = "torch") -> Any:
    """Import torch, and see to it that torchvision can be imported after it."""
    torch = require("torch", extra=extra, purpose=purpose)
    _mend_torchvision(torch)
    return torch


def _mend_torchvision(torch: Any) -> None:
    """Declare the two operators, without a body, where torchvision's own library cannot be loaded."""
    if _KEPT or "torchvision" in sys.modules:  # done, or imported without our help
        return
    found = importlib.util.find_spec("torchvision")
    folders = [] if found is None else found.submodule_search_locations or []
    for library in (file for folder in folders for file in Path(folder).glob("_C*.so")):
        try:
            torch.ops.load_library(library)
        except OSError:
            fragment = torch.library.Library("torchvision", "FRAGMENT")
            for operator in ("nms", "qnms"):
                fragment.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            _KEPT.append(fragment)


def stand_in_for_autoattack() -> None:
    """Let ``import autoattack`` find pyautoattack, where autoattack itself is not installed."""
    if "autoattack" in sys.modules or importlib.util.find_spec("autoattack") is not None:
        return
    for module in ("", ".state"):
        stand_in = require(f"pyautoattack{module}", extra="robustbench", purpose="a RobustBench model")
        sys.modules[f"autoattack{module}"] = stand_in


@contextmanager
def no_deprecations() -> Iterator[None]:
    """Keep to ourselves what libraries say about their own future while they are imported, load a model or run it.

    The filters belong to all threads: the first that comes here sets them, and the last that leaves puts them back.
    """
    with _HUSHING:
        if not _HUSHED:
            hushed = warnings.catch_warnings()
            hushed.__enter__()
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", FutureWarning)
            warnings.filterwarnings("ignore", message="pkg_resources is deprecated", category=UserWarning)
            warnings.filterwarnings("ignore", message="Using a non-tuple sequence", category=UserWarning)  # onnx2torch
        else:
            hushed = _HUSHED[-1]
        _HUSHED.append(hushed)
    try:
        yield
    finally:
        with _HUSHING:
            _HUSHED.pop()
            if not _HUSHED:
                hushed.__exit__(None, None, None)
