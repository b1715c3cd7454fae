"""FRL: weights, and in a variant attack sizes, grow for classes whose held-out errors are above the mean's."""

from typing import ClassVar

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.training.class_statistics import ClassStatistics
from gfscore.training.methods.strategy import SLOW, Batch, Needs, Strategy, Terms, zeros

MOST = 0.5  # that multipliers of one kind may sum to


class Frl(Strategy):
    r"""FRL by re-weighting: TRADES with a multiplier for each class and each of its two errors.

    .. math:: \lambda_k \leftarrow [\lambda_k + \alpha (e_k - \bar e - \tau)]_+, \; \sum_k \lambda_k \le .5, \qquad
        w_k = u + \lambda_k - u \sum_j \lambda_j

    for the clean error (weight of the cross-entropy) and the boundary error (weight of the divergence) of held-out
    images. Xu and others 2021 (arXiv:2010.06121), who also have a re-margin (``frl-remargin``). Steps .05 (clean) and
    .1 (boundary), tau .1, divergence times 1.5, as in the authors' code (hannxu123/fair_robust). Costs an attack on
    held-out images each epoch beside TRADES, which the trainer runs anyway.
    """

    name, reference = "frl", "Xu and others 2021, arXiv:2010.06121"
    needs = Needs(held_attack=True)
    steps: ClassVar[dict[str, float]] = {"clean": 0.05, "boundary": 0.1}
    default_epochs = SLOW
    tolerance, default_beta = 0.1, 1.5

    def initial(self) -> dict[str, FloatArray]:
        """No multiplier yet."""
        return {name: np.zeros(self.n_classes) for name in self.steps}

    def weights(self, name: str) -> FloatArray:
        """K w_k of one kind of error, (K,); their mean is 1."""
        found = self.state[name]
        return np.asarray(1 + self.n_classes * found - found.sum())

    def terms(self, batch: Batch) -> Terms:
        """TRADES with a weight for each of its terms."""
        clean, boundary = (self.weights(name)[batch.labels] for name in ("clean", "boundary"))
        return Terms(clean=clean, boundary=boundary, attacked=zeros(batch))

    def after_epoch(self, trained: ClassStatistics, held: ClassStatistics) -> None:
        """Raise the multipliers of classes above the mean by more than the tolerance, lower the others."""
        del trained
        if not held.present.any():
            return
        errors = {"clean": 1 - held.clean_accuracy, "boundary": held.boundary_error}
        for name, step in self.steps.items():
            error = errors.get(name, held.boundary_error)
            excess = np.where(held.present, error - error[held.present].mean() - self.tolerance, 0.0)
            raised = np.maximum(self.state[name] + step * excess, 0.0)
            self.state[name] = raised * min(1.0, MOST / max(float(raised.sum()), 1e-12))


class FrlRemargin(Frl):
    r"""FRL by re-weighting and re-margin: classes with a large boundary error meet larger attacks, too.

    .. math:: \varepsilon_k = \varepsilon\, \mathrm{clip}(e^{2 \mu_k}, .98, 3)

    where :math:`\mu` is a multiplier of the boundary error with a step of its own, .2, and tau is .07. Xu and others
    2021 (arXiv:2010.06121). [Re]FRL (MLRC 2021) found that this did not help the weakest class; it did not here either.
    Costs what re-weighting does.
    """

    name, tolerance = "frl-remargin", 0.07
    steps: ClassVar[dict[str, float]] = {**Frl.steps, "margin": 0.2}

    @property
    def radius(self) -> FloatArray:
        """Larger for classes with a large boundary error."""
        return np.clip(np.exp(2 * self.state["margin"]), 0.98, 3.0)
