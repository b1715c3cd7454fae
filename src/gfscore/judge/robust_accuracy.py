"""Robust accuracy: radii counted at a ladder of eps, and what the counts say at any level."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gfscore import views
from gfscore.arrays import FloatArray, IntArray
from gfscore.bounds import Strata
from gfscore.errors import OptionError
from gfscore.judge.policy import EVERY
from gfscore.results import Flag, Interval, Metric, ModelAudit, Robustness, RobustPart, Rung
from gfscore.samples import Samples
from gfscore.scores import LocalScores, Norm, RadiusCounts

RUNGS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)  # in units of the norm
UNIT = {Norm.LINF: 1 / 255, Norm.L2: 1 / 8}
HEADLINE = 2.0  # of them, unless an eps is given
HEADLINE_SHARE = 0.5  # of delta; the other eps have the rest


def default_eps(norm: Norm) -> float:
    """The eps of the headline, unless one is given.

    >>> default_eps(Norm.LINF) == 2 / 255, default_eps(Norm.L2)
    (True, 0.25)
    """
    return HEADLINE * UNIT[norm]


def count_radii(
    local: LocalScores, part: Samples, model: ModelAudit, *, delta: float, also: Sequence[float] = ()
) -> Robustness | None:
    r"""The share of radii above each eps, of the whole and of each class, with intervals that all hold together.

    .. math:: \hat R_k(\epsilon) = \frac1{m_k} \sum_{i \in S_k} \mathbf 1[r_i > \epsilon]

    ``local`` holds the radii of ``part``, a random part of each class of what ``model`` is the audit of, or all of it:
    in the whole a class weighs as much as it does there. Half of ``delta`` is for the eps of the headline, half for
    the others. Shares fall as eps grows, so each interval is cut to what those of smaller and larger eps leave. None
    where no eps is asked for, or none lies below the largest radius.
    """
    eps = local.eps
    if eps is None or local.norm is None or not 0 < eps < local.maximum:
        return None
    ladder, (codes, n_parts) = eps_ladder(Norm.named(local.norm), eps, local.maximum, also), part.partition
    if local.sides:
        ladder = [rung for rung in ladder if any(np.isclose(rung, side, rtol=1e-9, atol=0) for side in local.sides)]
    counted = [np.bincount(codes, weights=local.values > rung, minlength=n_parts) for rung in ladder]
    return _robustness(
        ladder,
        np.stack(counted).astype(np.float64),
        np.bincount(codes, minlength=n_parts),
        model,
        delta=delta,
        kind="certified" if local.certified else "estimated",
        norm=local.norm,
        eps=eps,
        settings=None if local.settings is None else dict(local.settings),
    )


def summed_robustness(radii: RadiusCounts, counts: IntArray, model: ModelAudit, *, delta: float) -> Robustness | None:
    """What :func:`count_radii` finds, from the counts of radii that were merged: ``counts`` (K,) of them a class.

    None where no eps is asked for, or none lies below the largest radius.
    """
    if radii.eps is None or radii.eps not in radii.ladder:
        return None
    about = {"kind": "estimated", "norm": radii.norm, "eps": radii.eps, "settings": radii.all_settings()}
    return _robustness(radii.ladder, radii.above.T.astype(np.float64), counts, model, delta=delta, **about)


def _robustness(
    ladder: Sequence[float], times: FloatArray, counts: IntArray, model: ModelAudit, *, delta: float, **about: Any
) -> Robustness:
    """Shares and intervals from counts (K,) of radii and how many (E, K) are above each eps of a ladder (E,)."""
    eps, present = about["eps"], np.flatnonzero(counts)
    by_size = model.samples.weighted_by == "class_sizes"
    totals = [(entry.size or entry.n) if by_size else entry.n for entry in model.classes]
    sizes = None
    if model.interval.target == "finite":
        sizes = [entry.size or entry.n for entry in model.classes]
    found = []
    for rung, above in zip(ladder, times, strict=True):
        level = delta * HEADLINE_SHARE if rung == eps else delta * (1 - HEADLINE_SHARE) / max(len(ladder) - 1, 1)
        strata = Strata.of(above[present], counts[present], totals=totals, sizes=sizes)
        found.append((np.append(strata.shares, strata.whole), *strata.all_ends(level)))
    shares, lower, upper = (np.stack(each) for each in zip(*found, strict=True))  # (eps, K + 1)
    lower = np.maximum.accumulate(lower[::-1])[::-1]
    upper = np.minimum.accumulate(upper)
    overall = shares.mean(axis=0)  # which of several that are equally low at an eps is the lowest
    names = [entry.name for entry in model.classes]
    return Robustness(
        **about,
        n=int(counts.sum()),
        delta=delta,
        target=model.interval.target,
        weighted_by=model.samples.weighted_by,
        classes=tuple(
            RobustPart(name=name, n=int(n), size=total)
            for name, n, total in zip(names, counts[present], totals, strict=True)
        ),
        rungs=tuple(
            _rung(rung, *ends, overall=overall, names=names, weighed=model.samples.weighted_by != "unequal_draws")
            for rung, *ends in zip(ladder, shares, lower, upper, strict=True)
        ),
    )


def eps_ladder(norm: Norm, eps: float, largest: float, also: Sequence[float] = ()) -> list[float]:
    """The eps at which radii are counted, ascending, each once; ``eps`` itself is one of them."""
    found = [eps]
    for each in (*also, *(UNIT[norm] * rung for rung in RUNGS)):
        if each < largest and not any(np.isclose(each, known, rtol=1e-9, atol=0) for known in found):
            found.append(each)
    return sorted(found)


def _rung(
    eps: float,
    shares: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    *,
    overall: FloatArray,
    names: Sequence[str],
    weighed: bool,
) -> Rung:
    *parts, whole = zip(shares.tolist(), lower.tolist(), upper.tolist(), strict=True)
    lowest_end = min(high for _, _, high in parts)
    return Rung(
        eps=eps,
        value=whole[0],
        interval=whole[1:] if weighed else None,
        worst=names[int(np.lexsort((overall[:-1], shares[:-1]))[0])],
        worst_set=tuple(name for name, (_, low, _) in zip(names, parts, strict=True) if low <= lowest_end),
        classes=tuple(Metric(value=share, interval=(low, high)) for share, low, high in parts),
    )


def with_robustness(model: ModelAudit, found: Robustness | None, flags: tuple[Flag, ...] = ()) -> ModelAudit:
    """The audit with robust accuracy at a ladder of eps, and that of the headline beside each class."""
    if found is None:
        return model.model_copy(update={"flags": (*model.flags, *flags)})
    headline = found.headline
    classes = [
        entry.model_copy(update={"robust_accuracy": share})
        for entry, share in zip(model.classes, headline.classes, strict=True)
    ]
    whole = Metric(value=headline.value, interval=headline.interval)
    update = {"robustness": found, "robust_accuracy": whole, "classes": tuple(classes)}
    return model.model_copy(update={**update, "flags": (*model.flags, *flags)})


class SizeIntervals(NamedTuple):
    """What is known at one size of attack: value and interval of the whole, and with their numbers those of classes."""

    whole: tuple[float | None, Interval | None]
    classes: dict[str, tuple[float | None, Interval | None, int]]


RobustIntervals = dict[float, SizeIntervals]  # by eps


def robust_intervals(model: ModelAudit, asked: Sequence[tuple[float, str | None]], level: float) -> RobustIntervals:
    """Robust accuracy at the sizes of attack that are asked about, of the whole (None) or of a class (``*``: of all).

    All intervals hold together with probability 1 - ``level``: they are made anew from the counts, whatever level the
    audit had. Clopper and Pearson's for distributions; :class:`~gfscore.bounds.Strata` says which for the rest.
    """
    if not asked:
        return {}
    found = model.robustness
    if found is None:
        raise OptionError(
            "a rule on robust accuracy needs radii, and there are none here. Give --model and --data, or an audit.json "
            "that was made with them."
        )
    names = [part.name for part in found.classes]
    chosen = {
        eps: [name for name in names if any(at == eps and part in (EVERY, name) for at, part in asked)]
        for eps in dict.fromkeys(eps for eps, _ in asked)
    }
    shares = sum(map(len, chosen.values())) + sum(part is None for _, part in dict.fromkeys(asked))
    alpha = level / (2 * max(shares, 1))
    return {eps: _at_size(found, eps, set(some), alpha) for eps, some in chosen.items()}


def _at_size(found: Robustness, eps: float, names: set[str], alpha: float) -> SizeIntervals:
    strata = robust_strata(found, eps)
    lower, upper = strata.part_ends(alpha)
    whole = None if found.weighted_by == "unequal_draws" else strata.whole_ends(alpha)
    rows = zip(found.classes, strata.shares.tolist(), lower.tolist(), upper.tolist(), strict=True)
    classes: dict[str, tuple[float | None, Interval | None, int]] = {
        part.name: (share, (low, high) if part.name in names else None, part.n) for part, share, low, high in rows
    }
    return SizeIntervals((strata.whole, whole), classes)


def robust_strata(found: Robustness, eps: float) -> Strata:
    """The counts of radii above eps; an error where they were not counted at that eps."""
    rung = found.at(eps)
    if rung is None:
        known = ", ".join(views.eps_text(each.eps, found.norm) for each in found.rungs)
        asked = views.eps_text(eps, found.norm)
        raise OptionError(
            f"robust accuracy at {asked} is not known: the audit has it at {known}. Audit with --eps {asked}."
        )
    counts, totals = ([getattr(part, key) for part in found.classes] for key in ("n", "size"))
    shares = np.array([entry.value or 0.0 for entry in rung.classes])
    finite = found.target == "finite"
    return Strata.of(np.rint(shares * counts), counts, totals=totals, sizes=totals if finite else None)
