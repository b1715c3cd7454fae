"""Print docs/coverage.md: how often the intervals and the tests fail on populations whose truth is known.

    python scripts/coverage_table.py > docs/coverage.md

Takes about twenty minutes on one core; with ``--quick``, which makes few runs, a minute or two. The page is the same
when its sections are printed one by one: ``--only intervals``, ``seeds``, ``orders``, ``draws`` and ``tests``.
"""

import argparse
import math
from collections.abc import Sequence

from gfscore.bounds import Method
from simulations import (
    COINS,
    EQUAL_MEANS,
    ORDERS,
    POPULATIONS,
    SATURATED,
    SKEWED,
    Draw,
    class_sizes,
    count_misses,
    count_rejections,
    count_unequal_draws,
)

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
UNEQUAL = [((5000, 200), 100), ((5000, 200), 20), ((2000, 1000, 500, 200, 100), 50)]  # classes of a set; drawn of each
TEST_SETTINGS = [
    (2, (100, 100), 1.0),
    (2, (30, 300), 1.0),
    (10, (50, 50), 1.0),
    (10, (20, 200), 1.0),
    (100, (20, 100), 1.0),
    (1000, (50, 50), 0.25),
]
SATURATED_SETTINGS = [(30, 20, 1.0), (100, 20, 1.0), (300, 20, 0.5), (1000, 50, 0.25)]
TESTS = ("RDI plain", "RDI studentised", "RDI", "NRGC plain", "NRGC studentised", "NRGC", "either")

DRAWN = (
    "`--n-per-class` on a set whose classes have unequal sizes. The share of audits in which the interval of the mean "
    "score, or of the accuracy, missed that of the whole set (`finite`) or of the law behind it with the classes in "
    "the set's shares (`population`). The last column is an audit that is not told the sizes: of another population."
)
EQUAL = (
    "Share of samples with p at most 0.05 although all class means are equal; 5 % is right. The plain test is "
    'exact when all classes have one distribution (rows that begin with "the same"), and rejects too often when '
    "only their spreads differ. The studentised one allows for spreads, and rejects too often for many classes of "
    "scores that are nearly all 0 or 1. **RDI** and **NRGC**, without a word behind them, are the larger p-value "
    "of both tests, which is what an audit has; **either**: one of these two, corrected by Holm, which is what "
    "its words rest on."
)
FAILING = (
    "Equal means again, but small classes with rare mass (0/1) beside others that vary little (a Beta whose "
    "parameters sum to 200). In most of these no test keeps its level, the larger p-value included. So of a "
    'p-value alone an audit says that a test says so; "not protected alike" takes an interval of the RDI that '
    "leaves 0 out."
)
NORMAL = (
    "What a [stream](streaming.md) has, whose samples are gone: normal draws in place of shuffles. Nothing makes "
    "them exact, and for saturated scores they reject too often."
)


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


def unequal_draws(runs: int) -> None:
    """Numbers of the whole where equally many samples of unequal classes were scored."""
    print("| sizes of the classes | of each | target | runs | mean score | accuracy | mean score, sizes not told |")
    print("|---|---|---|---|---|---|---|")
    for sizes, drawn in UNEQUAL:
        for finite in (False, True):
            missed = count_unequal_draws(sizes, drawn, finite=finite, runs=runs, delta=DELTA)
            cells = " | ".join(_share(count, runs) for count in missed.values())
            about = ", ".join(f"{size:,}" for size in sizes)
            print(f"| {about} | {drawn} | {'finite' if finite else 'population'} | {runs} | {cells} |", flush=True)


def rejections(runs_full: int) -> None:
    """Permutation tests at 5 % when all means are equal."""
    _headings("K | n")
    for name, draw in EQUAL_MEANS.items():
        for k, n, share in TEST_SETTINGS:
            _row(f"{name} | {k} | {_span(n)}", draw, class_sizes(k, n).tolist(), max(10, int(share * runs_full)))
    for name, draw in SATURATED.items():
        for k, size, share in SATURATED_SETTINGS:
            _row(f"{name} | {k} | {size}", draw, [size] * k, max(10, int(share * runs_full)))


def skewed(runs_full: int) -> None:
    """The same where small classes are skewed and others are not."""
    _headings("K")
    for case in SKEWED:
        _row(f"{case.name} | {len(case.sizes)}", case.draw, case.sizes, runs_full)


def normal(runs_full: int) -> None:
    """The same from means and variances alone."""
    _headings("K | n")
    for name, draw in {
        "the same Beta in all classes": EQUAL_MEANS["the same Beta in all classes"],
        **SATURATED,
    }.items():
        for k, size, _ in SATURATED_SETTINGS:
            _row(f"{name} | {k} | {size}", draw, [size] * k, runs_full, normal=True)


def _headings(about: str) -> None:
    print(f"| scores | {about} | runs |", " | ".join(TESTS), "|")
    print("|---" * (len(about.split("|")) + 2 + len(TESTS)) + "|")


def _row(about: str, draw: Draw, sizes: Sequence[int], runs: int, *, normal: bool = False) -> None:
    found = count_rejections(draw, sizes, runs=runs, permutations=199, normal=normal)
    print(f"| {about} | {runs} |", " | ".join(_share(found[test], runs) for test in TESTS), "|", flush=True)


def tests(runs: int) -> None:
    """The sections on the tests."""
    print("## Permutation tests under equal means\n")
    moved = 200 * math.sqrt(0.05 * 0.95 / runs)
    print(f"{EQUAL} Chance moves a share over {runs} runs by up to {moved:.1f} points, rarely more.\n")
    rejections(runs)
    print(f"\n### Where they fail\n\n{FAILING}\n")
    skewed(runs)
    print(f"\n### From means and variances alone\n\n{NORMAL}\n")
    normal(runs)


def intervals_section(runs: int) -> None:
    """The head of the page, and the first table."""
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


def seeds_section(runs: int) -> None:
    """One seed in all audits."""
    print("\n## The same seed in every audit\n")
    print(
        "Above, each audit has a seed of its own for the order in which samples are taken. A user has one seed, so "
        "both intervals that need one must hold for each. `blocks` is that of [streams](streaming.md).\n"
    )
    fixed_seeds(runs)


def orders_section(runs: int) -> None:
    """Sorted data, and fixed sets."""
    print("\n## Sorted data, and part of a fixed set\n")
    print("K = 10, 20 to 100 samples a class; `finite`: a random half of a fixed set, whose means are the truth.\n")
    orders_and_targets(runs)


def draws_section(runs: int) -> None:
    """Classes drawn out of proportion."""
    print(f"\n## Classes that were not drawn in proportion\n\n{DRAWN}\n")
    unequal_draws(runs)
    print()


SECTIONS = {
    "intervals": intervals_section,
    "seeds": seeds_section,
    "orders": orders_section,
    "draws": draws_section,
    "tests": tests,
}


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few runs")
    parser.add_argument("--only", choices=SECTIONS, help="one section")
    said = parser.parse_args()
    for name in [said.only] if said.only else SECTIONS:
        SECTIONS[name](40 if said.quick else 300)


if __name__ == "__main__":
    main()
