r"""The worst and the best class: which may be the worst, and how far apart both can be, without a correction for K.

Whatever is said about the worst class can be wrong only through one class, the one that is the worst. So a class is
ruled out as the worst by evidence at the whole level, however many candidates there are; and the RDI is bounded by the
evidence about two classes.
"""

import math

import numpy as np

from gfscore.arrays import BoolArray, FloatArray
from gfscore.bounds.betting import CLIP, PRIOR_MEAN, PRIOR_VARIANCE, SLACK, capitals
from gfscore.bounds.box import Interval
from gfscore.bounds.class_means import PartScores, check_level

STAGES = 64  # after each of which rivals are weighed anew
SHARPNESS = 4.0  # standard errors by which a rival is lower count as much, in the exponent of its weight
PLACES = 64  # tried between the ends of the lowest class, and between those of the highest
STAKED_FOR = 0.75  # of the logarithm of the level: two classes alike win half of it each, one beside a sure one all
HELD_BACK = 0.05  # of the capital: who bets on the wrong side keeps it
SMALLEST_SPREAD = 0.01  # of scores in [0, 1], for the weights of rivals


def may_be_worst(parts: PartScores, alpha: float, failure_rate: float = 0.0) -> BoolArray:
    r"""Which parts cannot be ruled out as the one with the lowest mean, ``(K,)``.

    The samples of each part are dealt to rounds, at most one to each, in their random order. In round r somebody who
    doubts that part k is the worst bets on its score against an average of those of all parts,

    .. math:: C_k = \prod_r \big(1 + \lambda_{k,r}\,(x_{k,r} - z_r)\big), \qquad
              z_r = \sum_j w_{j,r}\,x_{j,r} \Big/ \sum_j w_{j,r},

    over the rounds in which k has a sample; the sums are over the parts that have one. The weights w, and the stakes
    from 0 to 0.9, are decided by earlier rounds: parts that have been low so far weigh more. Part k is ruled out when
    its capital reaches 1/alpha at the end of one of 64 stages.

    **Theorem.** The part with the lowest mean (the first of several) is ruled out with probability at most alpha.

    *Proof.* Let k be that part. Given all rounds before, the scores of round r are fresh draws, and the expectation of
    z is an average of means, none of which is below that of k: so :math:`E[x_{k,r} - z_r] \le 0`. Both lie in [0, 1],
    so that each factor is at least 0.1 and has an expectation of at most 1. Thus :math:`C_k` is a non-negative
    supermartingale that starts at 1, and by Ville's inequality ever reaches 1/alpha with probability at most alpha.
    Other parts may be ruled out as they like. QED

    Drawing without replacement from a fixed set of N samples, x is replaced by
    :math:`y_i = \big(\sum_{j<i} x_j + (N - i + 1)\,x_i\big)/N`, whose expectation given the draws before is the mean of
    the set. With ``failure_rate`` a, the mean may be up to a below that of the scores: k is bet to be higher than z by
    more than a, with stakes up to 0.9/(1 + a).

    >>> rng = np.random.default_rng(0)
    >>> codes = np.repeat(np.arange(4), 200)
    >>> parts = PartScores.of(rng.random(800) * np.array([0.5, 0.55, 0.9, 1.0])[codes], codes, 4, maximum=1.0)
    >>> may_be_worst(parts, 0.005)
    array([ True,  True, False, False])
    """
    check_level(alpha)
    k, counts = len(parts.counts), parts.counts
    n_rounds, log_level = int(counts.max()), math.log(1.0 / alpha)
    rounds = ((parts.positions + 0.5) * parts.spread(n_rounds / counts)).astype(np.int64)
    order = np.argsort(rounds, kind="stable")
    rounds, codes, values = rounds[order], parts.spread(np.arange(k))[order], _unbiased(parts)[order]
    edges = np.unique(np.ceil(n_rounds * np.linspace(0.0, 1.0, STAGES + 1)).astype(np.int64))
    cuts = np.searchsorted(rounds, edges)

    seen, sums, squares = np.ones(k), np.full(k, PRIOR_MEAN), np.full(k, PRIOR_VARIANCE)
    moved = np.full(k, PRIOR_VARIANCE)  # squares of the differences that were bet on
    capital, largest = np.zeros(k), np.zeros(k)
    for start, stop, first, last in zip(cuts, cuts[1:], edges, edges[1:], strict=False):
        place, code, x = rounds[start:stop] - first, codes[start:stop], values[start:stop]
        means, spread = sums / seen, max(math.sqrt(squares.sum() / seen.sum()), SMALLEST_SPREAD)
        weights = np.exp(-SHARPNESS * np.minimum((means - means.min()) * np.sqrt(seen) / spread, 100.0))
        totals = [
            np.bincount(place, weights=each, minlength=last - first) for each in (weights[code] * x, weights[code])
        ]
        gaps = x - (totals[0] / np.maximum(totals[1], np.finfo(float).tiny))[place] - failure_rate
        stakes = np.minimum(np.sqrt(2.0 * log_level * seen / (counts * moved)), CLIP / (1.0 + failure_rate))
        capital += np.bincount(code, weights=np.log1p(stakes[code] * gaps), minlength=k)
        largest = np.maximum(largest, capital)
        for into, what in ((moved, gaps**2), (squares, (x - means[code]) ** 2), (sums, x), (seen, np.ones_like(x))):
            into += np.bincount(code, weights=what, minlength=k)
    return np.asarray(largest < log_level + SLACK)


def _unbiased(parts: PartScores) -> FloatArray:
    """Numbers in [0, 1] whose expectation, given earlier draws of the part, is its mean: often the scores."""
    if parts.sizes is None:
        return parts.values
    before = parts.running(parts.values) - parts.values
    whole = parts.spread(parts.sizes)
    return np.asarray(np.clip((before + (whole - parts.positions) * parts.values) / whole, 0.0, 1.0))


def rdi_upper(parts: PartScores, alpha: float, lowest: Interval, highest: Interval) -> float:
    r"""Upper end of the highest minus the lowest mean; it fails with probability at most ``alpha``.

    ``lowest`` and ``highest`` are intervals of both means that hold otherwise, to look in.

    With :math:`C^+_j(m)`, the largest that the capital of bets against "the mean of j is at most m" ever was, and
    :math:`C^-_k(M)`, the capital against "the mean of k is at least M" after all samples, a twentieth of which is held
    back from the bets, each pair (m, M) is excluded for which

    .. math:: \min_j C^+_j(m) \cdot \min_k C^-_k(M) \ge 1/\alpha,

    and what is left of M - m is the upper end.

    **Theorem.** The true lowest and highest mean are excluded with probability at most alpha.

    *Proof.* Let m be the mean of j, the lowest, and M that of k, the highest; if all are equal, take two different
    classes. Their samples are independent. Read first those of k, then those of j, and bet the capital that the former
    left on the latter: that is one non-negative supermartingale that starts at 1, and the product is no more than its
    largest value. By Ville's inequality that reaches 1/alpha with probability at most alpha, and the minima only make
    the product smaller. QED

    No K appears, as for the lower end of the worst class; and one product at level alpha is narrower than two bounds at
    half of it, because chance has to move both classes at once. Capitals grow with M and fall with m, so between places
    that were tried the smaller of both neighbours' counts.

    >>> rng = np.random.default_rng(0)
    >>> parts = PartScores.of(rng.random(2000) * np.repeat([0.2, 1.0], 1000), np.repeat([0, 1], 1000), 2, maximum=1.0)
    >>> round(rdi_upper(parts, 0.01, (0.0, 0.2), (0.4, 0.6)), 2)
    0.41
    """
    check_level(alpha)
    log_level = math.log(1.0 / alpha)
    low, high = (np.linspace(*ends, PLACES) for ends in (lowest, highest))
    stake_level = math.exp(-STAKED_FOR * log_level)
    above = capitals(parts, low, stake_level, final=False).min(axis=1)
    staked = capitals(parts.mirror(), 1.0 - high, stake_level, final=True).min(axis=1)
    below = np.logaddexp(staked + math.log1p(-HELD_BACK), math.log(HELD_BACK))
    left = above[1:, None] + below[None, :-1] < log_level + SLACK  # a cell each
    if not left.any():
        return float(max(highest[0] - lowest[1], 0.0))
    return float((high[None, 1:] - low[:-1, None])[left].max())
