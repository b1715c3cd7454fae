"""The noise floor: how large RDI and NRGC come out when all classes have the same mean.

A finite sample never shows equal classes as equal, and the more classes the larger the gap that chance makes. So each
index is compared with what it is after the samples have been dealt out to the classes anew.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gfscore import disparity
from gfscore.bounds.parts import PartScores
from gfscore.errors import OptionError
from gfscore.samples import FloatArray, map_chunks, row_chunks

BORROWED = 3.0  # samples' worth of the variance of all scores that each class's variance is mixed with
TINY = 1e-30  # a variance, so that nothing is divided by 0 when all scores are equal
TIE = 1e-12  # a shuffled index this close to the observed one counts as large


@dataclass(frozen=True, slots=True)
class Null:
    """An index under shuffling, and how often it came out at least as large as observed."""

    null_mean: float
    null_q95: float
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseFloor:
    """RDI (in score units) and NRGC under equal class means; the NRGC is None when all scores are 0."""

    rdi: Null
    nrgc: Null | None
    permutations: int
    studentised: bool
    seed: int
    kind: str = "permutation"  # or "normal": drawn, not shuffled


def noise_floor(
    values: ArrayLike,
    codes: ArrayLike,
    n_parts: int,
    *,
    maximum: float,
    permutations: int = 1000,
    studentised: bool = True,
    seed: int = 0,
) -> NoiseFloor:
    r"""Permutation null of RDI and NRGC, with p = (1 + b) / (1 + B) for b of B shuffles at least as large.

    Studentised: in a shuffle, class k is off the common mean by :math:`t_k` of its shuffled standard errors; it is
    counted as off by :math:`t_k` of its *own* standard errors,

    .. math:: \Omega^*_k = \bar\Omega + t_k\,\frac{s_k}{\sqrt{n_k}}

    so that classes which vary more, or have fewer samples, make as much noise as they really do. Shuffled means have a
    fixed sum, where fresh samples would not: a normal draw with the standard error of the common mean is added to all
    of them, which makes them uncorrelated. Variances borrow a little from that of all scores, so that a class of equal
    scores, or of one, has some. The test is approximate: right for classes with the same mean and any spread as n
    grows, and mostly cautious for few samples. The plain test (``studentised`` False) is exact, but for the hypothesis
    that all classes have the same *distribution*: it also rejects for unequal spreads.

    ``values`` in [0, ``maximum``] and ``codes`` are ``(N,)``. Janssen, Stat. Probab. Lett. 36 (1997); Chung and Romano,
    Ann. Statist. 41 (2013); Phipson and Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010) for the p-value.

    >>> rng = np.random.default_rng(0)
    >>> floor = noise_floor(rng.random(1000), np.repeat(np.arange(10), 100), 10, maximum=1.0)
    >>> round(floor.rdi.null_mean, 2), floor.rdi.p_value > 0.05
    (0.09, True)
    """
    if permutations < 1:
        raise OptionError(f"{permutations} permutations show nothing. Give at least 1; 1000 is usual.")
    parts = PartScores.of(values, codes, n_parts, maximum=maximum)
    means = parts.means
    common = float(parts.values.mean())
    centred = parts.values - common
    total_variance = float(np.mean(centred**2))  # the same in every shuffle
    own_errors = _standard_errors(parts, centred, parts.sums(centred) / parts.counts, total_variance)
    profiles = np.empty((permutations, len(means)))

    def shuffle(rows: slice) -> None:
        generator = np.random.default_rng([seed, rows.start])  # a stream of its own: the order of the threads is free
        shuffled = np.tile(centred, (rows.stop - rows.start, 1))
        for row in shuffled:
            generator.shuffle(row)  # a third faster than all rows at once by permuted()
        profile = parts.sums(shuffled) / parts.counts
        if studentised:
            errors = _standard_errors(parts, shuffled, profile, total_variance)
            profile += generator.normal(0.0, math.sqrt(total_variance / centred.size), (len(profile), 1))
            profile *= own_errors / errors
            profile -= profile.mean(axis=1, keepdims=True)
        profiles[rows] = profile

    for _ in map_chunks(shuffle, list(row_chunks(permutations, centred.size, shared=True))):
        pass  # each wrote into its own rows
    centre = float(means.mean()) if studentised else common
    rdi, nrgc = _nulls(profiles + centre, means, maximum)
    return NoiseFloor(rdi=rdi, nrgc=nrgc, permutations=permutations, studentised=studentised, seed=seed)


def normal_floor(
    means: ArrayLike,
    variances: ArrayLike,
    counts: ArrayLike,
    *,
    maximum: float,
    draws: int = 1000,
    seed: int = 0,
) -> NoiseFloor:
    r"""The same from means, variances and counts alone, where the samples that could be shuffled are gone.

    What studentised shuffles tend to as n grows: :math:`\Omega^*_k = \bar\Omega + z_k\,s_k/\sqrt{n_k}` with independent
    standard normal :math:`z_k`. For few samples of scores that are far from normal it is a rougher approximation than
    shuffling.

    ``means`` and ``variances`` are of scores in [0, 1], ``(K,)`` each, over parts with samples.

    >>> floor = normal_floor([0.5] * 10, [1 / 12] * 10, [100] * 10, maximum=1.0)
    >>> round(floor.rdi.null_mean, 2), floor.kind
    (0.09, 'normal')
    """
    if draws < 1:
        raise OptionError(f"{draws} draws show nothing. Give at least 1; 1000 is usual.")
    centres, spreads, n = (np.asarray(row, dtype=np.float64) for row in (means, variances, counts))
    squares = spreads * (n - 1.0)
    total_variance = float((squares + n * (centres - np.average(centres, weights=n)) ** 2).sum() / n.sum())
    profiles = np.random.default_rng(seed).normal(0.0, _mixed_errors(squares, n, total_variance), (draws, len(n)))
    profiles -= profiles.mean(axis=1, keepdims=True)
    rdi, nrgc = _nulls(profiles + centres.mean(), centres, maximum)
    return NoiseFloor(rdi=rdi, nrgc=nrgc, permutations=draws, studentised=True, seed=seed, kind="normal")


def _standard_errors(parts: PartScores, centred: FloatArray, means: FloatArray, total_variance: float) -> FloatArray:
    """Standard error of each mean, ``(..., K)``, of scores ``(..., N)``."""
    squares = np.maximum(parts.sums(np.square(centred)) - parts.counts * means**2, 0.0)
    return _mixed_errors(squares, parts.counts, total_variance)


def _mixed_errors(squares: FloatArray, counts: NDArray[Any], total_variance: float) -> FloatArray:
    """Standard errors from sums of squares around the means; variances are mixed with that of all scores."""
    mixed = (squares + BORROWED * total_variance) / (counts - 1 + BORROWED)
    return np.asarray(np.sqrt(np.maximum(mixed, TINY) / counts))


def _nulls(profiles: FloatArray, means: FloatArray, maximum: float) -> tuple[Null, Null | None]:
    """RDI and NRGC of each row of ``profiles``, cut to [0, 1], against those observed."""
    cut = np.clip(profiles, 0.0, 1.0)
    ranges = maximum * (cut.max(axis=1) - cut.min(axis=1))
    observed = disparity.nrgc(means)
    return (
        _null(ranges, maximum * disparity.rdi(means)),
        None if observed is None else _null(_ginis(cut), observed),
    )


def _ginis(profiles: FloatArray) -> FloatArray:
    """NRGC of each row; 0 for a row of zeros, which no shuffle of positive scores gives unless cut to 0."""
    k = profiles.shape[1]
    totals = k * profiles.sum(axis=1)
    spreads = np.sort(profiles, axis=1) @ (2.0 * np.arange(1, k + 1) - k - 1.0)
    return np.asarray(np.divide(spreads, totals, out=np.zeros_like(totals), where=totals > 0))


def _null(shuffled: FloatArray, observed: float) -> Null:
    larger = int(np.count_nonzero(shuffled >= observed - TIE))
    return Null(float(shuffled.mean()), float(np.quantile(shuffled, 0.95)), (1 + larger) / (1 + len(shuffled)))
