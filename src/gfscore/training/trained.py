"""What training came to: the epochs, the weights, and whether it collapsed on the way."""

from dataclasses import dataclass
from typing import Any

COLLAPSE = 0.15  # fall of held-out accuracy under attack within training that is one, while training says all is well


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """What one epoch came to; shares of each class, None where it has no image."""

    number: int  # from 1
    lr: float
    eps: float  # of the attack at its end, before class factors
    trained: tuple[float | None, ...]  # accuracy of attacked training images, as they were trained on
    clean: tuple[float | None, ...]  # of held-out images, under the averaged weights
    robust: tuple[float | None, ...]  # the same under PGD at the common eps
    watched: float  # mean accuracy under PGD of held-out images, under the weights as they are
    value: float  # what epochs are chosen by: worst class plus mean of ``robust``

    @property
    def worst(self) -> float:
        """The lowest of ``robust``: an epoch that has less than the start is not chosen."""
        return min((share for share in self.robust if share is not None), default=0.0)


@dataclass(slots=True, kw_only=True)
class Trained:
    """Weights, and how they came about."""

    weights: dict[str, Any]  # at the end, no average
    best: dict[str, Any]  # the average, as it was after the epoch that was chosen
    epochs: list[Epoch]
    chosen: int  # the number of that epoch; 0: the start, as no epoch was better
    start: Epoch  # held-out shares of the start
    is_ramped: bool
    collapsed: int | None = None  # the epoch in which training collapsed
    resumed: int = 0  # epochs that an earlier run had done


def is_collapse(before: list[Epoch], now: Epoch) -> bool:
    """Whether single-step training collapsed: held-out PGD falls sharply while the training attack says it is well."""
    if not before:
        return False
    best = max(before, key=lambda epoch: epoch.watched)
    return now.watched < best.watched - COLLAPSE and _whole(now.trained) >= _whole(best.trained)


def _whole(shares: tuple[float | None, ...]) -> float:
    known = [share for share in shares if share is not None]
    return sum(known) / len(known) if known else 0.0
