"""CSR: the confusions that carry most of the attacked training set are penalised most."""

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.training.class_statistics import ClassStatistics
from gfscore.training.methods.strategy import Batch, Needs, Strategy, Terms, ones

SHARE, LOWEST, RANGE = 0.3, 0.01, 2.0


class Csr(Strategy):
    r"""CSR: the direction of the largest singular value of the confusions weighs the errors of TRADES.

    .. math:: C = \text{off-diagonal confusion of the attacked training set (predicted, true)}, \quad
        G = u_1 v_1^\top \text{ scaled to } [.01, 2.01], \qquad
        \ell_i = .7\, \mathrm{CE} + \beta\, \mathrm{KL} + .3\, G[\hat y'_i, y_i]\, \mathrm{CE}(f(x'_i))

    Jin and others 2025 (arXiv:2501.13273). The paper bounds the spectral norm of the confusion matrix; the weighted
    cross-entropy is the authors' code (Alexkael/CONFUSIONAL-SPECTRAL-REGULARIZATION), whose margin is multiplicative.
    Costs an attack on the training set before each epoch: about twice TRADES.
    """

    name, reference = "csr", "Jin and others 2025, arXiv:2501.13273"
    needs = Needs(attack_before=True)

    def initial(self) -> dict[str, FloatArray]:
        """All confusions alike."""
        return {"penalty": np.ones((self.n_classes, self.n_classes))}

    def terms(self, batch: Batch) -> Terms:
        """TRADES, and attacked images by who they are taken for."""
        penalty = self.state["penalty"][batch.attacked.argmax(axis=1), batch.labels]
        return Terms(clean=(1 - SHARE) * ones(batch), boundary=ones(batch), attacked=SHARE * penalty)

    def before_epoch(self, attacked: ClassStatistics) -> None:
        """Find the direction anew."""
        self.state["penalty"] = confusion_penalty(attacked.confusion)


def confusion_penalty(confusion: FloatArray) -> FloatArray:
    """The weights G (predicted, true) of a confusion matrix (true, predicted); all alike where nothing is confused."""
    errors = confusion.T.copy()
    np.fill_diagonal(errors, 0.0)
    left, values, right = np.linalg.svd(errors)
    if values[0] <= 0:
        return np.ones_like(errors)
    sign = 1.0 if left[:, 0].sum() >= 0 else -1.0  # both vectors of a matrix without negative entries have one sign
    direction = np.outer(sign * left[:, 0], sign * right[0])
    lowest, highest = direction.min(), direction.max()
    if highest - lowest <= 1e-15:
        return np.ones_like(errors)
    return np.asarray(LOWEST + RANGE * (direction - lowest) / (highest - lowest))
