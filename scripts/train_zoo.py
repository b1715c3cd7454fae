"""Train, export and measure the embedded zoo: ``python scripts/train_zoo.py``.

Everything is seeded and runs on one thread: the same versions on the same kind of machine write the same bytes.
Then put the table that ``python scripts/zoo_table.py`` prints into ``docs/zoo.md``.
"""

import argparse
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from zoo import digits, export, generator, measure
from zoo.networks import LATENT
from zoo.recipes import RECIPES

ROOT = Path(__file__).resolve().parents[1]
SAMPLES_SEED, SAMPLES_PER_CLASS = 1, 500
GENERATOR = {"seed": 0, "epochs": 200, "rate": 3e-3, "divergence_weight": 0.2}
SHEET_REAL, SHEET_DRAWN = 4, 12  # columns of the sample sheet


def main() -> None:
    """Write the networks, the generator, the test set, the manifest and the sample sheet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "src/gfscore/zoo/data", help="where the files go")
    parser.add_argument("--sheet", type=Path, default=ROOT / "docs/images/zoo_samples.png", help="the sample sheet")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    arguments.sheet.parent.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)

    train, test = digits.load_split()
    manifest = {
        "data": write_test_set(train, test, arguments.out),
        "attack": {
            "method": "PGD, normalised gradients of the logit margin, random starts",
            "norm": "L2",
            "radius": measure.RADIUS,
            "steps": measure.STEPS,
            "restarts": measure.RESTARTS,
            "seed": measure.ATTACK_SEED,
        },
        "models": write_models(train, test, arguments.out),
        "generator": write_generator(train, test, arguments.out, arguments.sheet),
        "versions": {"python": platform.python_version()}
        | {package: version(package) for package in ("numpy", "onnx", "onnxruntime", "scikit-learn", "torch")},
    }
    (arguments.out / "zoo.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def write_test_set(train: digits.Digits, test: digits.Digits, out: Path) -> dict[str, Any]:
    """The test images as a file that any reader of ``.npz`` images understands."""
    path = out / "digits_test.npz"
    names = [str(k) for k in range(digits.N_CLASSES)]
    np.savez_compressed(path, images=test.images, labels=test.labels, class_names=np.array(names))
    return {
        "file": path.name,
        "sha256": export.sha256(path),
        "source": "E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits (1998), UCI Machine Learning "
        "Repository, doi 10.24432/C50P49; its test part, as scikit-learn ships it",
        "licence": "CC BY 4.0",
        "n_train": len(train.labels),
        "n_test": len(test.labels),
        "split_seed": digits.SPLIT_SEED,
    }


def write_models(train: digits.Digits, test: digits.Digits, out: Path) -> list[dict[str, Any]]:
    """Train, export and measure every classifier."""
    entries = []
    for recipe in RECIPES:
        network = recipe.train(train)
        path = out / f"{recipe.name}.onnx"
        export.export_onnx(network, {"images": torch.zeros(2, 1, 8, 8)}, "logits", path)
        entry = {
            "name": recipe.name,
            "file": path.name,
            "sha256": export.sha256(path),
            "family": recipe.family,
            "description": recipe.description,
            "training": recipe.training,
            "parameters": sum(weights.numel() for weights in network.parameters()),
            **measure.measure(network, path, test),
        }
        print(f"{recipe.name:12} clean {entry['clean_accuracy']:.3f}  attacked {entry['attack_accuracy']:.3f}")
        entries.append(entry)
    return entries


def write_generator(train: digits.Digits, test: digits.Digits, out: Path, sheet: Path) -> dict[str, Any]:
    """Train, export and measure the generator, and draw what it makes."""
    path = out / "generator.onnx"
    decoder = generator.train_generator(train, **GENERATOR)
    inputs = {"z": torch.zeros(2, LATENT), "label": torch.zeros(2, dtype=torch.int64)}
    export.export_onnx(decoder, inputs, "images", path)
    z, label = generator.draw(SAMPLES_PER_CLASS, seed=SAMPLES_SEED)
    images = measure.run(path, z=z, label=label)
    recognised = measure.run(out / "standard.onnx", images=images).argmax(axis=1) == label
    real = np.stack([test.images[test.labels == k][:SHEET_REAL, 0] for k in range(digits.N_CLASSES)])
    drawn = images.reshape(digits.N_CLASSES, SAMPLES_PER_CLASS, 8, 8)[:, :SHEET_DRAWN]
    export.sample_sheet(real, drawn, sheet)
    return {
        "file": path.name,
        "sha256": export.sha256(path),
        "description": "Decoder of a conditional variational autoencoder: z ~ N(0, I) and a class to an image.",
        "training": {"batch": generator.BATCH, **GENERATOR},
        "parameters": sum(weights.numel() for weights in decoder.parameters()),
        "latent_dim": LATENT,
        "recognised_share": float(recognised.mean()),
        "class_recognised_shares": measure.per_class(recognised, label),
        "recognised_by": "standard",
        "samples": {"per_class": SAMPLES_PER_CLASS, "seed": SAMPLES_SEED},
    }


if __name__ == "__main__":
    main()
