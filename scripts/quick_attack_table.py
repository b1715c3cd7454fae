"""Which quick attack finds most of what AutoAttack finds, for ``docs/refuters.md``.

``python scripts/quick_attack_table.py FOLDER STORE``. The folder holds the CIFAR-10 test set and networks that others
trained; what AutoAttack broke of their first images is in ``benchmarks/attacked/linf``. Needs the extras ``attacks``
and ``gradients``.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from attack_outcomes import KEPT, Outcomes
from attacked_truth import LINF_SIZES
from first_order_tables import networks
from gfscore.measures.sized_attacks import ATTACK_BATCH, foolbox_model, load_library, torch_seed
from gfscore.storage.store import Store

SIZES = {"cnn_a_adv": 2, "sgd_8px": 2, "vit_pgd_2_3_16": 2, "resnet20": 1}  # in 1/255
Made = Callable[[Any, Any, Any, float], Any]  # pixels that an attack makes of a module, images, labels, eps


def by_apgd(*losses: str, steps: int) -> Made:
    """APGD on some losses, one after the other, each on what the one before left."""

    def attack(module: Any, images: Any, labels: Any, eps: float) -> Any:
        library, found = load_library("pyautoattack.autopgd_base"), images.clone()
        for loss in losses:
            left = (module(found).argmax(dim=1) == labels).nonzero()[:, 0]
            made = library.APGDAttack(
                module, n_iter=steps, norm="Linf", eps=eps, seed=0, loss=loss, device=images.device
            )
            found[left] = made.perturb(images[left], labels[left]).detach()
        return found

    return attack


def by_foolbox(steps: int) -> Made:
    """PGD on the cross-entropy with foolbox's steps, a thirtieth of eps each."""

    def attack(module: Any, images: Any, labels: Any, eps: float) -> Any:
        made = load_library("foolbox.attacks").LinfPGD(steps=steps)
        return made(foolbox_model(module), images, labels, epsilons=eps)[1]

    return attack


CANDIDATES: dict[str, tuple[Made, int]] = {  # with the steps of each
    "PGD, 40 steps": (by_foolbox(40), 40),
    "APGD-CE, 20": (by_apgd("ce", steps=20), 20),
    "APGD-DLR, 10": (by_apgd("dlr", steps=10), 10),
    "APGD-DLR, 20": (by_apgd("dlr", steps=20), 20),
    "DLR, 10, then CE, 10": (by_apgd("dlr", "ce", steps=10), 20),
    "CE, 10, then DLR, 10": (by_apgd("ce", "dlr", steps=10), 20),
    "DLR, 20, then CE, 20": (by_apgd("dlr", "ce", steps=20), 40),
}


def main() -> None:
    """A row per network, a column per attack."""
    import torch

    torch.set_num_threads(1)
    folder, store = Path(sys.argv[1]), Store(Path(sys.argv[2]))
    print("| network | broken by AutoAttack |", " | ".join(CANDIDATES), "|")
    print("|---|--:|" + "--:|" * len(CANDIDATES))
    found, of_all = dict.fromkeys(CANDIDATES, 0), 0
    for name, size in SIZES.items():
        (net,) = networks(folder, [f"cifar_{name}"], first=500)
        outcomes, run = Outcomes.load(KEPT / "linf" / f"{name}.json", LINF_SIZES), net.run(store)
        rows = np.array(sorted(outcomes.correct))
        fallen = np.array([outcomes.is_broken(row, size) for row in rows])
        cells = []
        for title, (attack, _) in CANDIDATES.items():
            broken = np.zeros(len(rows), dtype=bool)
            with torch_seed(0):
                for start in range(0, len(rows), ATTACK_BATCH):
                    some = rows[start : start + ATTACK_BATCH]
                    images, labels = torch.tensor(run.pixels(some)), torch.tensor(net.data.labels[some])
                    made = attack(run.differentiable(), images, labels, size / 255).detach().numpy()
                    broken[start : start + len(some)] = run.logits_of(made).argmax(axis=1) != net.data.labels[some]
            found[title] += int((broken & fallen).sum())
            more = int((broken & ~fallen).sum())  # that AutoAttack left, or has not seen yet
            cells.append(f"{100 * broken[fallen].mean():.1f} %" + (f" (+{more})" if more else ""))
        of_all += int(fallen.sum())
        print(f"| `{name}`, {size}/255 | {fallen.sum()} of {len(rows)} |", " | ".join(cells), "|", flush=True)
    print(f"| all | {of_all} |", " | ".join(f"{100 * count / of_all:.1f} %" for count in found.values()), "|")
    print(
        "| passes an image, forward and backward | |", " | ".join(f"{steps}" for _, steps in CANDIDATES.values()), "|"
    )


if __name__ == "__main__":
    main()
