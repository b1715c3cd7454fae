"""Speed as ratios, everything side by side in one run: ``make bench``."""

import math
import time
from collections.abc import Callable

import numpy as np

from gfscore.samples import Samples
from gfscore.scores.great import SCORE_MAX, great_scores

LOOP_ROWS = 2000  # the loop is timed on these and scaled up


def seconds(function: Callable[[], object], repeats: int = 5) -> float:
    """Best of several runs: what the code takes when the machine does nothing else."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def loop(logits: np.ndarray, labels: np.ndarray) -> list[float]:
    """One sample at a time, as a first implementation would do it."""
    scores = []
    for row, label in zip(logits, labels, strict=True):
        weights = np.exp(row - row.max())
        confidences = weights / weights.sum()
        rival = max(confidences[j] for j in range(len(confidences)) if j != label)
        scores.append(math.sqrt(math.pi / 2) * max(confidences[label] - rival, 0.0))
    return scores


def plain(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The whole matrix at once, in float64."""
    wide = logits.astype(np.float64)
    weights = np.exp(wide - wide.max(axis=1, keepdims=True))
    confidences = weights / weights.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    own = confidences[rows, labels]
    confidences[rows, labels] = -np.inf
    return SCORE_MAX * np.maximum(own - confidences.max(axis=1), 0)


def compare(n_samples: int, n_classes: int) -> None:
    """Print one row of the table."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, n_samples)
    logits = rng.normal(0, 2, (n_samples, n_classes)).astype(np.float32)
    logits[np.arange(n_samples), labels] += 6
    samples = Samples.of(logits, labels)
    ours = seconds(lambda: great_scores(samples))
    one_pass = seconds(lambda: plain(logits, labels))
    reading = seconds(lambda: logits.sum())
    looped = seconds(lambda: loop(logits[:LOOP_ROWS], labels[:LOOP_ROWS]), 1) * n_samples / min(LOOP_ROWS, n_samples)
    ratios = f"{looped / ours:.0f} | {one_pass / ours:.1f} | {ours / reading:.1f}"
    print(f"| {n_samples:,} x {n_classes:,} | {ours:.3f} s | {ratios} |")


if __name__ == "__main__":
    print("Scoring at one temperature (softmax). The loop is timed on 2,000 rows and scaled.\n")
    print("| logits | gfscore | loop / gfscore | plain NumPy / gfscore | gfscore / summing the logits once |")
    print("|---|---:|---:|---:|---:|")
    for size in ((10_000, 10), (100_000, 10), (5_000, 1_000), (50_000, 1_000)):
        compare(*size)
