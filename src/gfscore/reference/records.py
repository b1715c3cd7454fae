"""What the published files hold, as frozen records."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Dataset = Literal["cifar10", "imagenet"]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a file holds and where its numbers come from."""

    file: str
    what: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedMetrics:
    """The metrics of a model as the authors' result files give them, in full precision, at T = 1."""

    great_score: float
    rdi: float
    nrgc: float
    wcr: float
    wcr_class: str
    fp_great: float
    best_class: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)  # arrays have no single truth value
class PublishedModel:
    """One model: its class profile at T = 1 and at the calibrated temperature, and what others measured on it.

    All arrays are ``(K,)`` in the order of the class index.
    """

    name: str  # RobustBench identifier
    short_name: str
    counts: Ints
    scores: Floats
    stds: Floats
    accuracies: Floats  # clean accuracy per class, shares of 1
    temperature: float  # the published calibrated one
    calibrated_scores: Floats
    calibrated_accuracies: Floats
    robustbench_accuracy: float  # percent, under AutoAttack
    metrics: PublishedMetrics
    great_generated: float | None  # the original paper's score on generated samples
    great_test: float | None  # and on test samples
    cw_distortion: float | None  # mean L2 distortion of a C&W attack, from the original paper

    @property
    def accuracy(self) -> float:
        """Clean accuracy over all samples, a share of 1."""
        return float(np.dot(self.counts, self.accuracies) / self.counts.sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SearchTrace:
    """A published search over temperatures: a coarse grid, then (where there was one) a finer one."""

    criterion: str
    coarse_temperatures: Floats
    coarse_values: Floats
    fine_temperatures: Floats
    fine_values: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardEntry:
    """A model on RobustBench. Accuracies are percents; None where the leaderboard has none."""

    dataset: str
    threat: str
    model: str
    architecture: str
    eps: str
    clean_accuracy: float | None
    autoattack_accuracy: float | None
    external_accuracy: float | None  # a lower accuracy found by others
    corruptions_accuracy: float | None
    additional_data: bool
    venue: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedRow:
    """A row of a table as the paper prints it: text, so that its rounding can be judged."""

    printed_name: str
    model: str
    cells: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Published:
    """Everything that is published about one of the paper's two experiments."""

    dataset: Dataset
    threat: str
    activation: str
    class_names: tuple[str, ...]
    models: tuple[PublishedModel, ...]
    model_table: tuple[PrintedRow, ...]
    class_table: tuple[PrintedRow, ...]  # empty for ImageNet: the paper prints none
    traces: dict[str, SearchTrace]  # by criterion: class_accuracy, stability
    leaderboard: tuple[LeaderboardEntry, ...]  # the models of the same data and threat
    readable_names: dict[str, str]  # of some WordNet ids; empty for CIFAR-10
