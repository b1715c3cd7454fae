"""Shares: of how many samples something is true, per class and in the whole, all at one level.

The whole may be made of parts that were not looked at in proportion, as when equally many of each class are tried.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.bounds.box import Ends
from gfscore.bounds.class_means import PartScores, check_level, effective_counts, kl_lower, known_range, sum_radius
from gfscore.errors import SamplesError


def clopper_pearson(successes: ArrayLike, counts: ArrayLike, delta: float) -> tuple[FloatArray, FloatArray]:
    r"""Lower and upper ends of all K shares at once, ``(K,)`` each, with probability at least 1 - ``delta``.

    .. math:: [B^{-1}(\alpha;\, s,\, n - s + 1),\; B^{-1}(1 - \alpha;\, s + 1,\, n - s)],
              \qquad \alpha = \delta / (2K)

    with :math:`B^{-1}` the quantile function of the Beta distribution, 0 for s = 0 below and 1 for s = n above.
    ``successes`` s and ``counts`` n are ``(K,)`` or numbers. Clopper and Pearson, Biometrika 26 (1934).

    >>> clopper_pearson(0, 100, 0.05)[1].round(4)
    np.float64(0.0362)
    """
    check_level(delta)
    happened, n = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(counts, dtype=np.float64))
    if not ((happened >= 0) & (happened <= n) & (n >= 1)).all():
        raise SamplesError("a share needs at least one sample, and no more successes than samples.")
    alpha = delta / (2 * max(n.size, 1))
    # At the ends the quantile is not defined; any parameter serves where the value is replaced.
    lower = np.where(happened > 0, betaincinv(np.maximum(happened, 1.0), n - happened + 1.0, alpha), 0.0)
    upper = np.where(happened < n, betaincinv(happened + 1.0, np.maximum(n - happened, 1.0), 1.0 - alpha), 1.0)
    return lower[()], upper[()]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Strata:
    r"""Parts of which something is true of some samples, and the whole that they make: :math:`\sum_k w_k \hat r_k`.

    The arrays are ``(K,)``. With ``sizes`` it is all about a fixed set of that many samples per part, of which those
    looked at are a random choice; else about the distributions behind the parts.

    >>> strata = Strata.of([0, 50], [50, 50], totals=[950, 50])
    >>> strata.whole, [round(float(end), 3) for end in strata.whole_ends(0.025)]
    (0.05, [0.005, 0.179])
    """

    times: FloatArray  # of how many of the samples looked at it is true
    counts: IntArray  # samples looked at, all positive
    totals: IntArray  # what each part weighs by
    sizes: IntArray | None = None

    @classmethod
    def of(
        cls, times: ArrayLike, counts: ArrayLike, *, totals: ArrayLike | None = None, sizes: ArrayLike | None = None
    ) -> Self:
        """Parts that weigh as much as ``totals`` say, or else ``sizes``, or else as much as was looked at."""
        looked = np.asarray(counts, dtype=np.int64)
        weighing = next(given for given in (totals, sizes, looked) if given is not None)
        return cls(
            times=np.asarray(times, dtype=np.float64),
            counts=looked,
            totals=np.asarray(weighing, dtype=np.int64),
            sizes=None if sizes is None else np.asarray(sizes, dtype=np.int64),
        )

    @property
    def shares(self) -> FloatArray:
        """Share of each part."""
        return np.asarray(self.times / self.counts)

    @property
    def proportional(self) -> bool:
        """Whether every part was looked at in proportion to its weight."""
        return bool((self.counts * self.totals.sum() == self.totals * self.counts.sum()).all())

    @property
    def whole(self) -> float:
        """Share of the whole."""
        if self.proportional:
            return float(self.times.sum() / self.counts.sum())
        return float(np.dot(self.totals, self.shares) / self.totals.sum())

    def part_ends(self, alpha: float) -> Ends:
        """Lower and upper ends of each part; each end fails with probability at most ``alpha``.

        Clopper and Pearson's for distributions, KL for a fixed set.
        """
        if self.sizes is None:
            return clopper_pearson(self.times, self.counts, 2 * alpha * len(self.counts))
        lower, others = (kl_lower(each.shares, self.counts, alpha, sizes=self.sizes) for each in self._sides)
        return lower, 1.0 - others

    def whole_ends(self, alpha: float) -> tuple[float, float]:
        """Lower and upper end of the whole; each fails with probability at most ``alpha``.

        Clopper and Pearson's where parts of distributions were looked at in proportion (that the numbers per part are
        fixed makes the sum less spread than a binomial: see :func:`~gfscore.bounds.share_intervals`); else the best of
        three bounds. Two are :func:`stratified_lower` and Hoeffding's for one weighted sum. Both exclude a share when
        the estimate exceeds a number that follows from that share, so the smaller of the two numbers may be taken: the
        chance is that of one of them. Drawing without replacement makes no convex function of the sum of a part larger
        on average (Hoeffding 1963, Theorem 4), so the first holds as it is for a fixed set, and the second is sharper
        there (:func:`~gfscore.bounds.class_means.effective_counts`). The third is certain: what was looked at is known.
        """
        if self.sizes is None and self.proportional:
            lower, upper = clopper_pearson(self.times.sum(), self.counts.sum(), 2 * alpha)
            return float(lower), float(upper)
        low, others = (each._whole_lower(alpha) for each in self._sides)
        return low, 1.0 - others

    @property
    def _sides(self) -> tuple[Self, Self]:
        """These shares, and those of what is not true."""
        return self, replace(self, times=self.counts - self.times)

    def _whole_lower(self, alpha: float) -> float:
        n, weights, whole = int(self.counts.sum()), self.totals / self.totals.sum(), self.whole
        ratio = float((weights * n / self.counts).max())
        radius = sum_radius(weights**2, 1.0 / effective_counts(self.counts, self.sizes), alpha)
        known = float(np.dot(weights, known_range(self.shares, self.counts, self.sizes)[0]))
        return min(max(stratified_lower(whole, n, ratio, alpha), whole - radius, known), whole)

    def all_ends(self, delta: float) -> Ends:
        """Ends of each part and last of the whole, ``(K + 1,)``, that hold together with probability 1 - ``delta``.

        The whole is cut to what the parts allow, which costs nothing when all hold together.
        """
        alpha = delta / (2 * (len(self.counts) + 1))
        box, (low, high) = self.part_ends(alpha), self.whole_ends(alpha)
        if self.sizes is not None or not self.proportional:
            weights = self.totals / self.totals.sum()
            low, high = max(low, float(np.dot(weights, box[0]))), min(high, float(np.dot(weights, box[1])))
        whole = self.whole  # rounding aside it lies between them
        return np.append(box[0], min(low, whole)), np.append(box[1], max(high, whole))


def share_intervals(
    counted: BoolArray,
    codes: IntArray,
    n_parts: int,
    *,
    delta: float,
    totals: ArrayLike | None = None,
    sizes: ArrayLike | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Share, lower and upper end of each part with samples, and last of the whole: ``(K + 1,)`` each.

    ``counted`` says of which samples it is true and ``codes`` to which part each belongs, ``(N,)``. All intervals hold
    together with probability 1 - ``delta``. In the whole each part with samples weighs as much as ``totals`` ``(K,)``
    say: as much as was looked at, unless given. For draws from a distribution in proportion they are Clopper-Pearson's.
    In the whole, the numbers per class are fixed, so successes have unequal chances; s or more of them are then no more
    likely than of a binomial with the mean chance p, if s is at least np + 1 (Hoeffding, "On the distribution of the
    number of successes in independent trials", Annals of Mathematical Statistics 27, 1956). At the levels in use every
    s at which an end fails is, but for s = 1: with all of the chance in one sample, the end fails with probability
    alpha (1 + alpha / 2) instead of alpha, which is next to nothing. For other draws, and for a fixed set of ``sizes``
    ``(n_parts,)`` per part, of which a random part was looked at, see :class:`Strata`.

    >>> share, lower, upper = share_intervals(np.arange(8) < 5, np.repeat([0, 1], 4), 2, delta=0.05)
    >>> share, lower.round(2), upper.round(2)
    (array([1.   , 0.25 , 0.625]), array([0.3 , 0.  , 0.19]), array([1.  , 0.87, 0.94]))
    """
    parts = PartScores.of(counted, codes, n_parts, maximum=1.0, sizes=sizes)
    strata = Strata.of(np.rint(parts.sums(parts.values)), parts.counts, totals=totals, sizes=parts.sizes)
    return np.append(strata.shares, strata.whole), *strata.all_ends(delta)


def stratified_intervals(
    counted: BoolArray, codes: IntArray, totals: ArrayLike, *, delta: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""Share, lower and upper end of each part with samples, and last of the whole: ``(K + 1,)`` each.

    .. math:: \hat\theta = \sum_k w_k \hat r_k, \qquad w_k = N_k / N

    ``counted`` says of which of the samples looked at it is true and ``codes`` to which part each belongs, ``(m,)``;
    ``totals`` are the samples N of each part that the whole is about, looked at or not: the weights are taken as they
    are, and those looked at must be a random choice within their part. All intervals hold together with probability
    1 - ``delta``: :class:`Strata` says which they are. Of a part that has samples nothing is known until one is looked
    at: that is an error, not a share of 0.

    >>> counted, codes = np.arange(100) >= 50, np.repeat([0, 1], 50)  # all of the rare part, none of the common one
    >>> [ends.round(3).tolist()[-1] for ends in stratified_intervals(counted, codes, [950, 50], delta=0.05)]
    [0.05, 0.045, 0.137]
    """
    sizes = np.asarray(totals, dtype=np.int64)
    tried = np.bincount(codes, minlength=len(sizes))
    if len(tried) != len(sizes) or (tried > sizes).any() or (tried[sizes > 0] == 0).any() or not sizes.any():
        raise SamplesError(
            "of every part that has samples, at least one must be looked at, and no more than there are."
        )
    present = np.flatnonzero(sizes)
    times = np.bincount(codes, weights=counted, minlength=len(tried))[present]
    strata = Strata.of(times, tried[present], totals=sizes[present])
    return np.append(strata.shares, strata.whole), *strata.all_ends(delta)


def stratified_lower(share: float, n: int, ratio: float, alpha: float) -> float:
    r"""Lower bound of a weighted share; it fails with probability at most ``alpha``.

    .. math:: \max\{B\,\mathrm{kl}^-(\hat\theta / B),\; 1 - B\,\mathrm{kl}^+((1 - \hat\theta) / B)\}, \qquad
              B = \max_k w_k m / m_k

    with :math:`\mathrm{kl}^\pm` the ends of the KL interval of a mean of ``n`` = m samples (:func:`kl_lower`), m_k
    of which belong to part k, and B the ``ratio``. A sample of part k that counts enters as
    :math:`w_k m / (m_k B) \le 1`, the others as 0: independent numbers in [0, 1], not alike, with mean
    :math:`\theta / B`, and that is all that Chernoff's bound asks for (Hoeffding, JASA 58, 1963, Theorem 1). It holds
    as well for the samples that do not count, with mean :math:`(1 - \theta) / B`. Both bound the probability of one
    event, that the estimate is too high by so much; so the better one may be taken. The first is better for small
    shares, the second for large ones, and both are the KL bound where B = 1.

    >>> round(stratified_lower(0.05, 100, 1.9, 0.025), 4), round(stratified_lower(0.95, 100, 1.9, 0.025), 4)
    (0.0051, 0.8208)
    """
    scaled = np.array([share / ratio, 1.0 - (1.0 - share) / ratio])
    first, second = kl_lower(scaled, np.array([n, n]), alpha)
    return float(max(ratio * first, 1.0 - ratio * (1.0 - second)))
