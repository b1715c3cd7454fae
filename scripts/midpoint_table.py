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

from first_order_tables import TEN, Network, networks
from gfscore.arrays import IntArray
from gfscore.attacks.gradient_attacks import _torch_seed, _verify_at_edge, load_library
from gfscore.attacks.witnesses import Targets
from gfscore.measures import Run
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


def main() -> None:
    """Attack, or print."""
    folder, cache = Path(sys.argv[1]), Path(sys.argv[2])
    cache.mkdir(parents=True, exist_ok=True)
    if sys.argv[3:] == ["attack"]:
        attack(folder, cache)


if __name__ == "__main__":
    main()
