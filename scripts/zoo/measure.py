"""What the manifest says about each network, measured on the exported file with onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from gfscore import local_scores
from gfscore.inputs.models.onnx_model import onnxruntime
from zoo import attack
from zoo.digits import N_CLASSES, Digits

RADIUS = 0.5  # L2, in pixels of [0, 1]
STEPS, RESTARTS = 50, 2
ATTACK_SEED = 7
CLOSE = 1e-4  # two logits nearer than this, relative to the largest, may change places on another machine


def measure(network: nn.Module, path: Path, test: Digits) -> dict[str, Any]:
    """Accuracy, GREAT score and accuracy under attack, overall and per class."""
    logits = run(path, images=test.images)
    top = np.sort(logits, axis=1)
    if ((top[:, -1] - top[:, -2]) < CLOSE * np.abs(logits).max(axis=1)).any():
        raise SystemExit(f"{path.name}: a test image is too close to call, so accuracy could depend on the machine.")
    correct = logits.argmax(axis=1) == test.labels
    standing = correct & ~broken(network, path, test)
    return {
        "clean_accuracy": float(correct.mean()),
        "class_accuracies": per_class(correct, test.labels),
        "attack_accuracy": float(standing.mean()),
        "class_attack_accuracies": per_class(standing, test.labels),
        "great_score": float(local_scores(logits, test.labels).mean()),
    }


def broken(network: nn.Module, path: Path, test: Digits) -> NDArray[np.bool_]:
    """For which images the attack finds one, within :data:`RADIUS` and in [0, 1], that the exported file gets wrong."""
    torch.manual_seed(ATTACK_SEED)
    images, labels = torch.from_numpy(test.images), torch.from_numpy(test.labels)
    found = np.zeros(len(labels), dtype=bool)
    for _ in range(RESTARTS):
        moved = attack.pgd(network, images, attack.wrong_margin(labels), radius=RADIUS, steps=STEPS).numpy()
        distance = np.linalg.norm((moved.astype(np.float64) - test.images).reshape(len(moved), -1), axis=1)
        allowed = (distance <= RADIUS) & ((moved >= 0) & (moved <= 1)).all(axis=(1, 2, 3))
        if not allowed.all():
            raise AssertionError(f"the attack left its ball or box for {int((~allowed).sum())} images")
        found |= run(path, images=moved).argmax(axis=1) != test.labels
    return found


def run(path: Path, **inputs: NDArray[Any]) -> NDArray[np.float32]:
    """The only output of an ONNX file."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


def per_class(correct: NDArray[np.bool_], labels: NDArray[np.int64]) -> list[float]:
    """Share of true entries in each class."""
    return [float(correct[labels == k].mean()) for k in range(N_CLASSES)]
