"""CFA: sizes of attacks and weights of the divergence follow what each class can bear; the average moves with care."""

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.training.class_statistics import ClassStatistics
from gfscore.training.methods.strategy import Batch, Strategy, Terms, worst_of, zeros


class Cfa(Strategy):
    r"""CFA on TRADES: sizes and beta by the robust accuracy t of each class in training.

    .. math:: \varepsilon_k = (\lambda_1 + t_k) \varepsilon, \quad \beta_k = (\lambda_2 + t_k) \beta, \qquad
        \ell_i = \frac{\mathrm{CE} + \beta_{y_i} \mathrm{KL}}{1 + \beta_{y_i}}

    so weak classes meet smaller attacks; and the average of the weights, decay .85 an epoch, moves only when the worst
    held-out class has a robust accuracy of at least .2. Wei and others 2023 (arXiv:2303.14460), lambda .3 and .5. The
    authors begin with it after 10 of 200 epochs, and choose checkpoints on the test images (PKU-ML/CFA); here it begins
    after the first epoch. Costs an attack on held-out images each epoch beside TRADES, which the trainer runs anyway.
    """

    name, reference = "cfa", "Wei and others 2023, arXiv:2303.14460"
    epoch_decay = 0.85
    base_radius, base_beta, least_worst = 0.3, 0.5, 0.2

    def initial(self) -> dict[str, FloatArray]:
        """Common sizes: what the first epoch has."""
        return {"radius": np.ones(self.n_classes), "beta": np.full(self.n_classes, self.common_beta)}

    @property
    def radius(self) -> FloatArray:
        """Smaller for weak classes."""
        return self.state["radius"]

    @property
    def beta(self) -> FloatArray:
        """Smaller for weak classes."""
        return self.state["beta"]

    def terms(self, batch: Batch) -> Terms:
        """TRADES, divided by the sum of its weights."""
        weights = 1 / (1 + self.beta[batch.labels])
        return Terms(clean=weights, boundary=weights, attacked=zeros(batch))

    def after_epoch(self, trained: ClassStatistics, held: ClassStatistics) -> None:
        """Take the robust accuracy in training; a class that was not there keeps what it had."""
        del held
        accuracy, here = trained.robust_accuracy, trained.present
        self.state["radius"] = np.where(here, self.base_radius + accuracy, self.state["radius"])
        self.state["beta"] = np.where(here, (self.base_beta + accuracy) * self.common_beta, self.state["beta"])

    def moves_average(self, held: ClassStatistics) -> bool:
        """Only where no class was given up."""
        return worst_of(held.robust_accuracy, held.present) >= self.least_worst
