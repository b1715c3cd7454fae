"""How often the gate and the comparison err on scores whose truth is known, and what they cost on real ones.

The statistical tests, ``gate_tables.py`` and ``compare_tables.py`` all count with these functions.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gfscore.bounds import Evidence, holm
from gfscore.bounds.changes import TEST_SHARE, change_parts, fall_p_values
from gfscore.judge import adaptive_gate
from gfscore.judge.adaptive_draws import judge_evidence, next_draws
from gfscore.results import Verdict
from gfscore.samples import Samples
from gfscore.scores import SCORE_MAX, great_scores
from simulations import Population

Array = np.ndarray
TOGETHER = 10_000  # classes simulated at once: their arrays stay in a core's cache
THRESHOLD = 0.3  # of scores in [0, 1]
HIGH = 0.5  # mean of the classes that are not in question
GAPS = (0.005, 0.02, 0.1)
FACTORS = (0.5, 0.8, 1.2, 2.0)  # thresholds as multiples of the true WCR


@dataclass(frozen=True)
class Gated:
    """How many audits ended in each verdict, and how many forward passes each took."""

    verdicts: dict[Verdict, int]
    used: Array  # (runs,)


def gate_many(
    population: Population, means: Array, *, n: int, runs: int, delta: float = 0.05, size: int = 16, seed: int = 0
) -> Gated:
    """Many adaptive gates: class k of each has ``n`` samples with the mean ``means[k]``."""
    step = max(1, TOGETHER // len(means))
    pieces = [
        _gate_together(population, means, n, min(step, runs - start), delta, size, [seed, start])
        for start in range(0, runs, step)
    ]
    verdicts = {verdict: sum(piece.verdicts[verdict] for piece in pieces) for verdict in Verdict}
    return Gated(verdicts=verdicts, used=np.concatenate([piece.used for piece in pieces]))


def _gate_together(
    population: Population, means: Array, n: int, runs: int, delta: float, size: int, seed: list[int]
) -> Gated:
    """Some gates, round by round at the same time: the classes of all of them make one array."""
    generator, k = np.random.default_rng(seed), len(means)
    evidence = Evidence.start(runs * k, THRESHOLD, maximum=1.0)
    while True:
        counts = evidence.counts.reshape(runs, k)
        passed, failed = judge_evidence(evidence.above.reshape(runs, k), evidence.below.reshape(runs, k), delta)
        open_ = ~passed & (counts < n) & ~failed[:, None]
        if not open_.any():
            break
        wanted = next_draws(evidence, np.full(k, n), open_, size)
        codes = np.repeat(np.arange(runs * k), wanted.ravel())
        evidence = evidence.add(population.draw(generator, means[codes % k]), codes)
    ended = np.where(failed, Verdict.FAIL, np.where(passed.all(axis=1), Verdict.PASS, Verdict.UNDECIDED))
    verdicts = {verdict: int((ended == verdict).sum()) for verdict in Verdict}
    return Gated(verdicts=verdicts, used=counts.sum(axis=1))


def means_below(k: int, gap: float) -> Array:
    """One class below the threshold, all others well above: a single error is enough for a false PASS."""
    return np.where(np.arange(k) == k // 2, THRESHOLD - gap, HIGH)


def means_above(k: int, gap: float) -> Array:
    """Every class just above the threshold: each of them can make a false FAIL."""
    return np.full(k, THRESHOLD + gap)


@dataclass(frozen=True)
class RealGate:
    """Adaptive gates on the stored scores of one network, at one multiple of its true WCR."""

    factor: float
    wcr: float
    verdicts: list[Verdict]
    used: list[int]


def gate_real(samples: Samples, *, seeds: Iterable[int], finite: bool = False) -> list[RealGate]:
    """Forward passes that a verdict would have taken, counted on stored logits."""
    local, labels = great_scores(samples), samples.labels
    wcr = float((np.bincount(labels, weights=local.values) / np.bincount(labels)).min())
    results = []
    for factor in FACTORS:
        if factor * wcr >= SCORE_MAX:
            continue  # no model reaches such a threshold
        drawn = [
            adaptive_gate(
                lambda rows: (local.values[rows], local.predicted[rows]),
                labels,
                threshold=factor * wcr,
                maximum=SCORE_MAX,
                seed=seed,
                finite=finite,
            )
            for seed in seeds
        ]
        results.append(
            RealGate(
                factor=factor,
                wcr=wcr,
                verdicts=[each.verdict for each in drawn],
                used=[each.used for each in drawn],
            )
        )
    return results


CORRELATION = 0.7


def two_versions(scores: Array, codes: Array, generator: np.random.Generator, *, fallen: int, drop: float) -> tuple:
    """Two versions with real scores in every class: equal in distribution but for ``drop`` in the class ``fallen``.

    The old version draws from the scores of the class. The new one repeats its draw with probability 0.7, and else
    draws afresh: that is its correlation. The fall scales the scores of one class, so that they stay in range.
    """
    order = np.argsort(codes, kind="stable")
    starts, sizes = np.searchsorted(codes[order], np.arange(codes.max() + 1)), np.bincount(codes)

    def draw() -> Array:
        picked = starts[codes] + (generator.random(len(codes)) * sizes[codes]).astype(np.int64)
        return scores[order][picked]

    old = draw()
    new = np.where(generator.random(len(codes)) < CORRELATION, old, draw())
    factor = 1.0 - drop / scores[codes == fallen].mean()
    return old, np.where(codes == fallen, factor * new, new)


@dataclass(frozen=True)
class Compared:
    """In how many of ``runs`` the fallen class was named, and in how many another one."""

    runs: int
    found: int
    false_alarms: int
    deviation: float  # of the differences in the fallen class


def compare_many(
    scores: Array, codes: Array, *, fallen: int, drop: float, runs: int, delta: float = 0.05, seed: int = 0
) -> Compared:
    """Plant a fall in one class, many times, and count what the tests name."""
    generator = np.random.default_rng(seed)
    k, found, alarms, deviations = int(codes.max()) + 1, 0, 0, []
    for run in range(runs):
        old, new = two_versions(scores, codes, generator, fallen=fallen, drop=drop)
        parts = change_parts(old, new, codes, k, maximum=SCORE_MAX, seed=1_000_000 + run)
        named = holm(fall_p_values(parts, 0.0, delta)) <= TEST_SHARE * delta
        fell = named[fallen] and drop > 0
        found += bool(fell)
        alarms += bool(np.delete(named, fallen).any() or (drop == 0 and named[fallen]))
        deviations.append(float((new - old)[codes == fallen].std()))
    return Compared(runs=runs, found=found, false_alarms=alarms, deviation=float(np.mean(deviations)))


def ordered_samples(rng: np.random.Generator, blur: float, k: int = 5, n: int = 400) -> Samples:
    """Fresh samples of one law, n of each class, in the order of their scores as far as the blur leaves it."""
    labels = np.repeat(np.arange(k), n)
    samples = Samples.of(rng.normal(0, 1, (k * n, k)) + 2 * np.eye(k)[labels], labels)
    scores = great_scores(samples).values.reshape(k, n)
    ranks = scores.argsort(axis=1).argsort(axis=1) / n
    rows = (ranks + blur * rng.normal(size=(k, n))).argsort(axis=1) + n * np.arange(k)[:, None]
    return Samples.of(samples.logits[rows.ravel()], labels)
