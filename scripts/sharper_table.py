"""Print how much narrower intervals are than by the box and by Hoeffding alone, and what a band over all T costs.

    python scripts/sharper_table.py                                 # made-up scores and the zoo
    python scripts/sharper_table.py --logits net.npz [net.npz ...]  # those of files too

"Before" is the split 0.7, 0.2, 0.1 of delta with intervals of averages by Hoeffding, the worst set and the upper end of
the RDI by the box. Both see the same samples in the same order. Takes a few minutes; seeded.
"""

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gfscore import zoo
from gfscore.bounds import Method, PartScores, audit_intervals, box
from gfscore.bounds.averages import rank_weights
from gfscore.bounds.class_means import last_excluded, sum_radius
from gfscore.bounds.methods import PartBounds
from gfscore.inputs.logits_files import read_samples
from gfscore.jobs.calling import SILENT
from gfscore.jobs.options import RunOptions
from gfscore.jobs.sources import find_sources
from gfscore.metrics import formulas
from gfscore.profile import class_profile
from gfscore.samples import Samples
from gfscore.scores import SCORE_MAX, compute_scores
from gfscore.temperature import temperature_band

DELTA = 0.05
MADE_UP = ((10, 1000, 10), (100, 100, 6), (1000, 50, 2))  # classes, samples of each, runs
TEMPERATURES = (0.3, 1.0, 3.0)


class Widths(NamedTuple):
    """What is compared: how wide each interval is, or how far an end is from its estimate."""

    worst_set: float
    class_mean: float
    aggregate: float
    nrgc: float
    rdi_above: float
    wcr_below: float
    classes: float


TITLES = (
    "worst set",
    "class mean",
    "aggregate",
    "NRGC",
    "RDI, upper end above the estimate",
    "WCR, lower end below the estimate",
    "classes, mean",
)


class Case(NamedTuple):
    """Scores in [0, 1] and their classes; and the samples, where there are logits."""

    name: str
    values: np.ndarray
    codes: np.ndarray
    k: int
    seed: int
    samples: Samples | None = None


def before(case: Case) -> Widths:
    """As intervals were made before: box, and Hoeffding's bounds of averages."""
    parts = PartScores.of(case.values, case.codes, case.k, maximum=1.0, seed=case.seed)
    found = PartBounds.of_scores(parts, Method.BETTING)
    lower, upper = found.box(0.7 * DELTA, len(parts.counts))
    lower = np.maximum(lower, min(float(found.lower(0.1 * DELTA).min()), float(found.means.min())))
    alpha, k = 0.2 * DELTA / 6, len(parts.counts)
    shares = parts.counts / parts.counts.sum()
    means = [_hoeffding(found, weights, (lower, upper), alpha) for weights in (np.full(k, 1 / k), shares)]
    gini = box.nrgc_range(lower, upper) or (0.0, 1.0)
    own = _nrgc_before(found, alpha)
    return Widths(
        float(np.count_nonzero(lower <= upper.min())),
        *means,
        min(gini[1], own[1]) - max(gini[0], own[0]),
        box.rdi_range(lower, upper)[1] - formulas.rdi(found.means),
        float(found.means.min() - lower.min()),
        float((upper - lower).mean()),
    )


def _hoeffding(found: PartBounds, weights: np.ndarray, ends: box.Ends, alpha: float) -> float:
    radius = sum_radius(weights**2, 1.0 / found.counts, alpha)
    mean, (low, high) = float(weights @ found.means), box.mean_range(*ends, weights)
    return min(high, mean + radius) - max(low, mean - radius)


def _nrgc_before(found: PartBounds, alpha: float) -> tuple[float, float]:
    """Both ends of the NRGC with Hoeffding's radius of the least favourable ranking."""
    k = len(found.counts)
    limit, ranks = 1.0 - 1.0 / k, rank_weights(k)

    def radius(g: float, counts: np.ndarray) -> float:
        return sum_radius(np.sort((ranks - g / k) ** 2), np.sort(1.0 / counts), alpha)

    spread, level = float(ranks @ np.sort(found.means)), float(found.means.mean())

    def too_large(below: np.ndarray) -> np.ndarray:
        g = limit - float(below)
        return np.asarray(spread - g * level < -radius(g, found.counts))

    upper = limit - (float(last_excluded(too_large, np.zeros(()), np.full((), limit))) if too_large(0.0) else 0.0)
    one, other = found.halves
    if min(one.counts.min(), other.counts.min()) < 1:
        return 0.0, upper
    dealt = [np.argsort(np.argsort(half.means, kind="stable")) for half in (one, other)]
    sums = np.mean([ranks[dealt[0]] @ other.means, ranks[dealt[1]] @ one.means])
    middle = np.mean([one.means.mean(), other.means.mean()])

    def too_small(g: np.ndarray) -> np.ndarray:
        return np.asarray(sums - g * middle > max(radius(float(g), half.counts) for half in (one, other)))

    return float(last_excluded(too_small, np.zeros(()), np.full((), limit))), upper


def now(case: Case) -> Widths:
    """As an audit makes them."""
    found = audit_intervals(case.values, case.codes, case.k, maximum=1.0, delta=DELTA, seed=case.seed)
    counts = np.bincount(case.codes, minlength=case.k)
    means = (np.bincount(case.codes, weights=case.values, minlength=case.k) / np.maximum(counts, 1))[counts > 0]
    nrgc = found.nrgc or (0.0, 0.0)
    return Widths(
        float(len(found.worst_set)),
        found.class_mean[1] - found.class_mean[0],
        found.aggregate[1] - found.aggregate[0],
        nrgc[1] - nrgc[0],
        found.rdi[1] - formulas.rdi(means),
        float(means.min()) - found.wcr[0],
        float((found.upper - found.lower).mean()),
    )


def made_up(k: int, n: int, runs: int) -> Iterator[Case]:
    """Right with a class accuracy from Beta(12, 3), then Beta(2.5, 1.2); else 0."""
    rng = np.random.default_rng(18)
    codes = np.repeat(np.arange(k), n)
    for run in range(runs):
        right = rng.beta(12, 3, k)[codes]
        values = np.where(rng.random(k * n) < right, rng.beta(2.5, 1.2, k * n), 0.0)
        yield Case(f"made up, K = {k:,}, n = {n:,}", values, codes, k, run)


def of_samples(name: str, samples: Samples) -> Case:
    """The GREAT score of a model at T = 1."""
    values = compute_scores(samples, "great").values / SCORE_MAX
    return Case(name, np.minimum(values, 1.0), samples.labels, samples.n_classes, 0, samples)


def compare(cases: list[Case]) -> None:
    """A row for each kind of cases, before and now."""
    pairs = [(before(case), now(case)) for case in cases]
    old, new = (np.mean([pair[side] for pair in pairs], axis=0) for side in (0, 1))
    digits = [1, 4, 4, 4, 4, 4, 4]
    cells = [f"{a:.{d}f} → {b:.{d}f}" for a, b, d in zip(old, new, digits, strict=True)]
    print(f"| {cases[0].name} | {len(cases)} |", " | ".join(cells), "|", flush=True)


def bands(case: Case) -> None:
    """How much wider than at one temperature, fixed beforehand, the band is there."""
    if case.samples is None:
        return
    samples, k = case.samples, case.samples.n_classes
    band = temperature_band(samples, delta=DELTA)
    cells = []
    for temperature in TEMPERATURES:
        local = compute_scores(samples, "great", temperature=temperature)
        means = class_profile(samples, local).scores
        wide = band.intervals(temperature, means, fairness_weight=0.5)
        plain = audit_intervals(local.values, samples.labels, k, maximum=SCORE_MAX, delta=DELTA)
        ratio = (wide.upper - wide.lower).mean() / (plain.upper - plain.lower).mean()
        wcr, own = ((each.wcr[1] - each.wcr[0]) for each in (wide, plain))
        cells.append(f"{ratio:.2f}, {wcr / own:.2f}" if own > 0 else f"{ratio:.2f}, –")
    exponents = [math.log(2 * k / (share * DELTA)) for share in (0.7, 0.85 / len(band.places))]
    print(f"| {case.name} | {math.sqrt(exponents[1] / exponents[0]):.2f} |", " | ".join(cells), "|", flush=True)


def made_up_logits(k: int, n: int) -> Case:
    """Logits whose true class leads by more in some classes than in others."""
    rng = np.random.default_rng(k)
    labels = np.repeat(np.arange(k), n)
    logits = rng.normal(0, 1, (k * n, k))
    logits[np.arange(k * n), labels] += rng.normal(1.0 + math.log(k), 0.5, k)[labels]
    return of_samples(f"made-up logits, K = {k:,}, n = {n:,}", Samples.of(logits, labels))


def zoo_cases() -> Iterator[Case]:
    """Every network of the zoo on its digits."""
    models = [f"zoo:{model.name}" for model in zoo.models()]
    for source in find_sources(None, models, ["zoo:digits"], RunOptions(), SILENT, probabilities=False):
        yield of_samples(source.name, source.read())


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logits", type=Path, nargs="*", default=[], help="files of logits with labels")
    parser.add_argument("--no-zoo", action="store_true", help="leave the zoo out")
    said = parser.parse_args()
    real = [] if said.no_zoo else list(zoo_cases())
    for path in said.logits:
        with np.load(path) as arrays:
            given = "probs" in arrays
        real.append(of_samples(path.stem, read_samples(path, probabilities=given)))
    print("| scores | runs |", " | ".join(TITLES), "|")
    print("|---|--:|" + "---|" * len(TITLES))
    for k, n, runs in MADE_UP:
        compare(list(made_up(k, n, runs)))
    for case in real:
        compare([case])
    print("\n| logits | by the exponents |", " | ".join(f"T = {t:g}" for t in TEMPERATURES), "|")
    print("|---|--:|" + "---|" * len(TEMPERATURES))
    for case in [*(made_up_logits(k, n) for k, n, _ in MADE_UP), *real]:
        bands(case)


if __name__ == "__main__":
    main()
