"""Accuracy under AutoAttack beside radii, for ``docs/scores.md``: ``python scripts/midpoint_table.py FOLDER CACHE``.

The folder holds the CIFAR-10 test set and ten networks that others trained; CACHE what
``scripts/attacked_truth.py FOLDER CACHE linf`` found, and with ``l2`` as a third word what it found in L2. Needs the
extra ``gradients``.
"""

import sys
from pathlib import Path

import numpy as np

from attacked_truth import (
    FIRST,
    L2_FIRST,
    L2_NETWORKS,
    L2_SIZES,
    LAST,
    LINF_SIZES,
    STAGES,
    Outcomes,
    correct_images,
)
from first_order_tables import ROBUST, TEN, networks
from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.bounds import clopper_pearson
from gfscore.engines.local import score_first_order
from gfscore.ranking import spearman
from gfscore.scores import FirstOrder
from gfscore.scores.margin_slopes import REFINE
from gfscore.storage.store import Store

KINDS = {"first-order": 0, "midpoint": REFINE}
LEVEL = 0.05  # of the bound on what was not seen


def still_to_break(outcomes: Outcomes, standing: list[int], size: float) -> tuple[int, int, float]:
    """Of the images that stand at a size: how many FAB and Square saw and left, broke, and may yet break (a share).

    They saw a random part of those that both APGD had left, so that Clopper and Pearson's bound holds for the others.
    """
    broken = sum(
        by in LAST for smaller in outcomes.sizes if smaller <= size for by in outcomes.broken[smaller].values()
    )
    unseen = sum(
        any(not outcomes.was_seen(image, size, stage, downwards=True) for stage in STAGES[2:]) for image in standing
    )
    seen = len(standing) - unseen
    most = float(clopper_pearson(broken, seen + broken, 2 * LEVEL)[1]) if seen + broken else 1.0
    return seen, broken, unseen * most if unseen else 0.0


def print_table(folder: Path, cache: Path, norm: str) -> None:
    """Print a row per network: at each size the attacks, first-order and midpoint; then the errors."""
    names, first, sizes, unit = (
        (TEN, FIRST, LINF_SIZES, 1 / 255)
        if norm == "linf"
        else ([f"cifar_{name}" for name in L2_NETWORKS], L2_FIRST, L2_SIZES, 1.0)
    )
    titles = [f"{size}/255" if norm == "linf" else f"{size:g}" for size in sizes]
    more = ("not seen by APGD-T", "FAB and Square saw", "they broke", "may still break") if norm == "linf" else ()
    print(f"| network | {' | '.join((*titles, *more))} |\n|---|{'--:|' * (len(sizes) + len(more))}")
    off: dict[str, list[float]] = {name: [] for name in KINDS}
    within: dict[str, list[float]] = {name: [] for name in KINDS}
    for net in networks(folder, names, first=first):
        store = Store(cache / norm / "store")
        run, samples = net.run(store), net.samples(store)
        outcomes, correct = Outcomes.load(cache / norm / f"{net.name}.json", sizes), correct_images(net, store).tolist()
        radii = {
            name: score_first_order(run, samples, FirstOrder(norm=norm, refine=steps), gradients="yes").values
            for name, steps in KINDS.items()
        }
        cells, left = [], []
        for size in sizes:
            standing = [image for image in correct if not outcomes.is_broken(image, size)]
            stands = np.isin(np.arange(first), standing)
            shares = {name: float((values > size * unit).mean()) for name, values in radii.items()}
            cells.append(" / ".join(f"{100 * each:.1f}" for each in (stands.mean(), *shares.values())))
            left.append(still_to_break(outcomes, standing, size))
            for name, values in radii.items():
                off[name].append(100 * abs(shares[name] - stands.mean()))
                if stands.mean() > ROBUST:
                    within[name].append(_within(values > size * unit, stands, samples.labels))
        seen, broken, _ = left[0]
        doubt = "/".join(f"{100 * most / first:.1f}" for _, _, most in left)
        standing = [image for image in correct if not outcomes.is_broken(image, sizes[0])]
        waiting = len(outcomes.waiting(standing, sizes[0], STAGES[2], downwards=True))
        if norm == "linf":
            cells += [str(waiting), f"{seen} of {len(standing)}", str(broken), doubt if seen else "–"]
        print(f"| `{net.name}` | {' | '.join(cells)} |", flush=True)
    print()
    for name, steps in KINDS.items():
        how = FirstOrder(norm=norm, refine=steps)
        print(
            f"{name}: off by {np.mean(off[name]):.2f} points on average, {max(off[name]):.1f} at most; over classes "
            f"within a network Spearman {np.median(within[name]):.2f} (median; lowest {min(within[name]):.2f}); "
            f"{1 + steps} forward and {how.rivals + steps} backward passes an image."
        )


def _within(above: BoolArray, stands: BoolArray, labels: IntArray) -> float:
    return float(spearman(_of_classes(above, labels).tolist(), _of_classes(stands, labels).tolist()) or 0)


def _of_classes(values: BoolArray, labels: IntArray) -> FloatArray:
    return np.array([float(values[labels == label].mean()) for label in np.unique(labels)])


def main() -> None:
    """Print."""
    print_table(Path(sys.argv[1]), Path(sys.argv[2]), "l2" if sys.argv[3:] == ["l2"] else "linf")


if __name__ == "__main__":
    main()
