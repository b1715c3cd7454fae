"""Print the tables of ``docs/few_attacks.md``: ``python scripts/few_attacks_table.py FOLDER_OF_REAL_DATA STORE``.

The folder holds the CIFAR-10 test set and networks that others trained. Every rightly classified image of the first
2,000 is attacked once: that is the truth. Attacks are kept in the STORE as they come, so that a run that was stopped
goes on where it was; ``--attack autoattack`` makes them by all four attacks of AutoAttack. Then few attacks are drawn
from the truth, again and again, and what they say is held against it. Needs the extra ``attacks``.
"""

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from first_order_tables import EPS, Network, networks
from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.attacks.sparing import Draw
from gfscore.bounds import AttackIntervals, attack_intervals, clopper_pearson
from gfscore.engines.local import shard_by_shard
from gfscore.measures import Assault, Attacks
from gfscore.measures.slopes import Gradients
from gfscore.storage.store import Store

NAMES = ("cifar_cnn_a_adv", "cifar_cnn_a_mix", "cifar_conv_small_pgd", "cifar_sgd_8px")
ASSAULTS = {
    "gradient": Assault(norm="linf", eps=EPS, parts=("apgd-ce", "apgd-t")),  # of AutoAttack, in a sixth of its time
    "autoattack": Assault(norm="linf", eps=EPS),
}
BLOCK = 50  # images attacked together
DELTA, DRAWS, WITHIN = 0.05, 5, 0.03


@dataclass(frozen=True, kw_only=True, eq=False)
class Truth:
    """A network with every image attacked."""

    name: str
    labels: IntArray
    right: BoolArray
    radii: FloatArray
    withstood: BoolArray

    @property
    def classes(self) -> FloatArray:
        """Accuracy under attack of each class."""
        return np.asarray(np.bincount(self.labels, weights=self.withstood) / np.bincount(self.labels))

    @property
    def budget(self) -> int:
        """A quarter of the images, as 500 of 2,000."""
        return len(self.labels) // 4

    def bound(self, radii: FloatArray | None, seed: int, budget: int | None = None) -> AttackIntervals:
        """What ``budget`` attacks say, predicted and drawn by some radii; None: nothing is predicted, all are alike."""
        draw = Draw.of(np.zeros_like(self.radii) if radii is None else radii, self.right, EPS, seed=seed)
        rows = draw.order[: self.budget if budget is None else budget]
        return attack_intervals(
            np.full(len(self.labels), 0.5) if radii is None else draw.predictions,
            self.labels,
            len(self.classes),
            attacked=rows,
            outcomes=self.withstood[rows],
            broken=~self.right,
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

    def attacks_within(self, radii: FloatArray | None, seed: int = 0) -> int:
        """Attacks, in steps of 20, until every class is known to ``WITHIN``."""
        low, high = 0, math.ceil(int(self.right.sum()) / 20)
        while high - low > 1:
            middle = (low + high) // 2
            found = self.bound(radii, seed, 20 * middle)
            narrow = bool((found.upper - found.lower <= 2 * WITHIN).all())
            low, high = (low, middle) if narrow else (middle, high)
        return min(20 * high, int(self.right.sum()))


def attack_all(network: Network, assault: Assault, store: Store, first: int | None = None) -> Truth:
    """The truth of a network: wrongly classified images do not withstand, the others of the ``first`` are attacked."""
    samples, run = network.samples(store), network.run(store)
    right = samples.logits.argmax(axis=1) == samples.labels
    measure = Attacks.of(assault, [np.flatnonzero(right)], block=BLOCK)
    withstood = np.zeros(samples.n_samples, dtype=bool)
    with shard_by_shard(run, measure) as give:
        for block in range(len(measure.places) // BLOCK):
            members = measure.members(block)
            if first is not None and members[0] >= first:
                break
            withstood[members] = give(block)[0][: len(members), 0] == 1
    radii = network.radii(store, gradients=Gradients.YES).values
    seen = slice(0, first)
    return Truth(
        name=network.name,
        labels=samples.labels[seen],
        right=right[seen],
        radii=radii[seen],
        withstood=withstood[seen],
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


def print_tables(truths: list[Truth]) -> None:
    """Widths at a budget, against no predictions and plain counting; then attacks until classes are known."""
    print(
        f"\nA quarter attacked, {DRAWS} draws: mean width of classes | worst class | whole; ratios; intervals missed\n"
    )
    for truth in truths:
        wrong = np.mean((truth.radii > EPS) != truth.withstood)
        by_kind = {}
        missed = 0
        for kind, radii in (("radii", truth.radii), ("none", None), ("shuffled", truth.shuffled())):
            found = [truth.bound(radii, seed) for seed in range(DRAWS)]
            by_kind[kind] = np.mean([widths(each) for each in found], axis=0)
            missed += sum(map(truth.misses, found))
        plain = np.mean([plain_width(share, truth.budget // 10) for share in truth.classes])
        print(
            f"| {truth.name} | {100 * truth.withstood.mean():.1f} | {100 * wrong:.2f} |",
            *(f"{100 * width:.1f} |" for width in (*by_kind["radii"], *by_kind["none"], plain)),
            *(f"{ratio:.2f} |" for ratio in by_kind["radii"] / by_kind["none"]),
            f"{by_kind['radii'][0] / plain:.2f} |",
            *(f"{ratio:.2f} |" for ratio in by_kind["shuffled"] / by_kind["none"]),
            f"{missed} |",
            flush=True,
        )
    print(f"\nAttacks until every class is known within {WITHIN:g}: with radii, without, by plain counting, ratio\n")
    for truth in truths:
        by_radii, without = truth.attacks_within(truth.radii), truth.attacks_within(None)
        shares = [float(truth.right[truth.labels == k].mean()) for k in range(len(truth.classes))]
        counts = [plain_images(share) for share in truth.classes]
        plain = round(sum(n * share for n, share in zip(counts, shares, strict=True)))
        of_images = f"{plain:,} (of {sum(counts):,} images)"
        print(f"| {truth.name} | {by_radii:,} | {without:,} | {of_images} | {plain / by_radii:.1f} |", flush=True)


def main() -> None:
    """The attacks that are missing, then the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("store", type=Path)
    parser.add_argument("--attack", choices=tuple(ASSAULTS), default="gradient")
    parser.add_argument("--first", type=int, help="images that are attacked and looked at; all 2,000 without it")
    parser.add_argument("--networks", nargs="*", default=NAMES)
    said = parser.parse_args()
    order = [name.removeprefix("cifar_") for name in said.networks]
    found = sorted(networks(said.folder, said.networks), key=lambda each: order.index(each.name))
    print_tables([attack_all(network, ASSAULTS[said.attack], Store(said.store), said.first) for network in found])


if __name__ == "__main__":
    main()
