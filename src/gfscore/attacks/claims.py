"""What the refuters found, as part of an audit: shares with intervals, a claim that says so, and witnesses in files.

A witness is kept as a picture, for people to see, and as exact pixels, for anybody to check: a picture holds 8 bits a
channel, and a strong witness differs by less. Rounded so, it is seldom one any more.
"""

import hashlib
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from gfscore.arrays import BoolArray, IntArray
from gfscore.attacks.refuting import Refutation, Refuter, ScoredRun, WitnessPair
from gfscore.bounds import stratified_intervals
from gfscore.inputs.preprocessing import Pixels
from gfscore.inputs.protocols import Layout, change_layout
from gfscore.results import Metric, ModelAudit, Witness
from gfscore.storage import atomic_file

MOST_WITNESSES = 20  # classes whose strongest witness is kept
LEAST_SIDE = 192  # pixels of each of the three images; small ones are enlarged by a whole factor
GAP = 8  # pixels between them


def with_refutation(
    audited: ModelAudit, subject: ScoredRun, found: Refutation, *, delta: float, folder: Path | None = None
) -> ModelAudit:
    r"""The audit with its claim filled in; the strongest witness of each class is saved in ``folder``, if given.

    A share is of the samples that claim a positive radius. In the whole each class weighs as much as it has such
    samples, however many of them were tried. The intervals (:func:`~gfscore.bounds.stratified_intervals`) hold together
    with probability 1 - ``delta``: a level of their own, beside that of the scores.
    """
    names, classes = subject.samples.class_names, audited.classes
    claim: dict[str, Any] = {"tried_by": tuple(found.tried_by), "tried_on": len(found.rows), "delta": delta}
    if found.violated is not None:
        claim["premise_violated_share"] = shares(found.violated, found.labels, found.claimed, names, delta)[0].value
    if set(found.tried_by) - {Refuter.PREMISE}:  # something looked for witnesses
        whole, by_class = shares(found.refuted, found.labels, found.claimed, names, delta)
        claim |= {"radius_refuted_share": whole.value, "radius_refuted_interval": whole.interval}
        classes = tuple(entry.model_copy(update={"refuted": by_class.get(entry.name)}) for entry in classes)
        kept = found.strongest[:MOST_WITNESSES]
        claim["witnesses"] = tuple(_record(audited.name, pair, subject, folder) for pair in kept)
    update = {"claim": audited.claim.model_copy(update=claim), "classes": classes, "flags": audited.flags + found.flags}
    return audited.model_copy(update=update)


def shares(
    happened: BoolArray, labels: IntArray, totals: IntArray, names: Sequence[str], delta: float
) -> tuple[Metric, dict[str, Metric]]:
    """How often something happened, as a whole and in each class that was tried, with intervals that hold together.

    ``happened`` and ``labels`` (n,) are of the samples tried, ``totals`` (K,) how many of each class it is all about.
    """
    ends = stratified_intervals(happened, labels, totals, delta=delta)
    *parts, whole = (Metric(value=share, interval=(low, high)) for share, low, high in zip(*ends, strict=True))
    return whole, {names[label]: part for label, part in zip(np.unique(labels).tolist(), parts, strict=True)}


def _record(model: str, pair: WitnessPair, subject: ScoredRun, folder: Path | None) -> Witness:
    """A pair for the result, and as a picture and exact pixels where there is a folder."""
    label, names = int(subject.samples.labels[pair.row]), subject.samples.class_names
    image = data = None
    if folder is not None:
        image = picture_path(model, label, names[label])
        data = image.with_suffix(".npz")
        save_picture(folder / image, pair.sample, pair.witness, subject.run.model.layout)
        with atomic_file(folder / data) as temporary, temporary.open("wb") as file:
            np.savez(  # without pickles, so that numpy.load opens it as it is
                file,
                sample=np.float32(pair.sample),  # as the model saw it: in [0, 1] and in its layout
                witness=np.float32(pair.witness),
                label=label,
                predicted=pair.predicted,
                label_name=names[label],
                predicted_name=names[pair.predicted],
                distance=pair.distance,
                radius=pair.radius,
                norm=subject.norm,
            )
    ids = subject.samples.sample_ids
    return Witness(
        class_=names[label],
        predicted=names[pair.predicted],
        sample=str(pair.row) if ids is None else ids[pair.row],
        distance=pair.distance,
        radius=pair.radius,
        image=None if image is None else image.as_posix(),
        data=None if data is None else data.as_posix(),
    )


def picture_path(model: str, index: int, class_name: str) -> Path:
    """Folder and name that every file system takes, whatever model and class are called.

    >>> picture_path("net", 3, "../Great white shark").as_posix()
    'witnesses/net/0003-great-white-shark.png'
    """
    folder = _plain(model)
    if folder != model:  # two names may have become one
        folder += f"-{hashlib.sha256(model.encode()).hexdigest()[:8]}"
    return Path("witnesses") / folder / f"{index:04d}-{_plain(class_name)}.png"


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9_]+", "-", name.lower())[:40].strip("-")


def save_picture(path: Path, sample: Pixels, witness: Pixels, layout: Layout) -> None:
    """Sample, witness and difference side by side as a PNG; grey means no difference, and the largest is full.

    Both are one image in [0, 1] and in ``layout``. The file is written whole or not at all.
    """
    apart = witness - sample
    images = (sample, witness, 0.5 + apart / (2 * np.abs(apart).max()))
    panels = [_enlarge(change_layout(image[None], layout, "NHWC")[0]) for image in images]
    gap = np.full((panels[0].shape[0], GAP, panels[0].shape[2]), 255, dtype=np.uint8)
    row = np.concatenate([panels[0], gap, panels[1], gap, panels[2]], axis=1)
    with atomic_file(path) as temporary:
        Image.fromarray(row[..., 0] if row.shape[2] == 1 else row).save(temporary, format="PNG")


def _enlarge(image: Pixels) -> NDArray[np.uint8]:
    """Bytes (H, W, 1 or 3) of an image (H, W, C)."""
    channels = image if image.shape[2] in (1, 3) else image.mean(axis=2, keepdims=True)
    factor = math.ceil(LEAST_SIDE / max(image.shape[:2]))
    return np.rint(255 * channels).astype(np.uint8).repeat(factor, axis=0).repeat(factor, axis=1)
