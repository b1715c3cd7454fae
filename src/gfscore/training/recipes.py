"""How a network is trained: every number that decides the weights, and what that costs before it runs."""

import hashlib
import json
import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from gfscore.errors import OptionError
from gfscore.scores import Norm
from gfscore.training.inner_attack import InnerAttack
from gfscore.training.methods import STRATEGIES, Strategy

HELD_IMAGES = 1000  # held-out images that are attacked after each epoch, at most
WATCHED_IMAGES = 250  # of them under the weights as they are, where a method does not ask for all
HELD_STEPS = 10  # of PGD on them
LEAST_WAIT = 10  # epochs
FORMAT = 1  # of checkpoints, and of what the numbers below mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A method and its numbers; the seed decides order, noise and dropout."""

    method: str
    norm: str
    eps: float
    epochs: int = 10
    lr: float = 0.003  # at the start; falls to 0 as a cosine
    batch: int = 128
    inner: str = "nfgsm"
    beta: float | None = None  # weight of the divergence; None: the method's own
    seed: int = 0
    momentum: float = 0.9
    weight_decay: float = 5e-4
    decay: float = 0.99  # of the average of the weights, a step
    patience: int | None = None  # epochs without a better one on the held-out images; None: most of all, at least 10

    def __post_init__(self) -> None:
        if self.method not in STRATEGIES:
            raise OptionError(f"method {self.method!r} trains nothing. Choose {', '.join(STRATEGIES)}.")
        if not (math.isfinite(self.lr) and self.lr > 0):
            raise OptionError(f"lr {self.lr} is no rate of learning. Give a number above 0, such as 0.003.")
        for name in ("epochs", "batch"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} is {getattr(self, name)}. Give 1 or more.")
        if not (math.isfinite(self.eps) and self.eps > 0):
            raise OptionError(f"eps {self.eps:g} is not the size of an attack. Give one in [0, 1] pixels, as 2/255.")
        if self.beta is not None and self.strategy.default_beta is None:
            raise OptionError(f"beta weighs a divergence, and the loss of {self.method} has none. Leave it out.")
        if self.beta is not None and not (math.isfinite(self.beta) and self.beta > 0):
            raise OptionError(f"beta {self.beta:g} weighs nothing. Give a number above 0, such as 6.")
        _ = self.attack

    @property
    def strategy(self) -> type[Strategy]:
        """The method."""
        return STRATEGIES[self.method]

    @property
    def waits(self) -> int:
        """Epochs without a better one after which training stops: what methods learn, and small steps, show late."""
        return max(LEAST_WAIT, 3 * self.epochs // 4) if self.patience is None else self.patience

    def of_method(self, method: str) -> "Recipe":
        """The same budget for another method, which has a weight of the divergence of its own."""
        return replace(self, method=method, beta=None)

    @property
    def attack(self) -> InnerAttack:
        """The attack on training images: in steps, where the method needs points along it."""
        found = InnerAttack.named(self.inner, Norm.named(self.norm))
        return found.in_steps() if self.strategy.needs.stop_points else found

    @property
    def watch(self) -> InnerAttack:
        """The attack on held-out images."""
        return InnerAttack(norm=Norm.named(self.norm), steps=HELD_STEPS)

    def key(self, **beside: Any) -> str:
        """A hash of all of it, and of what is trained on what: the name of a checkpoint."""
        told = json.dumps({"format": FORMAT, **asdict(self), **beside}, sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()

    def passes(self, n_train: int, n_held: int) -> tuple[int, int]:
        """Images that go forward, and back, in all epochs."""
        needs, attack = self.strategy.needs, self.attack.passes
        trained = 1 + needs.clean_pass + needs.stop_points
        back = n_train * (attack + trained + (attack if needs.attack_before else 0))
        forward = back + (2 * n_train if needs.attack_before else 0)
        held = min(n_held, HELD_IMAGES)
        watched = held + (held if needs.held_attack else min(held, WATCHED_IMAGES))
        return (
            self.epochs * (forward + watched * (HELD_STEPS + 2)),
            self.epochs * (back + watched * HELD_STEPS),
        )
