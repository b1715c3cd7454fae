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


def loop(logits: np.ndarray, labels: np.ndarray, activation: str) -> list[float]:
    """The margins one sample at a time, as the published implementations take them (the activation all at once)."""
    confidences = softmax(logits) if activation == "softmax" else expit(logits)
    scores = []
    for row, label in zip(confidences, labels, strict=True):
        others = np.ones(len(row), dtype=bool)
        others[label] = False
        scores.append(SCALE * max(row[label] - row[others].max(), 0.0))
    return scores


def plain(logits: np.ndarray, labels: np.ndarray, activation: str) -> np.ndarray:
    """The whole matrix at once, in float64."""
    wide = logits.astype(np.float64)
    confidences = softmax(wide) if activation == "softmax" else expit(wide)
    rows = np.arange(len(labels))
    own = confidences[rows, labels]
    confidences[rows, labels] = -np.inf
    return SCALE * np.maximum(own - confidences.max(axis=1), 0)


def torch_pass(logits: np.ndarray) -> Callable[[], object] | None:
    """Torch's softmax of the float32 logits and nothing else, on all cores; None where torch is not installed."""
    try:
        import torch
    except ImportError:
        return None
    tensor = torch.from_numpy(logits)
    return lambda: torch.softmax(tensor, dim=1)
