"""A number per model: the table of metrics, with what each is called, may be and is computed by, and their formulas.

One row a metric. Results, terminal, report, figures, tables, gate, comparison, dashboard and trackers read the rows;
none of them lists metrics itself. What differs between metrics in those places is a field here, and texts are templates
that are filled with facts of the model that is shown (:data:`PLACEHOLDERS`), so that a row from outside the package
(:func:`register`) is shown as well as those below.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from gfscore.arrays import FloatArray
from gfscore.errors import OptionError
from gfscore.metrics import formulas, rows
from gfscore.plugins import load_plugins

Interval = tuple[float, float]

PLACEHOLDERS = {
    "part": "class or group",
    "parts": "classes or groups",
    "n": "how many there are of them",
    "worst": "the lowest of them",
    "best": "the highest of them",
    "whole": "what numbers of the whole model are of",
    "weight": "the fairness weight",
    "adjusted": "the class mean less what inequality costs",
    "score": "title of the local score",
    "column": "title of the local score where there is little room",
}
_NO_FORMULA = "the metric {key!r} needs one formula. Give value= or values_of=."
TAKEN = ("accuracy", "refuted", "class", "class_accuracy", "change")  # rules that are about no metric


class Unit(StrEnum):
    """What a metric is measured in, which says how it is shown and what it may be."""

    SCORE = "score"  # a mean score: unit, range and digits of the local score, never more than was certified
    GAP = "gap"  # a difference of mean scores: from 0 to the length of their range
    INDEX = "index"  # a pure number, shown with three digits
    SHARE = "share"  # of a whole, from 0 to 1, shown in percent


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassScores:
    """What a metric is computed from."""

    scores: FloatArray  # (K,), of the classes (or groups) that have samples, at least two; (T, K) for several profiles
    weights: FloatArray  # (K,), what each counts for in numbers of the whole; they sum to 1
    fairness_weight: float = formulas.DEFAULT_FAIRNESS_WEIGHT  # lambda

    def at(self, scores: FloatArray) -> Self:
        """Other scores of these classes."""
        return replace(self, scores=scores)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """What decides which values a metric can have."""

    low: float  # range of the local score
    high: float
    fairness_weight: float
    n_classes: int | None  # None where that is not yet known


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMetric:
    """A row of the table."""

    key: str  # in results, rules and options
    title: str  # where there is little room, as WCR
    note: str  # a few words beside the number
    value: Callable[[ClassScores], float | None] | None = None  # None where it does not exist; or else:
    values_of: Callable[[ClassScores], FloatArray] | None = None  # of several profiles, (T, K): (T,), NaN for None
    name: str = ""  # for readers, as "gap (RDI)", in the middle of a sentence too; the title where there is none
    meaning: str = ""  # for readers of a report, in whole sentences; the note where there is none
    axis: str = ""  # below a bar of it, in two parts with a colon between them
    higher_is_better: bool = True
    unit: Unit = Unit.SCORE
    scale: Interval | Callable[[Scale], Interval] | None = None  # values it can have; None: what its unit says
    monotone: bool = False  # no class that rises lowers it: its interval is [f(lower ends), f(upper ends)]
    is_main: bool = True  # one of the few that are shown of each model where several stand side by side
    of_every_class: bool = True  # it speaks of every class alike, so that one without a sample leaves it unknown
    worsened_by_any: bool = False  # one class more can only make it worse

    def of(self, classes: ClassScores) -> float | None:
        """The number, or None where it does not exist."""
        return self.along(classes.at(classes.scores[None, :]))[0]

    def along(self, classes: ClassScores) -> list[float | None]:
        """The number of each of several profiles, ``(T, K)``, such as those of every temperature of a curve."""
        found: list[float | None]
        if self.values_of is not None:
            found = self.values_of(classes).tolist()
        elif self.value is not None:
            found = [self.value(classes.at(scores)) for scores in classes.scores]
        else:
            raise OptionError(_NO_FORMULA.format(key=self.key))
        return [None if number is None or not math.isfinite(number) else float(number) for number in found]

    def between(self, classes: ClassScores, lower: FloatArray, upper: FloatArray) -> Interval | None:
        """What a box of class intervals, ``(K,)`` each, leaves of it; None where nothing is known of that."""
        if not self.monotone:
            return None
        ends = [self.of(classes.at(scores)) for scores in (lower, classes.scores, upper)]
        known = [end for end in ends if end is not None]
        return (min(known), max(known)) if len(known) == len(ends) else None

    def values(self, scale: Scale) -> Interval:
        """The smallest and the largest value it can have."""
        if self.scale is not None:
            return self.scale(scale) if callable(self.scale) else self.scale
        span = scale.high - scale.low
        by_unit = {Unit.SCORE: (scale.low, scale.high), Unit.GAP: (0.0, span), Unit.SHARE: (0.0, 1.0)}
        return by_unit.get(self.unit, (-math.inf, math.inf))

    @property
    def is_share(self) -> bool:
        """Whether it lies between 0 and 1, whatever the score."""
        return self.unit is Unit.SHARE or self.scale == (0.0, 1.0)


def _penalised_scale(scale: Scale) -> Interval:
    return scale.low - scale.fairness_weight * (scale.high - scale.low), scale.high


def _theil_scale(scale: Scale) -> Interval:
    return 0.0, math.inf if scale.n_classes is None else math.log(scale.n_classes)


METRICS: dict[str, ModelMetric] = {
    metric.key: metric
    for metric in (
        ModelMetric(
            key="aggregate",
            title="{score}",
            values_of=lambda classes: classes.scores @ classes.weights,
            note="mean over {whole}",
            meaning="The mean over {whole}; higher is better. Large {parts} weigh more.",
            axis="mean of the scores: of all samples",
            monotone=True,
            of_every_class=False,
        ),
        ModelMetric(
            key="class_mean",
            title="class mean",
            name="mean of the {parts}",
            values_of=lambda classes: classes.scores.mean(axis=1),
            note="every one of the {parts} counts the same",
            meaning="All {parts} count the same, however many samples they have.",
            monotone=True,
            is_main=False,
        ),
        ModelMetric(
            key="wcr",
            title="WCR",
            name="worst {part} (WCR)",
            values_of=lambda classes: classes.scores.min(axis=1),
            note="the worst: {worst}",
            meaning="The lowest of the {parts}: {worst}. Higher is better.",
            axis="lowest score: of the {parts}",
            monotone=True,
            worsened_by_any=True,
        ),
        ModelMetric(
            key="rdi",
            title="RDI",
            name="gap (RDI)",
            values_of=lambda classes: rows.gaps(classes.scores),
            note="best minus worst: {best} − {worst}",
            meaning="Best minus worst: {best} minus {worst}. 0 would be equal; chance alone makes it larger than that.",
            axis="best − worst: lower is more even",
            higher_is_better=False,
            unit=Unit.GAP,
            worsened_by_any=True,
        ),
        ModelMetric(
            key="nrgc",
            title="NRGC",
            name="Gini (NRGC)",
            values_of=lambda classes: rows.ginis(classes.scores),
            note="Gini coefficient of the {parts}: 0 is equal",
            meaning="How unevenly the score is shared, relative to its mean: 0 is equal, towards 1 a few {parts} have "
            "it all.",
            axis="Gini, no unit: lower is more even",
            higher_is_better=False,
            unit=Unit.INDEX,
            scale=(0.0, 1.0),
        ),
        ModelMetric(
            key="fp_great",
            title="FP-GREAT",
            name="penalised mean (FP-GREAT)",
            values_of=lambda classes: rows.penalised_means(classes.scores, classes.fairness_weight),
            note="class mean − {weight} × RDI",
            meaning="Mean of the {parts} minus {weight} times the gap; higher is better.",
            axis="mean of the {parts}: − {weight} × RDI",
            scale=_penalised_scale,
        ),
        ModelMetric(
            key="theil",
            title="Theil",
            values_of=lambda classes: rows.entropies(classes.scores, 1.0),
            note="entropy index: 0 is equal",
            meaning="Another index of inequality, from information theory: 0 is equal.",
            higher_is_better=False,
            unit=Unit.INDEX,
            scale=_theil_scale,
            is_main=False,
        ),
        ModelMetric(
            key="atkinson",
            title="Atkinson",
            values_of=lambda classes: rows.lost_shares(classes.scores, formulas.DEFAULT_AVERSION),
            note="share of the mean lost to inequality; adjusted mean {adjusted}",
            meaning="The share of the mean that inequality costs: 0 is equal; what remains of the mean is {adjusted}.",
            higher_is_better=False,
            unit=Unit.INDEX,
            scale=(0.0, 1.0),
            is_main=False,
        ),
    )
}  # in the order in which they are shown
BUILT_IN = tuple(METRICS)  # with a field of their own in results, and intervals of their own in bounds


def register(metric: ModelMetric) -> None:
    """Add a metric: every audit made from now on has it, and whatever reads the table knows it.

    >>> register(ModelMetric(key="rdi", title="mine", value=lambda classes: 0.0, note="nothing"))
    Traceback (most recent call last):
    gfscore.errors.OptionError: there is a metric 'rdi' already. Give another key.
    """
    if METRICS.get(metric.key) == metric:
        return
    if not re.fullmatch(r"[a-z][a-z0-9_]*", metric.key):
        raise OptionError(f"{metric.key!r} cannot be the key of a metric. Use small letters, digits and underscores.")
    if metric.key in METRICS or metric.key in TAKEN:
        raise OptionError(f"there is a metric {metric.key!r} already. Give another key.")
    if metric.title in {known.title for known in METRICS.values()}:
        raise OptionError(f"there is a metric with the title {metric.title!r} already. Give another title.")
    if (metric.value is None) == (metric.values_of is None):
        raise OptionError(_NO_FORMULA.format(key=metric.key))
    for text in (metric.title, metric.name, metric.note, metric.meaning, metric.axis):
        try:
            text.format_map(dict.fromkeys(PLACEHOLDERS, ""))
        except (KeyError, ValueError, IndexError) as error:
            raise OptionError(
                f"the text {text!r} of the metric {metric.key!r} cannot be filled ({error}). Braces hold one of "
                f"{', '.join(PLACEHOLDERS)}; write {{{{ for a brace."
            ) from error
    METRICS[metric.key] = metric


def all_metrics() -> dict[str, ModelMetric]:
    """Every metric there is, those of installed plug-ins too, by key in the order in which they are shown."""
    load_plugins()
    return METRICS


def find_metric(key: str) -> ModelMetric | None:
    """The metric with this key; None where there is none, not even in an installed plug-in.

    >>> find_metric("rdi").higher_is_better
    False
    """
    return METRICS[key] if key in METRICS else all_metrics().get(key)
