"""Print the tables of ``docs/few_attacks.md``: ``python scripts/few_attacks_table.py FOLDER STORE``.

``scripts/attacked_truth.py FOLDER STORE few`` has attacked every rightly classified image before, and kept what came
out in ``benchmarks/attacked``: that is the truth. Few attacks are drawn from it, again and again, and what they say is
held against it. With ``linf`` as a third word the truth is what ``attacked_truth.py FOLDER STORE linf`` left on 500
images after all of AutoAttack; with ``time`` the processor time of attacks is measured. Needs the extra ``gradients``,
for times ``attacks``.
"""

import argparse
import math
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attack_outcomes import KEPT, LAST, STAGES, Outcomes
from attacked_truth import FEW_FIRST, FEW_SIZE, FIRST, LINF_SIZES
from first_order_tables import EPS, Network, networks
from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.attacks.first_attack import FIRST as FIRST_ATTACK
from gfscore.attacks.first_attack import LIKELY
from gfscore.attacks.sparing import Draw
from gfscore.bounds import AttackIntervals, attack_intervals, clopper_pearson
from gfscore.measures.slopes import Gradients
from gfscore.scores.margin_slopes import REFINE
from gfscore.storage.store import Store

DELTA, DRAWS, WITHIN = 0.05, 5, 0.03


@dataclass(frozen=True, kw_only=True, eq=False)
class Truth:
    """A network with every image attacked."""

    name: str
    labels: IntArray
    right: BoolArray
    radii: FloatArray
    withstood: BoolArray
    fall_first: BoolArray  # those that APGD-CE alone breaks

    @property
    def classes(self) -> FloatArray:
        """Accuracy under attack of each class."""
        return np.asarray(np.bincount(self.labels, weights=self.withstood) / np.bincount(self.labels))

    @property
    def budget(self) -> int:
        """A quarter of the images, as 500 of 2,000."""
        return len(self.labels) // 4

    def draw(self, radii: FloatArray | None, seed: int, *, first: bool) -> Draw:
        """The draw by some radii (None: all are alike), after the first attack has seen those likely to fall or not."""
        drawn = Draw.of(np.zeros_like(self.radii) if radii is None else radii, self.right, EPS, seed=seed)
        if not first:
            return drawn
        seen = self.right & ((radii if radii is not None else np.zeros_like(self.radii)) <= LIKELY * EPS)
        return drawn.after(seen, seen & self.fall_first)

    def bound(
        self, radii: FloatArray | None, seed: int, *, first: bool = False, budget: int | None = None
    ) -> AttackIntervals:
        """What ``budget`` attacks say, predicted and drawn by some radii; None: nothing is predicted, all are alike."""
        draw = self.draw(radii, seed, first=first)
        rows = draw.order[: self.budget if budget is None else budget]
        return attack_intervals(
            np.full(len(self.labels), 0.5) if radii is None else draw.predictions,
            self.labels,
            len(self.classes),
            attacked=rows,
            outcomes=self.withstood[rows],
            broken=~draw.open,
            weights=draw.weights,
            delta=DELTA,
        )

    def misses(self, found: AttackIntervals) -> int:
        """How many of the intervals of classes, worst class and whole leave the truth out."""
        ends = np.array([*zip(found.lower, found.upper, strict=True), found.worst, found.whole_interval])
        truth = np.array([*self.classes, self.classes.min(), self.withstood.mean()])
        return int(((ends[:, 0] > truth + 1e-9) | (ends[:, 1] < truth - 1e-9)).sum())

    def shuffled(self) -> FloatArray:
        """Radii that say nothing: those of the rightly classified images, each given to another."""
        rows, radii = np.flatnonzero(self.right), self.radii.copy()
        radii[rows] = radii[np.random.default_rng(0).permutation(rows)]
        return radii

    def attacks_within(self, radii: FloatArray | None, *, first: bool = False, seed: int = 0) -> int:
        """Attacks, in steps of 20, until every class is known to ``WITHIN``."""
        most = len(self.draw(radii, seed, first=first).order)
        low, high = 0, math.ceil(most / 20)
        while high - low > 1:
            middle = (low + high) // 2
            found = self.bound(radii, seed, first=first, budget=20 * middle)
            narrow = bool((found.upper - found.lower <= 2 * WITHIN).all())
            low, high = (low, middle) if narrow else (middle, high)
        return min(20 * high, most)


def truth_of(network: Network, outcomes: Outcomes, store: Store) -> Truth:
    """The truth of a network: wrongly classified images do not withstand, the others as they came out."""
    samples = network.samples(store)
    right = samples.logits.argmax(axis=1) == samples.labels
    fallen = [outcomes.is_broken(image, FEW_SIZE) for image in range(samples.n_samples)]
    first = [outcomes.broken[FEW_SIZE].get(image) == FIRST_ATTACK[0] for image in range(samples.n_samples)]
    return Truth(
        name=network.name,
        labels=samples.labels,
        right=right,
        radii=network.radii(store, gradients=Gradients.YES, refine=REFINE).values,
        withstood=right & ~np.array(fallen),
        fall_first=np.array(first),
    )


def widths(found: AttackIntervals) -> FloatArray:
    """Widths of the intervals: mean of the classes, worst class, whole."""
    ends = (found.worst, found.whole_interval)
    return np.array([float(np.mean(found.upper - found.lower)), *(high - low for low, high in ends)])


def plain_width(share: float, n: int) -> float:
    """Width of Clopper and Pearson's interval of a class, where those of all classes and the whole hold together."""
    low, high = clopper_pearson(round(share * n), n, DELTA / 11)
    return float(high - low)


def plain_images(share: float) -> int:
    """Images of a class that such an interval takes to be within ``WITHIN`` on both sides."""
    return next(n for n in range(20, 20_000, 20) if plain_width(share, n) <= 2 * WITHIN)


def plain_attacks(truth: Truth) -> tuple[int, int]:
    """Images of all classes that plain intervals take to be within ``WITHIN``, and how many of them are attacked."""
    shares = [float(truth.right[truth.labels == k].mean()) for k in range(len(truth.classes))]
    counts = [plain_images(share) for share in truth.classes]
    return sum(counts), round(sum(n * share for n, share in zip(counts, shares, strict=True)))


def print_widths(truths: list[Truth], *, first: bool = True) -> None:
    """Widths at a budget of a quarter: with radii, without, by plain counting; shuffled; and what was missed."""
    print(f"\n{DRAWS} draws: widths of classes | worst class | whole; each against none; intervals missed\n")
    for truth in truths:
        wrong, shuffled = np.mean((truth.radii > EPS) != truth.withstood), truth.shuffled()
        kinds: dict[str, tuple[FloatArray | None, bool]] = {
            "radii": (truth.radii, False),
            "shuffled": (shuffled, False),
            "none": (None, False),
        }
        if first:
            kinds = {
                "first+radii": (truth.radii, True),
                "first+shuffled": (shuffled, True),
                "first": (None, True),
                **kinds,
            }
        plain = np.mean([plain_width(share, truth.budget // 10) for share in truth.classes])
        none = np.mean([widths(truth.bound(None, seed)) for seed in range(DRAWS)], axis=0)
        print(
            f"{truth.name}: {len(truth.labels):,} images, {100 * truth.withstood.mean():.1f} % withstand, radii wrong "
            f"on {100 * wrong:.2f} %, {truth.budget} attacked, APGD-CE beforehand on "
            f"{int((truth.right & (truth.radii <= LIKELY * EPS)).sum())}; plain {100 * plain:.1f}"
        )
        for kind, (radii, beforehand) in kinds.items():
            found = [truth.bound(radii, seed, first=beforehand) for seed in range(DRAWS)]
            mean, missed = np.mean([widths(each) for each in found], axis=0), sum(map(truth.misses, found))
            print(
                f"  {kind:15}",
                " | ".join(f"{100 * width:5.1f}" for width in mean),
                "  against none",
                " | ".join(f"{ratio:.2f}" for ratio in mean / none),
                f"  classes against plain {mean[0] / plain:.2f}",
                f"  missed {missed} of {12 * DRAWS}",
                flush=True,
            )


def print_counts(truths: list[Truth]) -> None:
    """Attacks until every class is known."""
    print(f"\nAttacks until every class is known within {WITHIN:g}\n")
    for truth in truths:
        images, plain = plain_attacks(truth)
        with_first = truth.attacks_within(truth.radii, first=True)
        by_radii, without = truth.attacks_within(truth.radii), truth.attacks_within(None)
        print(
            f"{truth.name}: {with_first:,} after APGD-CE, {by_radii:,} by radii alone, {without:,} without, {plain:,} "
            f"(of {images:,} images) by plain counting: {plain / with_first:.1f} times as many",
            flush=True,
        )


def print_times(network: Network, truth: Truth) -> None:
    """Processor time of all that it takes to know every class, against attacking as many as plain intervals need.

    The time of each attack on an image is what the truth took, in batches of one size (``attacked_truth.py``): of the
    first two on 2,000 images, of FAB and Square on some that stand. Each sees what the one before left.
    """
    few = Outcomes.load(KEPT / "few" / f"{network.name}.json", (FEW_SIZE,)).seconds
    ten = Outcomes.load(KEPT / "linf" / f"{network.name}.json", LINF_SIZES).seconds
    one = {stage: found[stage][1] / found[stage][0] for found in (ten, few) for stage in found}
    last = sum(one[stage] for stage in LAST)

    def autoattack(rows: BoolArray) -> float:
        """Mean time of an image of some: of all four attacks, as far as each has to see it."""
        left = float(np.mean(~truth.fall_first[rows])), float(np.mean(truth.withstood[rows]))
        return one["apgd-ce"] + left[0] * one["apgd-t"] + left[1] * last

    draw = truth.draw(truth.radii, 0, first=True)
    with tempfile.TemporaryDirectory() as folder:
        fresh = Store(Path(folder))
        network.samples(fresh)
        began = time.process_time()
        network.radii(fresh, gradients=Gradients.YES, refine=REFINE)
        radius = (time.process_time() - began) / len(truth.labels)
    n, (_, n_plain) = truth.attacks_within(truth.radii, first=True), plain_attacks(truth)
    ours, plain, seen = autoattack(draw.open), autoattack(truth.right), int(draw.seen.sum())
    parts = (len(truth.labels) * radius, seen * one["apgd-ce"], n * ours)
    print(
        f"{truth.name}, processor time of an image: radius {1000 * radius:.1f} ms,",
        ", ".join(f"{stage} {1000 * taken:.0f} ms" for stage, taken in one.items() if stage in STAGES[1:]),
        f"\n{len(truth.labels):,} radii {parts[0]:.0f} s, APGD-CE on {seen:,} {parts[1]:.0f} s, AutoAttack on {n:,} "
        f"{parts[2]:.0f} s, together {sum(parts):.0f} s; AutoAttack on {n_plain:,} {n_plain * plain:.0f} s: "
        f"{n_plain * plain / sum(parts):.1f} times as long",
        flush=True,
    )


def main() -> None:
    """The tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("store", type=Path)
    parser.add_argument("what", nargs="?", choices=("few", "linf", "time"), default="few")
    said = parser.parse_args()
    store, truths = Store(said.store), []
    for name, first in FEW_FIRST.items():
        (network,) = networks(said.folder, [f"cifar_{name}"], first=FIRST if said.what == "linf" else first)
        place, sizes = ("linf", LINF_SIZES) if said.what == "linf" else ("few", (FEW_SIZE,))
        outcomes = Outcomes.load(KEPT / place / f"{name}.json", sizes)
        truth = truth_of(network, outcomes, store)
        if said.what == "time":
            print_times(network, truth)
            return
        waiting = [
            len(outcomes.waiting(np.flatnonzero(truth.withstood).tolist(), FEW_SIZE, stage, downwards=True))
            for stage in LAST
        ]
        print(f"{name}: {waiting} of those that withstand were not seen by {LAST}", flush=True)
        truths.append(truth)
    print_widths(truths, first=said.what == "few")
    if said.what == "few":
        print_counts(truths)


if __name__ == "__main__":
    main()
