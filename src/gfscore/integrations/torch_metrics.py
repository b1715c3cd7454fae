"""The metrics of an audit as torchmetrics: updated batch by batch, summed over processes, equal to the core."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gfscore
from gfscore.errors import OptionError, require
from gfscore.inputs.models.shims import no_deprecations, torch_for

torch = torch_for("a torchmetrics metric", extra="torchmetrics")  # first: torchmetrics may import torchvision
with no_deprecations():
    require("torchmetrics", extra="torchmetrics", purpose="a torchmetrics metric")
    from torchmetrics import Metric


class ClassScores(Metric):
    r"""GREAT score of each class, ``(K,)``; NaN for a class without a sample.

    .. math:: \Omega_k = \frac{1}{n_k} \sum_{i: y_i = k} g(x_i)

    ``update(logits, labels)`` takes ``(n, K)`` and ``(n,)``. The states are sums per class, so that processes are
    joined by adding; metrics with the same arguments in a ``MetricCollection`` share one update. The local scores are
    those of the core, in float64 on the CPU.

    >>> metric = ClassScores(num_classes=2)
    >>> metric.update(torch.tensor([[3.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 1]))
    >>> [round(score, 3) for score in metric.compute().tolist()]
    [1.134, 0.579]
    """

    is_differentiable = False
    higher_is_better: bool | None = True
    full_state_update = False

    sums: Any  # (K,) float64
    counts: Any  # (K,) int64

    def __init__(
        self,
        num_classes: int,
        *,
        activation: str = "softmax",
        temperature: float = 1.0,
        probabilities: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if num_classes < 2:
            raise OptionError(f"num_classes is {num_classes}. Disparity needs at least two classes.")
        self.num_classes = num_classes
        self.options: dict[str, Any] = {
            "activation": activation,
            "temperature": temperature,
            "probabilities": probabilities,
        }
        self.add_state("sums", torch.zeros(num_classes, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("counts", torch.zeros(num_classes, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, logits: Any, labels: Any) -> None:
        """Add a batch."""
        codes = labels.detach().cpu().numpy()
        if logits.ndim == 2 and logits.shape[1] != self.num_classes:
            raise OptionError(f"logits have {logits.shape[1]} columns; the metric was made for {self.num_classes}.")
        values = gfscore.local_scores(logits.detach().cpu().float().numpy(), codes, **self.options)
        added = np.bincount(codes, weights=values, minlength=self.num_classes)
        self.sums += torch.from_numpy(added).to(self.sums)
        self.counts += torch.from_numpy(np.bincount(codes, minlength=self.num_classes)).to(self.counts)

    def compute(self) -> Any:
        """The score of each class."""
        return self.sums / self.counts  # 0 / 0 is NaN


class _OfProfile(ClassScores):
    """A number of the class scores, ``()``; NaN with fewer than two classes, and where the core says None."""

    def _metric(self, scores: NDArray[np.float64]) -> float | None:
        raise NotImplementedError

    def compute(self) -> Any:
        """The number, of the classes that have samples."""
        scores = super().compute()
        present = scores[self.counts > 0].cpu().numpy()
        value = self._metric(present) if len(present) > 1 else None
        return scores.new_tensor(math.nan if value is None else value)


class GreatScore(ClassScores):
    r"""GREAT score of the model, ``()``: the mean over all samples.

    >>> metric = GreatScore(num_classes=2)
    >>> round(metric(torch.tensor([[3.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 1])).item(), 3)
    0.857
    """

    def compute(self) -> Any:
        """The mean; NaN without samples."""
        return self.sums.sum() / self.counts.sum()


class WCR(_OfProfile):
    """Worst-case class robustness: :func:`gfscore.wcr` of the class scores.

    >>> metric = WCR(num_classes=2)
    >>> round(metric(torch.tensor([[3.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 1])).item(), 3)
    0.579
    """

    def _metric(self, scores: NDArray[np.float64]) -> float | None:
        return gfscore.wcr(scores)


class RDI(_OfProfile):
    """Robustness disparity index, best minus worst class: :func:`gfscore.rdi` of the class scores."""

    higher_is_better = False

    def _metric(self, scores: NDArray[np.float64]) -> float | None:
        return gfscore.rdi(scores)


class NRGC(_OfProfile):
    """Gini coefficient of the classes: :func:`gfscore.nrgc` of the class scores."""

    higher_is_better = False

    def _metric(self, scores: NDArray[np.float64]) -> float | None:
        return gfscore.nrgc(scores)


class FPGreat(_OfProfile):
    """Class mean minus ``weight`` times the RDI: :func:`gfscore.fp_great` of the class scores."""

    def __init__(self, num_classes: int, *, weight: float = 0.5, **kwargs: Any) -> None:
        super().__init__(num_classes, **kwargs)
        self.weight = weight

    def _metric(self, scores: NDArray[np.float64]) -> float | None:
        return gfscore.fp_great(scores, self.weight)
