"""Whether a repair is one: every part before and after on samples that did not choose it, and the worst part above all.

Two kinds of statements, each at a level of its own. The intervals of one way of judging hold together. And the worst
part gained when every part is shown to be better now than the weakest was before: one test for each part, all of which
must be significant (an intersection-union test, Berger, Technometrics 24, 1982), so that no correction is needed. Which
parts may have been the weakest, the samples that chose say; those that judge have no say in that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import gammaln

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.bounds import Strata, class_intervals, clopper_pearson
from gfscore.judge.robust_changes import sign_p_values
from gfscore.results import BeforeAfter, Metric, RepairedPart, WorstPart

CHANGE_SHARE, MEAN_SHARE = 0.4, 0.1  # of delta, for the changes of all parts and of the mean
VERSION_SHARE = 0.25  # for all parts before, and as much for all parts after


WEAKEST_SHARES = (0.5, 0.25, 0.25)  # of delta, for the part that was weakest, the next one, and the third


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What the tests say of the worst part."""

    is_shown: bool
    weakest: int  # the part that all parts are compared with: of those tried, the one that says most
    short: tuple[int, ...]  # parts that are not shown to be better now than that one was


def judge_parts(
    measure: str,
    names: Sequence[str],
    values: tuple[FloatArray, FloatArray],
    codes: IntArray,
    *,
    maximum: float = 1.0,
    delta: float,
) -> BeforeAfter:
    """Every part before and after: ``values`` (n,) of the same samples, in [0, ``maximum``], by their part (n,).

    Parts weigh alike in the mean. Shares have Clopper and Pearson's intervals, changes betting ones; what is no share
    (the GREAT score) has intervals of changes alone.
    """
    present, inside = np.unique(codes, return_inverse=True)
    counts = np.bincount(inside)
    old, new = (np.bincount(inside, weights=each) / counts for each in values)
    changed = (values[1] - values[0] + maximum) / 2  # a score, too: in [0, maximum]
    lower, upper = (
        2 * end - maximum
        for end in class_intervals(changed, inside, len(counts), CHANGE_SHARE * delta, maximum=maximum)
    )
    are_shares, level = maximum == 1.0, VERSION_SHARE * delta
    ends = [clopper_pearson(np.rint(each * counts), counts, level) if are_shares else None for each in (old, new)]
    before, after = (
        [
            Metric(value=float(share), interval=None if end is None else (float(end[0][k]), float(end[1][k])))
            for k, share in enumerate(shares)
        ]
        for shares, end in zip((old, new), ends, strict=True)
    )
    parts = tuple(
        RepairedPart(
            name=names[part],
            n=int(counts[k]),
            before=before[k],
            after=after[k],
            change=Metric(value=float(new[k] - old[k]), interval=(float(lower[k]), float(upper[k]))),
            verdict=_verdict(float(lower[k]), float(upper[k])),
        )
        for k, part in enumerate(present.tolist())
    )
    whole = (float(lower.mean()), float(upper.mean()))  # what the parts allow
    if are_shares:
        whole = mean_change(values, inside, MEAN_SHARE * delta)
    return BeforeAfter(
        measure=measure,
        n=len(codes),
        delta=delta,
        before=float(old.mean()),
        after=float(new.mean()),
        change=Metric(value=float(new.mean() - old.mean()), interval=whole),
        worst_before=_worst(parts, after=False),
        worst_after=_worst(parts, after=True),
        parts=parts,
    )


def mean_change(values: tuple[FloatArray, FloatArray], codes: IntArray, delta: float) -> tuple[float, float]:
    """Interval of the change of the mean over parts that weigh alike, from how many samples were won and lost.

    ``values`` (n,) are 0 or 1, before and after. Both shares have intervals of their own (:class:`Strata`).
    """
    counts = np.bincount(codes)
    won, lost = (
        Strata.of(np.bincount(codes, weights=each), counts, totals=np.ones(len(counts), dtype=np.int64))
        for each in (values[1] > values[0], values[0] > values[1])
    )
    (won_low, won_high), (lost_low, lost_high) = won.whole_ends(delta / 4), lost.whole_ends(delta / 4)
    return won_low - lost_high, won_high - lost_low


def worst_gain(held: tuple[BoolArray, BoolArray], codes: IntArray, weakest: Sequence[int], *, delta: float) -> Gain:
    r"""Whether the worst part gained: :math:`\min_k s'_k > \min_k s_k`, wrong with probability at most ``delta``.

    ``held`` (n,) says of each sample whether it counts before and after, ``codes`` (n,) are the parts. For any part w
    :math:`\min_k s_k \le s_w`; so it is enough that :math:`s'_k > s_w` for every k: by the exact sign test for w
    itself, whose samples are paired, and by Fisher's exact test for the others. Up to three w are tried, the
    ``weakest`` on other samples first, each with its share of delta.

    >>> before, after = np.repeat([1, 0, 1], [80, 60, 20]) > 0, np.repeat([1, 1, 0, 1], [70, 50, 20, 20]) > 0
    >>> worst_gain((before, after), np.repeat([0, 1], 80), [1], delta=0.05).is_shown
    True
    """
    found = [
        Gain(is_shown=not short, weakest=part, short=short)
        for part, share in zip(weakest, WEAKEST_SHARES, strict=False)
        for short in [_not_above(held, codes, part, share * delta)]
    ]
    return min(found, key=lambda gain: len(gain.short))


def _not_above(held: tuple[BoolArray, BoolArray], codes: IntArray, weakest: int, level: float) -> tuple[int, ...]:
    """The parts that are not shown, each at ``level``, to be above what the weakest was."""
    inside = codes == weakest
    lost = int((held[0] & ~held[1])[inside].sum())
    won = int((~held[0] & held[1])[inside].sum())
    was, n = int(held[0][inside].sum()), int(inside.sum())
    p_values = {weakest: float(sign_p_values(np.array([won]), np.array([lost]))[0])}
    for part in np.unique(codes[~inside]).tolist():
        rows = codes == part
        p_values[part] = fall_p_value(int(held[1][rows].sum()), int(rows.sum()), was, n)
    return tuple(part for part, p in sorted(p_values.items(), key=lambda entry: -entry[1]) if p > level)


def fall_p_value(old: int, old_n: int, new: int, new_n: int) -> float:
    r"""Fisher's exact test: how likely so few successes of the new version are, were both shares equal.

    .. math:: p = \sum_{i \le s'} \binom{n'}{i} \binom{n}{s + s' - i} \Big/ \binom{n + n'}{s + s'}

    >>> round(fall_p_value(9, 10, 3, 10), 4)
    0.0099
    """
    total = old + new
    counts = np.arange(max(0, total - old_n), new + 1)
    logs = _choose(new_n, counts) + _choose(old_n, total - counts) - _choose(old_n + new_n, np.array(total))
    return float(min(1.0, np.exp(logs).sum()))


def samples_to_show(won: int, lost: int, n: int, delta: float) -> int | None:
    """How many samples of a part would show its gain by the sign test, were shares as in these ``n``; None: none would.

    >>> samples_to_show(4, 1, 20, 0.05), samples_to_show(2, 2, 20, 0.05)
    (50, None)
    """
    if won <= lost:
        return None
    for more in range(n, 1000 * n):
        scale = more / n
        found = sign_p_values(np.array([int(won * scale)]), np.array([int(np.ceil(lost * scale))]))[0]
        if found <= delta:
            return more
    return None


def _verdict(low: float, high: float) -> Literal["gained", "paid", "unclear"]:
    return "gained" if low > 0 else "paid" if high < 0 else "unclear"


def _worst(parts: Sequence[RepairedPart], *, after: bool) -> WorstPart:
    """The part with the lowest value, the first of several."""
    metrics = [part.after if after else part.before for part in parts]
    place = min(range(len(metrics)), key=lambda number: metrics[number].value or 0.0)
    return WorstPart(class_=parts[place].name, value=metrics[place].value, interval=metrics[place].interval)


def _choose(n: int, k: IntArray) -> FloatArray:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))
