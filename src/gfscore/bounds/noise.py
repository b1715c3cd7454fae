"""What chance alone does: the noise floor of RDI and NRGC when all classes have one mean, and shrunken class scores.

A finite sample never shows equal classes as equal, and the more classes the larger the gap that chance makes. So each
index is compared with what it is after the samples have been dealt out to the classes anew: twice, because there are
two ways to be equal. The *plain* test asks whether all classes have one distribution, and is exact for that. The
*studentised* one asks for equal means, whatever the spreads, and is approximate. The larger p-value counts. And with
many classes of few samples the extremes are mostly luck: shrunken scores borrow from each other.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gfscore.arrays import BoolArray, FloatArray, Scratch, map_chunks, row_chunks
from gfscore.bounds.class_means import PartScores, last_excluded
from gfscore.errors import OptionError, SamplesError
from gfscore.metrics import formulas, rows
from gfscore.results import NoiseFloor, Null

BORROWED = 3.0  # samples' worth of the variance of all scores that each class's variance is mixed with
TINY = 1e-30  # a variance, so that nothing is divided by 0 when all scores are equal
TIE = 1e-12  # a shuffled index this close to the observed one counts as large
REMEMBERED = 1 << 20  # places of shuffled scores, 8 MB of each size, that are kept for the next of several models
SPREAD_HALVINGS = 60  # of the range in which the spread of the true class scores is searched

Test = Literal["plain", "studentised"]

_scratch = Scratch()  # a number per sample, and 4 MB of shuffles, for the next model as well


def noise_floor(
    values: ArrayLike, codes: ArrayLike, n_parts: int, *, maximum: float, permutations: int = 1000, seed: int = 0
) -> NoiseFloor:
    r"""Permutation null of RDI and NRGC, with p = (1 + b) / (1 + B) for b of B shuffles at least as large.

    Plain: the index of the shuffled class means. If all classes have one distribution, p is at most alpha with
    probability at most alpha, exactly; unequal spreads are rejected as well.

    Studentised: in a shuffle, class k is off the common mean by :math:`t_k` of its shuffled standard errors; it is
    counted as off by :math:`t_k` of its *own* standard errors,

    .. math:: \Omega^*_k = \bar\Omega + t_k\,\frac{s_k}{\sqrt{n_k}}

    so that classes which vary more, or have fewer samples, make as much noise as they really do. Shuffled means have a
    fixed sum, where fresh samples would not: a normal draw with the standard error of the common mean is added to all
    of them, which makes them uncorrelated. Variances borrow a little from that of all scores, so that a class of equal
    scores, or of one, has some. The idea to studentise is that of Janssen, Stat. Probab. Lett. 36 (1997), and Chung and
    Romano, Ann. Statist. 41 (2013); theirs studentise the observed statistic and the shuffled one alike, while here the
    observed index stays what is reported, so neither their exactness for one distribution nor their limit theorem
    carries over. By itself it rejects far too often for many classes of scores that are nearly all 0 or at the maximum.

    The larger p-value of both is exact for classes of one distribution, and approximate for equal means with unequal
    spreads: it still rejects too often for small classes of skewed scores beside large ones that vary little
    (:doc:`coverage`). ``p_holm`` corrects for the two indices. The 1 + in the p-value is after Phipson and Smyth, Stat.
    Appl. Genet. Mol. Biol. 9 (2010).

    ``values`` in [0, ``maximum``] and ``codes`` are ``(N,)``.

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
    plain, own = (np.empty((permutations, len(means))) for _ in range(2))

    repeats = permutations * centred.size <= REMEMBERED

    def shuffle(batch: slice) -> None:
        shuffled, normals = _shuffled(centred, batch, seed, repeats=repeats)
        profile = parts.sums(shuffled) / parts.counts
        plain[batch] = profile
        errors = _standard_errors(parts, shuffled, profile, total_variance)
        profile += math.sqrt(total_variance / centred.size) * normals[:, None]
        profile *= own_errors / errors
        own[batch] = profile - profile.mean(axis=1, keepdims=True)

    batches = list(row_chunks(permutations, centred.size, shared=True))
    for _ in map_chunks(shuffle, batches, threads=1 if repeats else None):  # a thread would take longer to start
        pass  # each wrote into rows of its own
    rdi, nrgc = _nulls(plain + common, own + means.mean(), means, maximum)
    return NoiseFloor(rdi=rdi, nrgc=nrgc, permutations=permutations, studentised=True, seed=seed)


def _shuffled(scores: FloatArray, batch: slice, seed: int, *, repeats: bool) -> tuple[FloatArray, FloatArray]:
    """So many shuffles of the scores as the batch has, ``(B, N)``, and a standard normal number for each."""
    if repeats:
        orders, normals = _orders(scores.size, batch.start, batch.stop, seed)
        shuffled = _scratch.array("shuffled", orders.shape)
        return np.take(scores, orders, out=shuffled, mode="clip"), normals  # clip: nothing is outside
    return _shuffle(scores, batch.start, batch.stop, seed)


@lru_cache(maxsize=8)
def _orders(n: int, start: int, stop: int, seed: int) -> tuple[NDArray[np.intp], FloatArray]:
    """Shuffles of the places of n scores: the same for the next model, whose scores are as many."""
    return _shuffle(np.arange(n), start, stop, seed)


def _shuffle(row: NDArray[Any], start: int, stop: int, seed: int) -> tuple[NDArray[Any], FloatArray]:
    generator = np.random.default_rng([seed, start])  # a stream of its own: the order of the threads is free
    shuffled = np.tile(row, (stop - start, 1))
    for each in shuffled:
        generator.shuffle(each)  # a third faster than all rows at once by permuted()
    return shuffled, generator.standard_normal(stop - start)


def normal_floor(
    means: ArrayLike, variances: ArrayLike, counts: ArrayLike, *, maximum: float, draws: int = 1000, seed: int = 0
) -> NoiseFloor:
    r"""Noise floor from means, variances and counts alone, where the samples that could be shuffled are gone.

    Both tests with what shuffles tend to as n grows, from the same independent standard normal :math:`z_k`:
    :math:`\Omega^*_k = \bar\Omega + z_k\,s_k/\sqrt{n_k}` for the studentised one. For the plain one every class has the
    variance of all scores, and the draws, weighed by :math:`n_k`, the mean that all scores have. For few samples of
    scores that are far from normal it is a rougher approximation than shuffling, and exact for nothing.

    ``means`` and ``variances`` are of scores in [0, 1], ``(K,)`` each, over parts with samples.

    >>> floor = normal_floor([0.5] * 10, [1 / 12] * 10, [100] * 10, maximum=1.0)
    >>> round(floor.rdi.null_mean, 2), floor.kind
    (0.09, 'normal')
    """
    if draws < 1:
        raise OptionError(f"{draws} draws show nothing. Give at least 1; 1000 is usual.")
    centres, spreads, n = (np.asarray(row, dtype=np.float64) for row in (means, variances, counts))
    squares, common = spreads * (n - 1.0), float(np.average(centres, weights=n))
    total_variance = float((squares + n * (centres - common) ** 2).sum() / n.sum())
    standard = np.random.default_rng(seed).normal(size=(draws, len(n)))
    own = standard * _mixed_errors(squares, n, total_variance)
    own -= own.mean(axis=1, keepdims=True)
    plain = standard * np.sqrt(total_variance / n)
    plain -= np.average(plain, axis=1, weights=n)[:, None]
    rdi, nrgc = _nulls(plain + common, own + centres.mean(), centres, maximum)
    return NoiseFloor(rdi=rdi, nrgc=nrgc, permutations=draws, studentised=True, seed=seed, kind="normal")


def _standard_errors(parts: PartScores, centred: FloatArray, means: FloatArray, total_variance: float) -> FloatArray:
    """Standard error of each mean, ``(..., K)``, of scores ``(..., N)``."""
    squares = np.square(centred, out=_scratch.array("squares", centred.shape))
    squares = np.maximum(parts.sums(squares) - parts.counts * means**2, 0.0)
    return _mixed_errors(squares, parts.counts, total_variance)


def _mixed_errors(squares: FloatArray, counts: NDArray[Any], total_variance: float) -> FloatArray:
    """Standard errors from sums of squares around the means; variances are mixed with that of all scores."""
    mixed = (squares + BORROWED * total_variance) / (counts - 1 + BORROWED)
    return np.asarray(np.sqrt(np.maximum(mixed, TINY) / counts))


def _nulls(plain: FloatArray, studentised: FloatArray, means: FloatArray, maximum: float) -> tuple[Null, Null | None]:
    """RDI and NRGC of each row of the profiles of both tests, cut to [0, 1], against those observed."""
    profiles: dict[Test, FloatArray] = {
        "studentised": np.clip(studentised, 0.0, 1.0),
        "plain": np.clip(plain, 0.0, 1.0),
    }
    ranges = {test: maximum * rows.gaps(of_test) for test, of_test in profiles.items()}
    rdi, observed = _null(ranges, maximum * formulas.rdi(means)), formulas.nrgc(means)
    if observed is None:
        return rdi, None
    # A shuffle that was cut to nothing but zeros is equal.
    ginis = {test: np.nan_to_num(rows.ginis(of_test)) for test, of_test in profiles.items()}
    nrgc = _null(ginis, observed)
    of_rdi, of_nrgc = holm(np.array([rdi.p_value, nrgc.p_value])).tolist()
    return rdi.model_copy(update={"p_holm": of_rdi}), nrgc.model_copy(update={"p_holm": of_nrgc})


def _null(shuffled: Mapping[Test, FloatArray], observed: float) -> Null:
    """An index by the test with the larger p-value; by itself it needs no correction."""
    p_values = {
        test: (1 + int(np.count_nonzero(found >= observed - TIE))) / (1 + len(found))
        for test, found in shuffled.items()
    }
    test = max(p_values, key=lambda name: p_values[name])  # studentised, the first, where they are equal
    return Null(
        null_mean=float(shuffled[test].mean()),
        null_q95=float(np.quantile(shuffled[test], 0.95)),
        p_value=p_values[test],
        p_plain=p_values["plain"],
        p_studentised=p_values["studentised"],
        test=test,
        p_holm=p_values[test],
    )


def holm(p_values: FloatArray) -> FloatArray:
    """P-values that may be held against one level for all hypotheses together, ``(K,)``.

    >>> holm(np.array([0.01, 0.5, 0.02]))
    array([0.03, 0.5 , 0.04])
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShrunkenScores:
    """Estimates of the class scores that borrow from each other. For reading beside the raw ones, not for a verdict."""

    scores: FloatArray  # (K,)
    weights: FloatArray  # (K,), how much of each estimate is the class's own: 1 unshrunk, 0 the centre
    centre: float  # what classes are drawn towards
    spread: float  # standard deviation of the true class scores, as estimated


def shrunken_scores(scores: ArrayLike, stds: ArrayLike, counts: ArrayLike) -> ShrunkenScores:
    r"""Empirical-Bayes estimates in the normal-normal model with unequal variances.

    .. math:: \tilde\Omega_k = \mu + \frac{\tau^2}{\tau^2 + v_k} (\hat\Omega_k - \mu), \qquad v_k = s_k^2 / n_k

    True scores are taken to vary around :math:`\mu` with variance :math:`\tau^2`, estimates around these with
    :math:`v_k`. :math:`\mu` is the mean weighted by :math:`1/(\tau^2 + v_k)`, and :math:`\tau^2` the value at which the
    weighted squares add up to K - 1 (0 when they never do: no sign that classes differ). Variances are mixed with the
    common one, worth one sample, so that a class of equal scores is not taken to be known exactly.

    All are ``(K,)``; ``stds`` may be NaN where n = 1. Their mean squared error over classes is smaller than that of the
    raw scores when classes are alike; there is no guarantee for a single class. Efron and Morris, JASA 70 (1975); Paule
    and Mandel, J. Res. NBS 87 (1982) for the estimate of :math:`\tau`.

    >>> shrunken = shrunken_scores([0.1, 0.5, 0.9], [0.2, 0.2, 0.2], [4, 4, 400])
    >>> shrunken.scores.round(3), shrunken.weights.round(2)
    (array([0.125, 0.501, 0.9  ]), array([0.94, 0.94, 1.  ]))
    """
    raw, n = np.asarray(scores, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    if raw.ndim != 1 or raw.shape != n.shape or raw.size < 2 or not (n >= 1).all():
        raise SamplesError(f"scores of shape {raw.shape} with counts of shape {n.shape}: give two classes or more.")
    squares = np.where(n > 1, np.asarray(stds, dtype=np.float64) ** 2 * (n - 1), 0.0)
    common = float(squares.sum() / max(1.0, (n - 1).sum()))
    noise = (squares + common) / n / n  # (squares + common) / n is the mixed variance

    def centre_of(spread: FloatArray) -> tuple[float, FloatArray]:
        precisions = 1.0 / (spread**2 + noise)
        return float(np.average(raw, weights=precisions)), precisions

    def too_small(spread: FloatArray) -> BoolArray:
        centre, precisions = centre_of(spread)
        return np.asarray(np.dot(precisions, (raw - centre) ** 2) > len(raw) - 1)

    if not noise.any():  # nothing varies within any class, so nothing is known to be noise
        return ShrunkenScores(
            scores=raw, weights=np.ones_like(raw), centre=float(raw.mean()), spread=float(raw.std(ddof=1))
        )
    spread = last_excluded(
        too_small, np.asarray(0.0), np.asarray(2.0 * (raw.max() - raw.min())), halvings=SPREAD_HALVINGS
    )
    centre, _ = centre_of(spread)
    weights = spread**2 / (spread**2 + noise)
    return ShrunkenScores(
        scores=centre + weights * (raw - centre), weights=weights, centre=centre, spread=float(spread)
    )
