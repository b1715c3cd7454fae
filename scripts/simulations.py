"""Populations with known class means, and how often intervals and tests fail on them.

The statistical tests and ``coverage_table.py`` both count with these functions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gfscore import audit
from gfscore.bounds import AuditIntervals, Method, PartScores, audit_intervals, noise_floor, normal_floor
from gfscore.judge import accuracy_intervals
from gfscore.metrics import formulas
from gfscore.results import NoiseFloor
from gfscore.scores import SCORE_MAX

Array = np.ndarray
ORDER_SEED = 1_000_000  # orders and shuffles are seeded apart from the scores


@dataclass(frozen=True)
class Population:
    """Scores in [0, 1] whose class means are known: ``draw(generator, means)`` gives a score for each entry."""

    name: str
    draw: Callable[[np.random.Generator, Array], Array]
    lowest: float = 0.1
    highest: float = 0.9

    def means(self, k: int) -> Array:
        """True means of k classes."""
        return np.linspace(self.lowest, self.highest, k)


def _beta(concentration: float) -> Callable[[np.random.Generator, Array], Array]:
    return lambda generator, means: generator.beta(concentration * means, concentration * (1.0 - means))


def _uniform(generator: np.random.Generator, means: Array) -> Array:
    return generator.random(len(means)) * 2.0 * means


def _zero_inflated(generator: np.random.Generator, means: Array) -> Array:
    return np.where(generator.random(len(means)) < 2.0 * means, generator.beta(2.0, 2.0, len(means)), 0.0)


POPULATIONS = (
    Population("uniform", _uniform, highest=0.5),
    Population("Beta", _beta(4.0)),
    Population("Beta, equal means", _beta(4.0), lowest=0.5, highest=0.5),
    Population("zero-inflated", _zero_inflated, lowest=0.01, highest=0.5),
    Population("nearly 0/1", _beta(0.05), lowest=0.02, highest=0.98),
    Population("constant", lambda _, means: means.copy()),
)

COINS = Population(
    "0 or 1, mean 0.752", lambda generator, means: 1.0 * (generator.random(len(means)) < means), 0.752, 0.752
)

ORDERS: dict[str, Callable[[Array, Array], Array]] = {
    "as drawn": lambda values, _: np.arange(len(values)),
    "by score": lambda values, _: np.argsort(values),
    "by class": lambda values, codes: np.lexsort((-values, codes)),
}


def class_sizes(k: int, n: tuple[int, int]) -> Array:
    """Numbers of samples of k classes, spread evenly on a log scale from the first to the second number."""
    return np.geomspace(*n, k).round().astype(np.int64)


def count_misses(
    population: Population,
    *,
    k: int,
    n: tuple[int, int],
    method: Method,
    runs: int,
    delta: float,
    order: str = "as drawn",
    seed: int = 0,
    order_seed: int | None = None,
    finite: bool = False,
) -> dict[str, int]:
    """In how many of ``runs`` each interval of an audit missed the truth; "any": at least one of them did.

    ``order_seed``: that of the audits, the same in all of them, as users have it; None: another one each time.
    ``finite``: the samples are half of a fixed set, which is drawn anew each time, and its means are the truth.
    """
    generator = np.random.default_rng(seed)
    counts = class_sizes(k, n)
    sizes = 2 * counts if finite else counts
    whole = np.repeat(np.arange(k), sizes)
    misses: dict[str, int] = {}
    for run in range(runs):
        values, codes, truth = population.draw(generator, population.means(k)[whole]), whole, population.means(k)
        if finite:
            truth = np.bincount(codes, weights=values) / sizes
            shuffled = generator.permutation(len(values))
            place = np.argsort(codes[shuffled], kind="stable")  # whole set: class by class, each in random order
            rank = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            kept = shuffled[place][rank < np.repeat(counts, sizes)]
            values, codes = values[kept], codes[kept]
        arranged = ORDERS[order](values, codes)
        found = audit_intervals(
            values[arranged],
            codes[arranged],
            k,
            maximum=1.0,
            delta=delta,
            method=method,
            seed=ORDER_SEED + run if order_seed is None else order_seed,
            sizes=sizes if finite else None,
        )
        for name, missed in missed_by(found, truth, counts).items():
            misses[name] = misses.get(name, 0) + missed
    return misses


def missed_by(found: AuditIntervals, truth: Array, counts: Array) -> dict[str, bool]:
    """Whether each interval misses; a truth that does not exist, or an index of a sample of zeros, is not counted."""
    slack = 1e-9  # the truth itself is rounded
    values = {
        "WCR": (formulas.wcr(truth), found.wcr),
        "RDI": (formulas.rdi(truth), found.rdi),
        "NRGC": (formulas.nrgc(truth), found.nrgc),
        "FP-GREAT": (formulas.fp_great(truth), found.fp_great),
        "Theil": (formulas.theil(truth), found.theil),
        "Atkinson": (formulas.atkinson(truth), found.atkinson),
        "class mean": (float(truth.mean()), found.class_mean),
        "aggregate": (float(np.average(truth, weights=counts)), found.aggregate),
    }
    missed = {
        name: value is not None and ends is not None and not ends[0] - slack <= value <= ends[1] + slack
        for name, (value, ends) in values.items()
    }
    missed["classes"] = bool(((truth < found.lower - slack) | (truth > found.upper + slack)).any())
    missed["worst set"] = int(truth.argmin()) not in found.worst_set
    missed["any"] = any(missed.values())
    return missed


Draw = Callable[[np.random.Generator, Array], Array]  # scores for the class codes, with equal class means

# Equal means, unequal spreads: what a test of equal means must not reject, by name.
EQUAL_MEANS: dict[str, Draw] = {
    "the same Beta in all classes": lambda generator, codes: generator.beta(2.0, 2.0, len(codes)),
    "Beta, unequal spreads": lambda generator, codes: _symmetric_beta(
        generator, np.array([0.15, 1.0, 10.0])[codes % 3]
    ),
    "0/1 and narrow Beta": lambda generator, codes: np.where(
        codes % 2 == 0, generator.integers(0, 2, len(codes)), generator.beta(20.0, 20.0, len(codes))
    ),
    "zero-inflated, unequal shares": lambda generator, codes: _inflated(
        generator, np.array([0.25, 0.5, 1.0])[codes % 3]
    ),
}

# Scores that are nearly all 0 or at the maximum, and the same in all classes: an exact test keeps its level.
SATURATED: dict[str, Draw] = {
    "the same 0/1, right with 0.9": lambda generator, codes: (generator.random(len(codes)) < 0.9).astype(np.float64),
    "the same, right with 0.9, then Beta(8, 0.5)": lambda generator, codes: np.where(
        generator.random(len(codes)) < 0.9, generator.beta(8.0, 0.5, len(codes)), 0.0
    ),
}


@dataclass(frozen=True)
class Skewed:
    """Equal means, but rare mass in small classes beside others that vary little: no test here keeps its level."""

    name: str
    sizes: tuple[int, ...]
    draw: Draw


def _rare(mean: float, rare: Callable[[Array], Array]) -> Draw:
    """Classes that ``rare`` names are 0/1, the others a narrow Beta, all with one mean."""
    return lambda generator, codes: np.where(
        rare(codes), generator.random(len(codes)) < mean, generator.beta(200 * mean, 200 * (1 - mean), len(codes))
    )


SKEWED = (
    Skewed("narrow 0.05, n = 1000; 0/1, n = 20", (1000, 20), _rare(0.05, lambda codes: codes == 1)),
    Skewed("five narrow 0.2, n = 500; five 0/1, n = 10", (500, 10) * 5, _rare(0.2, lambda codes: codes % 2 == 1)),
    Skewed("nine narrow 0.9, n = 100; one 0/1, n = 30", (100,) * 9 + (30,), _rare(0.9, lambda codes: codes == 9)),
    Skewed("five narrow 0.05, five 0/1, n = 30", (30,) * 10, _rare(0.05, lambda codes: codes % 2 == 1)),
    Skewed("five narrow 0.5, five 0/1, n = 50", (50,) * 10, _rare(0.5, lambda codes: codes % 2 == 1)),
)


def _symmetric_beta(generator: np.random.Generator, shapes: Array) -> Array:
    return generator.beta(shapes, shapes)


def _inflated(generator: np.random.Generator, shares: Array) -> Array:
    means = 0.2 / shares
    return np.where(generator.random(len(shares)) < shares, generator.beta(10.0 * means, 10.0 * (1.0 - means)), 0.0)


def count_rejections(
    draw: Draw, sizes: ArrayLike, *, runs: int, permutations: int, seed: int = 0, normal: bool = False
) -> dict[str, int]:
    """How often the tests of RDI and NRGC give p at most 0.05 although all means are equal.

    By index and test (``RDI plain``, ``RDI studentised``, ``RDI`` for the larger p-value), and ``either``: one of the
    two larger p-values, corrected by Holm. ``normal``: from means and variances alone.
    """
    generator, k = np.random.default_rng(seed), len(np.asarray(sizes))
    codes = np.repeat(np.arange(k), sizes)
    rejections: dict[str, int] = {}
    for run in range(runs):
        floor = _floor(draw(generator, codes), codes, k, permutations, ORDER_SEED + run, normal=normal)
        found = {"either": any(null.p_holm <= 0.05 for null in (floor.rdi, floor.nrgc) if null is not None)}
        for name, null in (("RDI", floor.rdi), ("NRGC", floor.nrgc)):
            found[f"{name} plain"] = null is not None and null.p_plain <= 0.05
            found[f"{name} studentised"] = null is not None and null.p_studentised <= 0.05
            found[name] = null is not None and null.p_value <= 0.05
        rejections = {name: rejections.get(name, 0) + rejected for name, rejected in found.items()}
    return rejections


def _floor(values: Array, codes: Array, k: int, permutations: int, seed: int, *, normal: bool) -> NoiseFloor:
    if not normal:
        return noise_floor(values, codes, k, maximum=1.0, permutations=permutations, seed=seed)
    parts = PartScores.of(values, codes, k, maximum=1.0)
    return normal_floor(parts.means, parts.variances, parts.counts, maximum=1.0, draws=permutations, seed=seed)


def count_unequal_draws(sizes: Sequence[int], drawn: int, *, finite: bool, runs: int, delta: float) -> dict[str, int]:
    """In how many audits the mean score and the accuracy of the whole miss, when ``drawn`` of each class were scored.

    The classes of a set have ``sizes``; margins of logits are normal, lower the smaller the class. The truth is that of
    the set (``finite``), or of the law behind it with the classes in the set's shares. ``score, alike`` is the interval
    of an audit that is not told the sizes.
    """
    k, spread = len(sizes), 1.5
    centres = 3.0 - 3.5 * (np.max(sizes) - np.asarray(sizes)) / np.max(sizes)
    shares = np.asarray(sizes) / np.sum(sizes)
    grid = np.linspace(-8.0, 8.0, 20_001)  # standard deviations; a Riemann sum of a smooth density is exact enough
    density = np.exp(-(grid**2) / 2) / np.exp(-(grid**2) / 2).sum()
    margins = centres[:, None] + spread * grid
    law = {"score": shares @ (_margin_scores(margins, k) @ density), "accuracy": shares @ ((margins > 0) @ density)}
    missed = dict.fromkeys(("score", "accuracy", "score, alike"), 0)
    for run in range(runs):
        generator = np.random.default_rng([run, k, drawn])
        labels = np.repeat(np.arange(k), sizes)
        margin = generator.normal(centres[labels], spread)
        truth = {"score": _margin_scores(margin, k).mean(), "accuracy": (margin > 0).mean()} if finite else law
        rows = np.concatenate([generator.permutation(np.flatnonzero(labels == part))[:drawn] for part in range(k)])
        logits = margin[rows, None] * np.eye(k)[labels[rows]]
        how = {"delta": delta, "seed": ORDER_SEED + run}
        told = audit(logits, labels[rows], class_sizes=sizes, finite=finite, **how).model
        alike = audit(logits, labels[rows], **how).model
        intervals = {
            "score": told.aggregate_interval,
            "accuracy": accuracy_intervals(told, {None}, delta)[0],
            "score, alike": alike.aggregate_interval,
        }
        for name, (low, high) in intervals.items():
            missed[name] += not low <= truth[name.partition(",")[0]] <= high
    return missed


def _margin_scores(margins: Array, k: int) -> Array:
    """The GREAT score of samples whose own logit is the margin and whose other logits are 0."""
    led = np.maximum(margins, 0.0)
    return SCORE_MAX * -np.expm1(-led) / (1.0 + (k - 1) * np.exp(-led))
