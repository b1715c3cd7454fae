"""The adaptive gate: is the worst class at least tau? Forward passes are drawn until the answer is sure.

PASS when every class is shown above tau, each at level delta: if a class is below, PASS needs the evidence of that very
class to be wrong. FAIL when the average over classes of the evidence for "below tau" reaches 1/delta: if no class is
below, that average is a fair game. Both hold whichever class is drawn from next, and whenever one stops.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from gfscore import views
from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.bounds import Evidence, check_level, log_average
from gfscore.errors import OptionError, first_few
from gfscore.judge.accuracies import Decisions
from gfscore.judge.e_values import e_value
from gfscore.results import AdaptiveClass, AdaptiveRun, RuleEvidence, ScoreInfo, Verdict
from gfscore.score_titles import ROBUST

ROUND = 16  # forward passes between two looks
SURE_ROWS, SURE_PER_CLASS = 400, 4  # samples, at least, that tell a guess from more
EXPLORATION = 0.5  # deviations by which a class may be worse than it looks; half the range is the largest there is

Score = Callable[[IntArray], tuple[FloatArray, IntArray]]  # rows (n,) in; local scores and predicted classes out
Progress = Callable[[int, int], None]  # forward passes used, samples there are


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """Where an adaptive gate is, and in the end where it ended."""

    evidence: Evidence  # over the classes that have samples
    present: IntArray  # (K,), their labels
    orders: tuple[IntArray, ...]  # rows of each of them, in the order in which they are drawn
    rounds: tuple[IntArray, ...] = ()  # (2, n) each: labels of the samples drawn, and the classes they are decided for
    delta: float
    seed: int

    @property
    def sizes(self) -> IntArray:
        """Samples there are to draw of each class, ``(K,)``."""
        return np.array([len(order) for order in self.orders])

    @property
    def used(self) -> int:
        """Forward passes that were needed."""
        return int(self.evidence.counts.sum())

    @property
    def available(self) -> int:
        """Samples there are."""
        return int(self.sizes.sum())

    @property
    def seen(self) -> IntArray:
        """Labels and decisions of all samples that were drawn, ``(2, used)``."""
        return np.concatenate([np.zeros((2, 0), dtype=np.int64), *self.rounds], axis=1)

    @property
    def passed(self) -> BoolArray:
        """Which classes are shown above the threshold, ``(K,)``."""
        return judge_evidence(self.evidence.above, self.evidence.below, self.delta)[0]

    @property
    def verdict(self) -> Verdict:
        """What is shown so far."""
        passed, failed = judge_evidence(self.evidence.above, self.evidence.below, self.delta)
        return Verdict.FAIL if failed else Verdict.PASS if passed.all() else Verdict.UNDECIDED

    @property
    def open_classes(self) -> BoolArray:
        """Which classes are worth another sample, ``(K,)``: none once the verdict is sure."""
        passed, failed = judge_evidence(self.evidence.above, self.evidence.below, self.delta)
        return ~passed & (self.evidence.counts < self.sizes) & ~failed

    def draw(self, score: Score, wanted: IntArray) -> Self:
        """After a round with so many samples of each class, ``(K,)``."""
        starts = self.evidence.counts
        rows = [order[n : n + more] for order, n, more in zip(self.orders, starts, wanted, strict=True)]
        codes = np.repeat(np.arange(len(wanted)), wanted)
        values, predicted = score(np.concatenate(rows))
        decided = np.stack([self.present[codes], predicted])
        return replace(self, evidence=self.evidence.add(values, codes), rounds=(*self.rounds, decided))


def adaptive_gate(
    score: Score,
    labels: IntArray,
    *,
    threshold: float,
    maximum: float,
    delta: float = 0.05,
    seed: int = 0,
    shuffle: bool = True,
    finite: bool = False,
    class_sizes: ArrayLike | None = None,
    size: int = ROUND,
    progress: Progress = lambda _used, _available: None,
) -> Drawn:
    """Draw samples, ``size`` at a time, until it is sure on which side of ``threshold`` the worst class lies.

    ``score`` gives the local scores, in [0, ``maximum``], and the predictions of some rows of the data whose ``labels``
    are ``(N,)``; it is asked for no row twice. Within a class the order is random, fixed by ``seed`` (``shuffle``
    False: as they stand, for samples that a generator draws independently anyway). Equal scores give equal draws.
    A verdict is wrong with probability at most ``delta``: about the distribution behind the samples, or, with
    ``finite``, about the WCR of a fixed set, which is known for sure when all of it was drawn. That set is these very
    samples; where they are a random part of each class of a larger one, ``class_sizes`` (by label) are the larger
    one's, and what lies outside the part stays unknown.

    The question and the choice of the next class are after Kaufmann, Koolen and Garivier, "Sequential test for the
    lowest mean", NeurIPS 2018; the evidence is of :class:`~gfscore.bounds.Evidence`.

    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1, 2], 1000)
    >>> scores = rng.beta(2, 2, 3000) * np.array([0.9, 0.3, 1.0])[labels]
    >>> drawn = adaptive_gate(lambda rows: (scores[rows], labels[rows]), labels, threshold=0.3, maximum=1.0)
    >>> drawn.verdict.value, drawn.used, drawn.available
    ('FAIL', 48, 3000)
    """
    check_level(delta)
    if size < 1:
        raise OptionError(f"a round of {size} samples draws nothing. Give at least 1.")
    present, counts = np.unique(labels, return_counts=True)
    if len(present) < 2:
        raise OptionError("the samples have one class only, so none is the worst. Give samples of two or more.")
    whole = _whole(present, counts, class_sizes) if finite else None
    part = whole is not None and bool((whole > counts).any())
    orders = tuple(_order(labels, label, seed, shuffle=shuffle, part=part) for label in present.tolist())
    evidence = Evidence.start(len(present), threshold, maximum=maximum, sizes=whole)
    drawn = Drawn(evidence=evidence, present=present, orders=orders, delta=delta, seed=seed)
    progress(0, len(labels))
    while (wanted := next_draws(drawn.evidence, drawn.sizes, drawn.open_classes, size)).any():
        drawn = drawn.draw(score, wanted)
        progress(drawn.used, len(labels))
    return drawn


def judge_evidence(above: FloatArray, below: FloatArray, delta: float) -> tuple[BoolArray, BoolArray]:
    """Which classes are shown above, ``(..., K)``, and whether one is shown to be below, ``(...)``."""
    level = math.log(1.0 / delta)
    return above >= level, np.asarray(log_average(below) >= level)


def next_draws(evidence: Evidence, sizes: IntArray, open_: BoolArray, size: int) -> IntArray:
    """How many samples to draw from each class next, ``(..., K)``, ``size`` in all if there are so many.

    One by one from the class that may be the lowest: its mean, less what so few samples may hide. PASS needs every
    class, in whatever order; FAIL comes soonest from the worst. A class that has passed is left alone.
    """
    k = open_.shape[-1]
    counts, totals = evidence.counts.reshape(-1, k), evidence.totals.reshape(-1, k)
    means = (totals + evidence.threshold) / (counts + 1.0)  # as if each had begun with one score at the threshold
    left = np.where(open_.reshape(-1, k), sizes - counts, 0)
    lowest = np.where(left > 0, means - EXPLORATION / np.sqrt(counts + 1.0), np.inf)
    wanted, rows = np.zeros_like(counts), np.arange(len(counts))
    for _ in range(size):
        chosen = (rows, lowest.argmin(axis=-1))
        wanted[chosen] += wanted[chosen] < left[chosen]  # nothing, where nothing is left
        reach = means[chosen] - EXPLORATION / np.sqrt(counts[chosen] + wanted[chosen] + 1.0)
        lowest[chosen] = np.where(wanted[chosen] < left[chosen], reach, np.inf)
    return wanted.reshape(open_.shape)


def _order(labels: IntArray, label: int, seed: int, *, shuffle: bool, part: bool) -> IntArray:
    """The rows of a class in the order they are drawn; that of one class does not depend on the others.

    A part was itself chosen by ``default_rng([seed, label])``. Its order must not come from the same numbers: part and
    order together are a draw without replacement only if the second knows nothing of the first.
    """
    rows = np.flatnonzero(labels == label)
    return np.random.default_rng([seed, label, 1] if part else [seed, label]).permutation(rows) if shuffle else rows


def _whole(present: IntArray, counts: IntArray, class_sizes: ArrayLike | None) -> IntArray:
    """Samples of each class with samples in the fixed set that the verdict is about."""
    if class_sizes is None:
        return counts
    sizes = np.asarray(class_sizes, dtype=np.int64)
    if sizes.ndim != 1 or len(sizes) <= present.max() or (sizes[present] < counts).any():
        raise OptionError("class sizes must be those of the whole set: one for each label, none below its samples.")
    if np.delete(sizes, present).any():
        raise OptionError("a class of the set has no sample here, so nothing can be said of its worst class.")
    return sizes[present]


def describe_draws(
    drawn: Drawn, names: tuple[str, ...], threshold: float, *, finite: bool, from_store: int, passes: int = 1
) -> AdaptiveRun:
    """The run as a result; ``names`` are those of all labels, ``passes`` the forward passes that a sample takes."""
    evidence, sizes, (labels, decided) = drawn.evidence, drawn.sizes, drawn.seen
    above, below, means = evidence.above, evidence.below, evidence.means
    correct = np.bincount(labels[labels == decided], minlength=len(names))
    classes = [
        AdaptiveClass(
            name=names[label],
            n=int(n),
            available=int(sizes[k]),
            size=None if evidence.sizes is None else int(evidence.sizes[k]),
            score=float(means[k]) if n else None,
            accuracy=float(correct[label] / n) if n else None,
            log_above=_finite(above[k]),
            log_below=_finite(below[k]),
        )
        for k, (label, n) in enumerate(zip(drawn.present, evidence.counts, strict=True))
    ]
    return AdaptiveRun(
        threshold=threshold,
        used=drawn.used,
        available=drawn.available,
        from_store=from_store,
        passes_per_sample=passes,
        rounds=len(drawn.rounds),
        seed=drawn.seed,
        target="finite" if finite else "population",
        classes=tuple(classes),
    )


def drawn_evidence(drawn: Drawn, *, missing: bool = False) -> RuleEvidence:
    """E-values of the rule, which hold whenever one stops; of classes that are ``missing`` nothing is shown."""
    evidence = drawn.evidence
    against, lowest = float(log_average(evidence.below)), float(evidence.above.min())
    in_favour = min(lowest, 0.0) if missing else lowest
    return RuleEvidence(against_rule=e_value(against), for_rule=e_value(in_favour), made_from="samples")


def drawn_decisions(drawn: Drawn, names: tuple[str, ...]) -> Decisions:
    """What the model decided on the samples that were drawn; ``names`` are those of all labels."""
    none = np.zeros(len(names), dtype=np.int64)
    return Decisions(names=names, counts=none, correct=none, taken=none).with_more(*drawn.seen)


def rows_to_make_sure(drawn: Drawn) -> IntArray:
    """Rows that were not drawn, of all classes alike: so many that a model which guesses shows.

    What was drawn may not tell: it is little, mostly of the class that looked worst, and a PASS comes when scores
    happen to be high.
    """
    each = math.ceil(max(SURE_ROWS, SURE_PER_CLASS * len(drawn.present)) / len(drawn.present))
    return np.concatenate([order[n : n + each] for order, n in zip(drawn.orders, drawn.evidence.counts, strict=True)])


def explain_draws(drawn: Drawn, run: AdaptiveRun, delta: float, score: ScoreInfo | None = None) -> str:
    """Why it ended as it did, in a sentence with numbers; ``score`` says what is judged."""
    digits, of_shares = views.digits_of(score), score is not None and score.name == ROBUST
    at = f" robust accuracy at {views.eps_text(score.eps or 0.0, score.norm)}" if score and of_shares else ""
    cost = f"{run.used:,} of {run.available:,} forward passes"
    if run.passes_per_sample > 1:
        cost = f"{run.used:,} of {run.available:,} samples (up to {run.passes_per_sample:,} passes each)"
    level = f"{run.threshold:g}{at} (error level {delta:g})"
    if drawn.verdict is Verdict.PASS:
        return f"Every one of {len(run.classes):,} classes is shown to be at least {level} after {cost}."
    if drawn.verdict is Verdict.FAIL:
        worst = run.classes[int(drawn.evidence.below.argmax())]
        seen = f"its {worst.n:,} scores have a mean of {views.number(worst.score, digits)}"
        if of_shares:
            seen = f"{views.percent(worst.score)} of its {worst.n:,} samples have a larger radius"
        return f"A class is shown to be below {level} after {cost}, most of all {views.printable(worst.name)}: {seen}."
    unsure = [entry for entry, shown in zip(run.classes, drawn.passed, strict=True) if not shown]
    some = first_few([f"{views.printable(entry.name)} ({views.number(entry.score, digits)})" for entry in unsure])
    return (
        f"{len(unsure):,} of {len(run.classes):,} classes are too near to {level} for the samples there are: "
        f"{some}; {cost} were used."
    )


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
