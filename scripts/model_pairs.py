"""Count which of the 136 pairs of the paper's CIFAR-10 models differ in RDI at 95 %, by its bound and by ours.

The paper publishes a mean and a deviation per class, 1,000 samples each. For our intervals the scores are redrawn from
Beta distributions with these (seeded). Both bounds of a pair hold together at 95 %: each model has delta = 0.025.

    python scripts/model_pairs.py
"""

import csv
from importlib.resources import files
from itertools import combinations

import numpy as np

from gfscore.bounds import Method, audit_intervals, rdi_radius
from gfscore.bounds.sample_sizes import draw_beta
from gfscore.scores import SCORE_MAX

DELTA = 0.05 / 2  # of each model of a pair


def published(dataset: str) -> dict[str, list[tuple[float, float, int]]]:
    """Mean, deviation and number of samples of each class, by model."""
    models: dict[str, list[tuple[float, float, int]]] = {}
    with (files("gfscore.paper") / "data" / f"{dataset}_per_class_T1.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            models.setdefault(row["model"], []).append((float(row["score"]), float(row["std"]), int(row["n"])))
    return models


def redrawn(classes: list[tuple[float, float, int]], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores and class indices of samples with the published means and deviations."""
    generator = np.random.default_rng(seed)
    scores = [SCORE_MAX * draw_beta(generator, mean / SCORE_MAX, std / SCORE_MAX, n) for mean, std, n in classes]
    return np.concatenate(scores), np.repeat(np.arange(len(classes)), [n for _, _, n in classes])


def separated(intervals: list[tuple[float, float]]) -> int:
    """Pairs of intervals without a common point."""
    return sum(first[1] < second[0] or second[1] < first[0] for first, second in combinations(intervals, 2))


def count_pairs(method: Method, seed: int = 0) -> int:
    """Pairs that the intervals of an audit tell apart."""
    intervals = []
    for position, classes in enumerate(published("cifar10").values()):
        scores, codes = redrawn(classes, seed + position)
        intervals.append(
            audit_intervals(scores, codes, len(classes), maximum=SCORE_MAX, delta=DELTA, method=method).rdi
        )
    return separated(intervals)


def count_pairs_of_the_paper() -> int:
    """Pairs that the paper's bound tells apart, from the published means."""
    intervals = []
    for classes in published("cifar10").values():
        means = [mean for mean, _, _ in classes]
        gap = max(means) - min(means)
        radius = rdi_radius(min(n for _, _, n in classes), DELTA, n_classes=len(classes))
        intervals.append((gap - radius, gap + radius))
    return separated(intervals)


if __name__ == "__main__":
    models = len(published("cifar10"))
    print(f"{models * (models - 1) // 2} pairs of {models} models; RDI differs at 95 %:")
    print(f"  the paper's bound  {count_pairs_of_the_paper()}")
    for method in (method for method in Method if not method.order_free):
        print(f"  ours, {method:<12} {count_pairs(method)}")
