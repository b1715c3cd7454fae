"""Before the run: how many samples per class a wanted half-width needs, and what half-width n samples buy.

Half-widths, half of the distance between both ends, are those of the class intervals that an audit prints, at the same
level: all classes at once, with the share of delta that the audit gives them. What is promised is either the half-width
of every class, whatever its scores, or the average one: :class:`Plan` says which. The interval of a difference of two
classes, and so of the RDI, is up to twice as wide.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import FloatArray
from gfscore.bounds.bernstein import bernstein_radius
from gfscore.bounds.betting import betting_lower
from gfscore.bounds.hoeffding import hoeffding_radius
from gfscore.bounds.kl import kl_lower
from gfscore.bounds.methods import Method
from gfscore.bounds.parts import PartScores, check_level
from gfscore.bounds.simultaneous import BOX_SHARE
from gfscore.errors import OptionError
from gfscore.scores.great import SCORE_MAX

SIMULATED_CLASSES = 60
SIMULATED_N = 2_000  # beyond it the half-width of betting is scaled by 1 / sqrt(n)
LARGEST_N = 10**12
PLANNED = (Method.BETTING, Method.KL, Method.BERNSTEIN, Method.HOEFFDING)  # the others are near to betting

WORST_CASE = "every class, whatever the scores"
ZERO_ONE = "on average, simulated for scores of 0 or the maximum, half of each: the largest spread there is"
PILOT = "on average, for the class of the pilot that needs most"
PILOT_SIMULATED = "on average, simulated for Beta scores with the mean and deviation of the pilot's most spread class"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pilot:
    """What a first, small audit showed: mean and standard deviation of the scores of each class, ``(K,)`` each."""

    scores: FloatArray
    stds: FloatArray

    @classmethod
    def of(cls, scores: ArrayLike, stds: ArrayLike) -> "Pilot":
        """Check the two rows. A deviation that is not known (NaN, from one sample) is left out."""
        means, deviations = np.asarray(scores, dtype=np.float64), np.asarray(stds, dtype=np.float64)
        if means.ndim != 1 or means.shape != deviations.shape:
            raise OptionError(f"a pilot of shapes {means.shape} and {deviations.shape}: give a mean and std per class.")
        known = np.isfinite(means) & np.isfinite(deviations)
        if not known.any():
            raise OptionError("the pilot has no class with a standard deviation. Score at least 2 samples of one.")
        return cls(scores=means[known], stds=deviations[known])


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """So many samples in each class buy such a half-width, in score units.

    ``basis`` says for which scores, and whether it is that of every class or the average one: then single classes have
    wider intervals than planned, and others narrower ones.
    """

    method: Method
    n: int
    radius: float
    basis: str


def plan_samples(
    radius: float,
    *,
    n_classes: int,
    delta: float = 0.05,
    maximum: float = SCORE_MAX,
    pilot: Pilot | None = None,
    seed: int = 0,
) -> tuple[Plan, ...]:
    """Samples per class for each method to reach a half-width of at most ``radius``.

    Hoeffding, KL and Bernstein: the smallest n, from their formulas. In the worst case it is enough for every class,
    whatever the scores. With a pilot KL and Bernstein take its mean or deviation for the truth: samples scatter around
    it, and as both half-widths are concave in what scatters, the average one is no larger. Betting depends on the
    scores themselves: the average over simulated classes, seeded.

    >>> for plan in plan_samples(0.05, n_classes=10, pilot=Pilot.of([0.335], [0.258])):
    ...     print(plan.method, round(plan.n, -2))
    betting 300
    kl 1600
    bernstein 1000
    hoeffding 2000
    """
    if not (math.isfinite(radius) and radius > 0):
        raise OptionError(f"radius {radius} is not a positive number. Give the half-width you want.")
    plans = []
    for method in PLANNED:
        bought, basis = _radius_of(method, n_classes, delta, maximum, pilot, seed)
        n = _first(bought, radius)
        plans.append(Plan(method=method, n=n, radius=bought(n), basis=basis))
    return tuple(plans)


def plan_radius(
    n: int,
    *,
    n_classes: int,
    delta: float = 0.05,
    maximum: float = SCORE_MAX,
    pilot: Pilot | None = None,
    seed: int = 0,
) -> tuple[Plan, ...]:
    """Half-width that ``n`` samples in each class buy, for each method: the reverse of :func:`plan_samples`.

    >>> for plan in plan_radius(1000, n_classes=10):
    ...     print(plan.method, round(plan.radius, 3))
    betting 0.065
    kl 0.07
    bernstein 0.095
    hoeffding 0.071
    """
    if n < 1:
        raise OptionError(f"{n} samples per class buy nothing. Give at least 1.")
    plans = []
    for method in PLANNED:
        bought, basis = _radius_of(method, n_classes, delta, maximum, pilot, seed)
        plans.append(Plan(method=method, n=n, radius=bought(n), basis=basis))
    return tuple(plans)


def _radius_of(
    method: Method, n_classes: int, delta: float, maximum: float, pilot: Pilot | None, seed: int
) -> tuple[Callable[[int], float], str]:
    """Half-width as a function of n, in score units, and for which scores it is."""
    check_level(delta)
    if n_classes < 1:
        raise OptionError(f"{n_classes} classes cannot be planned for. Give at least 1.")
    level = BOX_SHARE * delta
    alpha = level / (2 * n_classes)
    means = np.array([0.5]) if pilot is None else np.clip(pilot.scores / maximum, 0.0, 1.0)

    def hoeffding(n: int) -> float:
        return float(hoeffding_radius(n, level, n_classes=n_classes, maximum=maximum))

    def kl(n: int) -> float:
        counts = np.full(means.shape, n)
        return (
            maximum * float((1.0 - kl_lower(means, counts, alpha) - kl_lower(1.0 - means, counts, alpha)).max()) / 2.0
        )

    def bernstein(n: int) -> float:
        # Half zeros, half ones have the largest sample variance: n / (4 (n - 1)).
        variance = n / (4.0 * max(n - 1, 1)) if pilot is None else float((pilot.stds / maximum).max()) ** 2
        return maximum * min(0.5, float(bernstein_radius(np.array([variance]), np.array([n]), alpha)[0]))

    @cache
    def simulated(n: int) -> float:
        return maximum * _betting_radius(n, alpha, maximum, pilot, seed)

    def betting(n: int) -> float:
        return simulated(min(n, SIMULATED_N)) * math.sqrt(min(1.0, SIMULATED_N / n))

    formulas = {Method.HOEFFDING: hoeffding, Method.KL: kl, Method.BERNSTEIN: bernstein, Method.BETTING: betting}
    if method is Method.HOEFFDING:
        basis = WORST_CASE
    elif method is Method.BETTING:
        basis = ZERO_ONE if pilot is None else PILOT_SIMULATED
    else:
        basis = WORST_CASE if pilot is None else PILOT
    return formulas[method], basis


def _betting_radius(n: int, alpha: float, maximum: float, pilot: Pilot | None, seed: int) -> float:
    """Half-width of the betting interval in [0, 1], on average over simulated classes of n scores."""
    classes = SIMULATED_CLASSES
    generator = np.random.default_rng(seed)
    if pilot is None:
        mean, std = 0.5, 0.5
    else:
        hardest = int(pilot.stds.argmax())
        mean, std = float(pilot.scores[hardest]) / maximum, float(pilot.stds[hardest]) / maximum
    scores = draw_beta(generator, mean, std, classes * n)
    parts = PartScores.of(scores, np.repeat(np.arange(classes), n), classes, maximum=1.0, seed=seed)
    widths = 1.0 - betting_lower(parts, alpha) - betting_lower(parts.mirrored(), alpha)
    return float(widths.mean()) / 2.0


def draw_beta(generator: np.random.Generator, mean: float, std: float, size: int) -> FloatArray:
    """Scores in [0, 1] with the given mean and deviation: Beta, or 0 and 1 where no Beta is as spread."""
    mean, variance = min(max(mean, 0.0), 1.0), std**2
    room = mean * (1.0 - mean)
    if variance == 0.0 or room == 0.0:
        return np.full(size, mean)
    if variance >= room:
        return (generator.random(size) < mean).astype(np.float64)
    concentration = room / variance - 1.0
    return generator.beta(mean * concentration, (1.0 - mean) * concentration, size)


def _first(bought: Callable[[int], float], radius: float) -> int:
    """Smallest n that buys the radius, when more is never worse (a simulated answer may be off by its own noise)."""
    high = 1
    while bought(high) > radius:
        if high > LARGEST_N:
            raise OptionError("the radius asks for more than a million million samples per class. Give a larger one.")
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bought(middle) <= radius else (middle, high)
    return high
