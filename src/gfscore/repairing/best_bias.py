r"""The bias that raises the worst class most, within what the mean and any class may lose; and all trade-offs.

Shares are step functions of the bias, so they are first smoothed: with :math:`z_j = (s_j + b_y - b_j) / \tau` a sample
counts as :math:`1 / (1 + \sum_j e^{-z_j})`, the softmax confidence at temperature tau, which becomes a step as tau goes
to 0. What is maximised is an alpha-fair welfare of the parts (Atkinson, J. Econ. Theory 2, 1970),

.. math:: U_a(s) = \frac1P \sum_k u_a(s_k), \qquad u_a'(s) = (s + c)^{-a}

from the mean (a = 0) towards the minimum (a large): unlike "minimum plus mean" it gives up no part that is hopeless, as
every part goes on counting. From the best of these points the steps themselves are climbed, by exact searches along
lines (:mod:`~gfscore.repairing.line_search`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.repairing.contests import Contest
from gfscore.repairing.line_search import Bounds, Line, look_along

FAIRNESS = (0.0, 1.0, 3.0, 8.0, 20.0)  # a: what the smooth searches maximise
COOLING = (1.0, 0.4, 0.15, 0.06)  # tau, in units of the typical lead
FLOOR = 0.02  # c: a part at 0 counts much, and not without end
STEPS = 40  # of the smooth search at each tau
RESTARTS = 3  # of the exact search: from the best points that are known
SWEEPS = 6  # over all directions, at most
FEW_CLASSES, OF_FEW = 4, 24  # up to so many classes, so many random directions: there the best can be found
MEAN_COUNTS = 0.05  # of the mean against the worst part where the steps are climbed: it settles ties, and little more
LEVELS = 10  # of the mean, between its highest and where the worst part is best, that the frontier is looked for at


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Point:
    """A bias, and what it does on the samples it was looked at."""

    bias: FloatArray  # (K,), with mean 0: only differences count
    shares: tuple[FloatArray, ...]  # (P,) of each contest

    @property
    def worst(self) -> float:
        """Share of the worst part of the first contest."""
        return float(self.shares[0].min())

    @property
    def worth(self) -> float:
        """What is climbed."""
        return self.worst + MEAN_COUNTS * float(self.shares[0].mean())

    def mean(self, contest: int = 0) -> float:
        """Mean over the parts of a contest."""
        return float(self.shares[contest].mean())


def point_at(contests: Sequence[Contest], bias: FloatArray) -> Point:
    """What a bias does."""
    centred = bias - bias.mean()
    return Point(bias=centred, shares=tuple(contest.shares(centred) for contest in contests))


def bounds_of(contests: Sequence[Contest], *, keep_mean: float, max_loss: float, n_classes: int) -> list[Bounds]:
    """What must be kept of each contest, when its mean may lose ``keep_mean`` and no part more than ``max_loss``."""
    before = [contest.shares(np.zeros(n_classes)) for contest in contests]
    return [
        Bounds(contest=contest, mean=float(shares.mean()) - keep_mean, shares=shares - max_loss)
        for contest, shares in zip(contests, before, strict=True)
    ]


def find_frontier(contests: Sequence[Contest], n_classes: int, *, against: int = 0, seed: int = 0) -> list[Point]:
    """Points from the best mean of the contest ``against`` to the best worst part of the first, none beaten by another.

    Between these two the mean is bounded at equal steps, and the best worst part is looked for above each.
    """
    free = bounds_of(contests, keep_mean=1.0, max_loss=1.0, n_classes=n_classes)
    known = [point_at(contests, np.zeros(n_classes)), *smooth_points(contests, free)]
    known += climb(contests, free, known, seed=seed)
    means = max(point.mean(against) for point in known), max(known, key=lambda point: point.worth).mean(against)
    for level in np.linspace(*means, LEVELS):
        bounds = list(free)
        bounds[against] = replace(bounds[against], mean=float(level))
        known += climb(contests, bounds, known, seed=seed, restarts=1, sweeps=2)
    return _unbeaten(known, against)


def find_bias(
    contests: Sequence[Contest], bounds: Sequence[Bounds], known: Sequence[Point] = (), *, seed: int = 0
) -> Point:
    r"""The point with the highest worst part of the first contest among all that keep the bounds.

    .. math:: \max_b \min_k s_k(b) \quad \text{subject to} \quad \bar s(b) \ge m,\; s_k(b) \ge l_k

    ``known`` points are where the search also begins. No bias at all is among the points, so that the answer is never
    worse than that where the bounds allow it.

    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1], 500)
    >>> slack = rng.normal(np.where(labels == 0, 2.0, 0.0), 1.0)[:, None]
    >>> contest = Contest.of(slack, labels, 1 - labels[:, None], labels)
    >>> found = find_bias([contest], bounds_of([contest], keep_mean=0.1, max_loss=0.5, n_classes=2))
    >>> contest.shares(np.zeros(2)).round(2), found.shares[0].round(2), (found.bias[1] - found.bias[0]).round(1)
    (array([0.98, 0.46]), array([0.84, 0.83]), np.float64(1.0))
    """
    n_classes = 1 + max(int(max(each.labels.max(), each.rivals.max())) for each in contests)
    start = [point_at(contests, np.zeros(n_classes)), *known, *smooth_points(contests, bounds)]
    climbed = climb(contests, bounds, start, seed=seed)
    return max([start[0], *climbed], key=lambda point: point.worth)


def smooth_points(contests: Sequence[Contest], bounds: Sequence[Bounds]) -> list[Point]:
    """Where the smooth searches end, for every welfare, each from where the one before ended."""
    from scipy.optimize import minimize  # half a second, which only this needs

    n_classes = 1 + max(int(max(each.labels.max(), each.rivals.max())) for each in contests)
    scale = _typical_lead(contests[0])
    found, bias = [], np.zeros(n_classes)
    for fairness in FAIRNESS:
        for cooled in COOLING:
            loss = _SmoothLoss(tuple(contests), tuple(bounds), fairness, cooled * scale)
            bias = minimize(loss, bias, jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x
            bias -= bias.mean()
        found.append(point_at(contests, bias))
    return found


@dataclass(frozen=True, slots=True)
class _SmoothLoss:
    """The negative welfare, and what broken bounds cost, with its gradient."""

    contests: tuple[Contest, ...]
    bounds: tuple[Bounds, ...]
    fairness: float
    tau: float

    def __call__(self, bias: FloatArray) -> tuple[float, FloatArray]:
        loss, slope = 0.0, np.zeros_like(bias)
        for place, (contest, bound) in enumerate(zip(self.contests, self.bounds, strict=True)):
            confidences, of_rivals = _confidences(contest, bias, self.tau)
            shares = np.bincount(contest.codes, weights=confidences, minlength=len(contest.counts)) / contest.counts
            value, by_share = _penalty(shares, bound, _before(contest, self.tau, bias.shape))
            if place == 0:
                welfare, marginal = _welfare(shares, self.fairness)
                value, by_share = value - welfare, by_share - marginal
            pull = (by_share / contest.counts)[contest.codes] * confidences / self.tau
            slope += np.bincount(contest.labels, weights=pull * (1 - confidences), minlength=len(bias))
            spread = np.bincount(
                contest.rivals.ravel(), weights=(pull[:, None] * of_rivals).ravel(), minlength=len(bias)
            )
            loss, slope = loss + value, slope - spread
        return float(loss), slope


def _confidences(contest: Contest, bias: FloatArray, tau: float) -> tuple[FloatArray, FloatArray]:
    """Softmax confidence of each sample in its class, (n,), and in its rivals, (n, R)."""
    behind = np.clip(-contest.leads(bias) / tau, -60.0, 60.0)  # e**60 is as good as infinite, and can be added up
    odds = np.exp(behind)
    own = 1 / (1 + odds.sum(axis=1))
    return own, odds * own[:, None]


def _before(contest: Contest, tau: float, shape: tuple[int, ...]) -> FloatArray:
    """By how much smooth shares are above the true ones where there is no bias, (P,)."""
    none = np.zeros(shape)
    smooth, _ = _confidences(contest, none, tau)
    return np.asarray(np.bincount(contest.codes, weights=smooth) / contest.counts - contest.shares(none))


def _penalty(shares: FloatArray, bound: Bounds, above: FloatArray) -> tuple[float, FloatArray]:
    """What smooth shares cost that break a bound, which is moved as far as smoothing moved the shares; by share."""
    weight, n_parts = 200.0, len(shares)
    short = np.maximum(bound.shares + above - shares, 0.0)
    mean_short = max(bound.mean + float(above.mean()) - float(shares.mean()), 0.0)
    return weight * (float(short @ short) + mean_short**2), -2 * weight * (short + mean_short / n_parts)


def _welfare(shares: FloatArray, fairness: float) -> tuple[float, FloatArray]:
    """Welfare of the parts, and what a little more of each share adds; scaled so that it adds 1 at the worst part."""
    lifted = shares + FLOOR
    relative = lifted / lifted.min()
    marginal = relative**-fairness / len(shares)
    if fairness == 1:
        return float(np.log(relative).mean() * lifted.min()), marginal
    return float((lifted * relative**-fairness).mean() / (1 - fairness)), marginal


def climb(
    contests: Sequence[Contest],
    bounds: Sequence[Bounds],
    known: Sequence[Point],
    *,
    seed: int = 0,
    restarts: int = RESTARTS,
    sweeps: int = SWEEPS,
) -> list[Point]:
    """Points that keep the bounds and that no line leads up from, climbed to from the best that are known."""
    kept = [point for point in known if all(b.are_kept(s) for b, s in zip(bounds, point.shares, strict=True))]
    starts = sorted(kept, key=lambda point: -point.worth)[:restarts]
    rng = np.random.default_rng(seed)
    return [_climb_from(point, contests, bounds, rng, sweeps) for point in starts]


def _climb_from(
    point: Point, contests: Sequence[Contest], bounds: Sequence[Bounds], rng: np.random.Generator, sweeps: int
) -> Point:
    for _ in range(sweeps):
        before = point.worth
        for direction in _directions(point, rng):
            line = look_along(contests, point.bias, direction)
            step = _best_step(line, bounds, point)
            if step is not None:
                point = point_at(contests, point.bias + step * direction)
        if point.worth <= before:
            break
    return point


def _directions(point: Point, rng: np.random.Generator) -> Iterator[FloatArray]:
    """One class against all others, for each class; then random ones: as many, or more where classes are few."""
    n_classes = len(point.bias)
    yield from np.eye(n_classes)[rng.permutation(n_classes)]
    yield from rng.normal(size=(n_classes if n_classes > FEW_CLASSES else OF_FEW, n_classes))


def _best_step(line: Line, bounds: Sequence[Bounds], point: Point) -> float | None:
    """The step to the middle of the widest of the best stretches; None where none is better than the point."""
    worth = np.where(line.kept(bounds), line.worst + MEAN_COUNTS * line.shares[0].mean(axis=1), -np.inf)
    best = float(worth.max())
    if best <= point.worth + 1e-12:
        return None
    ends = np.concatenate([line.steps[:1], (line.steps[1:] + line.steps[:-1]) / 2, line.steps[-1:]])
    widths = np.where(worth >= best - 1e-12, np.diff(ends), -1.0)
    return float(line.steps[int(widths.argmax())])


def _typical_lead(contest: Contest) -> float:
    """The median size of what samples lead or trail their closest rival by."""
    closest = contest.slack.min(axis=1)
    sizes = np.abs(closest[np.isfinite(closest)])
    return float(max(np.median(sizes), 1e-6)) if len(sizes) else 1.0


def _unbeaten(points: Sequence[Point], against: int) -> list[Point]:
    """Those that no other point is at least as good as in both ways, by the mean, best mean first."""
    ordered = sorted(points, key=lambda point: (-point.mean(against), -point.worst))
    kept: list[Point] = []
    for point in ordered:
        if not kept or point.worst > kept[-1].worst + 1e-12:
            kept.append(point)
    return kept
