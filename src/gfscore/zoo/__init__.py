"""What ships with the package to audit: small digit classifiers from different defences, and a generator of digits.

Only files and what was measured on them: to run them is another room's work. How they were made: ``docs/zoo.md``.
"""

import json
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Digits", "ZooGenerator", "ZooModel", "generator", "models", "test_set"]

DATA = Path(__file__).with_name("data")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooModel:
    """A classifier: ONNX from ``images`` (n, 1, 8, 8) float32 in [0, 1] to ``logits`` (n, 10).

    All numbers were measured on the file, with the images of :func:`test_set`.
    """

    name: str
    path: Path
    family: str  # of defences
    description: str  # one or two sentences, for people
    clean_accuracy: float
    class_accuracies: tuple[float, ...]  # in the order of the class index, as all that follow
    attack_radius: float  # L2, of the attack that the next two are measured under
    attack_accuracy: float
    class_attack_accuracies: tuple[float, ...]
    great_score: float  # mean over the test set; softmax, temperature 1


@dataclass(frozen=True, slots=True)
class ZooGenerator:
    """A class-conditional generator: ONNX from ``z`` (n, latent_dim) and ``label`` (n,) int64 to ``images``.

    ``z ~ N(0, I)`` is float32; the images are (n, 1, 8, 8) float32 in [0, 1].
    """

    path: Path
    latent_dim: int
    recognised_share: float  # of its samples: those that the standard network assigns to the class asked for


class Digits(NamedTuple):
    """Images (n, 1, 8, 8) float32 in [0, 1], labels (n,) int64, and the names of the classes."""

    images: NDArray[np.float32]
    labels: NDArray[np.int64]
    class_names: tuple[str, ...]


def models() -> tuple[ZooModel, ...]:
    """The classifiers, from the undefended one to the one that is there to fool the score.

    >>> [model.name for model in models()][:3]
    ['standard', 'noise', 'pgd-small']
    """
    asked = {field.name for field in fields(ZooModel)}

    def model(entry: dict[str, Any]) -> ZooModel:
        known: dict[str, Any] = {key: value for key, value in entry.items() if key in asked}
        for key in ("class_accuracies", "class_attack_accuracies"):
            known[key] = tuple(known[key])
        return ZooModel(path=DATA / entry["file"], attack_radius=_manifest()["attack"]["radius"], **known)

    return tuple(map(model, _manifest()["models"]))


def generator() -> ZooGenerator:
    """The generator of digits.

    >>> generator().latent_dim
    8
    """
    entry = _manifest()["generator"]
    return ZooGenerator(DATA / entry["file"], entry["latent_dim"], entry["recognised_share"])


def test_set() -> Digits:
    """The digits that no network of the zoo was trained on: 90 of each class.

    >>> test_set().images.shape
    (900, 1, 8, 8)
    """
    with np.load(DATA / _manifest()["data"]["file"], allow_pickle=False) as arrays:
        return Digits(arrays["images"], arrays["labels"], tuple(arrays["class_names"].tolist()))


@cache
def _manifest() -> dict[str, Any]:
    """What the training script wrote about its files."""
    manifest: dict[str, Any] = json.loads((DATA / "zoo.json").read_text(encoding="utf-8"))
    return manifest
