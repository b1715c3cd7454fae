"""Who withstands AutoAttack, image by image, kept on disk as it comes: the truth behind the tables of ``docs``.

``python scripts/attacked_truth.py FOLDER CACHE linf`` attacks the first 500 CIFAR-10 test images on ten networks that
others trained, at Linf 1, 2 and 4/255 (``scripts/midpoint_table.py``); with ``l2`` the first 200 on four
at L2 1/4 and 1/2, by the first three attacks; with ``few`` the first 2,000 on four networks at Linf 2/255, by
APGD-CE and targeted APGD (``scripts/few_attacks_table.py``). Stopped and started again it goes on where it was. Needs
the extras ``attacks`` and ``gradients``.

Only images that are classified correctly and not broken at a smaller size are attacked, in stages, so that a later,
dearer attack sees only what the earlier ones left: 20 iterations of APGD on the margin (DLR), then the four of standard
AutoAttack: APGD-CE, targeted APGD, targeted FAB and Square. A broken image is one that the deployed model itself gets
wrong, within the ball. All but the first two attacks go from the largest size downwards, and so does every attack on
the dearest network: what survives an attack at a size is not attacked by it at a smaller one. (Targeted FAB looks for
the nearest boundary whatever the size, so that nothing is lost by that.) The last two see images in a random order and
finish one part of them before they begin the next: stopped early, they have seen a random part of what stands.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from first_order_tables import TEN, Network, networks
from gfscore.arrays import IntArray
from gfscore.measures import Run
from gfscore.measures.sized_attacks import PIXEL_ROUNDING, load_library, torch_seed
from gfscore.measures.targets import Targets, verify
from gfscore.storage.store import Store

FIRST = 500  # images
LINF_SIZES = (1, 2, 4)  # of the attack, in 1/255
L2_FIRST, L2_SIZES = 200, (0.25, 0.5)
L2_NETWORKS = ("cnn_a_adv", "conv_small_pgd", "sgd_8px", "vit_pgd_2_3_16")
FEW_FIRST, FEW_SIZE = {"cnn_a_adv": 2000, "cnn_a_mix": 2000, "conv_small_pgd": 2000, "sgd_8px": 1000}, 2
QUICK, QUICK_STEPS = "apgd-dlr-20", 20
STAGES = (QUICK, "apgd-ce", "apgd-t", "fab-t", "square")
LAST = STAGES[3:]  # the dear ones, which may not come to their end
TOGETHER = 60  # images attacked at once, after which the outcomes are kept
CHEAP = ("cnn_a_adv", "cnn_a_mix", "conv_small_pgd", "sgd_8px", "base_kw", "vit_pgd_2_3_16", "wide_kw")
DEAR = ("resnet20", "resnet56", "ehanw_resnet20_pgd")  # networks; the last has most images that stand
PARTS = {"resnet20": 24, "resnet56": 12, "ehanw_resnet20_pgd": 24}  # images of the dear ones in a part


@dataclass
class Outcomes:
    """What is known of one network: which attack broke an image at a size, which images each has seen, how long."""

    path: Path
    sizes: Sequence[float]
    broken: dict[float, dict[int, str]] = field(default_factory=dict)
    seen: dict[float, dict[str, set[int]]] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)  # of each attack: images, processor time

    @classmethod
    def load(cls, path: Path, sizes: Sequence[float] = LINF_SIZES) -> "Outcomes":
        """The outcomes that are kept at a path."""
        found = cls(path, sizes)
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        for size in sizes:
            broken, seen = (kept.get(part, {}).get(str(size), {}) for part in ("broken", "seen"))
            found.broken[size] = {int(image): by for image, by in broken.items()}
            found.seen[size] = {stage: set(seen.get(stage, ())) for stage in STAGES}
        found.seconds = kept.get("seconds", {})
        return found

    def keep(self) -> None:
        """Write all of it, whole or not at all."""
        seen = {
            str(size): {stage: sorted(images) for stage, images in of_size.items()}
            for size, of_size in self.seen.items()
        }
        broken = {str(size): of_size for size, of_size in self.broken.items()}
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps({"broken": broken, "seen": seen, "seconds": self.seconds}), encoding="utf-8")
        beside.replace(self.path)

    def is_broken(self, image: int, size: float) -> bool:
        """Whether an image is broken within a size."""
        return any(image in self.broken[smaller] for smaller in self.sizes if smaller <= size)

    def was_seen(self, image: int, size: float, stage: str, *, downwards: bool) -> bool:
        """Whether an attack has seen an image at a size or, going downwards, left it standing at a larger one."""
        return image in self.seen[size][stage] or (
            downwards
            and any(
                image in self.seen[other][stage] and not self.is_broken(image, other)
                for other in self.sizes
                if other > size
            )
        )

    def waiting(self, images: Iterable[int], size: float, stage: str, *, downwards: bool) -> list[int]:
        """The images that stand at a size, and that an attack has still to see there."""
        return [
            image
            for image in images
            if not self.is_broken(image, size) and not self.was_seen(image, size, stage, downwards=downwards)
        ]


def mixed(run: Run) -> Any:
    """The model for an attack: gradients by torch, forward passes alone by the runtime, which is faster."""
    import torch

    module = run.differentiable().eval().to(memory_format=torch.channels_last)

    class Mixed(torch.nn.Module):
        def forward(self, pixels: Any) -> Any:
            if torch.is_grad_enabled() and pixels.requires_grad:
                return module(pixels)
            return torch.from_numpy(run.logits_of(np.ascontiguousarray(pixels.detach().numpy())).astype(np.float32))

    return Mixed()


def project_linf(points: Any, normals: Any, offsets: Any) -> Any:
    """Steps from points in [0, 1] to hyperplanes w x = b that are shortest in Linf, inside the box; FAB takes many.

    A step of size s moves each pixel against the sign of w by s, or as far as the box reaches: what that gains is
    concave and piecewise linear in s, so that Newton's steps from 0 end at the very solution after a few of them. Where
    no point of the box lies on the hyperplane, every pixel goes to the end of the box. The library sorts all pixels.
    """
    import torch

    gaps = (normals * points).sum(1) - offsets
    signed = normals * torch.where(gaps >= 0, 1.0, -1.0).unsqueeze(1)
    slopes, down = signed.abs(), signed >= 0
    rooms = torch.where(down, points, 1 - points)
    sizes, gaps = torch.zeros_like(gaps), gaps.abs()
    for _ in range(points.shape[1]):
        short = gaps - (slopes * torch.minimum(rooms, sizes.unsqueeze(1))).sum(1)
        steep = (slopes * (rooms > sizes.unsqueeze(1))).sum(1)
        further = torch.where((short > 1e-6 * gaps) & (steep > 0), short / steep.clamp_min(1e-12), 0.0)
        if not (further > 1e-9).any():
            break
        sizes = sizes + further
    reached = (slopes * rooms).sum(1) > gaps
    moved = torch.where(reached.unsqueeze(1), torch.minimum(rooms, sizes.unsqueeze(1)), rooms)
    return torch.where(down, -moved, moved) * (slopes > 0)


Attack = Callable[[IntArray, float, str], IntArray]  # which of some images an attack breaks at a size


def attacker(net: Network, store: Store, norm: str, unit: float) -> Attack:
    """The attacks on a network; a size is in units."""
    import torch

    torch.set_num_threads(1)
    library, run = load_library("pyautoattack"), net.run(store)
    load_library("pyautoattack.fab_base").projection_linf = project_linf
    model = mixed(run)

    def attack(images: IntArray, size: float, stage: str) -> IntArray:
        labels, pixels = net.data.labels[images], run.pixels(images)
        targets = Targets(
            classify=run.logits_of,
            pixels=pixels,
            labels=labels,
            radii=np.full(len(images), size * unit + PIXEL_ROUNDING),
            norm=norm,
        )
        inputs, wanted = torch.tensor(pixels), torch.tensor(labels)
        with torch_seed(0):
            made: Any = library.AutoAttack(model, norm={"linf": "Linf", "l2": "L2"}[norm], eps=size * unit, seed=0)
            if stage == QUICK:
                made.apgd.n_iter, made.apgd.loss = QUICK_STEPS, "dlr"
                found = made.apgd.perturb(inputs, wanted)
            else:
                made.attacks_to_run = [stage]
                found, _ = made.run_standard_evaluation(inputs, wanted, batch_size=len(inputs))
        return images[verify(targets, found.detach().numpy()).found]

    return attack


def correct_images(net: Network, store: Store) -> IntArray:
    """The images that a network classifies correctly."""
    samples = net.samples(store)
    return np.flatnonzero(samples.logits.argmax(axis=1) == samples.labels)


def see(outcomes: Outcomes, attack: Attack, images: Sequence[int], size: float, stage: str) -> None:
    """Attack some images at a size, and keep what comes out."""
    for start in range(0, len(images), TOGETHER):
        some, began = np.array(images[start : start + TOGETHER]), time.process_time()
        broken = attack(some, size, stage)
        outcomes.broken[size].update(dict.fromkeys(broken.tolist(), stage))
        outcomes.seen[size][stage].update(some.tolist())
        before = outcomes.seconds.get(stage, [0, 0.0])
        outcomes.seconds[stage] = [before[0] + len(some), before[1] + time.process_time() - began]
        outcomes.keep()
        print(f"{outcomes.path.stem} {size:g} {stage}: {len(some)} seen, {len(broken)} broken", flush=True)


def first_attacks(
    outcomes: Outcomes, attack: Attack, correct: Sequence[int], *, stages: Sequence[str], downwards: bool
) -> None:
    """The quicker attacks, one after the other, on all images."""
    for stage in stages:
        down = downwards or stage not in STAGES[:2]
        for size in sorted(outcomes.sizes, reverse=down):
            see(outcomes, attack, outcomes.waiting(correct, size, stage, downwards=down), size, stage)


def last_attacks(
    outcomes: Outcomes,
    attack: Attack,
    correct: Sequence[int],
    *,
    stages: Sequence[str] = LAST,
    part: int = TOGETHER,
    parts: int | None = None,
) -> None:
    """The dearer attacks on what stands, in a random order: all of them on one part, then the next; so many at most."""
    order = np.random.default_rng(0).permutation(np.asarray(correct))
    smallest = min(outcomes.sizes)
    left = [
        image
        for image in order.tolist()
        if any(outcomes.waiting([image], smallest, stage, downwards=True) for stage in stages)
    ]
    for start in list(range(0, len(left), part))[:parts]:
        for stage in stages:
            for size in sorted(outcomes.sizes, reverse=True):
                some = left[start : start + part]
                see(outcomes, attack, outcomes.waiting(some, size, stage, downwards=True), size, stage)


def attack_ten(folder: Path, cache: Path) -> None:
    """Attack until everything has been seen: the quicker attacks on all, then the others on a part of each in turn."""
    store, made = Store(cache / "store"), {}
    order = (*CHEAP, *DEAR)
    for net in sorted(networks(folder, TEN, first=FIRST), key=lambda net: order.index(net.name)):
        outcomes = Outcomes.load(cache / f"{net.name}.json")
        made[net.name] = (outcomes, attacker(net, store, "linf", 1 / 255), correct_images(net, store).tolist())
        stages = STAGES[:2] if net.name in DEAR else STAGES[:3]
        first_attacks(*made[net.name], stages=stages, downwards=net.name == DEAR[-1])
    for _ in range(-(-FIRST // min(PARTS.values()))):
        for name, known in made.items():
            stages = STAGES[2:] if name in DEAR else LAST
            last_attacks(*known, stages=stages, part=PARTS.get(name, TOGETHER), parts=1)


def attack_in_l2(folder: Path, cache: Path) -> None:
    """The three quicker attacks on four networks."""
    store = Store(cache / "store")
    for net in networks(folder, [f"cifar_{name}" for name in L2_NETWORKS], first=L2_FIRST):
        outcomes = Outcomes.load(cache / f"{net.name}.json", L2_SIZES)
        attack = attacker(net, store, "l2", 1.0)
        first_attacks(outcomes, attack, correct_images(net, store).tolist(), stages=STAGES[:3], downwards=False)


def attack_for_few(folder: Path, cache: Path) -> None:
    """APGD-CE and targeted APGD on more images, at one size."""
    store = Store(cache / "store")
    for name, first in FEW_FIRST.items():
        (net,) = networks(folder, [f"cifar_{name}"], first=first)
        outcomes = Outcomes.load(cache / f"{name}.json", (FEW_SIZE,))
        attack = attacker(net, store, "linf", 1 / 255)
        first_attacks(outcomes, attack, correct_images(net, store).tolist(), stages=STAGES[1:3], downwards=False)


JOBS = {"linf": attack_ten, "l2": attack_in_l2, "few": attack_for_few}


def main() -> None:
    """Attack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("cache", type=Path)
    parser.add_argument("what", choices=tuple(JOBS))
    said = parser.parse_args()
    cache = said.cache / said.what
    cache.mkdir(parents=True, exist_ok=True)
    JOBS[said.what](said.folder, cache)


if __name__ == "__main__":
    main()
