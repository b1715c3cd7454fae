"""Randomized smoothing: from votes under Gaussian noise to certified L2 radii, or abstention."""

import math
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.errors import OptionError, SamplesError
from gfscore.results import Flag
from gfscore.samples import Samples
from gfscore.scores.sample_scores import LocalScores

PREMISE = (
    "L2 radii in [0, 1] pixels of the smoothed classifier, which answers with the class that the network gives most "
    "often under Gaussian noise of sigma {sigma:g}: not of the network itself. Each radius is too large with "
    "probability at most {alpha:g}; lower ends account for it."
)
DEFAULT_ALPHA = 0.001
SATURATED_SHARE = 0.1  # of the samples at the largest radius: then more noise samples would certify visibly more


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The noise that smooths a classifier, and how often it is drawn for each sample."""

    sigma: float = 0.25  # standard deviation, in [0, 1] pixels
    n0: int = 100  # noise samples that choose the class
    n: int = 1000  # others, that are counted
    seed: int = 0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.sigma) and self.sigma > 0):
            raise OptionError(f"sigma {self.sigma:g} is not a positive number. 0.25 is a quarter of a pixel's range.")
        if self.n0 < 1 or self.n < 1:
            raise OptionError(f"n0 is {self.n0} and n is {self.n}; both must be at least 1. 100 and 1000 are usual.")
        if self.seed < 0:
            raise OptionError(f"seed {self.seed} is negative. Give 0 or more.")


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


def certified_radii(votes: ArrayLike, n: int, *, sigma: float, alpha: float) -> tuple[FloatArray, BoolArray]:
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


def largest_radius(noise: Noise, alpha: float) -> float:
    r"""What n equal votes certify: no radius is larger.

    .. math:: R_{\max} = \sigma\,\Phi^{-1}(\alpha^{1/n})

    >>> round(largest_radius(Noise(sigma=0.25, n=1000), 0.001), 3)
    0.616
    """
    if not 0 < alpha < 0.5:
        raise OptionError(f"alpha {alpha:g} is not between 0 and 0.5. 0.001 makes one radius in a thousand too large.")
    needed = math.floor(math.log2(1 / alpha)) + 1  # alpha ** (1 / n) > 1/2
    if noise.n < needed:
        raise OptionError(
            f"n = {noise.n} noise samples certify nothing at alpha {alpha:g}, however they vote. Give at least "
            f"{needed}; 1000 or more are usual."
        )
    return float(certified_radii(noise.n, noise.n, sigma=noise.sigma, alpha=alpha)[0])


def smoothing_scores(
    samples: Samples, votes: ArrayLike, *, noise: Noise | None = None, alpha: float = DEFAULT_ALPHA
) -> LocalScores:
    """Certified radius of each sample for its true class; 0 where another class was chosen or none could be.

    ``votes`` is ``(N, 2)``, as :func:`gfscore.measures.votes.noise_votes` counts them: the class that ``n0`` noise
    samples gave most often, and how many of ``n`` others gave it.

    >>> samples = Samples.of([[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [0, 1, 0])
    >>> local = smoothing_scores(samples, [[0, 1000], [1, 520], [1, 1000]])
    >>> local.values.round(3), local.abstained
    (array([0.616, 0.   , 0.   ]), array([False,  True, False]))
    """
    noise = noise or Noise()
    maximum = largest_radius(noise, alpha)
    counted: IntArray = np.asarray(votes, dtype=np.int64)
    if counted.shape != (samples.n_samples, 2):
        raise SamplesError(f"votes have shape {counted.shape} for {samples.n_samples} samples. Give (samples, 2).")
    predicted = counted[:, 0]
    radii, abstained = certified_radii(counted[:, 1], noise.n, sigma=noise.sigma, alpha=alpha)
    values = np.where(predicted == samples.labels, radii, 0.0)
    return LocalScores(
        name="smoothing",
        values=values,
        maximum=maximum,
        predicted=predicted,
        premise=PREMISE.format(sigma=noise.sigma, alpha=alpha),
        certified=True,
        norm="l2",
        settings={**asdict(noise), "alpha": alpha},
        flags=_flags(abstained, values == maximum, noise.n),
        abstained=abstained,
        failure_rate=alpha,
    )


def _flags(abstained: BoolArray, full: BoolArray, n: int) -> tuple[Flag, ...]:
    found = []
    if abstained.any():
        message = (
            f"the smoothed classifier abstained on {abstained.sum():,} of {abstained.size:,} samples: no class has a "
            "majority that n noise samples can prove. They count as radius 0 and as not correct."
        )
        found.append(Flag(code="abstained", message=message))
    if full.mean() > SATURATED_SHARE:
        message = (
            f"{100 * full.mean():.1f} % of the samples have the largest radius that n = {n:,} noise samples can "
            "certify: their true radius may be larger. Raise --n."
        )
        found.append(Flag(code="largest_radius", message=message))
    return tuple(found)
