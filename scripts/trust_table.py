"""Print what the trust flags of radii are about on ten networks: ``python scripts/trust_table.py FOLDER CACHE``.

On the first 500 test images of CIFAR-10, in Linf; what was computed is kept in the folder CACHE.
"""

import sys
from pathlib import Path

import numpy as np

from first_order_tables import TEN, networks
from gfscore.engines.local import score_first_order
from gfscore.judge.radius_flags import LEAST_AGREEMENT, LEAST_SPREAD, MOST_ALREADY_WRONG, MOST_STILL_RIGHT, agreements
from gfscore.measures.boundary import look_at_boundary
from gfscore.scores import FirstOrder
from gfscore.storage.store import Store


def main() -> None:
    """Print a row per network, and when each flag is raised."""
    store, how = Store(Path(sys.argv[2]) / "radii"), FirstOrder(norm="linf")
    print("| network | margins and radii, lowest class | still right beyond the boundary | wrong before it | spread |")
    print("|---|--:|--:|--:|--:|")
    for net in networks(Path(sys.argv[1]), TEN, first=500):
        run, samples = net.run(store), net.samples(store)
        found = agreements(samples, score_first_order(run, samples, how, gradients="yes"))
        look = look_at_boundary(run, samples, how)
        print(
            f"| `{net.name}` | {min(found.values()):.2f} | {100 * look.still_right.mean():.0f} % of "
            f"{len(look.spread)} | {100 * look.already_wrong.mean():.0f} % | {np.median(look.spread):.2f} |",
            flush=True,
        )
    shares = (f"above {100 * share:.0f} %" for share in (MOST_STILL_RIGHT, MOST_ALREADY_WRONG))
    limits = (f"below {LEAST_AGREEMENT:g}", *shares, f"below {LEAST_SPREAD:g}")
    print(f"| raised when | {' | '.join(limits)} |")


if __name__ == "__main__":
    main()
