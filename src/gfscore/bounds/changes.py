r"""How sure is a change? Two versions of a model on the same samples, class by class and metric by metric.

The difference of two scores of one sample lies in [-S, S], and is bounded as a score is. What both versions find hard
cancels, so a change is known far better than either score. The tests of the classes are corrected by Holm (Scand. J.
Statist. 6, 1979), which needs no independence.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import FloatArray, IntArray
from gfscore.bounds.averages import rank_weights
from gfscore.bounds.betting import betting_p_values
from gfscore.bounds.box import Ends, Interval
from gfscore.bounds.class_means import PartScores, check_level
from gfscore.bounds.methods import Method, PartBounds
from gfscore.bounds.noise import holm
from gfscore.bounds.simultaneous import AuditIntervals, audit_intervals, average_interval, meet
from gfscore.errors import SamplesError
from gfscore.metrics import all_metrics, formulas

TEST_SHARE = 0.5  # of delta, for the tests of all classes
BOX_SHARE = 0.3  # for the intervals of the changes of all classes
VERSION_SHARE = 0.075  # for the intervals of either version, which say what the lowest and the highest class may be
MEAN_SHARE = 0.05  # for both ends of two averages of the changes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChangeIntervals:
    """Changes, new minus old, in score units; everything holds together with probability 1 - delta.

    The arrays are ``(K,)`` over the parts that have samples. An interval is None where an index does not exist.
    """

    lower: FloatArray
    upper: FloatArray
    p_values: FloatArray  # of "fell by no more than the tolerance", each by itself
    adjusted: FloatArray  # the same, after Holm
    metrics: dict[str, Interval | None]
    level: float  # of the tests: what is at most this, after Holm, is significant


def change_intervals(
    old: ArrayLike,
    new: ArrayLike,
    codes: ArrayLike,
    n_parts: int,
    *,
    maximum: float,
    delta: float = 0.05,
    method: Method | str = Method.BETTING,
    fairness_weight: float = formulas.DEFAULT_FAIRNESS_WEIGHT,
    seed: int = 0,
    tolerance: float = 0.0,
    weights: FloatArray | None = None,
) -> ChangeIntervals:
    """Intervals of the change of each class and of every metric, and a test of each class for a fall.

    ``old`` and ``new`` are the local scores of the same samples in [0, ``maximum``], ``(N,)``. The tests are betting
    p-values, corrected by Holm. ``weights`` of the parts with samples make the aggregate; without them each sample
    counts alike.

    >>> rng = np.random.default_rng(0)
    >>> codes, old = np.repeat([0, 1], 1000), rng.random(2000)
    >>> new = np.clip(old + rng.normal(0, 0.1, 2000) - 0.1 * (codes == 1), 0, 1)
    >>> found = change_intervals(old, new, codes, 2, maximum=1.0)
    >>> found.lower.round(2), found.upper.round(2), found.adjusted < found.level
    (array([-0.02, -0.09]), array([ 0.  , -0.07]), array([False,  True]))
    """
    check_level(delta)
    before, after = np.asarray(old, dtype=np.float64), np.asarray(new, dtype=np.float64)
    if before.shape != after.shape:
        raise SamplesError(f"scores of shapes {before.shape} and {after.shape}: give the same samples in both.")
    kind, part_codes = Method.named(method), np.asarray(codes)
    versions = [
        audit_intervals(
            scores,
            part_codes,
            n_parts,
            maximum=maximum,
            delta=VERSION_SHARE * delta,
            method=kind,
            fairness_weight=fairness_weight,
            seed=seed,
            weights=weights,
        )
        for scores in (before, after)
    ]
    parts = change_parts(before, after, part_codes, n_parts, maximum=maximum, seed=seed)
    ends, means = _bound_changes(PartBounds.of_scores(parts, kind), delta, weights, maximum)
    profiles = (_means(before, part_codes), _means(after, part_codes))
    p_values = fall_p_values(parts, tolerance / maximum, delta)
    return ChangeIntervals(
        lower=ends[0],
        upper=ends[1],
        p_values=p_values,
        adjusted=holm(p_values),
        metrics=metric_changes(profiles, versions, ends, means, fairness_weight),
        level=TEST_SHARE * delta,
    )


def _bound_changes(
    found: PartBounds, delta: float, weights: FloatArray | None, maximum: float
) -> tuple[Ends, tuple[Interval, Interval]]:
    """The box of the changes d, that of the scores (d + S) / 2S, and their mean over classes and over the whole."""
    counts = found.counts
    ends = found.box(BOX_SHARE * delta, len(counts))
    equal = np.full(len(counts), 1.0 / len(counts))
    shares = counts / counts.sum() if weights is None else weights
    class_mean, aggregate = (
        average_interval("a change", found, each, ends, MEAN_SHARE * delta / 4) for each in (equal, shares)
    )

    def change(interval: Interval) -> Interval:
        return maximum * (2.0 * interval[0] - 1.0), maximum * (2.0 * interval[1] - 1.0)

    lower, upper = (maximum * (2.0 * end - 1.0) for end in ends)
    return (lower, upper), (change(class_mean), change(aggregate))


def change_parts(
    old: FloatArray, new: FloatArray, codes: IntArray, n_parts: int, *, maximum: float, seed: int = 0
) -> PartScores:
    """The differences d of two versions' scores as scores themselves, (d + S) / 2S."""
    shifted = np.clip(new - old + maximum, 0.0, 2.0 * maximum)  # rounding aside, they lie there
    return PartScores.of(shifted, codes, n_parts, maximum=2.0 * maximum, seed=seed)


def fall_p_values(parts: PartScores, tolerance: float, delta: float) -> FloatArray:
    """P-value of "fell by no more than the tolerance" (a share of the maximum) for each part of the differences."""
    null = np.full(len(parts.counts), 0.5 + 0.5 * tolerance)  # of 1 - x, which is large where the class fell
    return betting_p_values(parts.mirror(), null, TEST_SHARE * delta / len(parts.counts))


def metric_changes(
    profiles: tuple[FloatArray, FloatArray],
    versions: list[AuditIntervals],
    changes: Ends,
    means: tuple[Interval, Interval],
    weight: float,
) -> dict[str, Interval | None]:
    r"""The change of each metric: what both versions' intervals allow, and for most what the changes of classes do.

    With k* the worst class of the new version and j* of the old one,

    .. math:: \Delta_{k^*} \le \min \Omega^{new} - \min \Omega^{old} \le \Delta_{j^*}

    so the change of the WCR lies between the lowest change of a class that may now be the worst and the highest of one
    that may have been; so it is for the highest class, and with it the RDI. Averages have a bound of their own.
    """
    old, new = versions
    lower, upper = changes
    class_mean, aggregate = means

    def common(by_classes: Interval, key: str, metric: Callable[[FloatArray], float]) -> Interval:
        estimate = metric(profiles[1]) - metric(profiles[0])
        return meet("the change of a metric", by_classes, found[key] or by_classes, estimate)

    found = {key: _difference(old.of(key), new.of(key)) for key in all_metrics()}
    lowest = (float(lower[new.worst_set].min()), float(upper[old.worst_set].max()))
    highest = (float(lower[_best_set(old)].min()), float(upper[_best_set(new)].max()))
    rdi = common((highest[0] - lowest[1], highest[1] - lowest[0]), "rdi", formulas.rdi)
    penalised = (class_mean[0] - weight * rdi[1], class_mean[1] - weight * rdi[0])
    found["aggregate"], found["class_mean"] = aggregate, class_mean
    found["wcr"], found["rdi"] = common(lowest, "wcr", formulas.wcr), rdi
    found["nrgc"] = _nrgc(profiles, old, new, changes, class_mean)
    found["fp_great"] = common(penalised, "fp_great", lambda scores: formulas.fp_great(scores, weight))
    return found


def _nrgc(
    profiles: tuple[FloatArray, FloatArray],
    old: AuditIntervals,
    new: AuditIntervals,
    changes: Ends,
    class_mean: Interval,
) -> Interval | None:
    r"""The change of the NRGC, G = D/m with the mean difference D and the class mean m.

    .. math:: G' - G = \frac{(D' - D) - G\,(m' - m)}{m'}

    D is a seminorm: it changes by no more than the D of the changes themselves.
    """
    apart = _difference(old.nrgc, new.nrgc)
    before, after = (formulas.nrgc(profile) for profile in profiles)
    if apart is None or old.nrgc is None or before is None or after is None or new.class_mean[0] <= 0:
        return apart
    spread = largest_mean_difference(*changes)
    pulls = [g * mean for g in old.nrgc for mean in class_mean]
    tops = (-spread - max(pulls), spread - min(pulls))
    ends = [top / mean for top in tops for mean in new.class_mean]
    return meet("the change of the NRGC", apart, (min(ends), max(ends)), after - before)


def largest_mean_difference(lower: FloatArray, upper: FloatArray) -> float:
    r"""The most that :math:`\sum_{ij} |d_i - d_j| / 2K^2` can be in a box; a bound where its ends sort differently.

    In ascending order it is :math:`\sum_r (2r - K - 1) d_{(r)} / K^2`, and each :math:`d_{(r)}` lies between the r-th
    smallest lower and the r-th smallest upper end.

    >>> largest_mean_difference(np.array([-1.0, 0.0]), np.array([0.0, 1.0]))
    0.5
    """
    ranks = rank_weights(len(lower))
    return float(np.maximum(ranks * np.sort(lower), ranks * np.sort(upper)).sum())


def _difference(old: Interval | None, new: Interval | None) -> Interval | None:
    """What two intervals say about a difference when nothing else is known."""
    return None if old is None or new is None else (new[0] - old[1], new[1] - old[0])


def _best_set(version: AuditIntervals) -> IntArray:
    """Indices of the parts that cannot be excluded as the best."""
    return np.flatnonzero(version.upper >= version.lower.max()).astype(np.int64)


def _means(scores: FloatArray, codes: IntArray) -> FloatArray:
    counts = np.bincount(codes)
    return np.asarray((np.bincount(codes, weights=scores) / np.maximum(counts, 1))[counts > 0])
