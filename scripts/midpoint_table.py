"""Accuracy under AutoAttack beside radii, for ``docs/scores.md``: ``python scripts/midpoint_table.py FOLDER CACHE``.

The folder holds the CIFAR-10 test set and ten networks that others trained. With ``attack`` as a third word the script
attacks the first 500 images at 1, 2 and 4/255 and keeps every outcome in the folder CACHE, so that it can be stopped
and started again; without it, it prints the table from what is there. Needs the extras ``attacks`` and ``gradients``.

Only images that are classified correctly and not broken at a smaller size are attacked, in stages, so that a later,
dearer attack sees only what the earlier ones left: 20 iterations of APGD on the margin (DLR), then the four of standard
AutoAttack: APGD-CE, targeted APGD, targeted FAB and Square. A broken image is one that the deployed model itself gets
wrong, within the ball. The last three attacks go from the largest size downwards (``DOWNWARDS``), and so do all on the
dearest network.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from first_order_tables import ROBUST, TEN, Network, networks
from gfscore.arrays import BoolArray, IntArray
from gfscore.attacks.gradient_attacks import _torch_seed, _verify_at_edge, load_library
from gfscore.attacks.witnesses import Targets
from gfscore.engines.local import score_first_order
from gfscore.measures import Run
from gfscore.ranking import spearman
from gfscore.scores import FirstOrder
from gfscore.scores.margin_slopes import REFINE
from gfscore.storage.store import Store

FIRST = 500  # images
SIZES = (1, 2, 4)  # of the attack, in 1/255
QUICK, QUICK_STEPS = "apgd-dlr-20", 20
STAGES = (QUICK, "apgd-ce", "apgd-t", "fab-t", "square")
TOGETHER = 50  # images attacked at once, after which the outcomes are kept
DOWNWARDS = STAGES[2:]  # from the largest size: what survives one of these there is not attacked by it at a smaller one
ORDER = ("resnet20", "cnn_a_adv", "vit_pgd_2_3_16", "resnet56", "ehanw_resnet20_pgd")  # the others are second


@dataclass
class Outcomes:
    """What is known of one network: which attack broke an image at a size, and which images each attack has seen."""

    path: Path
    broken: dict[int, dict[int, str]] = field(default_factory=lambda: {size: {} for size in SIZES})
    seen: dict[int, dict[str, set[int]]] = field(
        default_factory=lambda: {size: {stage: set() for stage in STAGES} for size in SIZES}
    )

    @classmethod
    def load(cls, path: Path) -> "Outcomes":
        """The outcomes that are kept at a path."""
        found = cls(path)
        if path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
            for size in SIZES:
                found.broken[size] = {int(image): by for image, by in kept["broken"][str(size)].items()}
                found.seen[size] = {stage: set(images) for stage, images in kept["seen"][str(size)].items()}
        return found

    def keep(self) -> None:
        """Write all of it, whole or not at all."""
        text = json.dumps(
            {
                "broken": self.broken,
                "seen": {
                    size: {stage: sorted(images) for stage, images in of_size.items()}
                    for size, of_size in self.seen.items()
                },
            }
        )
        beside = self.path.with_suffix(".new")
        beside.write_text(text, encoding="utf-8")
        beside.replace(self.path)

    def is_broken(self, image: int, size: int) -> bool:
        """Whether an image is broken within a size."""
        return any(image in self.broken[smaller] for smaller in SIZES if smaller <= size)

    def standing(self, correct: Sequence[int], size: int, stage: str, *, downwards: bool) -> list[int]:
        """The images that an attack has still to see at a size."""
        larger = [other for other in SIZES if other > size] if downwards else []
        return [
            image
            for image in correct
            if not self.is_broken(image, size)
            and image not in self.seen[size][stage]
            and not any(image in self.seen[other][stage] and not self.is_broken(image, other) for other in larger)
        ]


def attack_images(run: Run, images: IntArray, labels: IntArray, size: int, stage: str) -> IntArray:
    """Which of some images one attack breaks at a size."""
    import torch

    library, module = load_library("pyautoattack"), run.differentiable()
    targets = Targets(
        classify=run.logits_of,
        pixels=run.pixels(images),
        labels=labels,
        radii=np.full(len(images), size / 255),
        norm="linf",
    )
    inputs, wanted = torch.tensor(targets.pixels), torch.tensor(labels)
    with _torch_seed(0):
        made: Any = library.AutoAttack(module, norm="Linf", eps=size / 255, seed=0)
        if stage == QUICK:
            made.apgd.n_iter, made.apgd.loss = QUICK_STEPS, "dlr"
            found = made.apgd.perturb(inputs, wanted)
        else:
            made.attacks_to_run = [stage]
            found, _ = made.run_standard_evaluation(inputs, wanted, batch_size=TOGETHER)
    return images[_verify_at_edge(targets, found.detach().numpy()).found]


def correct_images(net: Network, store: Store) -> IntArray:
    """The images that a network classifies correctly."""
    samples = net.samples(store)
    return np.flatnonzero(samples.logits.argmax(axis=1) == samples.labels)


def stages_to_run(nets: Sequence[Network]) -> Iterator[tuple[Network, str]]:
    """Networks and attacks in the order of what is learnt for the time; the dearest network comes last."""
    ordered = sorted(nets, key=lambda net: ORDER.index(net.name if net.name in ORDER else "cnn_a_adv"))
    for stages in (STAGES[:2], STAGES[2:3], STAGES[3:]):
        for net in ordered:
            for stage in stages:
                yield net, stage


def attack(folder: Path, cache: Path) -> None:
    """Attack until everything has been seen."""
    import torch

    torch.set_num_threads(1)
    store, nets = Store(cache / "store"), networks(folder, TEN, first=FIRST)
    for net, stage in stages_to_run(nets):
        run, correct = net.run(store), correct_images(net, store).tolist()
        outcomes = Outcomes.load(cache / f"{net.name}.json")
        downwards = stage in DOWNWARDS or net.name == ORDER[-1]
        for size in reversed(SIZES) if downwards else SIZES:
            waiting = outcomes.standing(correct, size, stage, downwards=downwards)
            for start in range(0, len(waiting), TOGETHER):
                some = np.array(waiting[start : start + TOGETHER])
                broken = attack_images(run, some, net.data.labels[some], size, stage)
                outcomes.broken[size].update(dict.fromkeys(broken.tolist(), stage))
                outcomes.seen[size][stage].update(some.tolist())
                outcomes.keep()
            left = sum(not outcomes.is_broken(image, size) for image in correct)
            print(f"{net.name} {size}/255 {stage}: {len(waiting)} seen, {left / FIRST:.1%} stand", flush=True)


def seen_by(outcomes: Outcomes, correct: Sequence[int]) -> str:
    """Which attacks have seen every image that they had to, at all sizes; else how many images the last one has not."""
    complete = []
    for stage in STAGES[1:]:
        left = sum(len(outcomes.standing(correct, size, stage, downwards=True)) for size in SIZES)
        if left == 0:
            complete.append(stage)
        elif any(outcomes.seen[size][stage] for size in SIZES):
            complete.append(f"{stage} but {left}")
    return ", ".join(complete)


def print_table(folder: Path, cache: Path) -> None:
    """Print a row per network: at each size AutoAttack, first-order and midpoint; then the errors."""
    store, names = Store(cache / "radii"), ("first-order", "midpoint")
    sizes = " | ".join(f"{size}/255" for size in SIZES)
    print(f"| network | attacked by | {sizes} |\n|---|---|{'--:|' * len(SIZES)}")
    off: dict[str, list[float]] = {name: [] for name in names}
    within: dict[str, list[float]] = {name: [] for name in names}
    after = [0, 0]  # images that FAB or Square saw, and broke, after both APGD
    for net in networks(folder, TEN, first=FIRST):
        run, samples = net.run(store), net.samples(store)
        outcomes, correct = Outcomes.load(cache / f"{net.name}.json"), correct_images(net, store).tolist()
        radii = {
            name: score_first_order(run, samples, FirstOrder(norm="linf", refine=steps), gradients="yes").values
            for name, steps in zip(names, (0, REFINE), strict=True)
        }
        cells = []
        for size in SIZES:
            stands = np.isin(np.arange(FIRST), [image for image in correct if not outcomes.is_broken(image, size)])
            shares = {name: float((values > size / 255).mean()) for name, values in radii.items()}
            cells.append(" / ".join(f"{100 * each:.1f}" for each in (stands.mean(), *shares.values())))
            for name, values in radii.items():
                off[name].append(100 * abs(shares[name] - stands.mean()))
                if stands.mean() > ROBUST:
                    both = (_of_classes(values > size / 255, samples.labels), _of_classes(stands, samples.labels))
                    within[name].append(float(spearman(*both) or 0))
            last = [set(outcomes.seen[size][stage]) for stage in STAGES[3:]]
            after[0] += len(set.union(*last))
            after[1] += sum(by in STAGES[3:] for by in outcomes.broken[size].values())
        print(f"| `{net.name}` | {seen_by(outcomes, correct)} | {' | '.join(cells)} |", flush=True)
    print()
    for name, steps in zip(names, (0, REFINE), strict=True):
        how = FirstOrder(norm="linf", refine=steps)
        print(
            f"{name}: off by {np.mean(off[name]):.2f} points on average, {max(off[name]):.1f} at most; over classes "
            f"within a network Spearman {np.median(within[name]):.2f} (median; lowest {min(within[name]):.2f}); "
            f"{1 + steps} forward and {how.rivals + steps} backward passes an image."
        )
    print(f"FAB and Square saw {after[0]} images that both APGD had left, and broke {after[1]} of them.")


def _of_classes(values: BoolArray, labels: IntArray) -> list[float]:
    return [float(values[labels == label].mean()) for label in np.unique(labels)]


def main() -> None:
    """Attack, or print."""
    folder, cache = Path(sys.argv[1]), Path(sys.argv[2])
    cache.mkdir(parents=True, exist_ok=True)
    (attack if sys.argv[3:] == ["attack"] else print_table)(folder, cache)


if __name__ == "__main__":
    main()
