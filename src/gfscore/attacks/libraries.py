"""The libraries of attacks: imported in the one way that works, and kept from changing what is not theirs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gfscore.extras import require
from gfscore.inputs.models.shims import no_deprecations, torch_for

EXTRA, PURPOSE = "attacks", "an attack"


def load(module: str) -> Any:
    """A module of foolbox or pyautoattack."""
    torch_for(PURPOSE, extra=EXTRA)
    with no_deprecations():
        return require(module, extra=EXTRA, purpose=PURPOSE)


def foolbox_model(module: Any) -> Any:
    """A differentiable model of [0, 1] pixels as foolbox takes it."""
    return load("foolbox").PyTorchModel(module.eval(), bounds=(0, 1), device=module.scale.device)


@contextmanager
def seeded(seed: int) -> Iterator[Any]:
    """Torch, whose random numbers start at ``seed`` inside the block and go on afterwards as if nothing had been."""
    torch = torch_for(PURPOSE, extra=EXTRA)
    with torch.random.fork_rng(), no_deprecations():
        torch.manual_seed(seed)
        yield torch
