"""The betting interval that may be looked at while data come in: it holds at every moment, in any order of merging.

A mixture of fixed stakes instead of stakes that learn. Its capital depends on how often each score came, not on when;
and whenever one looks, and whatever made one look, it is large only with small probability. The price is an interval
wider than one that knows in advance how many samples there will be.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from gfscore.arrays import FloatArray
from gfscore.bounds.betting import SLACK, TINY
from gfscore.bounds.parts import check_level
from gfscore.bounds.search import last_excluded
from gfscore.bounds.table import REST_SHARE, ScoreTable
from gfscore.score_grid import WIDEST

STAKES = 16.0 * 0.5 ** np.arange(17.0)  # lambda: the best ones from 5 samples of any spread to 10^8 of the largest
CLIP = 0.95  # the share of the capital that one score can lose at most
TUNED_TO = 1000.0  # samples for which the bound of the rests is narrowest


def mixture_lower(table: ScoreTable, alpha: float) -> FloatArray:
    r"""Lower bound of each part's mean, ``(K,)`` in [0, 1], after any number of its samples.

    For each part, the bounds after 1, 2, 3, ... samples *all* hold with probability at least 1 - ``alpha``:

    .. math:: \sup\Big\{m :\; \frac{1}{J} \sum_j \prod_i \big(1 + \min\{\lambda_j, \tfrac{c}{m}\} (a_i - m)\big)
              \ge \frac{1}{0.98\,\alpha}\Big\} + \max\{\bar r - \rho_n,\; 0\}

    Why it holds. The floors :math:`a_i` of the scores on the grid are in [0, 1]. At an m at or above their expectation
    each product is a non-negative supermartingale that starts at 1: its stake is fixed, and c < 1 keeps it positive. An
    average of such processes is one as well. By Ville's inequality it reaches 1/alpha *ever* with probability at most
    alpha; so a look at any time, even one chosen by what was seen, errs no more often. Other classes' samples in
    between change nothing: given the past, the next sample of this class is a fresh draw. The product falls as m grows,
    so the excluded m are those below one point. It depends on counts only, so pieces may be merged in any order (one
    looks at what has been merged).

    The mean rest :math:`\bar r`, of numbers in [0, w], is w/2-sub-Gaussian, and its bound
    :math:`\rho_n = \frac{w}{2n} \sqrt{(n + \tau) \ln\big((n + \tau) / (\tau \epsilon^2)\big)}` holds for all n at once
    with probability 1 - epsilon (a normal mixture; Robbins, Ann. Math. Statist. 41, 1970). Here epsilon is 0.02 alpha.

    Howard, Ramdas, McAuliffe and Sekhon, Ann. Statist. 49 (2021); Waudby-Smith and Ramdas, JRSS-B 86 (2024).
    """
    check_level(alpha)
    table = table.undealt()
    log_level = math.log(1.0 / ((1.0 - REST_SHARE) * alpha)) + math.log(len(STAKES)) + SLACK

    n = table.counts + TUNED_TO
    spread = np.sqrt(n * (np.log(n / TUNED_TO) - 2.0 * math.log(REST_SHARE * alpha)))
    radius = WIDEST / 2.0 * spread / table.counts
    rest, _ = table.rests
    return np.asarray(
        table.map_parts(lambda chunk: _floors_lower(chunk, log_level)) + np.maximum(rest - radius - SLACK * WIDEST, 0.0)
    )


def _floors_lower(table: ScoreTable, log_level: float) -> FloatArray:
    def excluded(mean: FloatArray) -> NDArray[np.bool_]:
        bets = np.minimum(STAKES[:, None], CLIP / np.maximum(mean, TINY))  # (J, K)
        gains = table.weights * np.log1p(table.spread(bets) * (table.floors - table.spread(mean)))
        return np.asarray(logsumexp(table.sums(gains), axis=0) >= log_level)

    return last_excluded(excluded, np.zeros(len(table.counts)), table.floor_means)
