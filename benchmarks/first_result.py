"""Time to the first result of the README's line on one's own model, beside a bare pass of onnxruntime.

``python benchmarks/first_result.py FOLDER_OF_REAL_DATA [--images N]``. Every round starts each program anew, with an
empty store, one after the other; the best of the rounds counts. Wall time is what a person waits, processor time is
what a busy machine does not blur. What is asked: without radii at most 1.5 times the bare pass. The share of the radii
is printed beside it, by gradients and by forward passes alone (as the default install has them).
"""

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

ASKED = 1.5
NETWORK = "cifar_resnet20"
BARE = """
import numpy as np, onnxruntime
session = onnxruntime.InferenceSession("net.onnx", providers=["CPUExecutionProvider"])
with np.load("images.npz") as file:
    images, labels = file["images"], file["labels"]
mean, std = (np.array(x, dtype=np.float32)[:, None, None] for x in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
right = 0
for start in range(0, len(images), 128):
    pixels = images[start : start + 128].transpose(0, 3, 1, 2).astype(np.float32) / 255
    (logits,) = session.run(None, {session.get_inputs()[0].name: (pixels - mean) / std})
    right += int((logits.argmax(1) == labels[start : start + 128]).sum())
print(right / len(images))
"""
AUDIT = ["-m", "gfscore", "audit", "--model", "net.onnx", "--data", "images.npz", "--preset", "imagenet", "--quiet"]
PROGRAMS = {
    "bare": ["-c", BARE],
    "none": [*AUDIT, "--radii", "none"],
    "gradients": AUDIT,
    "forward": [*AUDIT, "--gradients", "no"],
}


class Taken(NamedTuple):
    """Seconds of a program."""

    wall: float
    processor: float


def timed(folder: Path, arguments: list[str]) -> Taken:
    """Run a program from start to end, as if it had never run here."""
    for rest in ("store", "gfscore-audit"):
        shutil.rmtree(folder / rest, ignore_errors=True)
    more = ["--store", "store"] if "audit" in arguments else []
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments, *more], cwd=folder, check=True, capture_output=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Taken(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measure(realdata: Path, n: int, rounds: int) -> dict[str, Taken]:
    """The best round of each program, all in turn."""
    taken: dict[str, list[Taken]] = {name: [] for name in PROGRAMS}
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        shutil.copy(realdata / "models" / f"{NETWORK}.onnx", folder / "net.onnx")
        with np.load(realdata / "cifar10_test.npz") as file:
            np.savez(folder / "images.npz", images=file["images"][:n], labels=file["labels"][:n])
        for _ in range(rounds):
            for name, arguments in PROGRAMS.items():
                taken[name].append(timed(folder, arguments))
    return {name: Taken(*map(min, zip(*each, strict=True))) for name, each in taken.items()}


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    best = measure(arguments.folder, arguments.images, arguments.rounds)
    print(f"`{NETWORK}.onnx`, {arguments.images:,} images, best of {arguments.rounds} rounds in turn.\n")
    print("| from start to end | wall time / bare pass | processor time / bare pass |\n| --- | --: | --: |")
    titles = {
        "none": "audit without radii",
        "gradients": "audit, radii by gradients",
        "forward": "audit, radii by forward passes",
    }
    for name, title in titles.items():
        wall, processor = (mine / bare for mine, bare in zip(best[name], best["bare"], strict=True))
        asked = f" (≤ {ASKED} asked: {'met' if processor <= ASKED else '**missed**'})" if name == "none" else ""
        print(f"| {title} | {wall:.2f} | {processor:.2f}{asked} |")
    for name in ("gradients", "forward"):
        share = 1 - best["none"].processor / best[name].processor
        print(f"\nThe share of the radii ({name}): {100 * share:.0f} % of the processor time.")
    print(f"\nThe bare pass takes {best['bare'].wall:.1f} s ({best['bare'].processor:.1f} s of processor time).")


if __name__ == "__main__":
    main()
