"""Print the tables of docs/training.md: every training method and the bias under one protocol, judged on other images.

    python scripts/training_table.py digits [--seeds 3] [--folder FOLDER]
    python scripts/training_table.py cifar [--seeds 3] [--realdata FOLDER] [--folder FOLDER] [--only METHOD ...]

What was trained and measured before is read from the store in the folder, and finished rows from a file there, so that
the script can be stopped and called again.
"""

import argparse
import copy
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

import gfscore
from gfscore.inputs.data import load_data
from gfscore.inputs.models import load_model
from gfscore.measures import Run
from gfscore.results import Repair
from gfscore.training import STRATEGIES, Recipe
from gfscore.training.networks import trainable_copy, with_weights, write_graph
from gfscore.training.parts import PartOfRun
from gfscore.training.trainer import Trainer

REALDATA = Path(os.environ.get("GFSCORE_REALDATA", Path(__file__).parents[2] / "shared" / "realdata"))
PLANTED = 8  # the digit with few training images
FEW, MANY = 25, 150  # images of that digit that train, and of each other one
SELECT, JUDGE = 50, 200  # of every digit
DIGITS = {"norm": "l2", "eps": 0.5, "epochs": 20, "lr": 0.02, "batch": 64, "beta": 1.0}
CIFAR = {"norm": "linf", "eps": 2 / 255, "epochs": 3, "lr": 0.003, "batch": 128}
CIFAR_IMAGES = {"train": 300, "select": 100, "judge": 100}  # of each class
BOUNDS = {"keep_mean": 0.02, "max_loss": 0.1}
FAIR = [name for name, strategy in STRATEGIES.items() if strategy.is_class_fair]


def draw_digits(folder: Path, seed: int) -> dict[str, Path]:
    """Digits of the zoo's generator in three files: few of the planted digit train, all alike select and judge."""
    data = load_data("generator:zoo", n_per_class=MANY + SELECT + JUDGE, seed=seed)
    images, labels = data.images(slice(0, len(data.labels))), data.labels
    place = np.zeros(len(labels), dtype=np.int64)
    for label in range(10):
        place[labels == label] = np.arange(int((labels == label).sum()))
    trains = (place < MANY) & ((labels != PLANTED) | (place < FEW))
    found = {}
    selects = (place >= MANY) & (place < MANY + SELECT)
    for name, rows in (("train", trains), ("select", selects), ("judge", place >= MANY + SELECT)):
        found[name] = folder / f"digits-{name}-{seed}.npz"
        np.savez(found[name], images=images[rows], labels=labels[rows])
    return found


def plant(folder: Path, files: dict[str, Path], seed: int) -> Path:
    """A network that was trained from scratch by plain adversarial training on the images with the planted class."""
    import torch

    path = folder / f"planted-{seed}.onnx"
    if path.exists():
        return path
    run = Run(model=load_model("zoo:standard"), data=load_data(str(files["train"])))
    module = trainable_copy(run)
    torch.manual_seed(seed)
    for layer in module.inner.modules():
        if hasattr(layer, "reset_parameters"):
            layer.reset_parameters()
    part = PartOfRun(run=run, rows=np.arange(run.n_samples))
    recipe = Recipe(method="at", norm=DIGITS["norm"], eps=DIGITS["eps"], epochs=15, lr=0.05, batch=64, seed=seed)
    trained = Trainer(
        module=copy.deepcopy(module), recipe=recipe, n_classes=10, train=part, held=part.mixed(seed)
    ).run()
    write_graph(path, run, with_weights(module, trained.weights), np.zeros(10))
    return path


def cifar_files(folder: Path, realdata: Path, seed: int) -> dict[str, Path]:
    """Images of the CIFAR-10 test set, of which the network has seen none, in three files."""
    with np.load(realdata / "cifar10_test.npz") as stored:
        names = list(stored)
        images, labels = (stored[name] for name in (names[0], names[1]))
    rng, found = np.random.default_rng([seed, 10]), {name: [] for name in CIFAR_IMAGES}
    ends = np.cumsum(list(CIFAR_IMAGES.values()))
    for label in range(10):
        parts = np.split(rng.permutation(np.flatnonzero(labels == label)), ends)
        for name, rows in zip(found, parts, strict=False):  # the last part is left
            found[name].append(rows)
    paths = {}
    for name, rows in found.items():
        paths[name] = folder / f"cifar-{name}-{seed}.npz"
        chosen = np.sort(np.concatenate(rows))
        np.savez(paths[name], images=images[chosen], labels=labels[chosen])
    return paths


def repaired(
    model: str, files: dict[str, Path], method: str, seed: int, settings: dict[str, Any], **words: Any
) -> Repair:
    """The repair of a network by a method; ``bias`` has no training and chooses on the images that select."""
    name, _, then = method.partition("+")
    common = {"norm": settings["norm"], "eps": settings["eps"], "seed": seed, **BOUNDS, **words}
    if name == "bias":
        return gfscore.repair(model, str(files["select"]), judge_data=str(files["judge"]), method="bias", **common)
    training = {key: settings[key] for key in ("epochs", "lr", "batch")}
    if STRATEGIES[name].default_beta is not None and "beta" in settings:
        training["beta"] = settings["beta"]
    return gfscore.repair(
        model,
        str(files["select"]),
        train_data=str(files["train"]),
        judge_data=str(files["judge"]),
        method=name,
        then=then or "none",
        baselines="none",
        **training,
        **common,
    )


def row_of(found: Repair, planted: str | None, seconds: float) -> dict[str, Any]:
    """What the table shows of a repair."""
    judged, clean = found.decisive, next((each for each in found.judged if each.measure == "clean"), None)
    if judged is None or clean is None:
        return {"gained": False, "reason": found.reason, "seconds": seconds}
    named = found.choice.weakest if planted is None else planted  # else the weakest by the images that select
    weak = next(part for part in judged.parts if part.name == named)
    return {
        "gained": found.gained,
        "worst": [judged.worst_before.value, judged.worst_after.value],
        "worst_class": [judged.worst_before.class_, judged.worst_after.class_],
        "worst_interval": [judged.worst_before.interval, judged.worst_after.interval],
        "mean": [judged.before, judged.after],
        "mean_change": judged.change.interval,
        "clean": [clean.before, clean.after],
        "paid": len(judged.of("paid")),
        "weak": [weak.before.value, weak.after.value, *(weak.change.interval or ())],
        "epoch": None if found.training is None else found.training.chosen,
        "flags": [flag.code for flag in found.flags],
        "seconds": seconds,
    }


def collect(what: str, methods: list[str], seeds: int, folder: Path, realdata: Path) -> dict[str, list[dict]]:
    """Rows by method, one for each seed; those that are finished are read."""
    file = folder / f"{what}.json"
    rows = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    for seed in range(seeds):
        if what == "digits":
            files = draw_digits(folder, seed)
            model, words, planted, settings = str(plant(folder, files, seed)), {}, str(PLANTED), DIGITS
        else:
            files = cifar_files(folder, realdata, seed)
            entries = json.loads((realdata / "manifest.json").read_text(encoding="utf-8"))
            entry = next(each for each in entries if Path(each["file"]).stem == "cifar_cnn_a_adv")
            words = {name: ",".join(map(str, entry[name])) for name in ("mean", "std")}
            model, planted, settings = str(realdata / entry["file"]), None, CIFAR
        for method in methods:
            key = f"{method} {seed}"
            if key in rows:
                continue
            begun = time.process_time()
            try:
                found = repaired(model, files, method, seed, settings, store=folder / "store", **words)
                rows[key] = row_of(found, planted, time.process_time() - begun)
            except gfscore.GFScoreError as error:  # a method that refuses is a row, too
                rows[key] = {"gained": False, "reason": str(error), "seconds": time.process_time() - begun}
            file.write_text(json.dumps(rows), encoding="utf-8")
            print(
                key, {name: rows[key].get(name) for name in ("gained", "worst", "mean", "weak", "seconds")}, flush=True
            )
    return {method: [rows[f"{method} {seed}"] for seed in range(seeds)] for method in methods}


def percent(value: float) -> str:
    """A share in percent."""
    return f"{100 * value:.1f}"


def spread(values: list[float]) -> str:
    """Mean of the seeds, and the lowest and highest where there are several."""
    mean = percent(float(np.mean(values)))
    return mean if len(values) == 1 else f"{mean} ({percent(min(values))} to {percent(max(values))})"


def print_table(what: str, rows: dict[str, list[dict]]) -> None:
    """The table in Markdown; it follows the planted class, or the one that is weakest on the images that select."""
    print(f"| method | {'planted' if what == 'digits' else 'weakest'} class, % | its change, points | shown "
          "| worst class, % | mean, % | clean mean, % | worst shown to gain |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|")
    for method, found in rows.items():
        told = [row for row in found if "worst" in row]
        if not told:
            print(f"| {method} | {found[0].get('reason', '')} |")
            continue
        ends = [[row["weak"][place] for row in told] for place in range(4)]
        shown = sum(row["weak"][2] > 0 for row in told)
        intervals = "; ".join(f"[{percent(row['weak'][2])}, {percent(row['weak'][3])}]" for row in told)
        cells = [method, f"{spread(ends[0])} → {spread(ends[1])}", intervals, f"{shown} of {len(told)}"]
        cells += [
            " → ".join(percent(float(np.mean([row[name][place] for row in told]))) for place in (0, 1))
            for name in ("worst", "mean", "clean")
        ]
        cells.append(f"{sum(row['gained'] for row in found)} of {len(found)}")
        print(f"| {' | '.join(cells)} |")


def main() -> None:
    """Parse, collect, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("digits", "cifar"))
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--realdata", type=Path, default=REALDATA)
    parser.add_argument("--folder", type=Path, default=Path("training-table"))
    parser.add_argument("--only", nargs="+", default=["at", *FAIR, "trades", "bias", "at+bias", "faal+bias"])
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    seeds = asked.seeds or 3
    print_table(asked.what, collect(asked.what, asked.only, seeds, asked.folder.resolve(), asked.realdata))


if __name__ == "__main__":
    main()
