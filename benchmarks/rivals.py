"""What gfscore is compared with: the same scores, computed as one would without it."""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import expit

SCALE = math.sqrt(math.pi / 2)


def softmax(logits: np.ndarray) -> np.ndarray:
    """Of the whole matrix at once."""
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def loop(logits: np.ndarray, labels: np.ndarray, activation: str) -> list[tuple[float, float, float]]:
    """Class profile as the published implementation of the method takes it at each temperature.

    The activation all at once; margins one sample at a time, each by a mask over the classes and a look into the
    matrix; then mean, deviation and accuracy of one class at a time, by a mask over the samples.
    """
    confidences = softmax(logits) if activation == "softmax" else expit(logits)
    n_classes = confidences.shape[1]
    scores = np.zeros(len(labels))
    for sample, label in enumerate(labels):
        others = np.ones(n_classes, dtype=bool)
        others[label] = False
        margin = confidences[sample, label] - confidences[sample, others].max()
        scores[sample] = SCALE * margin if margin > 0 else 0.0
    predicted = logits.argmax(axis=1)
    profile = []
    for label in range(n_classes):
        own = labels == label
        if own.any():
            profile.append((scores[own].mean(), scores[own].std(), (predicted[own] == label).mean()))
    return profile


def plain(logits: np.ndarray, labels: np.ndarray, activation: str) -> np.ndarray:
    """The whole matrix at once, in float64."""
    wide = logits.astype(np.float64)
    confidences = softmax(wide) if activation == "softmax" else expit(wide)
    rows = np.arange(len(labels))
    own = confidences[rows, labels]
    confidences[rows, labels] = -np.inf
    return SCALE * np.maximum(own - confidences.max(axis=1), 0)


def torch_pass(logits: np.ndarray, activation: str) -> Callable[[], object] | None:
    """Torch's activation of the float32 logits and nothing else, on all cores; None where torch is not installed."""
    try:
        import torch
    except ImportError:
        return None
    tensor = torch.from_numpy(logits)
    return (lambda: torch.softmax(tensor, dim=1)) if activation == "softmax" else (lambda: torch.sigmoid(tensor))


def torch_version() -> str:
    """Which torch was compared with, and on how many threads; empty where it is not installed."""
    try:
        import torch
    except ImportError:
        return ""
    return f", torch {torch.__version__} on {torch.get_num_threads()} threads"
