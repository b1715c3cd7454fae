"""Print the tables of ``docs/few_attacks.md``: ``python scripts/few_attacks_table.py FOLDER_OF_REAL_DATA STORE``.

The folder holds the CIFAR-10 test set and networks that others trained. Every rightly classified image of the first
2,000 is attacked once: that is the truth. Attacks are kept in the STORE as they come, so that a run that was stopped
goes on where it was; ``--attack`` makes them and prints nothing. Then few attacks are drawn from the truth, again and
again, and what they say is held against it. Needs the extra ``attacks``.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from first_order_tables import EPS, Network, networks
from gfscore.arrays import BoolArray
from gfscore.engines.local import shard_by_shard
from gfscore.measures import Assault, Attacks
from gfscore.measures.slopes import Gradients
from gfscore.storage.store import Store

NAMES = ("cifar_cnn_a_adv", "cifar_cnn_a_mix", "cifar_conv_small_pgd", "cifar_sgd_8px")
GRADIENT_ATTACKS = Assault(norm="linf", eps=EPS, parts=("apgd-ce", "apgd-t"))  # of AutoAttack: a sixth of its time
AUTOATTACK = Assault(norm="linf", eps=EPS)
BLOCK = 50


def attack_all(network: Network, assault: Assault, store: Store) -> BoolArray:
    """Which of all images withstand, (N,): wrongly classified ones do not."""
    samples, run = network.samples(store), network.run(store)
    rows = np.flatnonzero(samples.logits.argmax(axis=1) == samples.labels)
    measure = Attacks.of(assault, [rows], block=BLOCK)
    withstood = np.zeros(samples.n_samples, dtype=bool)
    with shard_by_shard(run, measure) as give:
        for block in range(len(measure.places) // BLOCK):
            members = measure.members(block)
            withstood[members] = give(block)[0][: len(members), 0] == 1
    return withstood


def main() -> None:
    """The attacks that are missing, then the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("store", type=Path)
    parser.add_argument("--attack", choices=("gradient", "autoattack"), help="only attack what is missing")
    parser.add_argument("--networks", nargs="*", default=NAMES)
    said = parser.parse_args()
    store = Store(said.store)
    found = sorted(networks(said.folder, said.networks), key=lambda each: said.networks.index(f"cifar_{each.name}"))
    for network in found:
        assault = AUTOATTACK if said.attack == "autoattack" else GRADIENT_ATTACKS
        started = time.process_time()
        withstood = attack_all(network, assault, store)
        radii = network.radii(store, gradients=Gradients.YES).values
        wrong = np.mean((radii > EPS) != withstood)
        print(network.name, assault.name, withstood.mean(), wrong, f"{time.process_time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
