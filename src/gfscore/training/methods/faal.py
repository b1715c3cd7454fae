"""FAAL and CODA: the classes of each batch weigh as is worst for it, within a ball around equal weights."""

from typing import ClassVar

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.training.class_statistics import class_means, log_softmax, rival_margins
from gfscore.training.class_weights import Ball, worst_weights
from gfscore.training.methods.strategy import Batch, Needs, Strategy, Terms, zeros


class Faal(Strategy):
    r"""FAAL: :math:`\ell_i = K p_{y_i} \mathrm{CE}(f(x'_i))`, p the worst weights for the margins of the batch.

    .. math:: \max_p \sum_k p_k m_k, \; \mathrm{KL}(u \| p) \le r, \quad
        m_k = \text{mean over class } k \text{ of } \max_{j \ne y} q_j(x') - q_y(x')

    with probabilities q and r = .5. Zhang and others 2024 (arXiv:2402.17729). The authors' code (TrustAI/FAAL) asks a
    conic solver in each batch, gives a class that the batch has not the margin -1, and keeps the checkpoint that is
    best on the test images. Here p has a closed form but for one root, is over the classes of the batch, and the choice
    is made on images that do not judge. Costs nothing beside AT.
    """

    name, reference = "faal", "Zhang and others 2024, arXiv:2402.17729"
    needs = Needs(clean_pass=False)
    default_beta = None
    ball: ClassVar[Ball] = Ball.KL
    size: ClassVar[float] = 0.5

    def terms(self, batch: Batch) -> Terms:
        """Attacked images by the weight of their class."""
        weights = self.class_weights(batch)
        return Terms(clean=zeros(batch), boundary=zeros(batch), attacked=weights[batch.labels])

    def class_weights(self, batch: Batch) -> FloatArray:
        """K p_k, whose mean over the classes of the batch is 1; (K,)."""
        costs, present = class_means(self.costs(batch), batch.labels, self.n_classes)
        weights = np.zeros(self.n_classes)
        weights[present] = present.sum() * worst_weights(costs[present], self.ball, self.size)
        return weights

    def costs(self, batch: Batch) -> FloatArray:
        """What is large for images that are badly protected, (n,)."""
        return rival_margins(np.exp(log_softmax(batch.attacked)), batch.labels)


class Coda(Faal):
    r"""CODA: as FAAL, with a chi-square ball around equal weights and class losses instead of margins.

    .. math:: p_k = u (1 + \sqrt{\rho}\, z_k)

    with standardised class losses z, classes below 0 left out: minimising it is minimising the mean of the class losses
    plus :math:`\sqrt\rho` of their standard deviation. Zhi and others 2025 (arXiv:2501.04527), who call it CODAT; of
    the paper only the abstract was at hand, so the formula is derived here and :math:`\rho` = .5 is our choice. Costs
    nothing beside AT.
    """

    name, reference = "coda", "Zhi and others 2025, arXiv:2501.04527 (formula derived here)"
    ball, size = Ball.CHI_SQUARE, 0.5

    def costs(self, batch: Batch) -> FloatArray:
        """Cross-entropy of attacked images, (n,)."""
        return np.asarray(-log_softmax(batch.attacked)[np.arange(len(batch.labels)), batch.labels])
