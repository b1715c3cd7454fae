"""The best point on a line of biases, exactly: every sample holds on one interval of it, so counting ends is enough."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gfscore.arrays import BoolArray, FloatArray
from gfscore.repairing.contests import Contest


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bounds:
    """What a repair must keep of a contest: its mean over the parts, and the share of each part."""

    contest: Contest
    mean: float  # at least
    shares: FloatArray  # (P,), at least each

    def are_kept(self, shares: FloatArray) -> BoolArray:
        """Whether shares (..., P) keep both, (...); a count is whole, so that rounding of a share decides nothing."""
        each = (shares >= self.shares - ROUNDING).all(axis=-1)
        return np.asarray(each & (shares.mean(axis=-1) >= self.mean - ROUNDING))


ROUNDING = 1e-9
FAR = 1.0  # beyond the outermost end, in units of the bias: the sample that is there decides nothing any more


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line:
    """Points on a line of biases, one between any two places where a sample is won or lost."""

    steps: FloatArray  # (T,), how far along the direction
    shares: tuple[FloatArray, ...]  # (T, P) of each contest

    @property
    def worst(self) -> FloatArray:
        """Share of the worst part of the first contest, (T,)."""
        return np.asarray(self.shares[0].min(axis=1))

    def kept(self, bounds: Sequence[Bounds]) -> BoolArray:
        """At which points all bounds are kept, (T,)."""
        return np.asarray(np.all([bound.are_kept(each) for bound, each in zip(bounds, self.shares, strict=True)], 0))


def look_along(contests: Sequence[Contest], bias: FloatArray, direction: FloatArray) -> Line:
    """All that biases ``bias + t direction`` can do, for every t.

    >>> contest = Contest.of(np.array([[1.0], [-0.5], [2.0]]), np.array([0, 1, 1]), np.array([[1], [0], [0]]),
    ...                      np.array([0, 1, 1]))
    >>> line = look_along([contest], np.zeros(2), np.array([0.0, 1.0]))
    >>> line.steps, line.shares[0][:, 0], line.shares[0][:, 1]
    (array([-3.  , -0.75,  0.75,  2.  ]), array([1., 1., 1., 0.]), array([0. , 0.5, 1. , 1. ]))
    """
    ends = [_ends(contest, bias, direction) for contest in contests]
    places = np.unique(np.concatenate([end[np.isfinite(end)] for pair in ends for end in pair] + [np.zeros(0)]))
    if len(places) == 0:
        steps = np.zeros(1)
    else:
        steps = np.concatenate([[places[0] - FAR], (places[1:] + places[:-1]) / 2, [places[-1] + FAR]])
    found = tuple(_counted(contest, *pair, steps) for contest, pair in zip(contests, ends, strict=True))
    return Line(steps=steps, shares=found)


def _ends(contest: Contest, bias: FloatArray, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Between which steps each sample holds, (n,) twice; a sample that never does has its ends the wrong way round."""
    leads = contest.leads(bias)
    towards = direction[contest.labels][:, None] - direction[contest.rivals]
    with np.errstate(divide="ignore", invalid="ignore"):
        place = -leads / towards
    lower = np.where(towards > 0, place, -np.inf).max(axis=1)
    upper = np.where(towards < 0, place, np.inf).min(axis=1)
    never = ((towards == 0) & ~(leads > 0)).any(axis=1) | ~(lower < upper)
    return np.where(never, np.inf, lower), np.where(never, np.inf, upper)


def _counted(contest: Contest, lower: FloatArray, upper: FloatArray, steps: FloatArray) -> FloatArray:
    """Shares (T, P) at each step: how many began to hold before it, less those that stopped."""
    n_parts, n_places = len(contest.counts), len(steps) + 1
    began, stopped = (
        np.bincount(np.searchsorted(steps, end) * n_parts + contest.codes, minlength=n_places * n_parts)
        for end in (lower, upper)
    )
    changes = (began - stopped).reshape(n_places, n_parts)
    return np.asarray(changes.cumsum(axis=0)[:-1] / contest.counts)
