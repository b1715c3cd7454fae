r"""Accuracy under an attack of which most samples were spared: predictions for all, attacks on a few, valid intervals.

**What is bounded.** A part (a class, or the whole) has N samples. The outcome of a sample is :math:`y_i = 1` if it
withstands the attack, else 0; the target is the total :math:`T = \sum_i y_i`, and T / N is the accuracy under attack of
these very samples. Some outcomes are known from the start (wrongly classified samples, samples with a witness); of the
M others each has a prediction :math:`f_i \in [0, 1]`, made without the attack and worth nothing, perhaps.

**How samples are chosen.** One after the other and none twice: of the rest R the next one is i with probability
:math:`q_i = w_i / \sum_{j \in R} w_j` (:func:`attack_order`), for weights fixed before any outcome is seen.

**What each attack says.** With S the total known so far and any number p that earlier outcomes fix,

.. math:: Z = S + \sum_{i \in R} p f_i + \frac{y_I - p f_I}{q_I}, \qquad E[Z \mid \text{before}] = T,

for the expectation of the last term is :math:`\sum_R (y_i - p f_i)`. Predictions plus weighted corrections are thus
without bias whatever the predictions are worth; their worth only decides how far Z strays. p is the slope of outcomes
on predictions so far, shrunk towards 1 and kept in [0, 1]: worthless predictions lose their say (power tuning).

**Theorem.** Let :math:`L \le Z \le U` be what Z can be, known before each attack. For every candidate t somebody bets
on Z < t, a share :math:`\lambda(t) \in [0, c / (U - t)]` with c < 1, fixed by what was seen before:

.. math:: P\Big(\sup_n \prod_{k \le n} \big(1 + \lambda_k(T) (T - Z_k)\big) \ge \frac{1}{\alpha}\Big) \le \alpha.

So the t at which the capital ever reached :math:`1/\alpha` may be left out, at any time and for any reason to stop,
also one that looks at other parts; bets on Z > t do the same from below.

**Two who bet.** A quarter of the capital bets as if nothing had been predicted, 1/2 of everybody: the capital of both
together is a martingale too. Where predictions are worthless nobody does better than that quarter, and it is log 4 of
the log(1/alpha) behind; where they are good, the other three quarters are log(4/3) behind.

*Proof.* At t = T each factor is positive and has expectation 1 given the past, as Z has expectation T: the capital is a
non-negative martingale that starts at 1, and Ville's inequality is the claim. Nothing was used of the bets but that
they are fixed beforehand, of the predictions even less. Restricted to a part, the order of the whole is drawn by the
same rule with the same weights (independent exponential clocks), independently of the other parts; so the theorem holds
within each part under any choice of how many of each are attacked.

**Assumptions.** The order is drawn as said, by a random generator that knows no outcome; weights and predictions are
fixed before the first attack; the attack's outcome is one fixed number per sample (an attack with a seed). Where an
attack has luck in it that is drawn as it goes, outcomes may be thought of as drawn beforehand, if a sample's luck does
not depend on the order: T is then what comes out when the run is carried on to the last sample. No model of the data,
no calibration of radii, no large numbers.

**Population.** If the N samples are independent draws, the number T is binomial given the true accuracy; the ends of T
(at half the level) are carried on by those of Clopper and Pearson (at the other half).

Waudby-Smith and Ramdas, JRSS-B 86 (2024): betting; Shekhar, Xu, Lipton, Liang and Ramdas, "Risk-limiting financial
audits via weighted sampling without replacement", UAI 2023: weights and predictions; Angelopoulos, Bates, Fannjiang,
Jordan and Zrnic, Science 382 (2023): prediction-powered inference.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.bounds.shares import clopper_pearson
from gfscore.errors import OptionError, SamplesError

CLIP = 0.95  # the share of the capital that one outcome can lose at most
PRIOR_DRAWS = 8.0  # how many outcomes the beliefs below are worth: fewer, and worthless predictions lose much at first
PRIOR_SLOPE_DRAWS = 1.0  # how many outcomes "the predictions are right" is worth
PRIOR_WRONG = 0.06  # share of wrong predictions that is believed before the first outcome
SHARPNESS = 16  # of the weights: at a radius of 0.9 or 1.1 eps about a fifth of the extra weight is left
HEDGE = 0.25  # of the capital, for bets without predictions: what the worthless then cost is little, and known
COIN = 0.25  # variance of an outcome of which nothing is known
TINY = 1e-12
SLACK = 1e-9  # on the logarithm of the capital, far above its rounding


def attack_order(weights: ArrayLike, *, seed: int = 0) -> IntArray:
    r"""The order in which samples are attacked, ``(N,)``: each next one in proportion to the weights of the rest.

    Sample i has a clock that rings after a time with the exponential distribution of rate :math:`w_i`; the order is
    that of the clocks. Within a class the order is of the same kind.

    >>> attack_order([1.0, 1.0, 1.0, 1.0], seed=0)
    array([3, 2, 0, 1])
    """
    rates = _checked_weights(weights)
    return np.argsort(np.random.default_rng(seed).exponential(size=len(rates)) / rates).astype(np.int64)


def near_weights(radii: ArrayLike, eps: float, *, most: float) -> FloatArray:
    r"""Weights ``(N,)`` from 1 to ``most``, larger where the radius is near ``eps``.

    .. math:: w_i = 1 + (\text{most} - 1)\, \min\{r_i / \epsilon,\; \epsilon / r_i\}^{16}

    Radii that predict wrongly are nearly all within a tenth of eps: the power keeps the extra weight to those. No
    weight is below 1, so no sample is chosen with less than 1 / ``most`` of the probability of an equal choice. The
    price for predictions that are worthless: the variance is at most :math:`(1 + most)^2 / (4\, most)` times as large.

    >>> near_weights([0.0, 1.0, 2.0, np.inf], 1.0, most=2.0)
    array([1.        , 2.        , 1.00001526, 1.        ])
    """
    if not most >= 1:
        raise OptionError(f"the largest weight {most} is not at least 1, which is that of a sample far from eps.")
    ratios = np.maximum(np.asarray(radii, dtype=np.float64), 0.0) / eps
    with np.errstate(divide="ignore"):
        nearness = np.minimum(ratios, 1.0 / ratios)
    return 1.0 + (most - 1.0) * nearness**SHARPNESS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spared:
    """One part: what is predicted of the samples that are not known, and what came out for those attacked so far."""

    predictions: FloatArray  # (M,) in [0, 1], of the samples whose outcome is not known without the attack
    weights: FloatArray  # (M,), positive
    attacked: IntArray  # (n,) which of them were attacked, in the order of the draw
    outcomes: FloatArray  # (n,), 1 where the sample withstood
    size: int  # N, samples of the part, known ones included
    known: int = 0  # how many of the known ones withstand

    @classmethod
    def of(
        cls,
        predictions: ArrayLike,
        attacked: ArrayLike,
        outcomes: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        size: int | None = None,
        known: int = 0,
    ) -> Self:
        """What was given, checked; without ``weights`` all are alike, without ``size`` no outcome is known."""
        guesses, rows = np.asarray(predictions, dtype=np.float64), np.asarray(attacked, dtype=np.int64)
        found = np.asarray(outcomes, dtype=np.float64)
        if not ((guesses >= 0) & (guesses <= 1)).all():
            raise SamplesError("a prediction is outside [0, 1]. Give the chance that the sample withstands.")
        if found.shape != rows.shape or not np.isin(found, (0.0, 1.0)).all():
            raise SamplesError("outcomes must be 0 (broken) or 1 (withstood), one for each attacked sample.")
        if len(np.unique(rows)) != len(rows) or ((rows < 0) | (rows >= len(guesses))).any():
            raise SamplesError("each attacked sample must be one of those predicted, and attacked once.")
        rates = np.ones(len(guesses)) if weights is None else _checked_weights(weights)
        if rates.shape != guesses.shape:
            raise SamplesError(f"{len(rates)} weights for {len(guesses)} predictions: give one per sample.")
        whole = known + len(guesses) if size is None else size
        if known < 0 or whole < known + len(guesses):
            raise SamplesError(f"a part of {whole} samples cannot have {known} known and {len(guesses)} unknown ones.")
        return cls(predictions=guesses, weights=rates, attacked=rows, outcomes=found, size=whole, known=known)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bets:
    """What was won against every total that a part could have; see the theorem of this module."""

    totals: IntArray  # (C,), candidates that what was seen does not contradict
    below: FloatArray  # (C,), logarithm of the largest capital that bet on the true total being above the candidate
    above: FloatArray  # (C,), the same for the true total being below it
    size: int
    estimate: float  # mean, without bias but for being kept within what is possible

    def ends(self, lower_alpha: float, upper_alpha: float) -> tuple[float, float]:
        """Ends of the accuracy under attack of these samples; each fails with at most the probability given for it."""
        low = self.totals[self.below < SLACK - np.log(lower_alpha)]
        high = self.totals[self.above < SLACK - np.log(upper_alpha)]
        lower = low.min() if len(low) else self.totals[-1]
        upper = high.max() if len(high) else self.totals[0]
        # Wider is as valid: the estimate stays inside, also where one of the ends has failed.
        return min(float(lower) / self.size, self.estimate), max(float(upper) / self.size, self.estimate)

    def population_ends(self, lower_alpha: float, upper_alpha: float) -> tuple[float, float]:
        """Ends of the accuracy under attack of fresh samples, half of each level for the choice of these samples."""
        lower, upper = self.ends(lower_alpha / 2, upper_alpha / 2)
        low = clopper_pearson(math.floor(lower * self.size + SLACK), self.size, lower_alpha)[0]  # it halves the level
        high = clopper_pearson(math.ceil(upper * self.size - SLACK), self.size, upper_alpha)[1]
        return float(low), float(high)


def place_bets(part: Spared) -> Bets:
    """Bet against every total that a part could have, one attacked sample after the other.

    >>> truth, attacked = np.arange(160) < 80, attack_order(np.ones(160))[:50]
    >>> with_predictions = place_bets(Spared.of(truth, attacked, truth[attacked], size=200))
    >>> round(with_predictions.estimate, 3), with_predictions.ends(0.025, 0.025)
    (0.399, (0.345, 0.455))
    >>> place_bets(Spared.of(np.full(160, 0.5), attacked, truth[attacked], size=200)).ends(0.025, 0.025)
    (0.275, 0.545)
    """
    candidates = part.known + np.arange(len(part.predictions) + 1)
    bettors, shares = _bettors(part, candidates)
    most, rest, seen = np.zeros((2, len(candidates))), np.ones(len(part.predictions), dtype=bool), float(part.known)
    sums, weight = 0.0, 0.0
    for row, outcome in zip(part.attacked, part.outcomes, strict=True):
        value, *_ = [bettor.bet(row, outcome, rest, seen) for bettor in bettors]
        together = np.log(shares[0]) + bettors[0].won
        for bettor, share in zip(bettors[1:], shares[1:], strict=True):
            together = np.logaddexp(together, np.log(share) + bettor.won)
        most = np.maximum(most, together)
        left = int(rest.sum())
        precision = 1.0 / max(left * (left - 1.0), TINY)  # of the value: with equal weights the mean follows
        sums, weight = sums + precision * value, weight + precision
        seen, rest[row] = seen + outcome, False
    possible = (candidates >= seen) & (candidates <= seen + rest.sum())
    guess = sums / weight if weight else seen + part.predictions.sum()
    kept = candidates[possible]
    return Bets(
        totals=kept,
        below=most[0][possible],
        above=most[1][possible],
        size=part.size,
        estimate=float(np.clip(guess, kept[0], kept[-1])) / part.size,
    )


def _bettors(part: Spared, candidates: IntArray) -> tuple[list["_Bettor"], tuple[float, ...]]:
    """Who bets, and with which share of the capital: one by the predictions, and one without, unless both are alike."""
    found = [_Bettor.start(part, part.predictions, candidates)]
    if len(part.predictions) == 0 or np.ptp(part.predictions) == 0:
        return found, (1.0,)
    return [*found, _Bettor.start(part, np.full(len(part.predictions), 0.5), candidates)], (1.0 - HEDGE, HEDGE)


@dataclass(slots=True, kw_only=True, eq=False)
class _Bettor:
    """Somebody with predictions, who bets against every candidate."""

    predictions: FloatArray
    weights: FloatArray
    candidates: IntArray
    past: "_Past"
    won: FloatArray  # (2, C), logarithm of the capital of bets on Z above the candidates, and below them

    @classmethod
    def start(cls, part: Spared, predictions: FloatArray, candidates: IntArray) -> Self:
        past, won = _Past.start(predictions, part.weights), np.zeros((2, len(candidates)))
        return cls(predictions=predictions, weights=part.weights, candidates=candidates, past=past, won=won)

    def bet(self, row: int, outcome: float, rest: BoolArray, seen: float) -> float:
        """Bet on the next outcome, and learn it: the value of Z."""
        past, slope, candidates = self.past, self.past.slope, self.candidates
        guesses, weights = slope * self.predictions[rest], self.weights[rest]
        total = weights.sum()
        base = seen + guesses.sum()
        expected, variance = past.beliefs(slope)
        value = base + total * (outcome - slope * self.predictions[row]) / self.weights[row]
        ends = base - total * (guesses / weights).max(), base + total * ((1.0 - guesses) / weights).max()
        for side, sign in enumerate((1.0, -1.0)):  # on Z above the candidate, and on Z below it
            edge = sign * (base + total * expected - candidates)
            loss = np.maximum(sign * (candidates - ends[side]), TINY)
            stake = np.where(edge > 0, np.minimum(edge / (total**2 * variance + edge**2), CLIP / loss), 0.0)
            self.won[side] += np.log1p(np.maximum(stake * sign * (value - candidates), -CLIP))
        past.add(self.predictions[row], outcome, self.weights[row])
        return float(value)


@dataclass(slots=True, kw_only=True, eq=False)
class _Past:
    """Sums over the outcomes so far, from which the next bet is made."""

    centre: float  # mean prediction
    spread: float  # variance of the predictions
    doubt: float  # variance of an outcome around its prediction, as believed before the first
    scale: float  # mean weight
    n: int = 0
    sums: FloatArray  # of y, of f - centre, of its square, and of its product with y
    weighted: FloatArray  # of y/w, f/w, (y/w)^2, yf/w^2, (f/w)^2

    @classmethod
    def start(cls, guesses: FloatArray, weights: FloatArray) -> Self:
        some = guesses if len(guesses) else np.zeros(1)
        return cls(
            centre=float(some.mean()),
            spread=float(some.var()),
            doubt=max(PRIOR_WRONG, float((some * (1.0 - some)).mean())),
            scale=float(weights.mean()) if len(guesses) else 1.0,
            sums=np.zeros(4),
            weighted=np.zeros(5),
        )

    def add(self, guess: float, outcome: float, weight: float) -> None:
        off = guess - self.centre
        self.n += 1
        self.sums += (outcome, off, off * off, off * outcome)
        self.weighted += np.array([outcome, guess, outcome**2, outcome * guess, guess**2]) / (
            np.array([weight, weight, weight**2, weight**2, weight**2])
        )

    @property
    def slope(self) -> float:
        """How far the next prediction is trusted, in [0, 1]; 1 before anything is known."""
        outcomes, offs, squares, products = self.sums
        prior, n = PRIOR_SLOPE_DRAWS * self.spread + TINY, max(self.n, 1)
        # Squares around the mean of all predictions, not of those drawn: a little too low, which the worthless need.
        return float(np.clip((prior + products - offs * outcomes / n) / (prior + squares), 0.0, 1.0))

    def beliefs(self, slope: float) -> tuple[float, float]:
        """Mean and variance of the next correction divided by its weight."""
        y, f, yy, yf, ff = self.weighted
        mean = (1.0 - slope) * self.centre / self.scale
        square = ((1.0 - slope) * COIN + slope * self.doubt) / self.scale**2 + mean**2
        n = PRIOR_DRAWS + self.n
        first = (PRIOR_DRAWS * mean + y - slope * f) / n
        second = (PRIOR_DRAWS * square + yy - 2.0 * slope * yf + slope**2 * ff) / n
        return float(first), float(max(second - first**2, TINY))


def _checked_weights(weights: ArrayLike) -> FloatArray:
    rates = np.asarray(weights, dtype=np.float64)
    if not ((rates > 0) & np.isfinite(rates)).all():
        raise SamplesError("a weight is not a positive number. A sample that cannot be chosen cannot be spoken for.")
    return rates
