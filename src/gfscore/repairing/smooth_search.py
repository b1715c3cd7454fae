r"""Smooth shares climbed by gradients: where the exact search begins, and most of what it finds.

Shares are step functions of the bias. With :math:`z_j = (s_j + b_y - b_j) / \tau` a sample counts here as
:math:`1 / (1 + \sum_j e^{-z_j})`, the softmax confidence at temperature tau, which becomes a step as tau goes to 0.
What is maximised is the share that, were all parts to have it, would be worth as much as the shares are (the equally
distributed equivalent of Atkinson, J. Econ. Theory 2, 1970),

.. math:: E_a(s) = \Big(\frac1P \sum_k (s_k + c)^{1 - a}\Big)^{1 / (1 - a)} - c

from the mean (a = 0) towards the minimum (a large). Unlike "minimum plus mean" it gives up no part that is hopeless, as
every part goes on counting; and a smooth sum over many samples follows the luck of single ones less than steps do.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.repairing.contests import Contest
from gfscore.repairing.line_search import Bounds

FAIRNESS = (0.0, 1.0, 3.0, 8.0, 20.0)  # a: what the searches maximise, one after the other
COOLING: Sequence[float] = (1.0, 0.4, 0.15)  # tau, in units of the typical lead
FLOOR = 0.02  # c: a part at 0 counts much, and not without end
STEPS = 40  # at each tau
ATTEMPTS = 4  # to keep the bounds: those that smooth shares kept and true ones broke are tightened
TIGHTER = 1.2  # by so many times what was broken
BROKEN_COSTS = 200.0  # for the square of what a bound is broken by


def smooth_biases(
    contests: Sequence[Contest],
    bounds: Sequence[Bounds],
    n_classes: int,
    *,
    look: Callable[[], object] = lambda: None,
) -> Iterator[FloatArray]:
    """Where the search for each welfare ends, (K,) each: at true shares within the bounds, if no bias at all is.

    ``look`` is called now and then, and may end the search by what it raises.
    """
    scale = _typical_lead(contests[0])
    bias: FloatArray = np.zeros(n_classes)
    for fairness in FAIRNESS:
        bias = _search(contests, bounds, fairness, bias, scale, look)
        yield _pull_back(contests, bounds, bias)


def keep(contests: Sequence[Contest], bounds: Sequence[Bounds], bias: FloatArray) -> bool:
    """Whether true shares are within the bounds."""
    return all(bound.are_kept(contest.shares(bias)) for contest, bound in zip(contests, bounds, strict=True))


def _search(
    contests: Sequence[Contest],
    bounds: Sequence[Bounds],
    fairness: float,
    bias: FloatArray,
    scale: float,
    look: Callable[[], object],
) -> FloatArray:
    """The bias of the highest welfare, with bounds on smooth shares that are tightened until true ones keep theirs."""
    from scipy.optimize import minimize  # half a second, which only this needs

    asked, coolings = list(bounds), COOLING
    for _ in range(ATTEMPTS):
        for cooled in coolings:
            look()
            loss = _SmoothLoss.of(contests, asked, fairness, cooled * scale, len(bias))
            bias = minimize(loss, bias, jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x
            bias -= bias.mean()
        if keep(contests, bounds, bias):
            break
        asked, coolings = [_tighten(*each, bias) for each in zip(contests, bounds, asked, strict=True)], COOLING[-1:]
    return bias


def _tighten(contest: Contest, bound: Bounds, asked: Bounds, bias: FloatArray) -> Bounds:
    """What is asked, and more by what the bound is broken by."""
    shares = contest.shares(bias)
    short, mean_short = np.maximum(bound.shares - shares, 0.0), max(bound.mean - float(shares.mean()), 0.0)
    return replace(asked, mean=asked.mean + TIGHTER * mean_short, shares=asked.shares + TIGHTER * short)


def _pull_back(contests: Sequence[Contest], bounds: Sequence[Bounds], bias: FloatArray) -> FloatArray:
    """As much of the bias as keeps the bounds; all of it where not even no bias does."""
    low, high = 0.0, 1.0
    if keep(contests, bounds, bias) or not keep(contests, bounds, 0 * bias):
        return bias
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if keep(contests, bounds, middle * bias) else (low, middle)
    return np.asarray(low * bias)


@dataclass(frozen=True, slots=True)
class _SmoothLoss:
    """The negative welfare, and what broken bounds cost, with its gradient by the bias."""

    contests: tuple[Contest, ...]
    bounds: tuple[Bounds, ...]  # moved as far as smoothing moves the shares where there is no bias
    fairness: float
    tau: float

    @classmethod
    def of(
        cls, contests: Sequence[Contest], bounds: Sequence[Bounds], fairness: float, tau: float, n_classes: int
    ) -> Self:
        """The loss for bounds on true shares."""
        none, moved = np.zeros(n_classes), []
        for contest, bound in zip(contests, bounds, strict=True):
            above = _smooth_shares(contest, _confidences(contest, none, tau)[0]) - contest.shares(none)
            moved.append(replace(bound, mean=bound.mean + float(above.mean()), shares=bound.shares + above))
        return cls(tuple(contests), tuple(moved), fairness, tau)

    def __call__(self, bias: FloatArray) -> tuple[float, FloatArray]:
        loss, slope = 0.0, np.zeros_like(bias)
        for place, (contest, bound) in enumerate(zip(self.contests, self.bounds, strict=True)):
            confidences, of_rivals = _confidences(contest, bias, self.tau)
            shares = _smooth_shares(contest, confidences)
            value, by_share = _penalty(shares, bound)
            if place == 0:
                welfare, marginal = equivalent_share(shares, self.fairness)
                value, by_share = value - welfare, by_share - marginal
            pull = (by_share / contest.counts)[contest.codes] * confidences / self.tau
            slope += np.bincount(contest.labels, weights=pull * (1 - confidences), minlength=len(bias))
            spread = np.bincount(
                contest.rivals.ravel(), weights=(pull[:, None] * of_rivals).ravel(), minlength=len(bias)
            )
            loss, slope = loss + value, slope - spread
        return float(loss), slope


def equivalent_share(shares: FloatArray, fairness: float) -> tuple[float, FloatArray]:
    """The share that is worth as much, were all parts (P,) to have it; and what a little more of each share adds.

    >>> [round(equivalent_share(np.array([0.2, 0.4, 0.9]), fairness)[0], 3) for fairness in (0, 1, 20)]
    [0.5, 0.42, 0.213]
    """
    lifted = shares + FLOOR
    relative = lifted / lifted.min()
    if fairness == 1:
        mean = float(np.exp(np.log(relative).mean()))
    else:
        mean = float((relative ** (1 - fairness)).mean() ** (1 / (1 - fairness)))
    return float(mean * lifted.min()) - FLOOR, (mean / relative) ** fairness / len(shares)


def _confidences(contest: Contest, bias: FloatArray, tau: float) -> tuple[FloatArray, FloatArray]:
    """Softmax confidence of each sample in its class, (n,), and in its rivals, (n, R)."""
    behind = np.clip(-contest.leads(bias) / tau, -60.0, 60.0)  # e**60 is as good as infinite, and can be added up
    odds = np.exp(behind)
    own = 1 / (1 + odds.sum(axis=1))
    return own, odds * own[:, None]


def _smooth_shares(contest: Contest, confidences: FloatArray) -> FloatArray:
    """Mean confidence of each part, (P,)."""
    return np.asarray(np.bincount(contest.codes, weights=confidences, minlength=len(contest.counts)) / contest.counts)


def _penalty(shares: FloatArray, bound: Bounds) -> tuple[float, FloatArray]:
    """What shares cost that break a bound, and by how much more of each share would change that."""
    short = np.maximum(bound.shares - shares, 0.0)
    mean_short = max(bound.mean - float(shares.mean()), 0.0)
    cost = BROKEN_COSTS * (float(short @ short) + mean_short**2)
    return cost, -2 * BROKEN_COSTS * (short + mean_short / len(shares))


def _typical_lead(contest: Contest) -> float:
    """The median size of what samples lead or trail their closest rival by."""
    closest = contest.slack.min(axis=1)
    sizes = np.abs(closest[np.isfinite(closest)])
    return float(max(np.median(sizes), 1e-6)) if len(sizes) else 1.0
