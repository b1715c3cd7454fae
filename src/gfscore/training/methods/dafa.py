"""DAFA: classes that are near to each other share what one has and the other lacks."""

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.training.class_statistics import ClassStatistics
from gfscore.training.methods.strategy import Batch, Strategy, Terms, ones, zeros


class Dafa(Strategy):
    r"""DAFA: weights of TRADES and sizes of attacks by how similar classes are, found once.

    .. math:: W_i = 1 + \lambda \sum_{j \ne i} \begin{cases} s_{ij} s_{jj} & s_{ii} < s_{jj} \\ -s_{ji} s_{ii} &
        \text{otherwise} \end{cases}

    with the mean probability :math:`s_{ij}` of class j for attacked images of class i, lambda 1; W weighs the
    cross-entropy and multiplies eps. Lee and others 2024 (arXiv:2401.12532). The authors compute it after 70 of 110
    epochs, and their attack then projects to the common size, which undoes the class radii (rucy74/DAFA); here it is
    found after the first epoch, as a repair starts from a trained network, and radii are what the formula says. Costs
    nothing beside TRADES.
    """

    name, reference = "dafa", "Lee and others 2024, arXiv:2401.12532"

    def initial(self) -> dict[str, FloatArray]:
        """All classes alike, until they are known."""
        return {"weights": np.ones(self.n_classes), "is_known": np.zeros(1)}

    @property
    def radius(self) -> FloatArray:
        """Larger for weak classes that are like strong ones."""
        return self.state["weights"]

    def terms(self, batch: Batch) -> Terms:
        """TRADES, with the cross-entropy weighted."""
        return Terms(clean=self.state["weights"][batch.labels], boundary=ones(batch), attacked=zeros(batch))

    def after_epoch(self, trained: ClassStatistics, held: ClassStatistics) -> None:
        """Compute the weights after the first epoch, once."""
        del held
        if not self.state["is_known"][0]:
            weights = similarity_weights(trained.probabilities)
            self.state = {"weights": np.where(trained.present, weights, 1.0), "is_known": np.ones(1)}


def similarity_weights(similarity: FloatArray, scale: float = 1.0) -> FloatArray:
    """W of mean probabilities s (K, K): a weaker class takes from its neighbours, a stronger one gives to them."""
    own = np.diag(similarity)
    is_weaker = own[:, None] < own[None, :]
    shared = np.where(is_weaker, similarity * own[None, :], -similarity.T * own[:, None])
    np.fill_diagonal(shared, 0.0)
    return np.asarray(1 + scale * shared.sum(axis=1))
