r"""Who wins each sample when every class has a constant added to its logit: known for all constants at once.

A constant moves logits and no slope. With the margins and slopes of a sample towards all rivals, whether its
first-order radius is above eps is therefore a question about numbers that are known: it holds against rival j when

.. math:: s_j + b_y - b_j > 0, \qquad s_j = (f_y - f_j) - \epsilon \|\nabla (f_y - f_j)\|_q

With eps = 0 that is the question whether the sample is classified rightly.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.errors import SamplesError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contest:
    """By how much each sample leads its rivals, and which class or group it counts for.

    Parts without a sample do not exist here: ``codes`` count those that have any.
    """

    slack: FloatArray  # (n, R): the margin to a rival, minus what an attack takes off it
    labels: IntArray  # (n,)
    rivals: IntArray  # (n, R)
    codes: IntArray  # (n,), 0 to P - 1
    counts: IntArray  # (P,), samples of each part

    @classmethod
    def of(cls, slack: FloatArray, labels: IntArray, rivals: IntArray, parts: IntArray) -> Self:
        """The samples with the part of each, by any numbers."""
        _, codes, counts = np.unique(parts, return_inverse=True, return_counts=True)
        if slack.shape != rivals.shape or len(labels) != len(slack):
            raise SamplesError(f"slack is {slack.shape}, rivals {rivals.shape}. Give one number for each rival.")
        return cls(slack=slack, labels=labels, rivals=rivals, codes=codes, counts=counts)

    def rows(self, some: IntArray) -> Self:
        """Some of the samples; every part must keep one."""
        counts = np.bincount(self.codes[some], minlength=len(self.counts))
        return replace(
            self,
            slack=self.slack[some],
            labels=self.labels[some],
            rivals=self.rivals[some],
            codes=self.codes[some],
            counts=counts,
        )

    def leads(self, bias: FloatArray) -> FloatArray:
        """What each sample leads each rival by, (n, R), when ``bias`` (K,) is added to the logits."""
        return np.asarray(self.slack + bias[self.labels][:, None] - bias[self.rivals])

    def holds(self, bias: FloatArray) -> BoolArray:
        """Which samples lead all their rivals, (n,)."""
        return np.asarray((self.leads(bias) > 0).all(axis=1))

    def shares(self, bias: FloatArray) -> FloatArray:
        """Share of the samples of each part that do, (P,).

        >>> contest = attacked_contest(np.array([[1.0], [-0.5]]), np.array([[1.0], [1.0]]), np.array([0, 1]),
        ...                            np.array([[1], [0]]), np.array([0, 1]), eps=0.2)
        >>> contest.shares(np.zeros(2)), contest.shares(np.array([0.0, 0.75]))
        (array([1., 0.]), array([1., 1.]))
        """
        return np.asarray(np.bincount(self.codes, weights=self.holds(bias), minlength=len(self.counts)) / self.counts)


def attacked_contest(
    margins: FloatArray, norms: FloatArray, labels: IntArray, rivals: IntArray, parts: IntArray, *, eps: float
) -> Contest:
    """Samples under an attack of size ``eps``, to first order; a slope that is no positive number loses every contest.

    ``margins`` and ``norms`` are (n, R), towards the ``rivals``.
    """
    usable = np.isfinite(norms) & (norms > 0)
    slack = np.where(usable, margins - eps * np.where(usable, norms, 0.0), -np.inf)
    return Contest.of(slack, labels, rivals, parts)


def biased_radii(
    margins: FloatArray, norms: FloatArray, labels: IntArray, rivals: IntArray, bias: FloatArray
) -> FloatArray:
    r"""First-order radius of each sample when ``bias`` (K,) is added to the logits, (n,): 0 where a rival leads.

    .. math:: r(b) = \min_j \frac{f_y - f_j + b_y - b_j}{\|\nabla (f_y - f_j)\|_q}

    ``margins`` and ``norms`` are (n, R), towards all ``rivals``, or towards the strongest: then exact only where none
    of the others comes first.

    >>> margins, norms = np.array([[1.0, 2.0]]), np.array([[2.0, 1.0]])
    >>> biased_radii(margins, norms, np.array([0]), np.array([[1, 2]]), np.array([0.0, -1.0, 0.5]))
    array([1.])
    """
    moved = margins + bias[labels][:, None] - bias[rivals]
    usable = np.isfinite(norms) & (norms > 0)
    ratios = np.divide(moved, norms, out=np.zeros_like(moved), where=usable)
    return np.asarray(np.where((moved > 0).all(axis=1), ratios.min(axis=1), 0.0))
