"""A training run as tensors and plain values, and back: what a checkpoint holds."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gfscore.training.checkpoints import Tensors
from gfscore.training.trained import Epoch, Trained

if TYPE_CHECKING:
    from gfscore.training.trainer import Trainer


def pack_run(trainer: "Trainer", found: Trained) -> tuple[Tensors, dict[str, Any]]:
    """Weights, their average, the best of it, the momentum, and what the method has learnt; and the epochs."""
    torch = trainer.torch
    momentum = {
        str(number): state["momentum_buffer"]
        for number, state in trainer.optimizer.state_dict()["state"].items()
        if state.get("momentum_buffer") is not None
    }
    parts = {
        "weights": trainer.module.state_dict(),
        "average": trainer.average.state_dict(),
        "best": found.best,
        "momentum": momentum,
        "strategy": {name: torch.from_numpy(each) for name, each in trainer.strategy.state.items()},
    }
    plain = {
        "key": trainer.key,
        "epochs": [asdict(epoch) for epoch in found.epochs],
        "start": asdict(found.start),
        "chosen": found.chosen,
        "is_ramped": found.is_ramped,
        "collapsed": found.collapsed,
    }
    return parts, plain


def unpack_run(trainer: "Trainer", parts: Tensors, plain: dict[str, Any]) -> Trained:
    """Put everything back where it was."""

    def epoch(entry: dict[str, Any]) -> Epoch:
        plain: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in entry.items()}
        return Epoch(**plain)

    trainer.module.load_state_dict(parts["weights"])
    trainer.average.load_state_dict(parts["average"])
    whole = trainer.optimizer.state_dict()
    whole["state"] = {int(name): {"momentum_buffer": each} for name, each in parts.get("momentum", {}).items()}
    trainer.optimizer.load_state_dict(whole)
    trainer.strategy.state = {name: each.numpy() for name, each in parts.get("strategy", {}).items()}
    epochs = [epoch(entry) for entry in plain["epochs"]]
    return Trained(
        weights={},
        best=parts["best"],
        epochs=epochs,
        chosen=plain["chosen"],
        start=epoch(plain["start"]),
        is_ramped=plain["is_ramped"],
        collapsed=plain["collapsed"],
        resumed=len(epochs),
    )
