"""Robust accuracy: radii counted at a ladder of eps; what that says about rules, and about a new version."""

from collections.abc import Sequence

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.bounds import share_intervals
from gfscore.results import Flag, Metric, ModelAudit, Robustness, RobustPart, Rung
from gfscore.samples import Samples
from gfscore.scores import LocalScores, Norm

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
    ladder, (codes, n_parts) = _ladder(Norm.named(local.norm), eps, local.maximum, also), part.partition
    by_size = model.samples.weighted_by == "class_sizes"
    totals = [(entry.size or entry.n) if by_size else entry.n for entry in model.classes]
    sizes = None
    if model.interval.target == "finite":
        sizes = np.zeros(n_parts, dtype=np.int64)
        sizes[np.unique(codes)] = [entry.size or entry.n for entry in model.classes]
    found = []
    for rung in ladder:
        level = delta * HEADLINE_SHARE if rung == eps else delta * (1 - HEADLINE_SHARE) / (len(ladder) - 1)
        found.append(share_intervals(local.values > rung, codes, n_parts, delta=level, totals=totals, sizes=sizes))
    shares, lower, upper = (np.stack(each) for each in zip(*found, strict=True))  # (eps, K + 1)
    lower = np.maximum.accumulate(lower[::-1])[::-1]
    upper = np.minimum.accumulate(upper)
    counts, names = np.bincount(codes), [entry.name for entry in model.classes]
    return Robustness(
        kind="certified" if local.certified else "estimated",
        norm=local.norm,
        eps=eps,
        n=part.n_samples,
        settings=None if local.settings is None else dict(local.settings),
        delta=delta,
        target=model.interval.target,
        weighted_by=model.samples.weighted_by,
        classes=tuple(
            RobustPart(name=name, n=int(n), size=total)
            for name, n, total in zip(names, counts[counts > 0], totals, strict=True)
        ),
        rungs=tuple(
            _rung(rung, *ends, names=names, weighed=model.samples.weighted_by != "unequal_draws")
            for rung, *ends in zip(ladder, shares, lower, upper, strict=True)
        ),
    )


def _ladder(norm: Norm, eps: float, largest: float, also: Sequence[float]) -> list[float]:
    """The eps at which radii are counted, ascending, each once; ``eps`` itself is one of them."""
    found = [eps]
    for each in (*also, *(UNIT[norm] * rung for rung in RUNGS)):
        if each < largest and not any(np.isclose(each, known, rtol=1e-9, atol=0) for known in found):
            found.append(each)
    return sorted(found)


def _rung(
    eps: float, shares: FloatArray, lower: FloatArray, upper: FloatArray, *, names: Sequence[str], weighed: bool
) -> Rung:
    *parts, whole = zip(shares.tolist(), lower.tolist(), upper.tolist(), strict=True)
    lowest_end = min(high for _, _, high in parts)
    return Rung(
        eps=eps,
        value=whole[0],
        interval=whole[1:] if weighed else None,
        worst=names[int(np.argmin(shares[:-1]))],
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
