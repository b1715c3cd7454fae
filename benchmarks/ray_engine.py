"""Two Ray workers beside one local worker, in the same run: written to ``benchmarks/ray_engine.md``.

Needs the extra ``ray`` and the folder of real networks and data (``GFSCORE_REALDATA``).
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from run import machine, row, verdict

from gfscore.engines.loading import Loading, load
from gfscore.engines.local import SHARD_ROWS, compute_logits
from gfscore.engines.ray import Cluster, logits_on_ray
from gfscore.inputs.store import Store

REALDATA = Path(os.environ.get("GFSCORE_REALDATA", Path(__file__).parents[2] / "shared" / "realdata"))
NETWORK = "cifar_resnet56"
WORKERS, SHARDS = 2, 4
REPEATS = 3
WHAT = (
    "Written by `make bench`. A worker has one runtime thread, and a run an empty store. End to end is from specs to "
    "a finished file, with the start of a Ray cluster on this machine and of its workers; warm is from the moment at "
    "which each worker has finished its first shard. The median of {repeats} runs, in turns."
)


def local_rate(specs: tuple[str, str], how: Loading, folder: Path) -> tuple[float, float]:
    """Images a second of one local worker, end to end, and without opening the model and the data."""
    start = time.perf_counter()
    (loaded,) = load([specs[0]], [specs[1]], how)
    opened = time.perf_counter()
    compute_logits(loaded.model, loaded.data, loaded.preprocessing, Store(folder), batch_size=loaded.batch_size)
    end, n = time.perf_counter(), len(loaded.data.labels)
    return n / (end - start), n / (end - opened)


def ray_rate(specs: tuple[str, str], how: Loading, folder: Path) -> tuple[float, float]:
    """Images a second of two Ray workers, end to end, and once both have finished a shard."""
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
    return n / (end - start), (n - first) / (last - warm)


def page(images: Path) -> list[str]:
    """Both engines, in turns."""
    specs, how = (
        (str(REALDATA / f"models/{NETWORK}.onnx"), str(images)),
        Loading(preprocessing={"preset": "cifar10"}, threads=1),
    )
    measured = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
            measured.append((*local_rate(specs, how, Path(ours)), *ray_rate(specs, how, Path(theirs))))
    local, local_warm, ray, ray_warm = (statistics.median(rates) for rates in zip(*measured, strict=True))
    return [
        f"## {NETWORK}, {SHARDS * SHARD_ROWS:,} images in {SHARDS} shards\n",
        row("", "one local worker", f"{WORKERS} Ray workers", "times as fast"),
        row("---", "--:", "--:", "--:"),
        row("end to end", f"{local:.0f}/s", f"{ray:.0f}/s", f"{ray / local:.2f}"),
        row("warm", f"{local_warm:.0f}/s", f"{ray_warm:.0f}/s", verdict(ray_warm / local_warm, 1.5, least=True)),
    ]


def main() -> None:
    """Print the page and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "ray_engine.md")
    out = parser.parse_args().out
    if not REALDATA.is_dir():
        print("No real networks here: set GFSCORE_REALDATA to their folder to measure the Ray engine.")
        return
    lines = ["# Two Ray workers beside one local worker\n", WHAT.format(repeats=REPEATS) + "\n", machine() + "\n"]
    with np.load(REALDATA / "cifar10_test.npz") as data, tempfile.TemporaryDirectory() as folder:
        images = Path(folder) / "images.npz"
        n = SHARDS * SHARD_ROWS
        np.savez(images, images=data["images"][:n], labels=data["labels"][:n])
        lines += page(images)
    print("\n".join(lines))
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
