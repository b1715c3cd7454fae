"""Robust accuracy of two versions: what changed at a size of attack, class by class, and how sure that is."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc

from gfscore import views
from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.bounds import change_intervals, holm
from gfscore.errors import PLURALS, OptionError
from gfscore.judge.robust_accuracy import robust_strata
from gfscore.results import ClassChange, Comparison, Metric, ModelAudit, RobustChange

TEST_SHARE = 0.5  # of delta, for the tests of all classes; the intervals have the rest
HALVINGS = 60  # of the range of a share: as fine as floats are


def unpaired_robust_change(
    old: ModelAudit, new: ModelAudit, eps: float, *, delta: float, tolerance: float | None = None
) -> RobustChange | None:
    """The change between two audits, whatever samples they share; None where it is not known (:func:`why_unknown`).

    The interval of a change is what the Clopper-Pearson intervals of both leave. A class fell when exact bounds on
    both, as :func:`apart_p_values` has them, do not meet, corrected by Holm, or when its whole interval lies below 0;
    with a ``tolerance``, when that lies below it.
    """
    before, after = old.robustness, new.robustness
    if before is None or after is None or why_unknown(old, new, eps) is not None:
        return None
    strata = [robust_strata(each, eps) for each in (before, after)]
    alpha = (1 - TEST_SHARE) * delta / (4 * (len(before.classes) + 1))
    (old_low, old_high), (new_low, new_high) = (each.part_ends(alpha) for each in strata)
    ends = np.stack([new_low - old_high, new_high - old_low], axis=1)
    wholes = [
        None if each.weighted_by == "unequal_draws" else counted.whole_ends(alpha)
        for each, counted in zip((before, after), strata, strict=True)
    ]
    whole = None if wholes[0] is None or wholes[1] is None else _difference(wholes[0], wholes[1])
    p_values = apart_p_values((strata[0].times, strata[0].counts), (strata[1].times, strata[1].counts))
    adjusted = holm(p_values)
    fell = ends[:, 1] < -(tolerance or 0.0)  # of a fixed set that was looked at as a whole this is sure, the test not
    if not tolerance:
        fell |= adjusted <= TEST_SHARE * delta
    right = [{entry.name: entry.accuracy for entry in model.classes} for model in (old, new)]
    facts = [(part.name, part.n, (right[0][part.name], right[1][part.name])) for part in after.classes]
    classes = _classes(facts, (strata[0].shares, strata[1].shares), ends, p_values, adjusted, fell, tolerance)
    change = Metric(value=strata[1].whole - strata[0].whole, interval=whole)
    about = {"eps": eps, "norm": after.norm, "kind": after.kind, "paired": False, "delta": delta}
    return _change(about, (strata[0].whole, strata[1].whole), change, classes)


def why_unknown(old: ModelAudit, new: ModelAudit, eps: float) -> str | None:
    """Why the change of robust accuracy at a size is not known from two audits; None where it is."""
    before, after = old.robustness, new.robustness
    if before is None or after is None:
        return f"{(old if before is None else new).name} has none"
    if before.norm != after.norm:
        return f"it is of attacks in {views.norm_text(before.norm)} and in {views.norm_text(after.norm)}"
    if before.kind != after.kind:
        return f"it is {before.kind} of one and {after.kind} of the other"
    lacking = [model.name for model, each in ((old, before), (new, after)) if each.at(eps) is None]
    if lacking:
        return f"{lacking[0]} does not have it at {views.eps_text(eps, after.norm)}"
    if [part.name for part in before.classes] != [part.name for part in after.classes]:
        return f"it is of other {PLURALS[new.partition]}"
    return None


def paired_robust_change(
    names: Sequence[str],
    held: tuple[BoolArray, BoolArray],
    codes: IntArray,
    *,
    accuracies: Sequence[tuple[float, float]],
    sizes: IntArray,
    about: Mapping[str, object],
    tolerance: float | None = None,
) -> RobustChange:
    """The change on samples that both versions were measured on: ``held`` says of each whether its radius is above eps.

    A class fell when more samples were lost than won by the exact sign test (McNemar), corrected by Holm; with a
    ``tolerance``, by betting. In the whole each part with samples weighs as much as its ``sizes`` say; ``codes`` are
    the parts of the samples, ``about`` has eps, norm, kind and delta.
    """
    weights, delta = sizes / sizes.sum(), float(str(about["delta"]))
    old, new = (each.astype(np.float64) for each in held)
    found = change_intervals(
        old, new, codes, int(codes.max()) + 1, maximum=1.0, delta=delta, tolerance=tolerance or 0.0, weights=weights
    )
    inside = [codes == part for part in np.unique(codes)]
    shares = [np.array([each[rows].mean() for rows in inside]) for each in (old, new)]
    lost, won = (
        np.array([int(change[rows].sum()) for rows in inside]) for change in (held[0] & ~held[1], ~held[0] & held[1])
    )
    p_values = found.p_values if tolerance else sign_p_values(lost, won)
    adjusted = holm(p_values)
    ends = np.stack([found.lower, found.upper], axis=1)
    facts = [(name, int(rows.sum()), both) for name, rows, both in zip(names, inside, accuracies, strict=True)]
    classes = _classes(facts, shares, ends, p_values, adjusted, adjusted <= found.level, tolerance)
    wholes = [float(weights @ each) for each in shares]
    change = Metric(value=wholes[1] - wholes[0], interval=found.metrics["aggregate"])
    return _change({**about, "paired": True}, wholes, change, classes)


def apart_p_values(old: tuple[ArrayLike, ArrayLike], new: tuple[ArrayLike, ArrayLike]) -> FloatArray:
    r"""How likely so deep a fall is, were no share lower now, whatever samples both were counted on.

    .. math:: p = \min\Bigl(1,\;
              2 \max_\theta \min\bigl(P[B_{n,\theta} \ge s],\, P[B_{n',\theta} \le s']\bigr)\Bigr)

    Both are successes and counts, (K,) each. It is the lowest level at which Clopper and Pearson's lower bound on the
    old share and their upper bound on the new one, each with half of it, have no share in common. A test for samples
    of their own, as Fisher's, does not hold here: of the same images one model may keep just those that the other
    loses, and then a difference varies twice as much.

    >>> apart_p_values(([9, 9], [10, 10]), ([3, 9], [10, 10])).round(4).tolist()
    [0.1005, 1.0]
    """
    (was, m), (now, n) = ([np.asarray(each, dtype=np.float64) for each in version] for version in (old, new))
    low, high = np.zeros(np.broadcast(was, now).shape), np.ones(np.broadcast(was, now).shape)

    def at_least(share: FloatArray) -> FloatArray:
        return np.where(was > 0, betainc(np.maximum(was, 1.0), m - was + 1.0, share), 1.0)

    for _ in range(HALVINGS):  # the first rises with the share, the second falls: where they meet
        middle = (low + high) / 2
        at_most = np.where(now < n, betainc(np.maximum(n - now, 1.0), now + 1.0, 1.0 - middle), 1.0)
        is_below = at_least(middle) < at_most
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return np.minimum(1.0, 2 * at_least(high))


def sign_p_values(lost: IntArray, won: IntArray) -> FloatArray:
    """The exact sign test: how likely it is that of all samples that changed so many were lost, were both as likely.

    >>> sign_p_values(np.array([5, 0]), np.array([0, 0])).tolist()
    [0.03125, 1.0]
    """
    return np.asarray(np.where(lost > 0, betainc(np.maximum(lost, 1), won + 1, 0.5), 1.0))


def robust_change_at(comparison: Comparison, eps: float | None) -> RobustChange:
    """The change at a size of attack; an error where the comparison does not know it."""
    for entry in comparison.robustness:
        if eps is not None and np.isclose(entry.eps, eps, rtol=1e-9, atol=0):
            return entry
    at = "" if eps is None else f" at {views.eps_text(eps, 'linf')}"
    raise OptionError(
        f"nothing is known of the change of robust accuracy{at}. Give a baseline audit.json that holds it there."
    )


def _difference(old: tuple[float, float], new: tuple[float, float]) -> tuple[float, float]:
    return new[0] - old[1], new[1] - old[0]


def _classes(
    facts: Sequence[tuple[str, int, tuple[float, float]]],  # name, samples, clean accuracy of both
    shares: Sequence[FloatArray],
    ends: FloatArray,
    p_values: FloatArray,
    adjusted: FloatArray,
    fell: BoolArray,
    tolerance: float | None,
) -> tuple[ClassChange, ...]:
    changes = []
    for k, (name, n, accuracies) in enumerate(facts):
        low, high = ends[k].tolist()
        verdict: Literal["worse", "better", "within", "unclear"] = "worse" if fell[k] else "unclear"
        if not fell[k] and low > 0:
            verdict = "better"
        elif not fell[k] and tolerance is not None and low >= -tolerance:
            verdict = "within"
        changes.append(
            ClassChange(
                name=name,
                n=n,
                old=float(shares[0][k]),
                new=float(shares[1][k]),
                change=Metric(value=float(shares[1][k] - shares[0][k]), interval=(low, high)),
                accuracy=accuracies,
                p_value=float(p_values[k]),
                p_holm=float(adjusted[k]),
                verdict=verdict,
            )
        )
    return tuple(changes)


def _change(
    about: Mapping[str, object], wholes: Sequence[float], change: Metric, classes: tuple[ClassChange, ...]
) -> RobustChange:
    return RobustChange.model_validate(
        {
            **about,
            "old": wholes[0],
            "new": wholes[1],
            "change": change,
            "classes": classes,
            "worse": tuple(entry.name for entry in classes if entry.verdict == "worse"),
            "better": tuple(entry.name for entry in classes if entry.verdict == "better"),
        }
    )
