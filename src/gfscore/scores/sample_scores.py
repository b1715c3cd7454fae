"""What every local score gives to the stages after it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.results import Flag, Setting

SATURATED = 0.99  # share of the maximum above which a score cannot say more


class Activation(StrEnum):
    """How logits become confidences."""

    SOFTMAX = "softmax"  # does not change when all logits are shifted
    SIGMOID = "sigmoid"  # does; what the paper used for CIFAR-10


class RadiusNotes(NamedTuple):
    """What flags about first-order radii rest on; of a piece it adds up to that of the whole."""

    correct: int  # samples that lead in their class
    flat: int  # of them without a slope towards a rival
    steep: int  # of the others with one beyond float32
    capped: int  # radii at the maximum
    changes: FloatArray  # relative change with half the step of the few radii that were found twice


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalScores:
    """A score per sample in [0, maximum], and the decision it belongs to."""

    name: str
    values: FloatArray  # (N,) float64
    maximum: float
    predicted: IntArray  # (N,), the class with the largest logit, the first of several
    premise: str  # what must hold for the score to be a radius
    certified: bool = False  # whether it does hold, by proof
    own_logits: FloatArray | None = None  # (N,) float64, the logit of the true class, where decisions rest on logits
    rival_logits: FloatArray | None = None  # (N,) float64, the largest of the others
    activation: Activation | None = None
    temperature: float | None = None
    norm: str | None = None  # "l2" or "linf", for a score that is a distance
    eps: float | None = None  # a radius of interest in that norm
    sides: tuple[float, ...] = ()  # the only eps that values may be compared with, where no more was asked of them
    settings: Mapping[str, Setting] | None = None  # what else decides it, for the record
    errors: FloatArray | None = None  # (N,), standard error of each value, where values are estimates
    flags: tuple[Flag, ...] = ()  # what the score itself noticed while it was made
    abstained: BoolArray | None = None  # (N,), where no class could be named, for a score that may say so
    halved_batches: int = 0  # of the model, that did not fit into memory while the score was measured
    failure_rate: float = 0.0  # probability with which a value is larger than what it stands for
    notes: RadiusNotes | None = None  # of first-order radii

    def correct(self, labels: IntArray) -> BoolArray:
        """Whether each sample was given its true class, and not by abstaining from any; ``(N,)``."""
        right = self.predicted == labels
        return np.asarray(right if self.abstained is None else right & ~self.abstained)

    @property
    def tied(self) -> FloatArray:
        """Whether the true class shares the largest logit, so that the decision is a matter of order; (N,) bool."""
        if self.own_logits is None:
            return np.zeros(len(self.values), dtype=bool)
        return np.asarray(self.own_logits == self.rival_logits)

    @property
    def saturated(self) -> FloatArray:
        """Whether the score is so near its maximum that it cannot say more; (N,) bool."""
        return np.asarray(self.values > SATURATED * self.maximum)

    @property
    def centred(self) -> FloatArray:
        """What a sigmoid score would be were the logits shifted to their middle, which changes no decision; (N,).

        The most that a common shift can give. 0 for a sample that does not lead, and for other activations.
        """
        if self.activation is not Activation.SIGMOID or self.temperature is None:
            return np.zeros_like(self.values)
        if self.own_logits is None or self.rival_logits is None:
            return np.zeros_like(self.values)
        with np.errstate(over="ignore"):  # a gap may be infinite; its hyperbolic tangent is 1
            gaps = np.maximum(self.own_logits - self.rival_logits, 0.0) / self.temperature
        return np.asarray(self.maximum * np.tanh(gaps / 4.0))  # sigma(d/2) - sigma(-d/2)
