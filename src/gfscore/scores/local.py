"""What every local score gives to the stages after it."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from gfscore.samples import FloatArray, IntArray


class Activation(StrEnum):
    """How logits become confidences."""

    SOFTMAX = "softmax"  # does not change when all logits are shifted
    SIGMOID = "sigmoid"  # does; what the paper used for CIFAR-10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalScores:
    """A score per sample in [0, maximum], and the decision it belongs to."""

    name: str
    values: FloatArray  # (N,) float64
    maximum: float
    predicted: IntArray  # (N,), the class with the largest logit, the first of several
    own_logits: FloatArray  # (N,) float64, the logit of the true class
    rival_logits: FloatArray  # (N,) float64, the largest of the others
    activation: Activation | None = None
    temperature: float | None = None

    @property
    def tied(self) -> FloatArray:
        """Whether the true class shares the largest logit, so that the decision is a matter of order; (N,) bool."""
        return np.asarray(self.own_logits == self.rival_logits)
