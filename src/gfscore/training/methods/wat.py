"""WAT: weights of classes that grow with what held-out images lose, as in Hedge."""

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.training.class_statistics import ClassStatistics
from gfscore.training.class_weights import Ball, worst_weights
from gfscore.training.methods.strategy import SLOW, Batch, Needs, Strategy, Terms, zeros


class Wat(Strategy):
    r"""WAT: the loss of TRADES, weighted by Hedge over the K classes and their mean.

    .. math:: w_k \propto \exp\Big(\eta \sum_t c_k(t)\Big), \quad c_k = \mathrm{CE}_k + \beta\, \mathrm{KL}_k
        \text{ on held-out images}, \qquad \ell_i = K (w_{y_i} + w_{\text{mean}} / K) (\mathrm{CE} + \beta \mathrm{KL})

    Li and Liu 2023 (arXiv:2302.04025), eta .1. In the authors' code (boqili/WAT) the first epoch counts the loss twice;
    here it counts once. Weights grow from epoch to epoch, so that it takes more of them than methods that weigh each
    batch. Costs an attack on held-out images each epoch beside TRADES, which the trainer runs anyway.
    """

    name, reference = "wat", "Li and Liu 2023, arXiv:2302.04025"
    needs = Needs(held_attack=True)
    default_epochs = SLOW
    step = 0.1

    def initial(self) -> dict[str, FloatArray]:
        """No cost yet; the last entry is that of the mean."""
        return {"costs": np.zeros(self.n_classes + 1)}

    @property
    def class_weights(self) -> FloatArray:
        """K times the weight of each class, that of the mean shared out; (K,)."""
        found = worst_weights(self.state["costs"], Ball.EXPONENTIATED, self.step)
        return np.asarray(self.n_classes * found[:-1] + found[-1])

    def terms(self, batch: Batch) -> Terms:
        """TRADES by the weight of the class."""
        weights = self.class_weights[batch.labels]
        return Terms(clean=weights, boundary=weights, attacked=zeros(batch))

    def after_epoch(self, trained: ClassStatistics, held: ClassStatistics) -> None:
        """Add what held-out images cost."""
        del trained
        costs = held.clean_loss + self.beta * held.boundary_loss
        mean = float(costs[held.present].mean()) if held.present.any() else 0.0
        costs = np.where(held.present, costs, mean)
        self.state["costs"] = self.state["costs"] + np.append(costs, mean)
