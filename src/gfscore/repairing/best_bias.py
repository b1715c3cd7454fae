"""The bias that raises the worst class most, within what the mean and any class may lose; and all trade-offs.

Smooth searches (:mod:`~gfscore.repairing.smooth_search`) end near the best biases. From there the shares themselves,
which are step functions, are climbed by exact searches along lines (:mod:`~gfscore.repairing.line_search`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.repairing.contests import Contest
from gfscore.repairing.line_search import Bounds, Line, look_along
from gfscore.repairing.smooth_search import FAIRNESS, smooth_biases

RESTARTS = 3  # of the exact search: from the best points that are known
SWEEPS = 6  # over all directions, at most
FEW_CLASSES, OF_FEW = 4, 24  # up to so many classes, so many random directions: there the best can be found
MEAN_COUNTS = 0.05  # of the mean against the worst part where the steps are climbed: it settles ties, and little more
SAME = 1e-12  # a worth that is higher by less is not
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

    def keeps(self, bounds: Sequence[Bounds]) -> bool:
        """Whether all shares are within the bounds."""
        return all(bound.are_kept(shares) for bound, shares in zip(bounds, self.shares, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Choice:
    """The best point within the bounds, and the frontiers it lies on."""

    chosen: Point
    frontiers: tuple[list[Point], ...]  # the worst part against the mean of each contest, best mean first


class Watch:
    """Tells how many searches are done, of how many; told again and again within one, so that it may be ended there."""

    def __init__(self, tell: Callable[[int, int], object] = lambda _done, _total: None, searches: int = 0) -> None:
        self.tell, self.searches, self.done = tell, searches, 0

    def look(self) -> None:
        """Tell how far it is; whoever is told may raise."""
        self.tell(min(self.done, self.searches), self.searches)

    def end_one(self) -> None:
        """One search more is done."""
        self.done += 1
        self.look()


UNWATCHED = Watch()


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


def choose_bias(
    contests: Sequence[Contest],
    bounds: Sequence[Bounds],
    *,
    seed: int = 0,
    tell: Callable[[int, int], object] = UNWATCHED.tell,
) -> Choice:
    """The best point within the bounds, and what more or less loss of either mean would buy, all else as bounded.

    The chosen point is the best of all that were looked at, so that it lies on every frontier. ``tell`` is told how
    many searches are done, of how many.
    """
    smooth, each = len(FAIRNESS), len(FAIRNESS) + 1 + LEVELS
    watch = Watch(tell, smooth + RESTARTS + len(contests) * each)
    known = list(_first_points(contests, bounds, watch))
    known += climb(contests, bounds, known, seed=seed, watch=watch)
    freed = [_free_mean(bounds, against) for against in range(len(contests))]
    for against, loose in enumerate(freed):
        known += find_frontier(contests, loose, known, against=against, seed=seed, watch=watch)
    kept = [point for point in known if point.keeps(bounds)]
    highest = max((point.worth for point in kept), default=0.0)
    best = [point for point in kept if point.worth >= highest - SAME]
    chosen = max(best, key=lambda point: point.mean(len(contests) - 1), default=known[0])
    known = [chosen, *(point for point in known if abs(point.worth - chosen.worth) > SAME)]  # one of those alike
    frontiers = [
        _unbeaten([point for point in known if point.keeps(loose)], against) for against, loose in enumerate(freed)
    ]
    return Choice(chosen=chosen, frontiers=tuple(frontiers))


def find_frontier(
    contests: Sequence[Contest],
    bounds: Sequence[Bounds],
    known: Sequence[Point] = (),
    *,
    against: int = 0,
    seed: int = 0,
    watch: Watch = UNWATCHED,
) -> list[Point]:
    """Points from the best mean of the contest ``against`` to the best worst part of the first, none beaten by another.

    All keep the bounds. Between these two the mean is bounded at equal steps, and the best worst part is looked for
    above each. ``known`` points are where the search also begins.
    """
    found = [*known, *_first_points(contests, bounds, watch)]
    found += climb(contests, bounds, found, seed=seed, restarts=1, watch=watch)
    found = [point for point in found if point.keeps(bounds)]
    if not found:
        return []
    means = max(point.mean(against) for point in found), max(found, key=lambda point: point.worth).mean(against)
    for level in np.linspace(*means, LEVELS):
        above = list(bounds)
        above[against] = replace(above[against], mean=float(level))
        found += climb(contests, above, found, seed=seed, restarts=1, sweeps=2, watch=watch)
    return _unbeaten(found, against)


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
    start = [*_first_points(contests, bounds), *known]
    climbed = climb(contests, bounds, start, seed=seed)
    return max([start[0], *climbed], key=lambda point: point.worth)


def _first_points(contests: Sequence[Contest], bounds: Sequence[Bounds], watch: Watch = UNWATCHED) -> Iterator[Point]:
    """No bias at all, and where the smooth searches end."""
    n_classes = 1 + max(int(max(each.labels.max(), each.rivals.max())) for each in contests)
    yield point_at(contests, np.zeros(n_classes))
    for bias in smooth_biases(contests, bounds, n_classes, look=watch.look):
        watch.end_one()
        yield point_at(contests, bias)


def _free_mean(bounds: Sequence[Bounds], against: int) -> list[Bounds]:
    """The bounds but for that of one mean."""
    return [replace(bound, mean=-1.0) if place == against else bound for place, bound in enumerate(bounds)]


def climb(
    contests: Sequence[Contest],
    bounds: Sequence[Bounds],
    known: Sequence[Point],
    *,
    seed: int = 0,
    restarts: int = RESTARTS,
    sweeps: int = SWEEPS,
    watch: Watch = UNWATCHED,
) -> list[Point]:
    """Points that keep the bounds and that no line leads up from, climbed to from the best that are known."""
    kept = [point for point in known if point.keeps(bounds)]
    starts = sorted(kept, key=lambda point: -point.worth)[:restarts]
    rng = np.random.default_rng(seed)
    found = []
    for point in starts:
        found.append(_climb_from(point, contests, bounds, rng, sweeps, watch))
        watch.end_one()
    return found


def _climb_from(
    point: Point,
    contests: Sequence[Contest],
    bounds: Sequence[Bounds],
    rng: np.random.Generator,
    sweeps: int,
    watch: Watch,
) -> Point:
    for _ in range(sweeps):
        before = point.worth
        for direction in _directions(point, rng):
            watch.look()
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
    if best <= point.worth + SAME:
        return None
    ends = np.concatenate([line.steps[:1], (line.steps[1:] + line.steps[:-1]) / 2, line.steps[-1:]])
    widths = np.where(worth >= best - SAME, np.diff(ends), -1.0)
    return float(line.steps[int(widths.argmax())])


def _unbeaten(points: Sequence[Point], against: int) -> list[Point]:
    """Those that no other point is at least as good as in mean and worth, by the mean, best mean first."""
    ordered = sorted(points, key=lambda point: (-point.mean(against), -point.worth, -point.mean()))
    kept: list[Point] = []
    for point in ordered:
        if not kept or point.worth > kept[-1].worth + SAME:
            kept.append(point)
    return kept
