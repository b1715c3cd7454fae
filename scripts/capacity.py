"""Prints the tables of docs/capacity.md: what was measured on this machine, the model of cost, and what it predicts.

Needs the folder of real networks and data (``GFSCORE_REALDATA``).
"""

import os
import platform
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from gfscore import Samples
from gfscore.engines.homes import Plan, rows_home
from gfscore.inputs.data import load_data
from gfscore.inputs.models import load_model
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.measures.logits import SHARD_ROWS
from gfscore.measures.run import DEFAULT_BATCH
from gfscore.measures.summary_files import summary_to_bytes
from gfscore.results import DataInfo, ModelInfo, PreprocessingInfo, RunInfo
from gfscore.scores import great_scores
from gfscore.storage.store import Recipe, Store
from gfscore.summaries import Summary, merge_summaries
from measure_costs import show_costs

REALDATA = Path(os.environ.get("GFSCORE_REALDATA", Path(__file__).parents[2] / "shared" / "realdata"))
CIFAR = Preprocessing(mean=(0.4914, 0.4822, 0.4465), std=(0.247, 0.2435, 0.2616))
IMAGENET = Preprocessing.from_options(preset="imagenet", resize="256", crop="224")
GPU = 2792.33  # images/s: wide_resnet50_2 at 224 x 224, mixed precision, RTX 4090, as timm's authors measured it
CORES = 16  # of the node around that GPU
DRAWN = "cifar_resnet56"  # what a generator is taken to cost on a core
DAY, HOUR, MINUTE = 86400.0, 3600.0, 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Seconds of one core, for each sample unless it says otherwise."""

    forward: dict[str, float]
    ready: float  # 32 x 32 array to input
    large: float  # 224 x 224 array to input
    jpeg: float  # 500 x 375 JPEG file to input
    score: dict[int, float]  # by the number of classes
    store: dict[int, float]  # the same: logits written with their checksum
    summarise: dict[int, float]
    merge: dict[int, float]  # of one part of SHARD_ROWS samples
    part_bytes: dict[int, int]


def taken(function: Callable[[], object], samples: int = 1, repeats: int = 5) -> float:
    """Seconds of a processor a sample, best of several runs after one that does not count: others may use it too."""
    function()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times) / samples


def made_up(n: int, k: int) -> Samples:
    """Logits of a classifier that is mostly right."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, k, n)
    logits = rng.normal(0, 2, (n, k)).astype(np.float32)
    logits[np.arange(n), labels] += 7
    return Samples.of(logits, labels)


def measure() -> Measured:
    """Everything, one core each."""
    small, rng = load_data(REALDATA / "cifar10_test.npz"), np.random.default_rng(0)
    batch = CIFAR.apply(small.images(slice(0, DEFAULT_BATCH)), small.layout, "NCHW")
    forward = {}
    for name in ("cifar_cnn_a_adv", "cifar_resnet20", "cifar_resnet56"):
        model = load_model(REALDATA / "models" / f"{name}.onnx", threads=1)
        forward[name] = taken(lambda model=model: model(batch), len(batch))
    score, store, summarise, merge, sizes = {}, {}, {}, {}, {}
    for k in (10, 1000):
        samples = made_up(SHARD_ROWS, k)
        score[k] = taken(lambda samples=samples: great_scores(samples, threads=1), SHARD_ROWS)
        scores = great_scores(samples)
        summarise[k] = taken(lambda samples=samples, scores=scores: Summary.of(samples, scores), SHARD_ROWS)
        part = Summary.of(samples, scores)
        sizes[k] = len(summary_to_bytes(part))
        merge[k] = taken(lambda part=part: merge_summaries([part] * 50), 50)
        store[k] = stored(samples)
    with tempfile.TemporaryDirectory() as folder:
        for label in range(2):
            (Path(folder) / str(label)).mkdir()
            for index in range(16):
                pixels = Image.fromarray(rng.integers(0, 256, (94, 125, 3), dtype=np.uint8)).resize((500, 375))
                pixels.save(Path(folder) / str(label) / f"{index}.jpg", quality=90)
        photographs = load_data(folder, preprocessing=IMAGENET)
        jpeg = taken(lambda: IMAGENET.apply(photographs.images(slice(0, 32)), photographs.layout, "NCHW"), 32)
    arrays = rng.integers(0, 256, (32, 224, 224, 3), dtype=np.uint8)
    plain = Preprocessing.from_options(preset="imagenet")
    return Measured(
        forward=forward,
        ready=taken(lambda: CIFAR.apply(small.images(slice(0, 256)), small.layout, "NCHW"), 256),
        large=taken(lambda: plain.apply(arrays, "NHWC", "NCHW"), 32),
        jpeg=jpeg,
        score=score,
        store=store,
        summarise=summarise,
        merge=merge,
        part_bytes=sizes,
    )


def stored(samples: Samples) -> float:
    """Seconds a sample to write shards with their checksums, to read them again, and to join them."""
    data = load_data(REALDATA / "cifar10_test.npz")
    n, k = len(data.labels), samples.n_classes
    recipe = Recipe(model="m", data="d", n_samples=n, preprocessing={}, batch_size=DEFAULT_BATCH, shard_rows=SHARD_ROWS)
    model, images = ModelInfo(name="m", fingerprint="m"), DataInfo(source="d", fingerprint="d")
    made_by = RunInfo(model=model, data=images, preprocessing=PreprocessingInfo())
    plan = Plan(
        name="m", recipe=recipe, data=data, about={"model": "m", "data": "d", "n": n}, made_by=made_by, columns=k
    )
    logits = np.zeros((n, k), dtype=np.float32)

    def write() -> None:
        with (
            tempfile.TemporaryDirectory() as folder,
            rows_home(plan, Store(Path(folder)), lambda _done, _total: None) as home,
        ):
            for shard in sorted(home.missing):
                home.take(shard, logits[home.shards[shard]])
            home.whole()

    return taken(write, n)


def span(seconds: float) -> str:
    """A time for people."""
    for unit, name in ((DAY, "days"), (HOUR, "h"), (MINUTE, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.1f} s"


def show_measured(found: Measured) -> None:
    """What each step costs here."""
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f}; Python {platform.python_version()}, NumPy {np.__version__}.\n")
    print("| step, on one core | microseconds a sample | samples a second |\n|---|--:|--:|")
    rows = {f"forward pass, `{name}.onnx`": each for name, each in found.forward.items()}
    rows |= {
        "32 × 32 array to input": found.ready,
        "224 × 224 array to input": found.large,
        "500 × 375 JPEG file to 224 × 224 input": found.jpeg,
    }
    for k in found.score:
        rows[f"scoring, K = {k:,}"] = found.score[k]
        rows[f"storing logits with their checksum, K = {k:,}"] = found.store[k]
        rows[f"summing up, K = {k:,}"] = found.summarise[k]
    for what, each in rows.items():
        print(f"| {what} | {1e6 * each:,.1f} | {1 / each:,.0f} |")
    print(f"\n| merging a part of {SHARD_ROWS:,} samples | milliseconds | bytes |\n|---|--:|--:|")
    for k in found.merge:
        print(f"| K = {k:,} | {1e3 * found.merge[k]:.2f} | {found.part_bytes[k]:,} |")


def show_predictions(found: Measured) -> None:
    """The two runs that nobody wants to start without knowing how long they take."""
    n, models = 50_000, 22
    after = found.score[1000] + found.store[1000]
    print("\n| ImageNet's 50,000 validation images × 22 models on one GPU node | limited by | takes |\n|---|---|--:|")
    ways = (
        ("JPEG files, one worker", found.jpeg, 1),
        (f"JPEG files, {CORES} workers that share the GPU", found.jpeg, CORES),
        (f"224 × 224 array made once, {CORES} workers", found.large, CORES),
    )
    for what, reading, workers in ways:
        steps = {"reading": reading / workers, "GPU": 1 / GPU, "scoring and storing": after / workers}
        slowest = max(steps, key=lambda step: steps[step])
        print(f"| {what} | {slowest} | {span(n * models * steps[slowest])} |")
    total, nodes = 10**9, 100
    parts = total / SHARD_ROWS
    print(f"\n| {total:,} generated samples on {nodes} nodes | K = 10 | K = 1,000 |\n|---|--:|--:|")
    columns = (10, 1000)
    drawing = found.forward[DRAWN] * total / (nodes * CORES)  # generators run on the CPU
    cpu = [(found.score[k] + found.summarise[k]) * total / (nodes * CORES) for k in columns]
    rows = {
        f"GPUs, at {GPU:,.0f} samples a second each": [total / (nodes * GPU)] * 2,
        f"drawing, {CORES} cores a node (beside the GPUs), a sample as dear as one of `{DRAWN}`": [drawing] * 2,
        f"instead of both, GPUs that draw as well, at {GPU / 2:,.0f} samples a second": [total / (nodes * GPU / 2)] * 2,
        f"scoring and summing up, {CORES} cores a node (beside the GPUs)": cpu,
        f"merging {parts:,.0f} parts on one core (meanwhile)": [parts * found.merge[k] for k in columns],
    }
    for what, seconds in rows.items():
        print(f"| {what} | {' | '.join(span(each) for each in seconds)} |")
    print(f"| sent to the driver | {' | '.join(f'{parts * found.part_bytes[k] / 1e9:.1f} GB' for k in columns)} |")
    print(f"| instead of logits | {' | '.join(f'{4e-9 * total * k:,.0f} GB' for k in columns)} |")
    print(f"\n{CORES} cores keep one GPU busy as long as one of them draws a sample in {1e3 * CORES / GPU:.1f} ms.")


def main() -> None:
    """Print everything."""
    if not REALDATA.is_dir():
        print("No real networks here: set GFSCORE_REALDATA to their folder.")
        return
    found = measure()
    show_measured(found)
    show_costs()
    show_predictions(found)


if __name__ == "__main__":
    main()
