"""Who withstands AutoAttack, image by image, kept as it comes: the truth behind the tables of ``docs``.

``python scripts/attacked_truth.py FOLDER STORE linf`` attacks the first 500 CIFAR-10 test images on ten networks that
others trained, at Linf 1, 2 and 4/255 (``scripts/midpoint_table.py``); with ``l2`` the first 200 on four
at L2 1/4 and 1/2, by the first three attacks; with ``few`` the first 2,000 on four networks at Linf 2/255, by
APGD-CE and targeted APGD (``scripts/few_attacks_table.py``). What comes out is kept in ``benchmarks/attacked``; stopped
and started again it goes on where it was. More words name the networks, where not all are wanted: several processes may
work beside each other on different ones. Needs the extras ``attacks`` and ``gradients``.

Only images that are classified correctly and not broken at a smaller size are attacked, in stages, so that a later,
dearer attack sees only what the earlier ones left: 20 iterations of APGD on the margin (DLR), then the four of standard
AutoAttack: APGD-CE, targeted APGD, targeted FAB and Square. A broken image is one that the deployed model itself gets
wrong, within the ball. All but the first two attacks go from the largest size downwards, and so does every attack on
the dearest network: what survives an attack at a size is not attacked by it at a smaller one. (Targeted FAB looks for
the nearest boundary whatever the size, so that nothing is lost by that.) The last two see images in a random order and
finish one part of them before they begin the next: stopped early, they have seen a random part of what stands.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attack_outcomes import KEPT, LAST, QUICK, STAGES, Outcomes
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
QUICK_STEPS = 20
TOGETHER = 150  # images attacked at once, at most, after which the outcomes are kept; a part of those of LAST
CHEAP = ("cnn_a_adv", "cnn_a_mix", "conv_small_pgd", "sgd_8px", "base_kw", "vit_pgd_2_3_16", "wide_kw")
DEAR = ("resnet20", "resnet56", "ehanw_resnet20_pgd")  # networks; the last has most images that stand
PARTS = {"resnet20": 30, "resnet56": 12, "ehanw_resnet20_pgd": 24}  # images of the dear ones in a part


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


def known(path: Path, net: Network, store: Store, sizes: Sequence[float]) -> Outcomes:
    """What is known of a network already: at the least, which images it classifies correctly."""
    outcomes, samples = Outcomes.load(path, sizes), net.samples(store)
    outcomes.correct = set(np.flatnonzero(samples.logits.argmax(axis=1) == samples.labels).tolist())
    return outcomes


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


def first_attacks(outcomes: Outcomes, attack: Attack, *, stages: Sequence[str], downwards: bool) -> None:
    """The quicker attacks, one after the other, on all images."""
    for stage in stages:
        down = downwards or stage not in STAGES[:2]
        for size in sorted(outcomes.sizes, reverse=down):
            waiting = outcomes.waiting(sorted(outcomes.correct), size, stage, downwards=down)
            see(outcomes, attack, waiting, size, stage)


def last_attacks(outcomes: Outcomes, attack: Attack, *, part: int) -> bool:
    """The dearer attacks on the next part of what stands, in a random order; whether there was such a part."""
    order = np.random.default_rng(0).permutation(sorted(outcomes.correct)).tolist()
    smallest = min(outcomes.sizes)
    left = [
        image for image in order if any(outcomes.waiting([image], smallest, stage, downwards=True) for stage in LAST)
    ][:part]
    for stage in LAST:
        for size in sorted(outcomes.sizes, reverse=True):
            see(outcomes, attack, outcomes.waiting(left, size, stage, downwards=True), size, stage)
    return bool(left)


def attack_ten(folder: Path, store: Store, kept: Path, names: Sequence[str]) -> None:
    """Attack until everything has been seen: the quicker attacks on all, then the others on a part of each in turn."""
    made = {}
    order = (*CHEAP, *DEAR)
    wanted = [name for name in TEN if name.removeprefix("cifar_") in (names or order)]
    for net in sorted(networks(folder, wanted, first=FIRST), key=lambda net: order.index(net.name)):
        outcomes = known(kept / f"{net.name}.json", net, store, LINF_SIZES)
        made[net.name] = (outcomes, attacker(net, store, "linf", 1 / 255))
        first_attacks(*made[net.name], stages=STAGES[:3], downwards=net.name == DEAR[-1])
    while made:
        made = {name: of_net for name, of_net in made.items() if last_attacks(*of_net, part=PARTS.get(name, TOGETHER))}


def attack_in_l2(folder: Path, store: Store, kept: Path, names: Sequence[str]) -> None:
    """The three quicker attacks on four networks."""
    for net in networks(folder, [f"cifar_{name}" for name in names or L2_NETWORKS], first=L2_FIRST):
        outcomes = known(kept / f"{net.name}.json", net, store, L2_SIZES)
        first_attacks(outcomes, attacker(net, store, "l2", 1.0), stages=STAGES[:3], downwards=False)


def attack_for_few(folder: Path, store: Store, kept: Path, names: Sequence[str]) -> None:
    """APGD-CE and targeted APGD on more images, at one size."""
    for name in names or FEW_FIRST:
        (net,) = networks(folder, [f"cifar_{name}"], first=FEW_FIRST[name])
        outcomes = known(kept / f"{name}.json", net, store, (FEW_SIZE,))
        first_attacks(outcomes, attacker(net, store, "linf", 1 / 255), stages=STAGES[1:3], downwards=False)


JOBS = {"linf": attack_ten, "l2": attack_in_l2, "few": attack_for_few}


def main() -> None:
    """Attack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("store", type=Path)
    parser.add_argument("what", choices=tuple(JOBS))
    parser.add_argument("networks", nargs="*")
    said = parser.parse_args()
    kept = KEPT / said.what
    kept.mkdir(parents=True, exist_ok=True)
    JOBS[said.what](said.folder, Store(said.store), kept, said.networks)


if __name__ == "__main__":
    main()
