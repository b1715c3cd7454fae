"""Intervals of the accuracies that a policy asks about, whole and by class, all at one level."""

from collections.abc import Collection, Sequence

import numpy as np

from gfscore.bounds import Strata
from gfscore.judge.policy import EVERY
from gfscore.results import ClassResult, Interval, ModelAudit


def accuracy_intervals(
    model: ModelAudit, asked: Collection[str | None], level: float
) -> tuple[Interval | None, dict[str, Interval]]:
    """Of the whole (None among ``asked``) and of the classes that are asked about (``*``: of every one), by name.

    They hold together with probability 1 - ``level``, and are about what the other intervals of the audit are about: a
    distribution, or a fixed set. In the whole each class weighs as much as in the model's accuracy
    (:class:`~gfscore.bounds.Strata`); it has no interval where the classes could not be weighed.
    """
    entries = [entry for entry in model.classes if EVERY in asked or entry.name in asked]
    shares = len(entries) + (None in asked)
    if shares == 0:
        return None, {}
    alpha, whole, classes = level / (2 * shares), None, dict[str, Interval]()
    if None in asked and model.samples.weighted_by != "unequal_draws":
        whole = _strata(model, model.classes).whole_ends(alpha)
    if entries:
        lower, upper = _strata(model, entries).part_ends(alpha)
        classes = {
            entry.name: (float(low), float(high)) for entry, low, high in zip(entries, lower, upper, strict=True)
        }
    return whole, classes


def _strata(model: ModelAudit, entries: Sequence[ClassResult]) -> Strata:
    """The correct decisions of some classes."""
    counts = np.array([entry.n for entry in entries])
    sizes = [entry.size for entry in entries if entry.size is not None]
    known = sizes if len(sizes) == len(entries) else None  # a file of an earlier version does not say
    return Strata.of(
        np.rint([entry.accuracy * entry.n for entry in entries]),
        counts,
        totals=known if model.samples.weighted_by == "class_sizes" else counts,
        sizes=known if model.interval.target == "finite" else None,
    )
