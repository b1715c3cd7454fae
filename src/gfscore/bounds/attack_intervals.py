"""Accuracy under attack of every class, of the worst one and of the whole, all at one level, when few were attacked.

The theorem that each interval rests on is in :mod:`gfscore.bounds.few_attacks`; here the level is split.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.bounds.box import Interval, nrgc_range, rdi_range
from gfscore.bounds.class_means import check_level
from gfscore.bounds.few_attacks import Bets, Spared, place_bets
from gfscore.errors import OptionError, SamplesError

TARGETS = ("finite", "population")

BOX_SHARE = 0.7  # of delta, for the intervals of all classes
DIRECT_SHARE = 0.2  # for both ends of the whole
WORST_SHARE = 0.1  # for the lower end of the worst class


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttackIntervals:
    """Accuracy under attack, with intervals that hold together, at all times, with probability 1 - delta.

    The arrays are ``(K,)`` over the parts that have samples. "At all times" lets one attack until something is known
    and stop there.
    """

    parts: IntArray  # codes of the parts that have samples
    estimates: FloatArray
    lower: FloatArray
    upper: FloatArray
    worst: Interval  # of the lowest accuracy of all parts
    worst_set: IntArray  # codes of the parts that cannot be excluded as the worst
    whole: float
    whole_interval: Interval
    gap: Interval  # of the highest accuracy minus the lowest, over the box of the intervals of the parts
    gini: Interval | None  # of the Gini coefficient of the accuracies (NRGC), over the same box; None: all are 0
    attacked: IntArray  # samples attacked of each part
    delta: float
    target: str  # "finite": these samples; "population": what they were drawn from


def attack_intervals(
    predictions: ArrayLike,
    codes: ArrayLike,
    n_parts: int,
    *,
    attacked: ArrayLike,
    outcomes: ArrayLike,
    broken: BoolArray | None = None,
    weights: ArrayLike | None = None,
    delta: float = 0.05,
    target: str = "finite",
    one_order: bool = True,
) -> AttackIntervals:
    r"""Intervals of the accuracy under attack of every part, of the worst part and of the whole, from few attacks.

    ``predictions`` in [0, 1] and ``codes`` are of all N samples; ``broken`` (N,) says which are known not to withstand.
    ``attacked`` are the rows attacked, in the order of :func:`~gfscore.bounds.few_attacks.attack_order` over the rows
    that are not broken with these ``weights``, and ``outcomes`` says which of them withstood. With ``one_order`` False
    the order holds within each part only, as when parts are attacked in turn: then the whole follows from its parts.

    The parts get 0.7 ``delta``, shared by their 2K ends; the whole 0.2 ``delta``; the lower end of the worst part 0.1:
    the lowest of bounds at that level exceeds the lowest accuracy only if the bound of that one part fails. Gap and
    Gini are the exact ranges over the box of the parts (:mod:`gfscore.bounds.box`), and cost nothing more.

    >>> rng = np.random.default_rng(0)
    >>> truth, codes = rng.random(400) < np.repeat([0.3, 0.6], 200), np.repeat([0, 1], 200)
    >>> rows = rng.permutation(400)[:100]
    >>> found = attack_intervals(truth, codes, 2, attacked=rows, outcomes=truth[rows])
    >>> found.estimates.round(2), found.lower, found.upper, found.worst_set
    (array([0.27, 0.57]), array([0.185, 0.485]), array([0.35, 0.67]), array([0]))
    """
    check_level(delta)
    if target not in TARGETS:
        raise OptionError(f"target {target!r} is not known. Choose {' or '.join(TARGETS)}.")
    given = Attacked.of(predictions, codes, attacked, outcomes, broken, weights)
    of_part = given.codes

    def ends(bets: Bets, alpha: float) -> Interval:
        return bets.ends(alpha, alpha) if target == "finite" else bets.population_ends(alpha, alpha)

    parts = np.unique(of_part)
    if len(parts) == 0 or parts[0] < 0 or parts[-1] >= n_parts:
        raise SamplesError(f"codes must be whole numbers from 0 to {n_parts - 1}, one per sample.")
    games = [given.bet(of_part == part) for part in parts]
    lower, upper = np.array([ends(game, BOX_SHARE * delta / (2 * len(parts))) for game in games]).T
    lowest = min(ends(game, WORST_SHARE * delta)[0] for game in games)
    lower = np.maximum(lower, lowest)  # a bound of the worst part is one of all
    estimates, sizes = np.array([game.estimate for game in games]), np.array([game.size for game in games])
    lower = np.minimum(lower, estimates)  # wider is as valid
    shares = sizes / sizes.sum()
    whole, interval = float(shares @ estimates), (float(shares @ lower), float(shares @ upper))
    if one_order:
        own = given.bet(np.ones(len(of_part), dtype=bool))
        low, high = ends(own, DIRECT_SHARE * delta / 2)
        whole, interval = own.estimate, (max(low, interval[0]), min(high, interval[1]))
        interval = min(interval[0], whole), max(interval[1], whole)
    return AttackIntervals(
        parts=parts,
        estimates=estimates,
        lower=lower,
        upper=upper,
        worst=(float(min(lower.min(), estimates.min())), float(upper.min())),
        worst_set=parts[lower <= upper.min()],
        whole=whole,
        whole_interval=interval,
        gap=rdi_range(lower, upper) if len(parts) > 1 else (0.0, 0.0),
        gini=nrgc_range(lower, upper),
        attacked=np.bincount(of_part[given.rows], minlength=n_parts)[parts].astype(np.int64),
        delta=delta,
        target=target,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attacked:
    """What is known of all samples, checked: predictions, and outcomes of those attacked, in the order of the draw."""

    guesses: FloatArray  # (N,)
    codes: IntArray  # (N,)
    unknown: BoolArray  # (N,)
    rates: FloatArray  # (N,)
    rows: IntArray  # (n,)
    outcomes: FloatArray  # (n,)

    @classmethod
    def of(
        cls,
        predictions: ArrayLike,
        codes: ArrayLike,
        attacked: ArrayLike,
        outcomes: ArrayLike,
        broken: BoolArray | None,
        weights: ArrayLike | None,
    ) -> Self:
        """What was given, as :func:`attack_intervals` takes it."""
        guesses, of_part = np.asarray(predictions, dtype=np.float64), np.asarray(codes, dtype=np.int64)
        rows = np.asarray(attacked, dtype=np.int64)
        unknown = np.ones(len(guesses), dtype=bool) if broken is None else ~np.asarray(broken, dtype=bool)
        rates = np.ones(len(guesses)) if weights is None else np.asarray(weights, dtype=np.float64)
        if not len(guesses) == len(of_part) == len(unknown) == len(rates):
            raise SamplesError("predictions, codes, weights and known outcomes must be of the same samples.")
        if not unknown[rows].all():
            raise SamplesError("a sample that is known to be broken was attacked. Leave it out.")
        found = np.asarray(outcomes, dtype=np.float64)
        return cls(guesses=guesses, codes=of_part, unknown=unknown, rates=rates, rows=rows, outcomes=found)

    def bet(self, members: BoolArray) -> Bets:
        """The bets against every accuracy that these samples could have."""
        here, mine = members & self.unknown, members[self.rows]
        places, size = np.cumsum(here) - 1, int(members.sum())
        part = Spared.of(
            self.guesses[here],
            places[self.rows[mine]],
            self.outcomes[mine],
            weights=self.rates[here],
            size=size,
        )
        return place_bets(part)
