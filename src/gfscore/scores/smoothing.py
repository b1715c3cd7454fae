"""Randomized smoothing: from votes under Gaussian noise to certified L2 radii, or abstention."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri

from gfscore.errors import OptionError, SamplesError
from gfscore.results import Flag
from gfscore.samples import FloatArray, IntArray, Samples
from gfscore.scores.local import LocalScores

DEFAULT_SIGMA, DEFAULT_N0, DEFAULT_N, DEFAULT_ALPHA = 0.25, 100, 1000, 0.001
SATURATED_SHARE = 0.1  # of the samples at the largest radius: then more noise samples would certify visibly more


def premise(sigma: float, alpha: float) -> str:
    """What the radii are about, and how often one may be wrong."""
    return (
        f"L2 radii in [0, 1] pixels of the smoothed classifier, which answers with the class that the network gives "
        f"most often under Gaussian noise of sigma {sigma:g}: not of the network itself. Each radius is too large with "
        f"probability at most {alpha:g}; lower ends account for it."
    )


def vote_shares(votes: ArrayLike, n: int, alpha: float) -> FloatArray:
    r"""Lower bound of the probability of a class that got ``votes`` of ``n``; it fails with probability ``alpha``.

    .. math:: \underline{p} = B^{-1}(\alpha;\; v,\; n - v + 1)

    the quantile of a Beta distribution, 0 for v = 0: one side of Clopper and Pearson, Biometrika 26 (1934).

    >>> vote_shares([0, 990, 1000], 1000, 0.001).round(4)
    array([0.    , 0.976 , 0.9931])
    """
    counted = np.asarray(votes, dtype=np.float64)
    if not ((counted >= 0) & (counted <= n)).all():
        raise SamplesError(f"votes must be between 0 and n = {n}.")
    bounds = betaincinv(np.maximum(counted, 1.0), n - counted + 1.0, alpha)
    return np.asarray(np.where(counted > 0, bounds, 0.0))


def certified_radii(votes: ArrayLike, n: int, *, sigma: float, alpha: float) -> tuple[FloatArray, NDArray[np.bool_]]:
    r"""Radius within which the smoothed classifier keeps its class, ``(N,)``, and where it abstains, ``(N,)``.

    .. math:: R = \sigma\,\Phi^{-1}(\underline{p}), \qquad \text{abstain when } \underline{p} \le \tfrac12

    ``votes`` of the class that was chosen *without* looking at these n noise samples. A radius is larger than the
    truth with probability at most ``alpha``, for each sample. Cohen, Rosenfeld and Kolter, ICML 2019, Theorem 1 and
    Proposition 2.

    >>> radii, abstained = certified_radii([1000, 990, 520], 1000, sigma=0.25, alpha=0.001)
    >>> radii.round(3), abstained
    (array([0.616, 0.495, 0.   ]), array([False, False,  True]))
    """
    shares = vote_shares(votes, n, alpha)
    abstained = shares <= 0.5
    return np.where(abstained, 0.0, sigma * ndtri(np.maximum(shares, 0.5))), abstained


def largest_radius(sigma: float, n: int, alpha: float) -> float:
    r"""What n equal votes certify: no radius is larger.

    .. math:: R_{\max} = \sigma\,\Phi^{-1}(\alpha^{1/n})

    >>> round(largest_radius(0.25, 1000, 0.001), 3)
    0.616
    """
    check_noise(sigma, n, alpha)
    return float(certified_radii(n, n, sigma=sigma, alpha=alpha)[0])


def check_noise(sigma: float, n: int, alpha: float, n0: int = 1) -> None:
    """Refuse settings that mean nothing, or that can certify nothing."""
    if not (math.isfinite(sigma) and sigma > 0):
        raise OptionError(f"sigma {sigma:g} is not a positive number. 0.25 is a quarter of the range of a pixel.")
    if not 0 < alpha < 0.5:
        raise OptionError(f"alpha {alpha:g} is not between 0 and 0.5. 0.001 makes one radius in a thousand too large.")
    if n0 < 1:
        raise OptionError(f"n0 is {n0}; choosing the class takes at least 1 noise sample. 100 is usual.")
    needed = math.floor(math.log2(1 / alpha)) + 1  # alpha ** (1 / n) > 1/2
    if n < needed:
        raise OptionError(
            f"n = {n} noise samples certify nothing at alpha {alpha:g}, however they vote. Give at least {needed}; "
            "1000 or more are usual."
        )


def smoothing_scores(
    samples: Samples,
    chosen: ArrayLike,
    votes: ArrayLike,
    *,
    sigma: float = DEFAULT_SIGMA,
    n0: int = DEFAULT_N0,
    n: int = DEFAULT_N,
    alpha: float = DEFAULT_ALPHA,
    seed: int | None = None,
) -> LocalScores:
    """Certified radius of each sample for its true class; 0 where another class was chosen or none could be.

    ``chosen`` is the class that ``n0`` noise samples gave most often, and ``votes`` how many of ``n`` others gave it,
    ``(N,)`` each, as :func:`gfscore.engines.smoothing.noise_votes` counts them.

    >>> samples = Samples.of([[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [0, 1, 0])
    >>> local = smoothing_scores(samples, [0, 1, 1], [1000, 520, 1000])
    >>> local.values.round(3), local.abstained
    (array([0.616, 0.   , 0.   ]), array([False,  True, False]))
    """
    check_noise(sigma, n, alpha, n0)
    predicted: IntArray = np.asarray(chosen, dtype=np.int64)
    if predicted.shape != samples.labels.shape or np.shape(votes) != predicted.shape:
        raise SamplesError(f"votes of shape {np.shape(votes)} for {samples.n_samples} samples. Give one per sample.")
    radii, abstained = certified_radii(votes, n, sigma=sigma, alpha=alpha)
    values = np.where(predicted == samples.labels, radii, 0.0)
    maximum = largest_radius(sigma, n, alpha)
    return LocalScores(
        name="smoothing",
        values=values,
        maximum=maximum,
        predicted=predicted,
        premise=premise(sigma, alpha),
        certified=True,
        norm="l2",
        settings={"sigma": sigma, "n0": n0, "n": n, "alpha": alpha, "noise_seed": seed},
        flags=_flags(abstained, values == maximum, n),
        abstained=abstained,
        failure_rate=alpha,
    )


def _flags(abstained: NDArray[np.bool_], full: NDArray[np.bool_], n: int) -> tuple[Flag, ...]:
    found = []
    if abstained.any():
        found.append(
            Flag(
                code="abstained",
                message=f"the smoothed classifier abstained on {abstained.sum():,} of {abstained.size:,} samples: no "
                "class has a majority that n noise samples can prove. They count as radius 0 and as not correct.",
            )
        )
    if full.mean() > SATURATED_SHARE:
        found.append(
            Flag(
                code="largest_radius",
                message=f"{100 * full.mean():.1f} % of the samples have the largest radius that n = {n:,} noise "
                "samples can certify: their true radius may be larger. Raise --n.",
            )
        )
    return tuple(found)
