"""Two Ray workers beside one local worker, measure by measure, in turns: written to ``benchmarks/ray_engine.md``.

Needs the extra ``ray`` and the folder of real networks and data (``GFSCORE_REALDATA``).
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from run import machine, row, verdict

from gfscore.arrays import limit_threads
from gfscore.engines.in_turn import loader_of
from gfscore.engines.loading import Loading
from gfscore.engines.local import measured
from gfscore.engines.pool import Cluster
from gfscore.engines.ray import one_cluster
from gfscore.measures import Logits, RowMeasure, Run, Slopes, Votes, votes
from gfscore.samples import Samples
from gfscore.scores import FirstOrder
from gfscore.scores.smoothing import Noise
from gfscore.storage.store import Store

REALDATA = Path(os.environ.get("GFSCORE_REALDATA", Path(__file__).parents[2] / "shared" / "realdata"))
NETWORK = "cifar_resnet56"
WORKERS, SHARDS, REPEATS = 2, 16, 3
SLOPE_ROWS, DIRECTIONS = 8, 16  # samples of a shard whose slopes are measured without gradients, and how
GRADIENT_ROWS = 16
VOTE_PASSES = 1024  # of a shard of votes here: the usual one takes minutes
ASKED = 1.6
WHAT = (
    "Written by `make bench`. A worker has one thread, and a run an empty store. End to end is from specs to a finished"
    " file, with the start of a Ray cluster on this machine and of its workers, and with its end. Warm is, on Ray, from"
    " the moment at which as many shards are finished as there are workers (by whichever) to the last; the local"
    " worker is warm from its first finished shard to its last. Beside each rate, in shards a minute, the seconds it is"
    " about. The best of {repeats} runs, in turns."
)


class Timed(NamedTuple):
    """Shards, and the seconds they took."""

    shards: float
    seconds: float

    @property
    def rate(self) -> float:
        """Shards a minute."""
        return 60 * self.shards / self.seconds

    def __str__(self) -> str:
        return f"{self.rate:.1f} ({self.seconds:.0f} s)"


def kinds(samples: Samples, n_shards: int) -> dict[str, Callable[[Run], RowMeasure]]:
    """What is measured, each in so many shards."""

    def first_of_shards(each: int) -> Any:
        shards = np.arange(n_shards) * (samples.n_samples // n_shards)
        return np.sort((shards[:, None] + np.arange(each)).ravel())

    estimated, exact = FirstOrder(norm="linf", directions=DIRECTIONS), FirstOrder(norm="linf")
    some, more = first_of_shards(SLOPE_ROWS), first_of_shards(GRADIENT_ROWS)
    return {
        "logits": lambda _run: Logits(),
        "slopes by forward passes": lambda _run: Slopes(samples=samples, how=estimated, only=some),
        "slopes by gradients": lambda _run: Slopes(samples=samples, how=exact, gradients=True, only=more),
        "votes": lambda run: Votes.of(run, Noise(n=240, n0=16)),
    }


def timed(specs: tuple[str, str], how: Loading, make: Callable[[Run], RowMeasure], *, ray: bool) -> tuple[Timed, Timed]:
    """One local worker or two Ray workers: end to end, and warm."""
    moments: list[tuple[int, float]] = []
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, one_cluster() if ray else nullcontext():
        cluster = Cluster(workers=WORKERS) if ray else None
        run = loader_of([specs[0]], [specs[1]], how, Store(Path(folder)), cluster).open(*specs)
        measure = make(run)
        per_shard = measure.rows_per_shard(run)

        def moved(done: int, _total: int) -> None:
            if done % per_shard == 0 or done == run.n_samples:
                moments.append((done, time.perf_counter()))

        measured(run, measure, moved)
    end, n_shards = time.perf_counter(), run.n_samples / per_shard
    by_count = dict(reversed(moments))  # the first moment at which so many were done
    first = min(count for count in by_count if count >= (WORKERS if ray else 1) * per_shard)
    last = max(by_count)
    return Timed(n_shards, end - start), Timed((last - first) / per_shard, by_count[last] - by_count[first])


def best(times: Sequence[Timed]) -> Timed:
    """The one with the highest rate."""
    return max(times, key=lambda each: each.rate)


def table(images: dict[str, Path], n_shards: int, repeats: int, only: Sequence[str]) -> list[str]:
    """Both engines, in turns."""
    how, network = Loading(preset="cifar10", threads=1), str(REALDATA / f"models/{NETWORK}.onnx")
    run = loader_of([network], [str(images["slopes"])], how, Store(Path(tempfile.mkdtemp())), None).open(
        network, str(images["slopes"])
    )
    samples = Samples.of(Logits().compute(run, slice(0, run.n_samples)), run.data.labels)
    lines = [
        f"## {NETWORK}, {n_shards} shards\n",
        row("", "", "one local worker", f"{WORKERS} Ray workers", "times as fast"),
        row("---", "---", "--:", "--:", "--:"),
    ]
    for name, make in kinds(samples, n_shards).items():
        if only and name not in only:
            continue
        specs, found = (network, str(images[name.split()[0]])), []
        for _ in range(repeats):
            found.append((*timed(specs, how, make, ray=False), *timed(specs, how, make, ray=True)))
            print(name, *map(str, found[-1]), flush=True)
        local, local_warm, ray, ray_warm = map(best, zip(*found, strict=True))
        ratio = ray_warm.rate / local_warm.rate
        lines += [
            row(name, "end to end", str(local), str(ray), f"{ray.rate / local.rate:.2f}"),
            row("", "warm", str(local_warm), str(ray_warm), verdict(ratio, ASKED, least=True)),
        ]
    return lines


def main() -> None:
    """Print the page and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "ray_engine.md")
    parser.add_argument("--shards", type=int, default=SHARDS, help="at least 4; the page has 16")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--only", action="append", default=[], help="one measure; may be given several times")
    asked = parser.parse_args()
    if not REALDATA.is_dir():
        print("No real networks here: set GFSCORE_REALDATA to their folder to measure the Ray engine.")
        return
    limit_threads(1)
    votes.SHARD_PASSES = VOTE_PASSES
    lines = ["# Two Ray workers beside one local worker\n", WHAT.format(repeats=asked.repeats) + "\n", machine() + "\n"]
    with np.load(REALDATA / "cifar10_test.npz") as data, tempfile.TemporaryDirectory() as folder:
        images = {}
        for name, rows in {"logits": 2048, "slopes": 256, "votes": VOTE_PASSES // 256}.items():
            chosen = np.arange(asked.shards * rows) % len(data["labels"])
            images[name] = Path(folder) / f"{name}.npz"
            np.savez(images[name], images=data["images"][chosen], labels=data["labels"][chosen])
        lines += table(images, asked.shards, asked.repeats, asked.only)
    print("\n".join(lines))
    asked.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
