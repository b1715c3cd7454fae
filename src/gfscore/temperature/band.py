r"""Intervals at every temperature at once: for a temperature that was chosen by looking at the scores.

Intervals at one temperature hold for one that was fixed beforehand. Here they hold together at all nodes of a ladder of
temperatures; and between two nodes a score cannot move far from the chord, whatever the logits are. So they hold at
every temperature of the range, also at one that the same samples made somebody choose.

**Theorem.** Let g(u) be the score of a sample, in [0, 1], at the temperature :math:`e^u`. Then between nodes
:math:`u_0 < u_1`, at :math:`u = (1 - w)\,u_0 + w\,u_1`,

.. math:: -C_- \tfrac{w (1 - w)}{2} (u_1 - u_0)^2 \;\le\; g(u) - (1 - w)\,g(u_0) - w\,g(u_1) \;\le\;
          C_+ \tfrac{w (1 - w)}{2} (u_1 - u_0)^2

with constants that depend on the activation and on K only (:func:`bending`). So if intervals of all class means hold
together at all nodes with probability 1 - delta, then with that probability, at all temperatures between them at once,
each class mean lies between the chords of the lower and of the upper ends, moved outward by these terms. With softmax
it also lies between the lower end of the node above and the upper end of the node below, as no score rises with T.

*Proof.* :math:`C_-` and :math:`C_+` bound g'' from above and -g'' from above; the rest is the usual error of linear
interpolation, and expectations keep it. For the bounds let b = 1/T; g'' in log b is the same as in u. A sample whose
true class does not lead has g = 0 at all T.

*Sigmoid.* :math:`g = \sigma(b f_y) - \sigma(b f_j)`, and the second derivative of :math:`\sigma(b f)` in log b is
:math:`h(z) = z \sigma'(z) + z^2 \sigma''(z)` at z = b f, an odd function with a largest value below 0.2402.

*Softmax.* g = (1 - e^{-s}) p with :math:`s = b (f_y - \max_j f_j)` and p the probability of the true class. The first
factor has the derivatives :math:`s e^{-s}`, between 0 and 1/e, and :math:`s (1 - s) e^{-s}`, between -0.3092 and
0.1613. With the gaps :math:`g_j = b (f_y - f_j)`, and A and B the averages of :math:`g_j` and :math:`g_j^2` over the
rivals, weighed by their probabilities, p' = p (1 - p) A and
:math:`p'' = p (1 - p) (A + 2 (1 - p) A^2 - B)`. By :math:`B \ge A^2`,
:math:`p'' \le p (1 - p) (A + (1 - 2 p) A^2)`; and :math:`0 \le A \le \ln((K - 1) p / (1 - p))`, as A is the entropy of
the weights less :math:`\ln((1 - p)/p)`. On the other side :math:`-p'' \le p (1 - p) B`, where B (1 - p)/p is the sum
over rivals of :math:`x_j \ln^2 x_j` with :math:`x_j = e^{-g_j}` in (0, 1], whose sum is (1 - p)/p: at most K - 1 times
the concave envelope of :math:`x \ln^2 x` at their mean, which is the function itself up to :math:`e^{-2}` and at most
:math:`4 e^{-2}` beyond. Each bound is the largest value of a function of p alone. As b grows, s, p and g do. QED
"""

import math
import os
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from gfscore.arrays import FloatArray, IntArray, Scratch, map_chunks, row_chunks
from gfscore.bounds import AuditIntervals, Averages, Method, PartScores, check_level, within_box
from gfscore.bounds.averages import mean_interval
from gfscore.bounds.betting import betting_lower
from gfscore.bounds.box import Interval, nrgc_range, rdi_range
from gfscore.bounds.methods import PartBounds, lower_bounds
from gfscore.errors import OptionError
from gfscore.metrics import formulas
from gfscore.samples import Samples
from gfscore.scores import Activation
from gfscore.scores.great import SCORE_MAX, check_activation, own_and_rival, sigmoid_margin, writable_logits
from gfscore.temperature.curve import CHUNK_VALUES, DEFAULT_RANGE, MOST_THREADS, check_temperature_range
from gfscore.temperature.ladder import Ladder, softmax_margins

POWERS = 6  # half the nodes of an octave: some 120 in the default range
BOX_SHARE = 0.85  # of delta, for the intervals of all classes at all nodes
DIRECT_SHARE = 0.15  # for both ends of class mean and aggregate at all nodes
HALVINGS = 18  # of [0, 1], in search of an end: to 4e-6
ROUNDING = 1e-6  # of margins kept in single precision, and of sums, outward
GRID = 20_001  # values of p that are tried for the largest bend; smooth functions, and 1 % is added


@lru_cache(maxsize=8)
def bending(n_classes: int, activation: Activation) -> tuple[float, float]:
    """How strongly a score can bend over log T: the constants below and above the chord, for scores in [0, 1].

    >>> [round(constant, 2) for constant in bending(10, Activation.SOFTMAX)]
    [1.24, 2.39]
    >>> [round(constant, 2) for constant in bending(1000, Activation.SOFTMAX)], bending(10, Activation.SIGMOID)
    ([5.88, 13.34], (0.4804, 0.4804))
    """
    if activation is Activation.SIGMOID:
        return 0.4804, 0.4804
    rivals = max(n_classes - 1, 1)
    p = np.linspace(0.0, 1.0, GRID + 2)[1:-1]
    uneven, odds = p * (1.0 - p), (1.0 - p) / p
    largest = np.maximum(np.log(rivals / odds), 0.0)
    # A + (1 - 2p) A^2 is largest at the end of its range, or where it turns for p above 1/2
    turning = np.minimum(largest, np.where(p > 0.5, 0.5 / np.maximum(2.0 * p - 1.0, 1e-12), np.inf))
    rising = uneven * (turning + (1.0 - 2.0 * p) * turning**2)
    down = 0.1613 + 2.0 / math.e * (uneven * largest).max() + rising.max()
    mean = np.minimum(odds / rivals, 1.0)
    squares = np.where(mean < math.exp(-2), np.log(mean) ** 2, 4.0 * math.exp(-2) / mean)
    up = 0.3092 + (uneven * squares).max()
    return 1.01 * float(down), 1.01 * float(up)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TemperatureBand:
    """Intervals of all classes and averages at every temperature of a range, together with probability 1 - delta."""

    places: FloatArray  # (J,), log T of the nodes, rising
    lower: FloatArray  # (J, K), of scores in [0, 1]
    upper: FloatArray  # (J, K)
    averages: FloatArray  # (J, 2, 2): class mean and aggregate, both ends
    weights: FloatArray  # (K,), of the aggregate
    bends: tuple[float, float]
    falling: bool  # whether no score rises with the temperature
    temperature_range: Interval
    method: Method
    delta: float
    seed: int
    target: str

    def intervals(self, temperature: float, means: ArrayLike, *, fairness_weight: float) -> AuditIntervals:
        """Intervals of everything at a temperature, however it was chosen; ``means`` are the class scores there."""
        low, high = self.temperature_range
        if not low <= temperature <= high:
            raise OptionError(f"temperature {temperature:g} is outside the band, {low:g} to {high:g}. Stay inside.")
        estimates = np.clip(np.asarray(means, dtype=np.float64) / SCORE_MAX, 0.0, 1.0)
        lower = np.minimum(self._chord(self.lower, temperature, -1), estimates)
        upper = np.maximum(self._chord(self.upper, temperature, 1), estimates)
        own = [self._chord(self.averages[:, :, side], temperature, sign) for side, sign in ((0, -1), (1, 1))]
        points = float(estimates.mean()), float(self.weights @ estimates)
        ranges = (
            (float(lower.mean()), float(upper.mean())),
            (float(self.weights @ lower), float(self.weights @ upper)),
        )
        class_mean, aggregate = (
            (min(max(own[0][i], box[0]), point), max(min(own[1][i], box[1]), point))
            for i, (box, point) in enumerate(zip(ranges, points, strict=True))
        )
        possible = lower <= upper.min()
        return within_box(
            estimates,
            (lower, upper),
            Averages(
                class_mean=class_mean,
                aggregate=aggregate,
                rdi=rdi_range(lower, upper),
                nrgc=None if formulas.nrgc(estimates) is None else nrgc_range(lower, upper),
            ),
            np.flatnonzero(possible).astype(np.int64),
            maximum=SCORE_MAX,
            fairness_weight=fairness_weight,
            weights=self.weights,
            method=self.method,
            delta=self.delta,
            target=self.target,
            seed=self.seed,
            temperatures=self.temperature_range,
        )

    def _chord(self, ends: FloatArray, temperature: float, sign: int) -> FloatArray:
        """Between two nodes, moved outward by what scores can bend."""
        at = math.log(temperature)
        first = int(np.clip(np.searchsorted(self.places, at) - 1, 0, len(self.places) - 2))
        step = float(self.places[first + 1] - self.places[first])
        share = min(max((at - float(self.places[first])) / step, 0.0), 1.0)
        bend = self.bends[0 if sign < 0 else 1] * share * (1.0 - share) / 2.0 * step**2
        chord = (1.0 - share) * ends[first] + share * ends[first + 1]
        found = chord + sign * bend
        if self.falling:  # no lower than at the next node, no higher than at the one before
            found = np.maximum(found, ends[first + 1]) if sign < 0 else np.minimum(found, ends[first])
        return np.asarray(np.clip(found + sign * ROUNDING, 0.0, 1.0))


def temperature_band(
    samples: Samples,
    *,
    activation: Activation | str = Activation.SOFTMAX,
    temperature_range: tuple[float, float] = DEFAULT_RANGE,
    delta: float = 0.05,
    method: Method | str = Method.BETTING,
    seed: int = 0,
    sizes: ArrayLike | None = None,
    weights: FloatArray | None = None,
) -> TemperatureBand:
    r"""Intervals that hold at all temperatures of a range at once: :mod:`gfscore.temperature.band` has the theorem.

    The level is split over the J nodes: each end of each of K classes at each node has 0.85 delta/2KJ, and each end of
    class mean and aggregate 0.15 delta/4J. ``sizes`` are those of a fixed set, ``weights`` those of the aggregate over
    the parts with samples.

    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(2000) % 2
    >>> samples = Samples.of(rng.normal(0, 1, (2000, 2)) + 2 * np.eye(2)[labels], labels)
    >>> found = temperature_band(samples).intervals(0.7, [0.93, 0.92], fairness_weight=0.5)
    >>> found.lower.round(2), found.upper.round(2), found.temperatures
    (array([0.89, 0.88]), array([0.99, 0.99]), (0.01, 10.0))
    """
    check_level(delta)
    kind, activation = Method.named(method), check_activation(activation, samples)
    low, high = check_temperature_range(temperature_range)
    codes, n_parts = samples.partition
    ladder = Ladder.over(1.0 / high, 1.0 / low, POWERS)
    inside = _enough_nodes(ladder, low, high)
    margins = _margins(samples, activation, ladder, inside)
    parts = PartScores.of(np.zeros(samples.n_samples), codes, n_parts, maximum=1.0, seed=seed, sizes=sizes)
    shares = parts.counts / parts.counts.sum() if weights is None else np.asarray(weights)
    n_nodes, k = margins.shape[1], len(parts.counts)
    equal, alpha = np.full(k, 1.0 / k), DIRECT_SHARE * delta / (4 * n_nodes)
    found = []
    for node in range(n_nodes):
        at = replace(parts, values=margins[parts.rows, node].astype(np.float64))
        bounds = PartBounds.of_scores(at, kind)
        ends = _ends(bounds, BOX_SHARE * delta / (2 * k * n_nodes))
        found.append((*ends, [mean_interval(bounds, each, alpha) for each in (equal, shares)]))
    lower, upper, averages = (np.array([node[i] for node in found])[::-1] for i in range(3))
    return TemperatureBand(
        places=-np.log(ladder.nodes[inside])[::-1],
        lower=lower,
        upper=upper,
        averages=averages,
        weights=shares,
        bends=bending(samples.n_classes, activation),
        falling=activation is Activation.SOFTMAX,
        temperature_range=(low, high),
        method=kind,
        delta=delta,
        seed=seed,
        target="population" if sizes is None else "finite",
    )


def _enough_nodes(ladder: Ladder, low: float, high: float) -> IntArray:
    """The nodes in the range and the next one beyond each end."""
    first = int(np.searchsorted(ladder.nodes, 1.0 / high, side="right")) - 1
    last = int(np.searchsorted(ladder.nodes, 1.0 / low, side="left"))
    return np.arange(first, last + 1)


def _ends(bounds: PartBounds, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Both ends of each class, each at the level ``alpha``; betting to fewer digits than an audit has."""
    if bounds.method is not Method.BETTING or not isinstance(bounds.scores, PartScores):
        lower, upper = (lower_bounds(each, alpha, bounds.method) for each in (bounds.scores, bounds.scores.mirror()))
    else:
        lower, upper = (
            betting_lower(each, alpha, halvings=HALVINGS) for each in (bounds.scores, bounds.scores.mirror())
        )
    return np.minimum(lower, bounds.means), np.maximum(1.0 - upper, bounds.means)


def _margins(samples: Samples, activation: Activation, ladder: Ladder, inside: IntArray) -> FloatArray:
    """Margin of each sample at some of the nodes, ``(N, J)``, in single precision; 0 where others lead."""
    found, scratch = np.zeros((samples.n_samples, len(inside)), dtype=np.float32), Scratch()
    nodes = ladder.nodes[inside]

    def fill(rows: slice) -> None:
        chunk = writable_logits(samples, rows, scratch)
        own, rival, _ = own_and_rival(chunk, samples.labels[rows])
        leads = own > rival
        own, rival = own[leads, None], rival[leads, None]
        if activation is Activation.SIGMOID:
            values = sigmoid_margin(chunk, own, rival, 1.0 / nodes, scratch)
        else:
            with np.errstate(over="ignore"):
                others = scratch.rows("others", chunk, leads)
                gaps = np.subtract(own, others, out=scratch.array("gaps", others.shape))
                values = softmax_margins(gaps, ladder, scratch)[:, inside]
        found[np.arange(rows.start, rows.stop)[leads]] = np.clip(values, 0.0, 1.0)

    columns = max(samples.n_classes, len(ladder.nodes))
    chunks = list(row_chunks(samples.n_samples, columns, values=CHUNK_VALUES, shared=True))
    for _ in map_chunks(fill, chunks, min(os.cpu_count() or 1, MOST_THREADS)):
        pass
    return found


def sigmoid_bend(z: FloatArray) -> FloatArray:
    """Second derivative of the sigmoid at z over log z: what the constant of :func:`bending` bounds.

    >>> bool(np.abs(sigmoid_bend(np.linspace(-60, 60, 100_001))).max() < 0.2402)
    True
    """
    slope = expit(z) * expit(-z)
    return np.asarray(z * slope + z**2 * slope * (1.0 - 2.0 * expit(z)))
