"""Two Ray workers beside one local worker, in the same run: written to ``benchmarks/ray_engine.md``.

Needs the extra ``ray`` and the folder of real networks and data (``GFSCORE_REALDATA``).
"""

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from run import machine, row, verdict

from gfscore.engines.loading import Loading, load
from gfscore.engines.local import measured
from gfscore.engines.ray import Cluster, logits_on_ray
from gfscore.measures import Logits
from gfscore.measures.logits import SHARD_ROWS
from gfscore.storage.store import Store

REALDATA = Path(os.environ.get("GFSCORE_REALDATA", Path(__file__).parents[2] / "shared" / "realdata"))
NETWORK = "cifar_resnet56"
WORKERS, SHARDS = 2, 16
REPEATS = 3
WHAT = (
    "Written by `make bench`. A worker has one runtime thread, and a run an empty store. The images are those of the "
    "test set of CIFAR-10, again from the first after the last. End to end is from specs to a finished file, with the "
    "start of a Ray cluster on this machine and of its workers, and with its end. Warm is, on Ray, from the moment at "
    "which as many shards are finished as there are workers (by whichever of them) to the last shard; the local worker "
    "is warm once model and data are open. Beside each rate, the time it is about. The median of {repeats} runs, in "
    "turns."
)


class Timed(NamedTuple):
    """Images, and the seconds they took."""

    images: int
    seconds: float

    @property
    def rate(self) -> float:
        """Images a second."""
        return self.images / self.seconds

    def __str__(self) -> str:
        return f"{self.rate:.0f}/s ({self.seconds:.0f} s)"


def local_times(specs: tuple[str, str], how: Loading, folder: Path) -> tuple[Timed, Timed]:
    """One local worker, end to end, and without opening the model and the data."""
    start = time.perf_counter()
    (run,) = load([specs[0]], [specs[1]], how, Store(folder))
    opened = time.perf_counter()
    measured(run, Logits())
    end, n = time.perf_counter(), run.n_samples
    return Timed(n, end - start), Timed(n, end - opened)


def ray_times(specs: tuple[str, str], how: Loading, folder: Path) -> tuple[Timed, Timed]:
    """Two Ray workers, end to end, and once two shards are finished."""
    moments: list[tuple[int, float]] = []
    start = time.perf_counter()
    run = logits_on_ray(
        [specs[0]],
        [specs[1]],
        how,
        Store(folder),
        Cluster(workers=WORKERS),
        lambda _name: lambda done, _total: moments.append((done, time.perf_counter())),
    )
    list(run)  # until Ray has ended, too
    end = time.perf_counter()
    (first, warm), (n, last) = moments[WORKERS], moments[-1]  # before them, that nothing is done yet
    return Timed(n, end - start), Timed(n - first, last - warm)


def median(times: Sequence[Timed]) -> Timed:
    """The one with the middle rate."""
    return sorted(times, key=lambda timed: timed.rate)[len(times) // 2]


def page(images: Path, shards: int, repeats: int) -> list[str]:
    """Both engines, in turns."""
    specs, how = (
        (str(REALDATA / f"models/{NETWORK}.onnx"), str(images)),
        Loading(preprocessing={"preset": "cifar10"}, threads=1),
    )
    measured = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
            measured.append((*local_times(specs, how, Path(ours)), *ray_times(specs, how, Path(theirs))))
    local, local_warm, ray, ray_warm = map(median, zip(*measured, strict=True))
    return [
        f"## {NETWORK}, {shards * SHARD_ROWS:,} images in {shards} shards\n",
        row("", "one local worker", f"{WORKERS} Ray workers", "times as fast"),
        row("---", "--:", "--:", "--:"),
        row("end to end", str(local), str(ray), f"{ray.rate / local.rate:.2f}"),
        row("warm", str(local_warm), str(ray_warm), verdict(ray_warm.rate / local_warm.rate, 1.5, least=True)),
    ]


def main() -> None:
    """Print the page and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "ray_engine.md")
    parser.add_argument("--shards", type=int, default=SHARDS, help="at least 3; the page has 16")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    asked = parser.parse_args()
    if not REALDATA.is_dir():
        print("No real networks here: set GFSCORE_REALDATA to their folder to measure the Ray engine.")
        return
    lines = ["# Two Ray workers beside one local worker\n", WHAT.format(repeats=asked.repeats) + "\n", machine() + "\n"]
    with np.load(REALDATA / "cifar10_test.npz") as data, tempfile.TemporaryDirectory() as folder:
        images = Path(folder) / "images.npz"
        rows = np.arange(asked.shards * SHARD_ROWS) % len(data["labels"])
        np.savez(images, images=data["images"][rows], labels=data["labels"][rows])
        lines += page(images, asked.shards, asked.repeats)
    print("\n".join(lines))
    asked.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
