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
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from gfscore.arrays import FloatArray
from gfscore.bounds import AuditIntervals, Averages, Method, PartScores, check_level, within_box
from gfscore.bounds.averages import mean_interval
from gfscore.bounds.betting import betting_lower
from gfscore.bounds.box import Interval, nrgc_range, rdi_range
from gfscore.bounds.methods import PartBounds, lower_bounds
from gfscore.errors import OptionError
from gfscore.metrics import formulas
from gfscore.samples import Samples
from gfscore.scores import Activation
from gfscore.scores.great import SCORE_MAX, check_activation, great_scores
from gfscore.temperature.curve import DEFAULT_RANGE, check_temperature_range
from gfscore.temperature.ladder import Ladder

POWERS = 6  # half the nodes of an octave: some 120 in the default range
BOX_SHARE = 0.85  # of delta, for the intervals of all classes at all nodes
DIRECT_SHARE = 0.15  # for both ends of class mean and aggregate at all nodes
HALVINGS = 18  # of [0, 1], in search of an end: to 4e-6
ROUNDING = 1e-6  # of margins in single precision, and of sums, outward
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


class NodeEnds(NamedTuple):
    """Ends of all intervals at a node, of scores in [0, 1]."""

    lower: FloatArray  # (K,)
    upper: FloatArray  # (K,)
    averages: FloatArray  # (2, 2): class mean and aggregate, both ends


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TemperatureBand:
    """Intervals of all classes and averages at every temperature of a range, together with probability 1 - delta.

    A temperature needs the two nodes beside it: ends at a node are computed when they are first asked for.
    """

    samples: Samples
    activation: Activation
    parts: PartScores  # of the samples, whatever their scores are
    places: FloatArray  # (J,), log T of the nodes, rising
    weights: FloatArray  # (K,), of the aggregate
    temperature_range: Interval
    method: Method
    delta: float
    seed: int
    target: str
    known: dict[int, NodeEnds] = field(default_factory=dict)  # by node

    def intervals(self, temperature: float, means: ArrayLike, *, fairness_weight: float) -> AuditIntervals:
        """Intervals of everything at a temperature, however it was chosen; ``means`` are the class scores there."""
        low, high = self.temperature_range
        if not low <= temperature <= high:
            raise OptionError(f"temperature {temperature:g} is outside the band, {low:g} to {high:g}. Stay inside.")
        estimates = np.clip(np.asarray(means, dtype=np.float64) / SCORE_MAX, 0.0, 1.0)
        first = self._node_below(temperature)
        below, above = self._ends(first), self._ends(first + 1)
        chord = partial(self._chord, first, temperature)
        lower = np.minimum(chord(-1, below.lower, above.lower), estimates)
        upper = np.maximum(chord(1, below.upper, above.upper), estimates)
        own = [chord(sign, below.averages[:, side], above.averages[:, side]) for side, sign in ((0, -1), (1, 1))]
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

    def _node_below(self, temperature: float) -> int:
        """The first of the two nodes that a temperature lies between."""
        found = np.searchsorted(self.places, math.log(temperature)) - 1
        return int(np.clip(found, 0, len(self.places) - 2))

    def _chord(self, first: int, temperature: float, sign: int, below: FloatArray, above: FloatArray) -> FloatArray:
        """Between the ends at two nodes, moved outward by what scores can bend."""
        start, end = (float(place) for place in self.places[first : first + 2])
        share = min(max((math.log(temperature) - start) / (end - start), 0.0), 1.0)
        bends = bending(self.samples.n_classes, self.activation)[0 if sign < 0 else 1]
        chord = (1.0 - share) * below + share * above
        found = chord + sign * bends * share * (1.0 - share) / 2.0 * (end - start) ** 2
        if self.activation is Activation.SOFTMAX:  # no score rises with T
            found = np.maximum(found, above) if sign < 0 else np.minimum(found, below)
        return np.asarray(np.clip(found + sign * ROUNDING, 0.0, 1.0))

    def _ends(self, node: int) -> NodeEnds:
        """Ends at a node, each at its share of the level."""
        if node not in self.known:
            at = math.exp(self.places[node])
            margins = great_scores(self.samples, activation=self.activation, temperature=at).values / SCORE_MAX
            scores = replace(self.parts, values=np.clip(margins, 0.0, 1.0)[self.parts.rows])
            bounds = PartBounds.of_scores(scores, self.method)
            n_nodes, k = len(self.places), len(self.weights)
            lower, upper = _class_ends(bounds, BOX_SHARE * self.delta / (2 * k * n_nodes))
            alpha = DIRECT_SHARE * self.delta / (4 * n_nodes)
            averages = [mean_interval(bounds, each, alpha) for each in (np.full(k, 1.0 / k), self.weights)]
            self.known[node] = NodeEnds(lower, upper, np.array(averages))
        return self.known[node]


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
    parts = PartScores.of(np.zeros(samples.n_samples), codes, n_parts, maximum=1.0, seed=seed, sizes=sizes)
    return TemperatureBand(
        samples=samples,
        activation=activation,
        parts=parts,
        places=_places(low, high),
        weights=parts.counts / parts.counts.sum() if weights is None else np.asarray(weights),
        temperature_range=(low, high),
        method=kind,
        delta=delta,
        seed=seed,
        target="population" if sizes is None else "finite",
    )


def _places(low: float, high: float) -> FloatArray:
    """Log T of the nodes in the range, and of the next one beyond each end, rising."""
    nodes = Ladder.over(1.0 / high, 1.0 / low, POWERS).nodes
    first = int(np.searchsorted(nodes, 1.0 / high, side="right")) - 1
    last = int(np.searchsorted(nodes, 1.0 / low, side="left"))
    return np.asarray(-np.log(nodes[first : last + 1])[::-1])


def _class_ends(bounds: PartBounds, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Both ends of each class, each at the level ``alpha``; betting to fewer digits than an audit has."""
    if bounds.method is not Method.BETTING or not isinstance(bounds.scores, PartScores):
        lower, upper = (lower_bounds(each, alpha, bounds.method) for each in (bounds.scores, bounds.scores.mirror()))
    else:
        lower, upper = (
            betting_lower(each, alpha, halvings=HALVINGS) for each in (bounds.scores, bounds.scores.mirror())
        )
    return np.minimum(lower, bounds.means), np.maximum(1.0 - upper, bounds.means)


def sigmoid_bend(z: FloatArray) -> FloatArray:
    """Second derivative of the sigmoid at z over log z: what the constant of :func:`bending` bounds.

    >>> bool(np.abs(sigmoid_bend(np.linspace(-60, 60, 100_001))).max() < 0.2402)
    True
    """
    slope = expit(z) * expit(-z)
    return np.asarray(z * slope + z**2 * slope * (1.0 - 2.0 * expit(z)))
