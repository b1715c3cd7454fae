"""What a model makes of a few images, beside its fingerprint: no hash sees everything that decides logits.

A number that ``forward`` looks up somewhere, a hook, a lambda: code has more places for a setting than can be written
down. So whatever is kept of a model is found by its fingerprint and by a *probe*, its logits on the first images and on
noise. Probes are compared, not hashed: another processor, or another number of threads, changes their last digits. What
was computed with one probe is found by every probe that is nearly the same, and by no other.
"""

import hashlib
import io
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from gfscore.arrays import FloatArray
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.protocols import Model
from gfscore.storage import atomic_file, hold_file, sweep
from gfscore.storage.journals import LOCK, remove_journals
from gfscore.storage.store import Entry

ON_GPU = " on a GPU"  # after the fingerprint of a model: its logits differ there in their last digits
IN_PRECISION = " in "  # after that: the precision of forward passes, where it is not that of the weights
FOLDER = "probes"
NOISE = 4  # images of noise, after those of the data: the first images may be black, or all of one class
TOLERANCE = 1e-4  # of the largest logit: runtimes that sum in another order differ by about 1e-6
GPU_TOLERANCE = 0.05  # against a processor: a GPU may multiply in TensorFloat-32, with 10 bits after the point


def as_run(fingerprint: str, device: str, precision: str | None = None) -> str:
    """A model's fingerprint with where and how it runs: logits of other devices differ in their last digits.

    One of several GPUs is as good as another.

    >>> as_run("0a1b", "cpu"), as_run("0a1b", "cuda:1"), as_run("0a1b", "mps", "float16")
    ('0a1b', '0a1b on a GPU', '0a1b on a GPU (mps) in float16')
    """
    kind = device.partition(":")[0]
    where = {"cpu": "", "cuda": ON_GPU}.get(kind, f"{ON_GPU} ({kind})")
    return f"{fingerprint}{where}" + ("" if precision is None else f"{IN_PRECISION}{precision}")


def noise_inputs(rows: range, shape: tuple[int, ...], preprocessing: Preprocessing, model: Model) -> FloatArray:
    """Some of the images of uniform noise, always the same, as inputs of the model; each of this ``shape``."""
    unit = np.stack([np.random.default_rng(row).random(shape, dtype=np.float32) for row in rows])
    return preprocessing.normalise(unit, model.layout)


def distance(one: FloatArray, other: FloatArray) -> float:
    """The largest difference of two probes, as a share of the largest logit; infinite when they have other shapes.

    >>> distance(np.array([[2.0, 1.0]]), np.array([[2.0, 1.5]]))
    0.25
    """
    if one.shape != other.shape:
        return math.inf
    finite = np.isfinite(one) & np.isfinite(other)
    if not np.array_equal(one[~finite], other[~finite], equal_nan=True):
        return math.inf
    first, second = (values[finite].astype(np.float64) for values in (one, other))
    if not len(first):
        return 0.0
    largest = max(np.abs(first).max(), np.finfo(np.float32).tiny)  # zeros everywhere are matched by zeros
    return float(np.abs(first - second).max() / largest)


def known_name(root: Path, about: Mapping[str, Any], probe: FloatArray) -> str | None:
    """The name of the stored probe that this one is nearly the same as; nothing is stored, and None where none is."""
    known = {path.stem: distance(stored, probe) for path, stored in _stored(_folder(root, about))}
    nearest = min(known, key=lambda name: (known[name], name), default=None)
    return nearest if nearest is not None and known[nearest] <= TOLERANCE else None


def _folder(root: Path, about: Mapping[str, Any]) -> Path:
    canonical = json.dumps(about, sort_keys=True, separators=(",", ":"))
    return root / FOLDER / hashlib.sha256(canonical.encode()).hexdigest()


def name_of(root: Path, about: Mapping[str, Any], probe: FloatArray) -> str:
    """The name of the stored probe that this one is nearly the same as; it is stored itself when there is none.

    ``about`` is all else that decides it: model, data, preprocessing.
    """
    folder = _folder(root, about)
    with hold_file(folder / LOCK, or_read=True):
        sweep(folder, "*")
        nearest = known_name(root, about, probe)
        if nearest is not None:
            return nearest
        content = to_bytes(probe)
        name = _name(content)
        with atomic_file(folder / f"{name}.npy") as temporary:
            temporary.write_bytes(content)
        return name


def is_of_its_model(root: Path, entry: Entry) -> bool:
    """Whether the first logits of a finished run are those of its model's probe, as far as both are there."""
    recipe = entry.recipe
    if recipe.probe is None or entry.content != "logits" or not entry.finished.exists():
        return True
    probe = next((probe for _, probe in _stored(root / FOLDER, f"*/{recipe.probe}.npy")), None)
    if probe is None:
        return True
    with safe_open(entry.finished, framework="np") as file:
        first = file.get_slice("logits")[: len(probe) - NOISE]
    rough = ON_GPU in recipe.model or IN_PRECISION in recipe.model
    return distance(probe[:-NOISE], first) <= (GPU_TOLERANCE if rough else TOLERANCE)


def to_bytes(probe: FloatArray) -> bytes:
    """A probe, for a file or for a worker."""
    content = io.BytesIO()
    np.save(content, np.ascontiguousarray(probe, dtype=np.float32), allow_pickle=False)
    return content.getvalue()


def from_bytes(content: bytes) -> NDArray[np.float32]:
    """What :func:`to_bytes` gave."""
    return np.asarray(np.load(io.BytesIO(content), allow_pickle=False), dtype=np.float32)


def damaged_probes(root: Path) -> list[Path]:
    """Files that do not hold what their name says: what belongs to them is computed again."""
    return [path for path in sorted(root.glob(f"{FOLDER}/*/*.npy")) if _name(path.read_bytes()) != path.stem]


def remove_probes(root: Path) -> None:
    """Delete all probes below a store."""
    remove_journals(root, FOLDER)


def _stored(folder: Path, pattern: str = "[!.]*.npy") -> Iterator[tuple[Path, FloatArray]]:
    """Every sound probe in a folder."""
    for path in sorted(folder.glob(pattern)):
        content = path.read_bytes()
        if _name(content) == path.stem:
            yield path, from_bytes(content)


def _name(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
