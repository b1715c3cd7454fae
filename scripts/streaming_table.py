"""Prints the tables of docs/streaming.md: how wide the intervals of merged scores are, and whether they hold."""

import time
from dataclasses import replace

import numpy as np

from gfscore import Options, Samples
from gfscore.bounds import Method, PartScores, lower_bounds
from gfscore.jobs.stages import audit_summary
from gfscore.measures.summary_files import summary_to_bytes
from gfscore.scores import great_scores
from gfscore.summaries import Summary, merge_summaries
from simulations import COINS, POPULATIONS, count_misses

DELTA, BOX = 0.05, 0.7
SETTINGS = ((10, 1000, 5), (1000, 50, 5), (1000, 20_000, 2), (10, 100_000, 2))  # classes, samples, runs
ORDER_FREE = (Method.BLOCKS, Method.MIXTURE)


def widths() -> None:
    """Mean width of the class intervals, relative to betting on the same samples."""
    print("| scores | " + " | ".join(f"K = {k:,}, n = {n:,}" for k, n, _ in SETTINGS) + " |")
    print("|---|" + "---|" * len(SETTINGS))
    for population in POPULATIONS:
        cells = []
        for k, n, runs in SETTINGS:
            alpha, classes = BOX * DELTA / (2 * k), 4 * runs
            means = np.repeat(np.linspace(population.lowest, population.highest, 4), runs)
            values = population.draw(np.random.default_rng(0), np.repeat(means, n))
            parts = PartScores.of(values, np.repeat(np.arange(classes), n), classes, maximum=1.0)
            found = {m: _mean_width(parts, alpha, m) for m in (Method.BETTING, *ORDER_FREE)}
            cells.append(" / ".join(f"{found[m] / found[Method.BETTING]:.2f}" for m in ORDER_FREE))
        print(f"| {population.name} | {' | '.join(cells)} |", flush=True)


def _mean_width(parts: PartScores, alpha: float, method: Method) -> float:
    return float((1 - lower_bounds(parts.mirror(), alpha, method) - lower_bounds(parts, alpha, method)).mean())


def coverage(runs: int = 200) -> None:
    """Audits in which at least one interval missed; the seed is the same in all of them, as a user has one."""
    print("| scores | runs | blocks, seed 0 | blocks, seed 82 | mixture |\n|---|---|---|---|---|")
    for population in (COINS, *POPULATIONS):
        missed = [
            count_misses(population, k=10, n=(20, 200), method=m, runs=runs, delta=DELTA, order_seed=seed)["any"]
            for m, seed in ((Method.BLOCKS, 0), (Method.BLOCKS, 82), (Method.MIXTURE, 0))
        ]
        print(f"| {population.name} | {runs} | " + " | ".join(f"{100 * n / runs:.1f} %" for n in missed) + " |")


def merging(n_parts: int = 10_000, n: int = 10_000, k: int = 1000) -> None:
    """Time to merge the summaries of 10^8 samples, a hundred different ones again and again, and to audit them."""
    rng, different = np.random.default_rng(0), []
    scored = great_scores(Samples.of(np.tile([0.0, 2.0], (n, 1)), np.ones(n, dtype=int)))
    for _ in range(100):
        labels = rng.integers(0, k, n)
        predicted = np.where(rng.random(n) < 0.7, labels, rng.integers(0, k, n))
        logits = np.zeros((1, k)) + np.arange(k)
        samples = replace(Samples.of(logits, [0]), logits=np.broadcast_to(logits, (n, k)), labels=labels)
        values = rng.beta(2, 2, n) * scored.maximum * (predicted == labels)
        different.append(Summary.of(samples, replace(scored, values=values, predicted=predicted)))
    start = time.process_time()  # of this process: another that is busy does not count
    total = merge_summaries(different[index % len(different)] for index in range(n_parts))
    merged_in = time.process_time() - start
    audit_summary(total, Options())
    audited_in = time.process_time() - start - merged_in
    size = len(summary_to_bytes(different[0]))
    print(f"{total.n_samples:,} samples of {k:,} classes in {n_parts:,} parts, the first of {size:,} bytes:")
    print(f"  merged in {merged_in:.1f} s, audited in {audited_in:.1f} s of one core")


if __name__ == "__main__":
    widths()
    print()
    coverage()
    print()
    merging()
