"""The published numbers of one experiment, with everything that follows from them computed once."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from gfscore import disparity
from gfscore.paper.published_numbers import Dataset, Published
from gfscore.ranking import ranks, spearman
from gfscore.samples import FloatArray, IntArray

TITLES: dict[Dataset, str] = {"cifar10": "CIFAR-10", "imagenet": "ImageNet"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelMetrics:
    """Metrics of M models at one temperature, ``(M,)`` each, and the worst and the best class of each."""

    great: FloatArray
    rdi: FloatArray
    nrgc: FloatArray
    wcr: FloatArray
    fp_great: FloatArray
    worst: tuple[str, ...]
    best: tuple[str, ...]

    @classmethod
    def of(cls, scores: FloatArray, counts: FloatArray | IntArray, class_names: tuple[str, ...]) -> Self:
        """From the class scores ``(M, K)`` and sample counts ``(M, K)``."""
        return cls(
            great=(counts * scores).sum(axis=1) / counts.sum(axis=1),
            rdi=np.array([disparity.rdi(row) for row in scores]),
            nrgc=np.array([disparity.nrgc(row) for row in scores], dtype=np.float64),
            wcr=np.array([disparity.wcr(row) for row in scores]),
            fp_great=np.array([disparity.fp_great(row) for row in scores]),
            worst=tuple(class_names[k] for k in scores.argmin(axis=1)),
            best=tuple(class_names[k] for k in scores.argmax(axis=1)),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Facts:
    """M models over K classes; the models are in the order of the published files."""

    published: Published
    names: tuple[str, ...]  # short names of the models
    scores: FloatArray  # (M, K) at T = 1
    counts: IntArray  # (M, K)
    accuracies: FloatArray  # (M, K), shares of 1
    calibrated_scores: FloatArray  # (M, K)
    robust: FloatArray  # (M,), RobustBench accuracy in percent
    clean: FloatArray  # (M,), RobustBench clean accuracy in percent
    own_clean: FloatArray  # (M,), clean accuracy of the published run in percent
    plain: ModelMetrics  # at T = 1
    calibrated: ModelMetrics

    @classmethod
    def of(cls, published: Published) -> Self:
        """Compute what follows from the published numbers."""
        models = published.models
        scores, calibrated_scores = (
            np.array([getattr(model, name) for model in models]) for name in ("scores", "calibrated_scores")
        )
        counts = np.array([model.counts for model in models])
        clean = {entry.model: entry.clean_accuracy for entry in published.leaderboard}
        return cls(
            published=published,
            names=tuple(model.short_name for model in models),
            scores=scores,
            counts=counts,
            accuracies=np.array([model.accuracies for model in models]),
            calibrated_scores=calibrated_scores,
            robust=np.array([model.robustbench_accuracy for model in models]),
            clean=np.array([clean[model.name] for model in models], dtype=np.float64),
            own_clean=np.array([100 * model.accuracy for model in models]),
            plain=ModelMetrics.of(scores, counts, published.class_names),
            calibrated=ModelMetrics.of(calibrated_scores, counts, published.class_names),
        )

    @property
    def dataset(self) -> Dataset:
        """Which of the two experiments."""
        return self.published.dataset

    @property
    def n_models(self) -> int:
        """M."""
        return len(self.names)

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.published.class_names)

    @property
    def n_min(self) -> int:
        """Samples of the class that has the fewest."""
        return int(self.counts.min())

    @property
    def temperature(self) -> float:
        """The published calibrated temperature, the same for all models."""
        return self.published.models[0].temperature

    def readable(self, name: str) -> str:
        """The class in words where only its WordNet id was published."""
        return self.published.readable_names.get(name, name)


def rho(first: FloatArray, second: FloatArray) -> float:
    """Spearman's correlation, NaN where it does not exist, so that no comparison with it holds."""
    value = spearman(first, second)
    return float("nan") if value is None else value


def places(values: FloatArray) -> IntArray:
    """Place of each model, 1 for the highest value.

    >>> places(np.array([0.2, 0.5, 0.4]))
    array([3, 1, 2])
    """
    return (len(values) + 1 - ranks(values)).astype(np.int64)


def signed(value: float) -> str:
    """A correlation for people, with its sign.

    >>> signed(-0.5)
    '−0.500'
    """
    return f"{value:+.3f}".replace("-", "−")
