"""Class scores as functions of the temperature: one pass over the logits gives every T of a range."""

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import FloatArray, IntArray, Scratch, map_chunks, row_chunks
from gfscore.errors import OptionError, TooFewClassesError
from gfscore.metrics import ClassScores, all_metrics
from gfscore.profile import drawn_samples
from gfscore.results import Curves, ModelAudit
from gfscore.samples import Samples
from gfscore.scores import Activation
from gfscore.scores.great import (
    SCORE_MAX,
    check_activation,
    check_temperature,
    own_and_rival,
    sigmoid_margin,
    writable_logits,
)
from gfscore.temperature.ladder import Ladder, softmax_margins

DEFAULT_RANGE = (0.01, 10.0)  # the paper's
WIDEST_RANGE = (1e-6, 1e4)  # beyond, all logits that differ are far apart, or all are near: nothing happens there
TOLERANCE = 1e-6  # no point of a curve is further from the score itself
DEGREE = 11  # of the spline; the one of degree 9 beside it tells how far off it can be
MOST_THREADS = 6  # each holds some 20 MB, and all together are to stay below 150 MB on any machine
ALL_CLASSES = 100  # up to so many, a result keeps every class's curve
LOWEST_CLASSES = 20  # beyond, only those of the lowest classes
CHUNK_VALUES = 1 << 19  # logits, or margins where there are more nodes than classes, that are worked on together


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TemperatureCurve:
    """Scores of the K parts (classes, or groups) that have samples, at every temperature of a range."""

    names: tuple[str, ...]
    counts: IntArray  # (K,)
    correct: IntArray  # (K,), samples classified correctly, which does not depend on the temperature
    absent: tuple[str, ...]
    activation: Activation
    temperature_range: tuple[float, float]
    error: float  # estimate of the largest error: how far apart splines of degree 11 and 9 get
    spline: Any  # scipy's BSpline of the class scores over log T, (K,)
    sizes: IntArray | None = None  # (K,), what parts weigh by where they were not drawn in proportion

    @property
    def accuracies(self) -> FloatArray:
        """Clean accuracies, ``(K,)``."""
        return np.asarray(self.correct / self.counts)

    @property
    def accuracy(self) -> float:
        """Clean accuracy over all samples: from the counts, so that models with equally many correct are tied."""
        if self.sizes is not None:
            return float(self.weights @ self.accuracies)
        return int(self.correct.sum()) / int(self.counts.sum())

    @property
    def weights(self) -> FloatArray:
        """What each part counts for in the whole, ``(K,)``: what makes the aggregate of the class scores."""
        totals = self.counts if self.sizes is None else self.sizes
        return np.asarray(totals / totals.sum())

    @property
    def aggregate_spline(self) -> Any:
        """The spline of the aggregate, a vector-valued one of one curve."""
        return type(self.spline)(self.spline.t, self.spline.c @ self.weights[:, None], self.spline.k)

    def scores(self, temperature: ArrayLike) -> FloatArray:
        """Class scores at one temperature ``(K,)``, or at each of several ``(..., K)``."""
        wanted = np.asarray(temperature, dtype=np.float64)
        low, high = self.temperature_range
        outside = ~((wanted >= low) & (wanted <= high))
        if outside.any():
            raise OptionError(
                f"temperature {wanted[outside].flat[0]:g} is outside the curve's range, {low:g} to {high:g}. "
                "Compute the curve over a wider one."
            )
        return np.asarray(np.clip(self.spline(np.log(wanted)), 0.0, SCORE_MAX))

    def aggregate(self, temperature: ArrayLike) -> FloatArray:
        """Score over all samples at each temperature."""
        return np.asarray(self.scores(temperature) @ self.weights)

    def temperatures(self, points: int = 101, also: Iterable[float] = ()) -> FloatArray:
        """Temperatures evenly spread in log T, and others where they are in the range, for a file or a picture."""
        low, high = self.temperature_range
        wanted = [temperature for temperature in also if low <= temperature <= high]
        return np.union1d(np.geomspace(low, high, points), wanted)


def temperature_curve(
    samples: Samples,
    *,
    activation: Activation | str = Activation.SOFTMAX,
    temperature_range: tuple[float, float] = DEFAULT_RANGE,
    powers: int | None = None,
    threads: int | None = None,
) -> TemperatureCurve:
    r"""Curves :math:`\Omega_k(T)` of all classes (or groups) over a range of temperatures.

    Which samples have a positive margin does not depend on T, so each curve is smooth in :math:`\log T`: it is
    computed at some ten nodes an octave (:mod:`gfscore.temperature.ladder`) and interpolated by a spline of degree 11.
    That of degree 9 through the same nodes tells how far off it is; with too few nodes the pass is repeated with more.
    How many are enough depends on K: the curve that bends most sharply is that of equal rivals, whose poles lie
    :math:`\pi / \ln(K - 1)` from the real axis. Mostly fewer do, so the first pass takes one step less. ``powers``,
    half the nodes of an octave, overrides where it starts.

    The logits are read in chunks whose size depends on their shape alone, and sums are added in the order of the
    chunks: ``threads`` changes no bit of the result. More than six are not used, since each needs memory of its own.

    >>> samples = Samples.of([[2.0, 0.5], [0.1, 0.3], [1.0, 3.0]], [0, 1, 1])
    >>> temperature_curve(samples).scores([0.5, 1.0, 2.0]).round(4)
    array([[1.1344, 0.7278],
           [0.796 , 0.5397],
           [0.4491, 0.3209]])
    """
    activation, draw = check_activation(activation, samples), drawn_samples(samples)
    low, high = check_temperature_range(temperature_range)
    groups = samples.groups
    names, codes = (samples.class_names, samples.labels) if groups is None else (groups.names, groups.codes)
    counts = np.bincount(codes, minlength=len(names))
    present = np.flatnonzero(counts)
    if len(present) < 2:
        raise TooFewClassesError(tuple(names[k] for k in present), kind="class" if groups is None else "group")

    powers, error = powers or _enough_powers(samples.n_classes, activation) - 1, math.inf
    while error > TOLERANCE / 2:  # for the estimate may be somewhat low
        ladder = Ladder.over(1 / high, 1 / low, powers)
        sums, correct = _part_sums(samples, codes, len(names), activation, ladder, threads)
        means = SCORE_MAX * sums[present] / counts[present, None]
        spline, error = _interpolate(ladder, means, (low, high))
        powers += 1
    return TemperatureCurve(
        names=tuple(names[k] for k in present),
        counts=counts[present].astype(np.int64),
        correct=correct[present],
        absent=tuple(name for name, count in zip(names, counts, strict=True) if count == 0),
        activation=activation,
        temperature_range=(low, high),
        error=error,
        spline=spline,
        sizes=draw.sizes[present] if draw.sizes is not None and draw.weighted_by == "class_sizes" else None,
    )


def _enough_powers(n_classes: int, activation: Activation) -> int:
    """Half the nodes of an octave with which even equal rivals stay within half the tolerance."""
    return 4 if activation is Activation.SIGMOID else max(5, math.ceil(0.72 * math.log(n_classes)))


def _part_sums(
    samples: Samples, codes: IntArray, n_parts: int, activation: Activation, ladder: Ladder, threads: int | None
) -> tuple[FloatArray, IntArray]:
    """Sum of the margins of each part at each node, ``(n_parts, nodes)``, and its number of correct samples."""
    scratch = Scratch()

    def margins(rows: slice) -> tuple[IntArray, FloatArray, FloatArray]:
        chunk = writable_logits(samples, rows, scratch)
        own, rival, predicted = own_and_rival(chunk, samples.labels[rows])
        leads = own > rival
        own, rival = own[leads, None], rival[leads, None]
        if activation is Activation.SIGMOID:
            values = sigmoid_margin(chunk, own, rival, 1 / ladder.nodes, scratch)
        else:
            with np.errstate(over="ignore"):
                others = scratch.rows("others", chunk, leads)
                gaps = np.subtract(own, others, out=scratch.array("gaps", others.shape))
                values = softmax_margins(gaps, ladder, scratch)
        parts, sums = _sums_by_part(codes[rows][leads], values)
        return parts, sums, codes[rows][predicted == samples.labels[rows]]

    total = np.zeros((n_parts, len(ladder.nodes)))
    correct = np.zeros(n_parts, dtype=np.int64)
    columns = max(samples.n_classes, len(ladder.nodes))
    chunks = list(row_chunks(samples.n_samples, columns, values=CHUNK_VALUES, shared=True))
    threads = min(threads or os.cpu_count() or 1, MOST_THREADS)
    for parts, sums, right in map_chunks(margins, chunks, threads):
        total[parts] += sums
        correct += np.bincount(right, minlength=n_parts)
    return total, correct


def _sums_by_part(codes: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
    """The parts that occur, ``(m,)``, and the sums of their rows of ``values``, ``(m, nodes)``."""
    order = np.argsort(codes, kind="stable")
    parts, starts = np.unique(codes[order], return_index=True)
    return parts, np.add.reduceat(values[order], starts, axis=0) if len(parts) else values


def _interpolate(ladder: Ladder, values: FloatArray, temperature_range: tuple[float, float]) -> tuple[Any, float]:
    """Spline over log T of each row of ``values``, and how far from it that of the next lower odd degree gets."""
    units, apart = _unit_splines(ladder, *temperature_range)
    error = max(float(np.abs(apart @ values[rows].T).max()) for rows in row_chunks(len(values), len(apart)))
    return type(units)(units.t, units.c @ values.T, units.k), error


@lru_cache(maxsize=8)
def _unit_splines(ladder: Ladder, low: float, high: float) -> tuple[Any, FloatArray]:
    """Splines through 1 at one node and 0 at the others, of which all others are sums, and how far two degrees differ.

    The difference is taken at both ends of the range and three times between each two nodes, ``(places, nodes)``.
    """
    from scipy.interpolate import make_interp_spline  # here: its import takes a while

    nodes = -np.log(ladder.nodes[::-1])
    units, lower = (make_interp_spline(nodes, np.eye(len(nodes))[::-1], k=k) for k in (DEGREE, DEGREE - 2))
    between = (nodes[:-1, None] + np.diff(nodes)[:, None] * (0.25, 0.5, 0.75)).ravel()
    places = np.concatenate([np.log([low, high]), between[(between > math.log(low)) & (between < math.log(high))]])
    return units, units(places) - lower(places)


def check_temperature_range(temperature_range: tuple[float, float]) -> tuple[float, float]:
    """The range, if a curve can be computed over it."""
    low, high = (check_temperature(end) for end in temperature_range)
    if low >= high:
        raise OptionError(f"temperatures from {low:g} to {high:g} are no range. Give the lower end first.")
    if low < WIDEST_RANGE[0] or high > WIDEST_RANGE[1]:
        lowest, highest = WIDEST_RANGE
        raise OptionError(
            f"temperatures from {low:g} to {high:g} are more than a curve can hold. "
            f"Stay between {lowest:g} and {highest:g}."
        )
    return low, high


def stored_curves(curve: TemperatureCurve, audited: ModelAudit) -> Curves:
    """What a result keeps of a curve: class scores and metrics by temperature.

    The temperatures of the audit and of its calibration are among them. The metrics are about all classes, also where
    only the curves of the lowest ones are kept.
    """
    asked = [audited.score.temperature, audited.calibrated.temperature if audited.calibrated else None]
    temperatures = curve.temperatures(also=[temperature for temperature in asked if temperature is not None])
    profiles = curve.scores(temperatures)  # (temperatures, K)
    by_name = dict(zip(curve.names, profiles.T.tolist(), strict=True))
    weights, weight = np.array(audited.class_weights), audited.fp_great.weight
    classes = ClassScores(scores=profiles, weights=weights, fairness_weight=weight)
    kept = [entry.name for entry in audited.classes]
    if len(kept) > ALL_CLASSES:
        kept = [entry.name for entry in sorted(audited.classes, key=lambda entry: entry.score)[:LOWEST_CLASSES]]
    return Curves(
        temperature=tuple(temperatures.tolist()),
        aggregate=tuple((profiles @ curve.weights).tolist()),
        scores={name: tuple(by_name[name]) for name in kept},
        metrics={
            key: tuple(metric.along(classes))
            for key, metric in all_metrics().items()
            if key != "aggregate"  # which has a place of its own
        },
        error=curve.error,
    )
