"""Print the tables of ``docs/compare.md``: ``python scripts/compare_tables.py FOLDER_OF_REAL_DATA [--quick]``.

Real scores of networks that others trained, in two versions made from them: a fall is planted in one class of ten, or
in none. Takes a few minutes; with ``--quick`` less than one.
"""

import argparse
from pathlib import Path

import numpy as np

import calibration_tables
from gfscore import Options, compare
from gfscore.jobs.compare import compare_scores
from gfscore.judge import follows_order
from gfscore.judge.versions import order_correlation
from gfscore.scores import great_scores
from judge_simulations import compare_many, ordered_samples

PAIR = ("cifar_cnn_a_adv", "cifar_cnn_a_mix")
CASES = ((PAIR[1], 5), (PAIR[0], 0), (PAIR[0], 8), (PAIR[1], 8))  # a network and the class that falls
DROP = 0.05
BLURS = (0.0, 0.2, 0.3, 0.4, 0.6, 100.0)  # of the order by score


def planted(samples: dict, runs: int) -> None:
    """How often the fall is found, and how often a class is named that did not fall."""
    print("| scores of | class | deviation of differences | fall | found | false alarms | runs |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for network, fallen in CASES:
        scores, codes = great_scores(samples[network]).values, samples[network].labels
        for drop in (DROP, 0.0):
            done = compare_many(scores, codes, fallen=fallen, drop=drop, runs=runs)
            found = f"{100 * done.found / runs:.1f} %" if drop else "–"
            alarms = f"{100 * done.false_alarms / runs:.1f} %"
            print(
                f"| {network} | {fallen} | {done.deviation:.3f} | {drop:g} | {found} | {alarms} | {runs} |", flush=True
            )


def real(samples: dict) -> None:
    """Two real networks, set side by side."""
    found = compare(samples[PAIR[0]], samples[PAIR[1]], names=PAIR)
    print(f"{found.reason} Worse: {', '.join(found.worse) or 'none'}. Better: {', '.join(found.better) or 'none'}.\n")
    print("| class | old | new | change | interval | p of a fall | |")
    print("|---|--:|--:|--:|--:|--:|---|")
    for entry in found.classes:
        low, high = entry.change.interval
        print(
            f"| {entry.name} | {entry.old:.3f} | {entry.new:.3f} | {entry.change.value:+.3f} | "
            f"[{low:+.3f}, {high:+.3f}] | {entry.p_holm:.2g} | {entry.verdict} |"
        )
    print("\n| metric | old | new | change | interval |\n|---|--:|--:|--:|--:|")
    for name, metric in found.metrics.items():
        low, high = metric.interval
        print(f"| {name} | {metric.old:.3f} | {metric.new:.3f} | {metric.value:+.3f} | [{low:+.3f}, {high:+.3f}] |")


def matched_by_order(runs: int) -> None:
    """Two independent samples of one law, in an order that goes with the score, as if their rows were the same."""
    print("| correlation of order and score | a fall is named | a class interval misses 0 | refused | runs |")
    print("|--:|--:|--:|--:|--:|")
    for blur in BLURS:
        correlations, named, missed, refused = [], 0, 0, 0
        for run in range(runs):
            rng = np.random.default_rng(run)
            pair = [ordered_samples(rng, blur) for _ in range(2)]
            scores = [great_scores(each) for each in pair]
            codes = pair[0].labels
            correlations.append(order_correlation(scores[1].values, codes))
            refused += follows_order(scores[0].values, scores[1].values, codes)
            found = compare_scores(tuple(pair), tuple(scores), Options())
            named += bool(found.worse)
            missed += any(entry.change.interval[0] > 0 or entry.change.interval[1] < 0 for entry in found.classes)
        shares = " | ".join(f"{100 * count / runs:.0f} %" for count in (named, missed, refused))
        print(f"| {sum(correlations) / runs:.2f} | {shares} | {runs} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="real data")
    parser.add_argument("--quick", action="store_true", help="few runs")
    arguments = parser.parse_args()
    samples, _ = calibration_tables.cifar(arguments.folder, only=PAIR)
    real(samples)
    print()
    matched_by_order(20 if arguments.quick else 100)
    print()
    planted(samples, 100 if arguments.quick else 1000)


if __name__ == "__main__":
    main()
