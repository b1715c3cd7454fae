"""One error level for a whole audit: all its intervals hold together with probability at least 1 - delta.

The level is split once. Intervals of all classes (the box) get most of it; the metrics that are averages over all
classes get a share for bounds of their own, and so do the lower end of the worst class, the upper end of the RDI, and
the set of the classes that may be the worst. Everything else follows from these without spending more.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import FloatArray, IntArray
from gfscore.bounds import box
from gfscore.bounds.averages import mean_interval, nrgc_interval
from gfscore.bounds.box import Ends, Interval
from gfscore.bounds.class_means import PartScores, check_level
from gfscore.bounds.extremes import may_be_worst, rdi_upper
from gfscore.bounds.methods import CROSSING, Method, PartBounds
from gfscore.errors import EmptyIntervalError, OptionError, SamplesError
from gfscore.metrics import BUILT_IN, ClassScores, all_metrics, formulas
from gfscore.summaries import Summary

BOX_SHARE = 0.7  # of delta, for the intervals of all classes
DIRECT_SHARE = 0.14  # for both ends of three averages: NRGC, class mean, aggregate
WORST_SHARE = 0.08  # for the lower end of the worst class
GAP_SHARE = 0.04  # for the upper end of the highest class minus the lowest
SET_SHARE = 0.04  # for the set of the classes that may be the worst


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AuditIntervals:
    """Intervals of every number of an audit, in score units, which hold together with probability 1 - delta.

    The arrays are ``(K,)`` over the parts that have samples, as in :class:`~gfscore.profile.ClassProfile`. An interval
    is None where the estimate is: an index of inequality when all scores are 0. Every estimate lies in its interval.
    """

    lower: FloatArray
    upper: FloatArray
    worst_set: IntArray  # indices of the parts that cannot be excluded as the worst
    wcr: Interval
    rdi: Interval
    nrgc: Interval | None
    fp_great: Interval
    theil: Interval | None
    atkinson: Interval | None
    class_mean: Interval
    aggregate: Interval  # of the mean with the weights that were given, or the shares of the parts
    method: Method
    delta: float
    target: str  # "population" or "finite"
    seed: int  # of the order of betting, the deal of blocks, and the halves that rank and estimate for the NRGC
    others: Mapping[str, Interval | None] = field(default_factory=dict)  # of metrics from outside, by key
    temperatures: Interval | None = None  # they hold at every one of these at once; None: at one, fixed beforehand

    def of(self, key: str) -> Interval | None:
        """The interval of a metric; None where there is none."""
        found: Interval | None = getattr(self, key) if key in BUILT_IN else self.others.get(key)
        return found


def audit_intervals(
    values: ArrayLike,
    codes: ArrayLike,
    n_parts: int,
    *,
    maximum: float,
    delta: float = 0.05,
    method: Method | str = Method.BETTING,
    fairness_weight: float = formulas.DEFAULT_FAIRNESS_WEIGHT,
    seed: int = 0,
    sizes: ArrayLike | None = None,
    weights: FloatArray | None = None,
    failure_rate: float = 0.0,
) -> AuditIntervals:
    r"""Intervals of the classes and of every metric, all at one level.

    ``values`` are the local scores in [0, ``maximum``] and ``codes`` the part (class or group) of each, ``(N,)``.
    Without ``sizes`` the target is the distribution the samples were drawn from; with ``sizes``, ``(n_parts,)``, it is
    the fixed set of that many samples per part, of which a random subset was scored.

    The aggregate is the mean with ``weights`` ``(K,)``, fixed beforehand, over the parts that have samples. Without
    them a part weighs as much as it has in the fixed set, or else in the sample.

    The box is at level 0.7 delta. The worst class needs no correction for K: the lowest of one-sided bounds at level
    0.08 delta each exceeds the lowest mean only if the bound of that one class fails; and a bound for the worst class
    is one for all, so it cuts the box. Nor does the upper end of the RDI, 0.04 delta
    (:func:`~gfscore.bounds.extremes.rdi_upper`), or the worst set, 0.04 delta
    (:func:`~gfscore.bounds.extremes.may_be_worst`). 0.14 delta is shared by six one-sided bounds of averages
    (:mod:`~gfscore.bounds.averages`); where the aggregate weighs all classes alike it is the class mean, and one bound
    has the level of both. The interval of a metric is what the box allows, intersected with its own bound.

    With ``failure_rate`` a, each score is larger than what it stands for with probability at most a, as a certified
    radius may be. The intervals are then about the mean of min(score, truth): it is at most the mean score, and, as a
    failure costs no more than ``maximum``, at least that minus a ``maximum``. So every lower end gives that up. That is
    true on average over fresh samples, not of a fixed set, so it excludes ``sizes``.

    >>> rng = np.random.default_rng(0)
    >>> scores, codes = rng.random(2000) * np.repeat([0.2, 1.0], 1000), np.repeat([0, 1], 1000)
    >>> intervals = audit_intervals(scores, codes, 2, maximum=1.0)
    >>> [round(end, 2) for end in intervals.rdi], intervals.worst_set
    ([0.34, 0.41], array([0]))
    """
    kind = Method.named(method)
    if failure_rate > 0 and sizes is not None:
        raise OptionError(
            f"scores that may be too large (here with probability {failure_rate:g}) have intervals for fresh samples "
            "only, not for a fixed data set. Leave the class sizes out."
        )
    parts = PartScores.of(values, codes, n_parts, maximum=maximum, seed=seed, sizes=sizes)
    return _intervals(
        PartBounds.of_scores(parts, kind),
        n_parts,
        maximum=maximum,
        delta=delta,
        fairness_weight=fairness_weight,
        seed=seed,
        weights=weights,
        failure_rate=failure_rate,
    )


def summary_intervals(
    summary: Summary,
    *,
    delta: float = 0.05,
    method: Method | str = Method.BLOCKS,
    fairness_weight: float = formulas.DEFAULT_FAIRNESS_WEIGHT,
    weights: FloatArray | None = None,
) -> AuditIntervals:
    """Intervals of everything from a summary of the scores; any method but betting, which needs their order."""
    return _intervals(
        PartBounds.of_summary(summary, Method.named(method)),
        len(summary.names),
        maximum=summary.kind.maximum,
        delta=delta,
        fairness_weight=fairness_weight,
        seed=summary.seed,
        weights=weights,
    )


def _intervals(
    found: PartBounds,
    n_parts: int,
    *,
    maximum: float,
    delta: float,
    fairness_weight: float,
    seed: int,
    weights: FloatArray | None,
    failure_rate: float = 0.0,
) -> AuditIntervals:
    check_level(delta)
    if not (np.isfinite(fairness_weight) and fairness_weight >= 0):
        raise OptionError(f"a fairness weight of {fairness_weight} is not a number of at least 0. The paper uses 0.5.")
    means = found.means
    if len(means) < 2:
        raise SamplesError("only one part has samples, so nothing can be unequal. Give samples of two or more.")
    ordered, anytime = isinstance(found.scores, PartScores), found.method.anytime
    of_scores, upper = _class_ends(found, n_parts, delta)
    lower = np.maximum(of_scores - failure_rate, 0.0)
    alpha = None if anytime else (DIRECT_SHARE if ordered else DIRECT_SHARE + SET_SHARE) * delta / 6
    totals = found.counts if found.sizes is None else found.sizes
    shares = totals / totals.sum() if weights is None else weights
    ends = lower, upper
    class_mean, aggregate = _mean_and_aggregate(found, shares, ends, alpha, failure_rate)
    return within_box(
        means,
        ends,
        Averages(
            class_mean=class_mean,
            aggregate=aggregate,
            rdi=_rdi(found, (of_scores, upper), delta, failure_rate),
            nrgc=_nrgc(found, ends, alpha, failure_rate),
        ),
        _worst_set(found, ends, delta, failure_rate),
        maximum=maximum,
        fairness_weight=fairness_weight,
        weights=shares,
        method=found.method,
        delta=delta,
        target="population" if found.sizes is None else "finite",
        seed=seed,
    )


class Averages(NamedTuple):
    """Intervals of what is known better than from the box, for scores in [0, 1]."""

    class_mean: Interval
    aggregate: Interval
    rdi: Interval
    nrgc: Interval | None


def within_box(
    means: FloatArray,
    ends: Ends,
    known: Averages,
    worst_set: IntArray,
    *,
    maximum: float,
    fairness_weight: float,
    weights: FloatArray,
    **about: Any,
) -> AuditIntervals:
    """Everything that follows from a box of class intervals, ``(K,)`` each, and what is known better, in score units.

    All are for scores in [0, 1]; no probability is spent here. ``about`` are the other fields of the result.
    """
    fp_great = meet(
        "FP-GREAT",
        box.fp_great_range(*ends, fairness_weight),
        (known.class_mean[0] - fairness_weight * known.rdi[1], known.class_mean[1] - fairness_weight * known.rdi[0]),
        formulas.fp_great(means, fairness_weight),
    )
    classes = ClassScores(scores=maximum * means, weights=weights, fairness_weight=fairness_weight)
    lower, upper = (maximum * end for end in ends)
    return AuditIntervals(
        lower=lower,
        upper=upper,
        worst_set=worst_set,
        wcr=_scale(box.wcr_range(*ends), maximum),
        rdi=_scale(known.rdi, maximum),
        nrgc=known.nrgc,
        fp_great=_scale(fp_great, maximum),
        theil=box.theil_range(*ends) if means.any() else None,
        atkinson=box.atkinson_range(*ends) if means.any() else None,
        class_mean=_scale(known.class_mean, maximum),
        aggregate=_scale(known.aggregate, maximum),
        others={key: each.between(classes, lower, upper) for key, each in all_metrics().items() if key not in BUILT_IN},
        **about,
    )


def _class_ends(found: PartBounds, n_parts: int, delta: float) -> Ends:
    """The box of the scores' means, cut by the bound of the worst class, and, where counts are all there is, the best.

    An anytime method spends nothing on averages: they need a fixed n. Nor has it a bound of the worst class while a
    part is absent. That one is right at all looks because the worst part is the same at all of them; where parts come
    one after the other, each may be the worst so far, and each of them would have its own chance to fail. The box is
    about all parts from the start, so it holds before they come.

    Counts without an order have no bound of the RDI by bets on two classes. There its share is for the upper end of the
    best class: the highest of bounds without a correction for K is too low only if that of the best class is.
    """
    anytime = found.method.anytime
    share = BOX_SHARE + DIRECT_SHARE + SET_SHARE if anytime else BOX_SHARE
    n_bounded = n_parts if anytime else len(found.means)  # while data come in, an absent part may still get samples
    lower, upper = found.box(share * delta, n_bounded)
    if len(found.means) == n_bounded:
        lower = np.maximum(lower, min(float(found.lower(WORST_SHARE * delta).min()), float(found.means.min())))
        if not isinstance(found.scores, PartScores):
            upper = np.minimum(upper, max(float(found.upper(GAP_SHARE * delta).max()), float(found.means.max())))
    return lower, upper


def _rdi(found: PartBounds, ends: Ends, delta: float, failure_rate: float) -> Interval:
    """What the box leaves of the RDI; its upper end by bets on two classes, where the samples have an order."""
    lower, upper = ends
    low, high = box.rdi_range(np.maximum(lower - failure_rate, 0.0), upper)
    if not isinstance(found.scores, PartScores):
        return low, high
    lowest, highest = ((float(pick(lower)), float(pick(upper))) for pick in (np.min, np.max))
    by_bets = rdi_upper(found.scores, GAP_SHARE * delta, lowest, highest) + failure_rate
    return low, max(min(high, by_bets), formulas.rdi(found.means), low)


def _worst_set(found: PartBounds, ends: Ends, delta: float, failure_rate: float) -> IntArray:
    """The parts that neither the box nor bets against them rule out as the worst; the lowest estimate is among them."""
    lower, upper = ends
    possible = lower <= upper.min()
    if isinstance(found.scores, PartScores):
        possible &= may_be_worst(found.scores, SET_SHARE * delta, failure_rate)
    possible[found.means.argmin()] = True
    return np.flatnonzero(possible).astype(np.int64)


def average_interval(
    what: str, found: PartBounds, weights: FloatArray, ends: Ends, alpha: float | None, failure_rate: float = 0.0
) -> Interval:
    """What the box leaves of an average of the means, and the bound of its own where there is one."""
    by_box = box.mean_range(*ends, weights)
    by_itself = by_box if alpha is None else mean_interval(found, weights, alpha, failure_rate)
    return meet(what, by_box, by_itself, float(np.dot(weights, found.means)))


def _mean_and_aggregate(
    found: PartBounds, shares: FloatArray, ends: Ends, alpha: float | None, failure_rate: float
) -> tuple[Interval, Interval]:
    """Of the class mean and of the mean with ``shares``; one at the level of both where they are always the same."""
    equal = np.full(len(shares), 1.0 / len(shares))
    same = np.array_equal(equal, shares)  # which has nothing to do with the scores
    level, pairs = 2 * alpha if same and alpha else alpha, (("the class mean", equal), ("the aggregate", shares))
    class_mean, aggregate = (average_interval(what, found, each, ends, level, failure_rate) for what, each in pairs)
    return class_mean, aggregate


def _nrgc(found: PartBounds, ends: Ends, alpha: float | None, failure_rate: float) -> Interval | None:
    estimate, by_box = formulas.nrgc(found.means), box.nrgc_range(*ends)
    by_itself = by_box if alpha is None else nrgc_interval(found, alpha, failure_rate)
    if estimate is None or by_box is None or by_itself is None:
        return None
    return meet("NRGC", by_box, by_itself, estimate)


def meet(what: str, first: Interval, second: Interval, estimate: float) -> Interval:
    """What two intervals have in common, and the estimate."""
    low, high = max(first[0], second[0]), min(first[1], second[1])
    if low > high + CROSSING:
        raise EmptyIntervalError(what)
    return min(low, estimate), max(high, estimate)


def _scale(interval: Interval, maximum: float) -> Interval:
    return maximum * interval[0], maximum * interval[1]
