"""The adaptive gate: is the worst class at least tau? Forward passes are drawn until the answer is sure.

PASS when every class is shown above tau, each at level delta: if a class is below, PASS needs the evidence of that very
class to be wrong. FAIL when the average over classes of the evidence for "below tau" reaches 1/delta: if no class is
below, that average is a fair game. Both hold whichever class is drawn from next, and whenever one stops.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gfscore import views
from gfscore.arrays import FloatArray, IntArray
from gfscore.bounds import Evidence, check_level, log_average
from gfscore.errors import OptionError, first_few
from gfscore.judge.chance import Decisions
from gfscore.results import AdaptiveClass, AdaptiveRun, Verdict

ROUND = 16  # forward passes between two looks
SURE_ROWS, SURE_PER_CLASS = 400, 4  # samples, at least, that tell a guess from more
EXPLORATION = 0.5  # deviations by which a class may be worse than it looks; half the range is the largest there is

Score = Callable[[IntArray], tuple[FloatArray, IntArray]]  # rows (n,) in; local scores and predicted classes out
Progress = Callable[[int, int], None]  # forward passes used, samples there are


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """Where an adaptive gate ended."""

    verdict: Verdict
    evidence: Evidence  # over the classes that have samples
    present: IntArray  # (K,), their labels
    sizes: IntArray  # (K,), samples there are to draw of each
    correct: IntArray  # (K,), of those drawn, predicted rightly
    decided: IntArray  # (used,), the class that each sample drawn was decided for
    rounds: int
    seed: int

    @property
    def used(self) -> int:
        """Forward passes that were needed."""
        return int(self.evidence.counts.sum())

    @property
    def available(self) -> int:
        """Samples there are."""
        return int(self.sizes.sum())


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
    False: as they stand, for samples that a generator draws independently anyway). The same scores give the same draws.
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
    present, sizes = np.unique(labels, return_counts=True)
    if len(present) < 2:
        raise OptionError("the samples have one class only, so none is the worst. Give samples of two or more.")
    whole = _whole(present, sizes, class_sizes) if finite else None
    part = _is_part(whole, sizes)
    orders = [_order(labels, label, seed, shuffle=shuffle, part=part) for label in present.tolist()]
    evidence = Evidence.start(len(present), threshold, maximum=maximum, sizes=whole)
    correct, rounds = np.zeros(len(present), dtype=np.int64), 0
    decided: list[IntArray] = []
    while True:
        progress(int(evidence.counts.sum()), len(labels))
        passed, failed = judge_evidence(evidence.above, evidence.below, delta)
        open_ = ~passed & (evidence.counts < sizes)
        if failed or passed.all() or not open_.any():
            break
        wanted = next_draws(evidence, sizes, open_, size)
        rows = np.concatenate(
            [order[n : n + more] for order, n, more in zip(orders, evidence.counts, wanted, strict=True)]
        )
        codes = np.repeat(np.arange(len(present)), wanted)
        values, predicted = score(rows)
        evidence = evidence.add(values, codes)
        decided.append(predicted)
        correct += np.bincount(codes[predicted == labels[rows]], minlength=len(present))
        rounds += 1
    verdict = Verdict.FAIL if failed else Verdict.PASS if passed.all() else Verdict.UNDECIDED
    return Drawn(
        verdict=verdict,
        evidence=evidence,
        present=present,
        sizes=sizes,
        correct=correct,
        decided=np.concatenate(decided or [np.zeros(0, dtype=np.int64)]),
        rounds=rounds,
        seed=seed,
    )


def judge_evidence(above: FloatArray, below: FloatArray, delta: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which classes are shown above, ``(..., K)``, and whether one is shown to be below, ``(...)``."""
    level = math.log(1.0 / delta)
    return above >= level, np.asarray(log_average(below) >= level)


def next_draws(evidence: Evidence, sizes: IntArray, open_: NDArray[np.bool_], size: int) -> IntArray:
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


def _is_part(whole: IntArray | None, sizes: IntArray) -> bool:
    """Whether the samples are a part of the fixed set that the verdict is about."""
    return whole is not None and bool((whole > sizes).any())


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
    above, below = drawn.evidence.above, drawn.evidence.below
    entries = [
        AdaptiveClass(
            name=names[label],
            n=int(drawn.evidence.counts[k]),
            available=int(drawn.sizes[k]),
            size=None if drawn.evidence.sizes is None else int(drawn.evidence.sizes[k]),
            score=float(drawn.evidence.means[k]) if drawn.evidence.counts[k] else None,
            accuracy=float(drawn.correct[k] / drawn.evidence.counts[k]) if drawn.evidence.counts[k] else None,
            log_above=_finite(above[k]),
            log_below=_finite(below[k]),
        )
        for k, label in enumerate(drawn.present.tolist())
    ]
    return AdaptiveRun(
        threshold=threshold,
        used=drawn.used,
        available=drawn.available,
        from_store=from_store,
        passes_per_sample=passes,
        rounds=drawn.rounds,
        seed=drawn.seed,
        target="finite" if finite else "population",
        classes=tuple(entries),
    )


def drawn_decisions(drawn: Drawn, names: tuple[str, ...]) -> Decisions:
    """What the model decided on the samples that were drawn; ``names`` are those of all labels."""
    counts, correct = np.zeros((2, len(names)), dtype=np.int64)
    counts[drawn.present], correct[drawn.present] = drawn.evidence.counts, drawn.correct
    taken = np.bincount(drawn.decided, minlength=len(names)).astype(np.int64)
    return Decisions(names=names, counts=counts, correct=correct, taken=taken)


def rows_to_make_sure(drawn: Drawn, labels: IntArray, *, shuffle: bool) -> IntArray:
    """Rows that were not drawn, of all classes alike: so many that a model which guesses shows.

    What was drawn may not tell: it is little, mostly of the class that looked worst, and a PASS comes when scores
    happen to be high.
    """
    each = math.ceil(max(SURE_ROWS, SURE_PER_CLASS * len(drawn.present)) / len(drawn.present))
    part = _is_part(drawn.evidence.sizes, drawn.sizes)
    ordered = [
        _order(labels, label, drawn.seed, shuffle=shuffle, part=part)[n : n + each]
        for label, n in zip(drawn.present.tolist(), drawn.evidence.counts, strict=True)
    ]
    return np.concatenate(ordered)


def explain_draws(drawn: Drawn, run: AdaptiveRun, delta: float, digits: int = 3) -> str:
    """Why it ended as it did, in a sentence with numbers."""
    cost = _cost(run)
    level = f"{run.threshold:g} (error level {delta:g})"
    if drawn.verdict is Verdict.PASS:
        return f"Every one of {len(run.classes):,} classes is shown to be at least {level} after {cost}."
    if drawn.verdict is Verdict.FAIL:
        worst = run.classes[int(drawn.evidence.below.argmax())]
        seen = f"its {worst.n:,} scores have a mean of {views.number(worst.score, digits)}"
        return f"A class is shown to be below {level} after {cost}, most of all {views.printable(worst.name)}: {seen}."
    passed, _ = judge_evidence(drawn.evidence.above, drawn.evidence.below, delta)
    unsure = [entry for entry, shown in zip(run.classes, passed, strict=True) if not shown]
    some = first_few([f"{views.printable(entry.name)} ({views.number(entry.score, digits)})" for entry in unsure])
    return (
        f"{len(unsure):,} of {len(run.classes):,} classes are too near to {level} for the samples there are: "
        f"{some}; {cost} were used."
    )


def _cost(run: AdaptiveRun) -> str:
    """Of how much how much was spent."""
    spent = f"{run.used:,} of {run.available:,}"
    if run.passes_per_sample == 1:
        return f"{spent} forward passes"
    return f"{spent} samples, of up to {run.passes_per_sample:,} forward passes each,"


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
