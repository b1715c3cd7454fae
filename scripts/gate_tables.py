"""Print the tables of ``docs/gate.md``: ``python scripts/gate_tables.py [FOLDER_OF_REAL_DATA]``.

The simulation takes about ten minutes on one core; with ``--quick``, which makes few runs, one. The folder, if given,
holds the CIFAR-10 test set and eight networks that others trained.
"""

import argparse
from pathlib import Path

import numpy as np

import calibration_tables
from gfscore.results import Verdict
from gfscore.samples import Samples
from judge_simulations import FACTORS, GAPS, gate_many, gate_real, means_above, means_below
from simulations import POPULATIONS

SCORES = ("Beta", "zero-inflated")
SETTINGS = ((10, 1000, 16), (100, 100, 128))  # classes, samples in each, forward passes a round
SEEDS = range(20)


def errors(runs: int) -> None:
    """Verdicts on populations whose WCR lies a known gap to either side of the threshold."""
    print("| scores | K | n | gap | false PASS | right FAIL | passes | false FAIL | right PASS | passes |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for population in (each for each in POPULATIONS if each.name in SCORES):
        for k, n, size in SETTINGS:
            for gap in GAPS:
                cells = []
                for seed, (means, wrong, right) in enumerate(
                    (
                        (means_below(k, gap), Verdict.PASS, Verdict.FAIL),
                        (means_above(k, gap), Verdict.FAIL, Verdict.PASS),
                    )
                ):
                    done = gate_many(population, means, n=n, runs=runs, size=size, seed=seed)
                    shares = (f"{100 * done.verdicts[verdict] / runs:.1f} %" for verdict in (wrong, right))
                    cells += [*shares, f"{np.median(done.used):,.0f}"]
                print(f"| {population.name} | {k} | {n:,} | {gap} | {' | '.join(cells)} |", flush=True)


def networks(samples: dict[str, Samples], *, finite: bool) -> None:
    """Forward passes on real networks, of 10,000."""
    found = {name: gate_real(each, seeds=SEEDS, finite=finite) for name, each in samples.items()}
    print(f"| network | WCR | {' | '.join(f'{factor:g} × WCR' for factor in FACTORS)} |")
    print("|---|--:|" + "---|" * len(FACTORS))
    for name, results in found.items():
        cells = {each.factor: f"{np.median(each.used):,.0f} ({_verdicts(each.verdicts)})" for each in results}
        print(f"| {name} | {results[0].wcr:.3f} | {' | '.join(cells.get(factor, '–') for factor in FACTORS)} |")
    savings = []
    for factor in FACTORS:
        used = [count for results in found.values() for each in results if each.factor == factor for count in each.used]
        savings.append(f"{10_000 / np.median(used):.0f} times")
    print(f"| **median saving** | | {' | '.join(savings)} |")


def _verdicts(verdicts: list[Verdict]) -> str:
    return ", ".join(f"{verdicts.count(verdict)} {verdict.value}" for verdict in Verdict if verdict in verdicts)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="real data")
    parser.add_argument("--quick", action="store_true", help="few runs")
    arguments = parser.parse_args()
    errors(100 if arguments.quick else 1000)
    if arguments.folder is not None:
        samples, _ = calibration_tables.cifar(arguments.folder)
        for finite in (False, True):
            print(f"\nTarget {'finite' if finite else 'population'}, {len(SEEDS)} seeds:\n")
            networks(samples, finite=finite)


if __name__ == "__main__":
    main()
