"""Print the tables of ``docs/temperature.md``: ``python scripts/calibration_tables.py [FOLDER_OF_REAL_DATA]``.

Needs onnxruntime. The folder, if given, holds the CIFAR-10 test set, eight networks that others trained, and a manifest
with their preprocessing and their accuracy under PGD.
"""

import json
import sys
from collections.abc import Collection
from pathlib import Path

import numpy as np

import gfscore.zoo
from gfscore.results import Calibration
from gfscore.samples import Samples
from gfscore.temperature import Objective, calibrate, temperature_curve

Models = tuple[dict[str, Samples], dict[str, float]]  # samples, and accuracies under attack
# those that the tables of the docs are about; the folder may hold more
NETWORKS = (
    *("cifar_cnn_a_adv", "cifar_cnn_a_mix", "cifar_conv_small_pgd", "cifar_sgd_8px"),
    *("cifar_resnet20", "cifar_resnet56", "cifar_base_kw", "cifar_wide_kw"),
)


def digits() -> Models:
    """The networks of the zoo on its test digits."""
    test_set = gfscore.zoo.test_set()
    models = gfscore.zoo.models()
    logits = {model.name: _run(model.path, test_set.images, batch=len(test_set.images)) for model in models}
    return (
        {name: Samples.of(values, test_set.labels) for name, values in logits.items()},
        {model.name: model.attack_accuracy for model in models},
    )


def cifar(folder: Path, only: Collection[str] = NETWORKS) -> Models:
    """Networks that others trained, by name, on the CIFAR-10 test set."""
    with np.load(folder / "cifar10_test.npz") as file:
        images, labels = file["images"], file["labels"]
    pixels = (images.astype(np.float32) / 255).transpose(0, 3, 1, 2)
    samples, attacked = {}, {}
    for entry in json.loads((folder / "manifest.json").read_text(encoding="utf-8")):
        if entry["file"].startswith("models/cifar"):
            name = Path(entry["file"]).stem
            if name not in only:
                continue
            mean, std = (np.array(entry[key], dtype=np.float32)[:, None, None] for key in ("mean", "std"))
            batch = 1 if entry["input_shape"][0] == 1 else 500
            samples[name] = Samples.of(_run(folder / entry["file"], (pixels - mean) / std, batch), labels)
            attacked[name] = entry["pgd20_linf_2_255"]["accuracy"]
    return samples, attacked


def table(models: Models) -> str:
    """One row for each activation and objective."""
    samples, attacked = models
    names = ("activation", "objective", "value (at T = 1)", "T*", "maximal on", "lost without one model")
    lines = [f"| {' | '.join(names)} | ρ with attack: T*, T = 1 | flags |", "|---|---|--:|--:|---|--:|--:|---|"]
    for activation in ("softmax", "sigmoid"):
        curves = {name: temperature_curve(each, activation=activation) for name, each in samples.items()}
        lines += [_row(activation, calibrate(curves, objective, reference=attacked)) for objective in Objective]
    alone = calibrate(curves, Objective.MODELS, reference=attacked).reference.clean_accuracy
    return "\n".join([*lines, "", f"Clean accuracy alone: ρ = {alone.spearman:.2f} with the accuracy under attack."])


def _row(activation: str, found: Calibration) -> str:
    low, high = next(ends for ends in found.intervals if ends[0] < found.temperature < ends[1])
    more = f" and {len(found.intervals) - 1} more" if len(found.intervals) > 1 else ""
    cells = (
        activation,
        f"`{found.objective}`",
        f"{found.value:.2f} ({found.baselines.at_one:.2f})",
        f"{found.temperature:.3g}",
        f"{low:.3g} to {high:.3g}{more}",
        f"{max(entry.loss for entry in found.left_out):.3f}",
        f"{found.reference.calibrated.spearman:.2f}, {found.reference.at_one.spearman:.2f}",
        ", ".join(f"`{flag.code}`" for flag in found.flags),
    )
    return "| " + " | ".join(cells) + " |"


def _run(path: Path, images: np.ndarray, batch: int) -> np.ndarray:
    from gfscore.inputs.models.onnx_model import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    parts = (images[start : start + batch] for start in range(0, len(images), batch))
    return np.concatenate([session.run(None, {name: part})[0] for part in parts])


if __name__ == "__main__":
    print(table(digits()))
    if len(sys.argv) > 1:
        print("\n" + table(cifar(Path(sys.argv[1]))))
