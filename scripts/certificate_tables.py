"""Print the tables of docs/certificates.md: certified radii per class of real networks, and what they cost.

    GFSCORE_REALDATA=FOLDER python scripts/certificate_tables.py

``FOLDER`` holds the networks and the CIFAR-10 test set. Takes some minutes on two cores.
"""

import json
import math
import os
import tempfile
import time
from pathlib import Path

from gfscore import Audit, ModelAudit, views
from gfscore.cli.main import run

PER_CLASS = 25  # images, drawn with seed 0
SMOOTHED = ("cifar_cnn_a_adv", "cifar_sgd_8px")
SIGMAS = (0.12, 0.25)
BOUNDED = ("cifar_cnn_a_adv", "cifar_sgd_8px", "cifar_conv_small_pgd", "cifar_base_kw", "cifar_wide_kw")
CAP = 0.05  # of the Lipschitz radii
METRICS = ("wcr", "rdi", "nrgc")
CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def certified(folder: Path, name: str, *options: str) -> tuple[ModelAudit, float]:
    """The audit of a network by its file name, with the preprocessing its source documents, and the seconds taken."""
    entry = next(e for e in json.loads((folder / "manifest.json").read_text()) if name in e["file"])
    values = [",".join(map(str, entry[key])) for key in ("mean", "std")]
    with tempfile.TemporaryDirectory() as out:
        names = Path(out) / "names.txt"
        names.write_text("\n".join(CLASSES))
        where = ["--model", str(folder / entry["file"]), "--data", str(folder / entry["data"])]
        how = ["--mean", values[0], "--std", values[1], "--class-names", str(names), "--store", f"{out}/store"]
        start = time.perf_counter()
        if run(["certify", *where, *how, *options, "--batch-size", "512", "--out", out, "--quiet"]) != 0:
            raise RuntimeError(f"certify failed on {name}")
        return Audit.load(Path(out) / "audit.json").model, time.perf_counter() - start


def class_table(audits: dict[str, ModelAudit], digits: int) -> None:
    """A row per class, a column per audit; then the disparity."""
    print("| class |", " | ".join(audits), "|")
    print("|---|" + "---|" * len(audits))
    for k, name in enumerate(CLASSES):
        entries = [model.classes[k] for model in audits.values()]
        cells = [
            views.estimate(entry.score, entry.interval, digits, certified=True)
            + ("" if entry.abstained is None else f", {100 * entry.abstained:.0f} %")
            for entry in entries
        ]
        print(f"| {name} |", " | ".join(cells), "|")
    for metric in METRICS:
        found = [getattr(model, metric) for model in audits.values()]
        places, proven = 3 if metric == "nrgc" else digits, metric == "wcr"
        cells = [views.estimate(entry.value, entry.interval, places, certified=proven) for entry in found]
        print(f"| **{metric.upper()}** |", " | ".join(cells), "|")


def smoothing(folder: Path) -> None:
    """Smoothed classifiers, per class and as a whole."""
    audits, seconds = {}, {}
    for name in SMOOTHED:
        for sigma in SIGMAS:
            title = f"`{name}`, sigma {sigma:g}"
            options = ("--method", "smoothing", "--sigma", str(sigma), "--n-per-class", str(PER_CLASS))
            audits[title], seconds[title] = certified(folder, name, *options)
    print(f"Mean certified L2 radius with its interval, and the share of abstentions; {PER_CLASS} images a class.\n")
    class_table(audits, 3)
    print("\n| classifier | accuracy | abstained | mean radius | largest possible | forward passes | seconds |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for title, model in audits.items():
        settings = model.score.settings or {}
        passes = model.samples.n * (settings["n0"] + settings["n"] + 1)
        print(
            f"| {title} | {100 * model.accuracy:.1f} % | {100 * (model.abstained or 0):.1f} % "
            f"| {views.floored(model.aggregate, 3):.3f} | {views.ceiled(model.score.range[1], 3):.3f} "
            f"| {passes:,} | {seconds[title]:.0f} |"
        )


def unsmoothed(folder: Path) -> None:
    """Accuracy of the networks themselves on the same images, a row per class."""
    options = ("--method", "lipschitz", "--lipschitz", "1e6", "--n-per-class", str(PER_CLASS))
    found = [certified(folder, name, *options)[0] for name in SMOOTHED]  # the radii are not looked at
    print("Accuracy without smoothing, on the same images.\n")
    print("| class |", " | ".join(f"`{name}`" for name in SMOOTHED), "|")
    print("|---|" + "--:|" * len(SMOOTHED))
    for k, name in enumerate(CLASSES):
        print(f"| {name} |", " | ".join(f"{100 * model.classes[k].accuracy:.0f} %" for model in found), "|")


def lipschitz(folder: Path) -> None:
    """Products of spectral norms, on the whole test set."""
    found = {name: certified(folder, name, "--method", "lipschitz", "--cap", str(CAP)) for name in BOUNDED}
    print("| network | L in pixels | accuracy | mean radius | worst class | RDI | NRGC | seconds |")
    print("|---|--:|--:|--:|---|--:|--:|--:|")
    for name, (model, seconds) in found.items():
        constant = (model.score.settings or {})["lipschitz"]
        print(
            f"| `{name}` | {math.ceil(constant):,} | {100 * model.accuracy:.1f} % "
            f"| {views.floored(model.aggregate, 5):.5f} | {model.wcr.class_}: {views.floored(model.wcr.value, 5):.5f} "
            f"| {model.rdi.value:.5f} | {model.nrgc.value:.3f} | {seconds:.0f} |"
        )


def main() -> None:
    """Print all tables."""
    folder = Path(os.environ["GFSCORE_REALDATA"])
    print("### Smoothing\n")
    smoothing(folder)
    print()
    unsmoothed(folder)
    print(f"\n### Lipschitz\n\nThe whole test set, radii up to {CAP:g}.\n")
    lipschitz(folder)


if __name__ == "__main__":
    main()
