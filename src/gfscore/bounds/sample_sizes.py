"""How many samples per class a wanted half-width needs, and what half-width n samples buy: by any method, before a run.

Half-widths, half of the distance between both ends, are those of the class intervals that an audit prints, at the same
level: all classes at once, with the share of delta that the audit gives them. What is promised is either the half-width
of every class, whatever its scores, or the average one: :class:`Plan` says which. The interval of a difference of two
classes, and so of the RDI, is up to twice as wide.

The paper's own bound is Hoeffding's: from counts alone, for class scores and for the RDI.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import FloatArray
from gfscore.bounds.betting import betting_lower
from gfscore.bounds.class_means import (
    PartScores,
    bernstein_radius,
    check_counts,
    check_level,
    hoeffding_lower,
    kl_lower,
)
from gfscore.bounds.methods import Method
from gfscore.bounds.simultaneous import BOX_SHARE
from gfscore.errors import OptionError
from gfscore.scores.great import SCORE_MAX

SIMULATED_CLASSES = 60
SIMULATED_N = 2_000  # beyond it the half-width of betting is scaled by 1 / sqrt(n)
LARGEST_N = 10**12
SMALLEST_RADIUS = 1e-6  # of the largest score; far below it the sample sizes exceed what a float counts exactly
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
    _check_radius(radius)
    radii = _radii(n_classes, delta, maximum, pilot, seed)
    sizes = {method: _first(bought, radius) for method, bought in radii.items()}
    return tuple(_plan(method, n, radii[method](n), pilot) for method, n in sizes.items())


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
    radii = _radii(n_classes, delta, maximum, pilot, seed)
    return tuple(_plan(method, n, bought(n), pilot) for method, bought in radii.items())


def _plan(method: Method, n: int, radius: float, pilot: Pilot | None) -> Plan:
    basis = WORST_CASE if pilot is None else PILOT
    if method is Method.HOEFFDING:
        basis = WORST_CASE
    elif method is Method.BETTING:
        basis = ZERO_ONE if pilot is None else PILOT_SIMULATED
    return Plan(method=method, n=n, radius=radius, basis=basis)


def _radii(
    n_classes: int, delta: float, maximum: float, pilot: Pilot | None, seed: int
) -> dict[Method, Callable[[int], float]]:
    """Half-width of each method as a function of n, in score units."""
    check_level(delta)
    if n_classes < 1:
        raise OptionError(f"{n_classes} classes cannot be planned for. Give at least 1.")
    level = BOX_SHARE * delta
    alpha = level / (2 * n_classes)
    means = np.array([0.5]) if pilot is None else np.clip(pilot.scores / maximum, 0.0, 1.0)

    @cache
    def simulated(n: int) -> float:
        return maximum * _betting_radius(n, alpha, maximum, pilot, seed)

    def betting(n: int) -> float:
        return simulated(min(n, SIMULATED_N)) * math.sqrt(min(1.0, SIMULATED_N / n))

    def kl(n: int) -> float:
        counts = np.full(means.shape, n)
        widths = 1.0 - kl_lower(means, counts, alpha) - kl_lower(1.0 - means, counts, alpha)
        return maximum * float(widths.max()) / 2.0

    def bernstein(n: int) -> float:
        # Half zeros, half ones have the largest sample variance: n / (4 (n - 1)).
        variance = n / (4.0 * max(n - 1, 1)) if pilot is None else float((pilot.stds / maximum).max()) ** 2
        return maximum * min(0.5, float(bernstein_radius(np.array([variance]), np.array([n]), alpha)[0]))

    def hoeffding(n: int) -> float:
        return float(hoeffding_radius(n, level, n_classes=n_classes, maximum=maximum))

    return dict(zip(PLANNED, (betting, kl, bernstein, hoeffding), strict=True))


def _betting_radius(n: int, alpha: float, maximum: float, pilot: Pilot | None, seed: int) -> float:
    """Half-width of the betting interval in [0, 1], on average over simulated classes of n scores."""
    mean, std = 0.5, 0.5
    if pilot is not None:
        hardest = int(pilot.stds.argmax())
        mean, std = float(pilot.scores[hardest]) / maximum, float(pilot.stds[hardest]) / maximum
    scores = draw_beta(np.random.default_rng(seed), mean, std, SIMULATED_CLASSES * n)
    codes = np.repeat(np.arange(SIMULATED_CLASSES), n)
    parts = PartScores.of(scores, codes, SIMULATED_CLASSES, maximum=1.0, seed=seed)
    widths = 1.0 - betting_lower(parts, alpha) - betting_lower(parts.mirror(), alpha)
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


def hoeffding_radius(n: ArrayLike, delta: float, *, n_classes: int = 1, maximum: float = SCORE_MAX) -> FloatArray:
    r"""Half-width that holds for all ``n_classes`` at once with probability at least 1 - ``delta``.

    .. math:: \epsilon_k = B \sqrt{\ln(2K/\delta) / (2 n_k)}

    ``n`` is the number of samples of each class, a number or ``(K,)``; ``maximum`` is B, the largest score.
    Hoeffding, JASA 58 (1963); Shah et al. (2026), Proposition 1.

    >>> hoeffding_radius(1000, 0.05, n_classes=10).round(4)
    np.float64(0.0686)
    """
    counts = np.asarray(n, dtype=np.float64)
    check_counts(counts)
    return maximum * np.sqrt(_log_term(delta, n_classes) / (2.0 * counts))


def hoeffding_sample_size(radius: float, delta: float, *, n_classes: int = 1, maximum: float = SCORE_MAX) -> int:
    """Smallest number of samples per class for which :func:`hoeffding_radius` is at most ``radius``.

    >>> hoeffding_sample_size(0.05, 0.05, n_classes=10)
    1883
    """
    _check_radius(radius)
    log_term = _log_term(delta, n_classes)
    if radius < maximum * SMALLEST_RADIUS:
        raise OptionError(f"radius {radius} asks for more samples than there can be. Give a larger one.")
    n = max(1, math.ceil((maximum / radius) ** 2 * log_term / 2.0))
    while n > 1 and hoeffding_radius(n - 1, delta, n_classes=n_classes, maximum=maximum) <= radius:
        n -= 1  # the quotient above was rounded up past a whole number
    while hoeffding_radius(n, delta, n_classes=n_classes, maximum=maximum) > radius:
        n += 1  # or down past it
    return n


def hoeffding_intervals(
    scores: ArrayLike, counts: ArrayLike, delta: float, *, maximum: float = SCORE_MAX
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends for all classes at once, ``(K,)`` each, cut to the range of the score."""
    means, samples = np.asarray(scores, dtype=np.float64) / maximum, np.asarray(counts, dtype=np.int64)
    alpha = math.exp(-_log_term(delta, len(means)))
    lower = hoeffding_lower(means, samples, alpha)
    upper = 1.0 - hoeffding_lower(1.0 - means, samples, alpha)
    return maximum * lower, maximum * upper


def rdi_radius(n_min: int, delta: float, *, n_classes: int, maximum: float = SCORE_MAX) -> float:
    r"""How far the estimated RDI may be from the true one, with probability at least 1 - ``delta``.

    Twice the radius of the class with the fewest samples, ``n_min``. Shah et al. (2026), Proposition 2.

    >>> round(rdi_radius(50, 0.05, n_classes=1000), 3)
    0.816
    """
    return 2.0 * float(hoeffding_radius(n_min, delta, n_classes=n_classes, maximum=maximum))


def rdi_sample_size(radius: float, delta: float, *, n_classes: int, maximum: float = SCORE_MAX) -> int:
    """Smallest number of samples per class for which :func:`rdi_radius` is at most ``radius``.

    >>> rdi_sample_size(0.35, 0.05, n_classes=1000)
    272
    """
    return hoeffding_sample_size(radius / 2.0, delta, n_classes=n_classes, maximum=maximum)


def _log_term(delta: float, n_classes: int) -> float:
    check_level(delta)
    if n_classes < 1:
        raise OptionError(f"{n_classes} classes cannot be bounded. Give at least 1.")
    return math.log(2 * n_classes / delta)


def _check_radius(radius: float) -> None:
    if not (math.isfinite(radius) and radius > 0):
        raise OptionError(f"radius {radius} is not a positive number. Give the half-width you want.")
