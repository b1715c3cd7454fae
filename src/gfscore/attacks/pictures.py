"""A witness as a picture, for people to see, and as exact pixels, for anybody to check.

A picture holds 8 bits a channel, and a strong witness differs by less: rounded so, it is seldom one any more.
"""

import hashlib
import math
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from gfscore.inputs.layouts import moved
from gfscore.inputs.preprocessing import Pixels
from gfscore.inputs.protocols import Layout
from gfscore.storage import atomic_file

LEAST_SIDE = 192  # pixels of each of the three images; small ones are enlarged by a whole factor
GAP = 8


def place(model: str, index: int, class_name: str) -> Path:
    """Folder and name that every file system takes, whatever model and class are called.

    >>> place("net", 3, "../Great white shark").as_posix()
    'witnesses/net/0003-great-white-shark.png'
    """
    folder = _plain(model)
    if folder != model:  # two names may have become one
        folder += f"-{hashlib.sha256(model.encode()).hexdigest()[:8]}"
    return Path("witnesses") / folder / f"{index:04d}-{_plain(class_name)}.png"


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9_]+", "-", name.lower())[:40].strip("-")


def save(path: Path, sample: Pixels, witness: Pixels, layout: Layout) -> None:
    """Sample, witness and difference side by side as a PNG; grey means no difference, and the largest is full.

    Both are one image in [0, 1] and in ``layout``. The file is written whole or not at all.
    """
    apart = witness - sample
    shown = (sample, witness, 0.5 + apart / (2 * np.abs(apart).max()))
    panels = [_enlarged(moved(image[None], layout, "NHWC")[0]) for image in shown]
    gap = np.full((panels[0].shape[0], GAP, panels[0].shape[2]), 255, dtype=np.uint8)
    row = np.concatenate([panels[0], gap, panels[1], gap, panels[2]], axis=1)
    with atomic_file(path) as temporary:
        Image.fromarray(row[..., 0] if row.shape[2] == 1 else row).save(temporary, format="PNG")


def save_exact(path: Path, sample: Pixels, witness: Pixels, **facts: str | float | int) -> None:
    """Sample and witness as the model saw them, float32 in [0, 1] and in its layout, and what is claimed of them.

    An ``.npz`` without pickles, so that :func:`numpy.load` opens it as it is. The file is written whole or not at all.
    """
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, sample=np.float32(sample), witness=np.float32(witness), **facts)  # type: ignore[arg-type]


def _enlarged(image: Pixels) -> NDArray[np.uint8]:
    """Bytes (H, W, 1 or 3) of an image (H, W, C)."""
    channels = image if image.shape[2] in (1, 3) else image.mean(axis=2, keepdims=True)
    height, width, _ = image.shape
    factor = math.ceil(LEAST_SIDE / max(height, width))
    return np.rint(255 * channels).astype(np.uint8).repeat(factor, axis=0).repeat(factor, axis=1)
