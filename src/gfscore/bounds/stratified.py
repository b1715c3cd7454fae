"""Shares of a whole whose parts were not looked at in proportion, as when equally many of each class are tried."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gfscore.bounds.binomial import clopper_pearson
from gfscore.bounds.kl import kl_lower
from gfscore.errors import SamplesError
from gfscore.samples import FloatArray, IntArray


def stratified_intervals(
    counted: NDArray[np.bool_], codes: IntArray, totals: ArrayLike, *, delta: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""Share, lower and upper end of each part with samples, and last of the whole: ``(K + 1,)`` each.

    .. math:: \hat\theta = \sum_k w_k \hat r_k, \qquad w_k = N_k / N

    ``counted`` says of which of the samples looked at it is true and ``codes`` to which part each belongs, ``(m,)``;
    ``totals`` are the samples N of each part that the whole is about, looked at or not: the weights are taken as they
    are, and those looked at must be a random choice within their part. All intervals hold together with probability
    1 - ``delta``. Those of the parts are Clopper and Pearson's, and so is that of the whole where every part was looked
    at in proportion; else it is that of :func:`stratified_lower` and its mirror image, cut to what the parts allow,
    which costs nothing when all hold together. Of a part that has samples nothing is known until one is looked at:
    that is an error, not a share of 0.

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
    sizes, counts = sizes[present], tried[present]
    times = np.bincount(codes, weights=counted, minlength=len(tried))[present]
    n, n_parts = counts.sum(), len(counts)
    if (counts * sizes.sum() == sizes * n).all():
        times, counts = np.append(times, times.sum()), np.append(counts, n)
        return times / counts, *clopper_pearson(times, counts, delta)
    shares, weights = times / counts, sizes / sizes.sum()
    whole = float(np.dot(sizes, shares) / sizes.sum())
    box = clopper_pearson(times, counts, delta * n_parts / (n_parts + 1))
    ratio, alpha = float((weights * n / counts).max()), delta / (2 * (n_parts + 1))
    low = max(stratified_lower(whole, n, ratio, alpha), float(np.dot(weights, box[0])))
    high = min(1.0 - stratified_lower(1.0 - whole, n, ratio, alpha), float(np.dot(weights, box[1])))
    lower, upper = np.append(box[0], min(low, whole)), np.append(box[1], max(high, whole))  # rounding aside
    return np.append(shares, whole), lower, upper


def stratified_lower(share: float, n: int, ratio: float, alpha: float) -> float:
    r"""Lower bound of a weighted share; it fails with probability at most ``alpha``.

    .. math:: \max\{B\,\mathrm{kl}^-(\hat\theta / B),\; 1 - B\,\mathrm{kl}^+((1 - \hat\theta) / B)\}, \qquad
              B = \max_k w_k m / m_k

    with :math:`\mathrm{kl}^\pm` the ends of the KL interval of a mean of ``n`` = m samples (:func:`~.kl.kl_lower`), m_k
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
