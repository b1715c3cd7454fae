r"""What a training method decides, whatever it is called; the trainer does the rest.

.. math::
    \ell_i = a_i\, \mathrm{CE}(f(x_i)) + b_i\, \beta_{y_i} \mathrm{KL}(f(x_i) \| f(x'_i))
             + c_i\, \mathrm{CE}(f(x'_i)) + \text{extra}_i

A strategy gives the size of the attack and beta for each class, the weights a, b and c of each image of a batch, an
extra term, and when the average of the weights moves; and it hears class statistics.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.training.class_statistics import ClassStatistics

BETA = 6.0  # of TRADES on CIFAR-10 (Zhang and others 2019, arXiv:1901.08573); the authors have 1 for digits

SLOW = 30  # epochs by default of methods that learn of held-out images once in each; authors have 40 to 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a method needs beside one attack and one pass of each batch: what it costs is known before it runs."""

    clean_pass: bool = True  # f(x) too, with its gradient
    held_attack: bool = False  # statistics of held-out images under attack, each epoch
    attack_before: bool = False  # statistics of the attacked training images, before each epoch
    stop_points: bool = False  # an attack in steps: the last point still right, and the first that is wrong


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """A batch after its attack, as numbers."""

    labels: IntArray  # (n,)
    clean: FloatArray | None  # logits (n, K), where the method needs them
    attacked: FloatArray  # logits (n, K)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Terms:
    """The weights of the three terms of the loss, (n,) each."""

    clean: FloatArray
    boundary: FloatArray
    attacked: FloatArray


class Strategy:
    """A method; what it has learnt is in ``state``, arrays by name, so that a checkpoint can hold it."""

    name: ClassVar[str]
    reference: ClassVar[str]
    is_class_fair: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs()
    default_beta: ClassVar[float | None] = BETA  # weight of the divergence; None: the method has no such term
    default_epochs: ClassVar[int] = 10
    epoch_decay: ClassVar[float | None] = None  # the average moves once an epoch, by this; None: after each step

    def __init__(self, n_classes: int, beta: float | None = None) -> None:
        self.n_classes = n_classes
        self.common_beta = (self.default_beta or 0.0) if beta is None else beta
        self.state: dict[str, FloatArray] = self.initial()

    def initial(self) -> dict[str, FloatArray]:
        """What is known before the first epoch."""
        return {}

    @property
    def radius(self) -> FloatArray:
        """Size of the attack on each class in training, as a multiple of eps, (K,)."""
        return np.ones(self.n_classes)

    @property
    def beta(self) -> FloatArray:
        """Weight of the boundary term of each class, (K,)."""
        return np.full(self.n_classes, self.common_beta)

    def terms(self, batch: Batch) -> Terms:
        """The weights of each image of a batch."""
        raise NotImplementedError

    def extra_loss(self, torch: Any, logits: dict[str, Any]) -> Any:
        """What is added to the loss of each image, (n,), from logits (n, K) of the points that the method needs."""
        del torch, logits
        return 0.0

    def before_epoch(self, attacked: ClassStatistics) -> None:
        """Hear of the attacked training images before an epoch, where the method needs it."""

    def after_epoch(self, trained: ClassStatistics, held: ClassStatistics) -> None:
        """Hear of an epoch: the images as they were trained on, and held-out ones under attack at the common eps."""

    def moves_average(self, held: ClassStatistics) -> bool:
        """Whether the average of the weights moves, at the end of an epoch (``epoch_decay``)."""
        del held
        return True


def ones(batch: Batch) -> FloatArray:
    """Equal weights."""
    return np.ones(len(batch.labels))


def zeros(batch: Batch) -> FloatArray:
    """No weight."""
    return np.zeros(len(batch.labels))


def worst_of(shares: FloatArray, present: Any) -> float:
    """The lowest share of the classes that have images."""
    return float(shares[present].min()) if present.any() else 0.0
