"""Accuracy under AutoAttack beside radii, for ``docs/scores.md``: ``python scripts/midpoint_table.py linf`` or ``l2``.

It prints what is kept in ``benchmarks/attacked``: what attacks found (``scripts/attacked_truth.py``), which radii are
above each size. With two more words, ``FOLDER STORE``, the radii are found and kept anew: the folder holds the CIFAR-10
test set and ten networks that others trained; that needs the extra ``gradients``.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attack_outcomes import KEPT, LAST, STAGES, Outcomes, as_ranges, from_ranges
from attacked_truth import FIRST, L2_FIRST, L2_NETWORKS, L2_SIZES, LINF_SIZES
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


@dataclass(frozen=True, kw_only=True)
class Case:
    """The networks of a table, their images, and the sizes of the attack."""

    networks: tuple[str, ...]
    first: int
    sizes: tuple[float, ...]
    unit: float


CASES = {
    "linf": Case(networks=tuple(TEN), first=FIRST, sizes=LINF_SIZES, unit=1 / 255),
    "l2": Case(networks=tuple(f"cifar_{name}" for name in L2_NETWORKS), first=L2_FIRST, sizes=L2_SIZES, unit=1.0),
}


def kept_radii(norm: str) -> Path:
    """Where it is kept which radii are above each size, and the labels of the images."""
    return KEPT / "radii" / f"{norm}.json"


def find_radii(norm: str, folder: Path, store: Store) -> None:
    """Find the radii of all networks, and keep which images have one above each size."""
    case, above, labels = CASES[norm], dict[str, Any](), ""
    for net in networks(folder, case.networks, first=case.first):
        run, samples = net.run(store), net.samples(store)
        labels, above[net.name] = "".join(map(str, samples.labels)), {}
        for kind, steps in KINDS.items():
            found = score_first_order(run, samples, FirstOrder(norm=norm, refine=steps), gradients="yes").values
            above[net.name][kind] = {
                f"{size:g}": as_ranges(np.flatnonzero(found > size * case.unit).tolist()) for size in case.sizes
            }
        print(net.name, file=sys.stderr, flush=True)
    kept_radii(norm).parent.mkdir(parents=True, exist_ok=True)
    kept_radii(norm).write_text(json.dumps({"labels": labels, "above": above}, indent=1) + "\n", encoding="utf-8")


def still_to_break(outcomes: Outcomes, size: float) -> tuple[int, int, float]:
    """Of the images that stand at a size: how many FAB and Square saw and left, broke, and may yet break (a number).

    They saw a random part of those that both APGD had left, so that Clopper and Pearson's bound holds for the others.
    """
    broken = sum(
        by in LAST for smaller in outcomes.sizes if smaller <= size for by in outcomes.broken[smaller].values()
    )
    standing = outcomes.standing(size)
    unseen = sum(
        any(not outcomes.was_seen(image, size, stage, downwards=True) for stage in STAGES[2:]) for image in standing
    )
    seen = len(standing) - unseen
    most = float(clopper_pearson(broken, seen + broken, 2 * LEVEL)[1]) if seen + broken else 1.0
    return seen, broken, unseen * most if unseen else 0.0


def table(norm: str) -> Iterator[str]:
    """The lines: a row per network, at each size the attacks, first-order and midpoint; then the errors."""
    case, kept = CASES[norm], json.loads(kept_radii(norm).read_text(encoding="utf-8"))
    labels = np.array([int(label) for label in kept["labels"]])
    titles = [f"{size:g}/255" if norm == "linf" else f"{size:g}" for size in case.sizes]
    more = ("not seen by APGD-T", "FAB and Square saw", "they broke", "may still break") if norm == "linf" else ()
    yield f"| network | {' | '.join((*titles, *more))} |"
    yield f"|---|{'--:|' * (len(case.sizes) + len(more))}"
    off: dict[str, list[float]] = {name: [] for name in KINDS}
    within: dict[str, list[float]] = {name: [] for name in KINDS}
    for name, above in kept["above"].items():
        outcomes, cells = Outcomes.load(KEPT / norm / f"{name}.json", case.sizes), []
        for size in case.sizes:
            stands = _marked(outcomes.standing(size), case.first)
            higher = {kind: _marked(from_ranges(above[kind][f"{size:g}"]), case.first) for kind in KINDS}
            cells.append(" / ".join(f"{100 * each.mean():.1f}" for each in (stands, *higher.values())))
            for kind, marked in higher.items():
                off[kind].append(100 * abs(float(marked.mean() - stands.mean())))
                if stands.mean() > ROBUST:
                    within[kind].append(_within(marked, stands, labels))
        cells += _what_was_seen(outcomes) if norm == "linf" else []
        yield f"| `{name}` | {' | '.join(cells)} |"
    yield ""
    for kind, steps in KINDS.items():
        how = FirstOrder(norm=norm, refine=steps)
        end = "  " if kind == "first-order" else ""  # a line of its own
        yield (
            f"{kind.capitalize()}: off by {np.mean(off[kind]):.2f} points on average, {max(off[kind]):.1f} at most; "
            f"over classes within a network Spearman {np.median(within[kind]):.2f} (median; lowest "
            f"{min(within[kind]):.2f}); {1 + steps} forward and {how.rivals + steps} backward passes an image.{end}"
        )


def seen_last(names: Sequence[str]) -> tuple[int, tuple[int, ...]]:
    """How many images of some networks both FAB and Square saw, and how many each of them broke."""
    found = [Outcomes.load(KEPT / "linf" / f"{name}.json", LINF_SIZES) for name in names]
    seen = sum(len(set().union(*(each.seen[size][LAST[0]] for size in LINF_SIZES))) for each in found)
    by = [stage for each in found for of_size in each.broken.values() for stage in of_size.values()]
    return seen, tuple(by.count(stage) for stage in LAST)


def what_was_attacked() -> str:
    """Sentences on how far the dearer attacks came."""
    names = [name.removeprefix("cifar_") for name in TEN]
    rest = [f"`{name}`" for name in names if _unseen(Outcomes.load(KEPT / "linf" / f"{name}.json", LINF_SIZES))]
    seen, (by_fab, by_square) = seen_last(names)
    return (
        f"All four attacks came to their end on {len(names) - len(rest)} of the {len(names)} networks"
        + (f" (not on {' and '.join(rest)})" if rest else "")
        + f". FAB saw {seen:,} images that both APGD had left and broke {by_fab} of them; "
        f"Square broke {by_square} more."
    )


def _unseen(outcomes: Outcomes) -> bool:
    """Whether an image that stands was not seen by one of the four attacks."""
    smallest = min(outcomes.sizes)
    standing = outcomes.standing(smallest)
    return any(outcomes.waiting(standing, smallest, stage, downwards=True) for stage in STAGES[2:])


def _what_was_seen(outcomes: Outcomes) -> list[str]:
    """The cells about the dearer attacks."""
    smallest, standing = min(outcomes.sizes), outcomes.standing(min(outcomes.sizes))
    waiting = len(outcomes.waiting(standing, smallest, STAGES[2], downwards=True))
    left = [still_to_break(outcomes, size) for size in outcomes.sizes]
    seen, broken = left[0][0], left[-1][1]
    doubt = "/".join(f"{100 * most / FIRST:.1f}" for _, _, most in left)
    some = "all" if seen == len(standing) else f"{seen} of"
    return [str(waiting), f"{some} {len(standing)}", str(broken), doubt if seen else "–"]


def _marked(images: Any, n: int) -> BoolArray:
    return np.isin(np.arange(n), sorted(images))


def _within(above: BoolArray, stands: BoolArray, labels: IntArray) -> float:
    return float(spearman(_of_classes(above, labels).tolist(), _of_classes(stands, labels).tolist()) or 0)


def _of_classes(values: BoolArray, labels: IntArray) -> FloatArray:
    return np.array([float(values[labels == label].mean()) for label in np.unique(labels)])


def main() -> None:
    """Print."""
    norm, *places = sys.argv[1:]
    if places:
        find_radii(norm, Path(places[0]), Store(Path(places[1])))
    print("\n".join(table(norm)))
    if norm == "linf":
        print(f"\n{what_was_attacked()}")


if __name__ == "__main__":
    main()
