"""Print docs/coverage.md: how often the intervals and the tests fail on populations whose truth is known.

    python scripts/coverage_table.py > docs/coverage.md

Takes about twenty minutes on one core; with ``--quick``, which makes few runs, a minute or two.
"""

import argparse
import math

from gfscore.bounds import Method
from simulations import COINS, EQUAL_MEANS, ORDERS, POPULATIONS, count_misses, count_rejections

DELTA = 0.05
SETTINGS = [  # classes, fewest and most samples in a class, share of the full number of runs
    (2, (5, 5), 1.0),
    (2, (50, 50), 1.0),
    (2, (1000, 1000), 1.0),
    (10, (5, 5), 1.0),
    (10, (50, 50), 1.0),
    (10, (5, 1000), 1.0),
    (10, (1000, 1000), 1.0),
    (1000, (5, 5), 0.25),
    (1000, (50, 50), 0.25),
    (1000, (5, 100), 0.25),
]
FIXED_SEEDS = (0, 4, 14, 82)
TEST_SETTINGS = [
    (2, (100, 100), 1.0),
    (2, (30, 300), 1.0),
    (10, (50, 50), 1.0),
    (10, (20, 200), 1.0),
    (100, (20, 100), 1.0),
    (1000, (50, 50), 0.25),
]


def _span(n: tuple[int, int]) -> str:
    return str(n[0]) if n[0] == n[1] else f"{n[0]} to {n[1]}"


def _share(count: int, runs: int) -> str:
    return f"{100 * count / runs:.1f} %"


def coverage(runs_full: int) -> None:
    """Audits in which at least one interval missed, for each method."""
    methods = [method for method in Method if not method.order_free]  # those: streaming_table.py
    print("| scores | K | n | runs |", " | ".join(methods), "| worst single interval (betting) |")
    print("|---|---|---|---|" + "---|" * (len(methods) + 1))
    for population in POPULATIONS:
        for k, n, share in SETTINGS:
            runs = max(10, int(share * runs_full))
            found = {m: count_misses(population, k=k, n=n, method=m, runs=runs, delta=DELTA) for m in methods}
            single = {name: count for name, count in found[Method.BETTING].items() if name != "any"}
            worst = max(single, key=lambda name: single[name])
            cells = " | ".join(_share(found[m]["any"], runs) for m in methods)
            label = f"{worst}, {_share(single[worst], runs)}" if single[worst] else "none missed"
            print(f"| {population.name} | {k} | {_span(n)} | {runs} | {cells} | {label} |", flush=True)


def fixed_seeds(runs: int) -> None:
    """The same with one seed in all runs: a promise on average over seeds would not be enough."""
    methods = (Method.BETTING, Method.BLOCKS)
    print("| scores | K | n | runs |", " | ".join(f"{m}, seed {seed}" for m in methods for seed in FIXED_SEEDS), "|")
    print("|---|---|---|---|" + "---|" * len(methods) * len(FIXED_SEEDS))
    for population in (COINS, *POPULATIONS):
        for k, n in ((2, (35, 35)), (10, (100, 100))):
            missed = [
                count_misses(population, k=k, n=n, method=m, runs=runs, delta=DELTA, order_seed=seed)["any"]
                for m in methods
                for seed in FIXED_SEEDS
            ]
            cells = " | ".join(_share(count, runs) for count in missed)
            print(f"| {population.name} | {k} | {_span(n)} | {runs} | {cells} |", flush=True)


def orders_and_targets(runs_full: int) -> None:
    """The same for sorted data, and for half of a fixed set."""
    print("| scores | order | target | runs | betting | kl | hoeffding |")
    print("|---|---|---|---|---|---|---|")
    methods = (Method.BETTING, Method.KL, Method.HOEFFDING)
    cases = [(order, False) for order in ORDERS if order != "as drawn"] + [("as drawn", True)]
    for population in POPULATIONS:
        for order, finite in cases:
            runs = runs_full
            shares = [
                count_misses(
                    population, k=10, n=(20, 100), method=m, runs=runs, delta=DELTA, order=order, finite=finite
                )["any"]
                for m in methods
            ]
            cells = " | ".join(_share(count, runs) for count in shares)
            print(
                f"| {population.name} | {order} | {'finite' if finite else 'population'} | {runs} | {cells} |",
                flush=True,
            )


def rejections(runs_full: int) -> None:
    """Permutation tests at 5 % when all means are equal."""
    print("| scores | K | n | runs | RDI, studentised | NRGC, studentised | RDI, plain | NRGC, plain |")
    print("|---|---|---|---|---|---|---|---|")
    for name in EQUAL_MEANS:
        for k, n, share in TEST_SETTINGS:
            runs = max(10, int(share * runs_full))
            own, plain = (
                count_rejections(name, k=k, n=n, runs=runs, permutations=199, studentised=studentised)
                for studentised in (True, False)
            )
            cells = " | ".join(_share(count, runs) for count in (*own.values(), *plain.values()))
            print(f"| {name} | {k} | {_span(n)} | {runs} | {cells} |", flush=True)


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few runs")
    runs = 40 if parser.parse_args().quick else 300
    print("# Do the intervals hold?\n")
    print("Printed by `scripts/coverage_table.py`, seeded. What the intervals are: [intervals](intervals.md).\n")
    print(
        "Each row is a population of scores in [0, 1] whose class means are known, audited anew many times at "
        f"delta = {DELTA}. A cell is the share of audits in which **at least one** interval (of any class, of WCR, "
        "RDI, NRGC, FP-GREAT, Theil, Atkinson, the class mean or the aggregate) missed the truth, or the truly worst "
        "class was not in the worst set. It must not exceed 5 % by more than chance. Far less is common: the bounds "
        "hold for any scores, and these are not the worst ones.\n"
    )
    coverage(runs)
    print("\n## The same seed in every audit\n")
    print(
        "Above, each audit has a seed of its own for the order in which samples are taken. A user has one seed, so "
        "both intervals that need one must hold for each. `blocks` is that of [streams](streaming.md).\n"
    )
    fixed_seeds(runs)
    print("\n## Sorted data, and part of a fixed set\n")
    print("K = 10, 20 to 100 samples a class; `finite`: a random half of a fixed set, whose means are the truth.\n")
    orders_and_targets(runs)
    print("\n## Permutation tests under equal means\n")
    print(
        "Share of samples with p at most 0.05 although all class means are equal; 5 % is right. The plain test is "
        "exact when all classes have the same distribution (first block), and rejects too often when only their "
        f"spreads differ. Chance moves a share over {runs} runs by up to "
        f"{200 * math.sqrt(0.05 * 0.95 / runs):.1f} points, rarely more.\n"
    )
    rejections(runs)


if __name__ == "__main__":
    main()
