"""The libraries of attacks: imported in the one way that works, and kept from changing what is not theirs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gfscore.attacks.witnesses import Targets
from gfscore.errors import require
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


def tensors(targets: Targets, module: Any) -> tuple[Any, Any]:
    """Images and labels as tensors of their own, where the module is."""
    torch = torch_for(PURPOSE, extra=EXTRA)
    return tuple(torch.tensor(array, device=module.scale.device) for array in (targets.pixels, targets.labels))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's random numbers start at ``seed`` inside the block and go on afterwards as if nothing had been."""
    torch = torch_for(PURPOSE, extra=EXTRA)
    with torch.random.fork_rng(), no_deprecations():
        torch.manual_seed(seed)
        yield
