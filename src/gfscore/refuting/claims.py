"""What the refuters found, as part of an audit: shares with intervals, a claim that says so, and witnesses in files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gfscore.arrays import IntArray
from gfscore.attacks import pictures
from gfscore.attacks.witnesses import BoolArray
from gfscore.bounds import stratified_intervals
from gfscore.refuting.trying import Pair, Refutation, Subject
from gfscore.results import Metric, ModelAudit, Witness

PICTURES = 20  # classes whose strongest witness is kept


def with_refutation(
    audited: ModelAudit, subject: Subject, found: Refutation, *, delta: float, folder: Path | None = None
) -> ModelAudit:
    r"""The audit with its claim filled in; the strongest witness of each class is saved in ``folder``, if given.

    A share is of the samples that claim a positive radius. In the whole each class weighs as much as it has such
    samples, however many of them were tried. The intervals (:func:`~gfscore.bounds.stratified_intervals`) hold together
    with probability 1 - ``delta``: a level of their own, beside that of the scores.
    """
    names = subject.samples.class_names
    update: dict[str, Any] = {"tried_by": tuple(found.tried_by), "tried_on": len(found.rows), "delta": delta}
    if found.violated is not None:
        update["premise_violated_share"] = shares(found.violated, found.labels, found.claimed, names, delta)[0].value
    classes = audited.classes
    if found.tried_radii:
        whole, by_class = shares(found.refuted, found.labels, found.claimed, names, delta)
        update |= {"radius_refuted_share": whole.value, "radius_refuted_interval": whole.interval}
        classes = tuple(entry.model_copy(update={"refuted": by_class.get(entry.name)}) for entry in classes)
        update["witnesses"] = tuple(
            _recorded(audited.name, pair, subject, folder) for pair in found.strongest[:PICTURES]
        )
    return audited.model_copy(
        update={
            "claim": audited.claim.model_copy(update=update),
            "classes": classes,
            "flags": audited.flags + found.flags,
        }
    )


def shares(
    happened: BoolArray, labels: IntArray, totals: IntArray, names: Sequence[str], delta: float
) -> tuple[Metric, dict[str, Metric]]:
    """How often it happened, as a whole and in each class that was tried, with intervals that hold together.

    ``happened`` and ``labels`` (n,) are of the samples tried, ``totals`` (K,) how many of each class it is all about.
    """
    ends = stratified_intervals(happened, labels, totals, delta=delta)
    *parts, whole = (Metric(value=share, interval=(low, high)) for share, low, high in zip(*ends, strict=True))
    return whole, {names[label]: part for label, part in zip(np.unique(labels).tolist(), parts, strict=True)}


def _recorded(model: str, pair: Pair, subject: Subject, folder: Path | None) -> Witness:
    """A pair for the result, and as a picture and exact pixels where there is a folder."""
    label, names = int(subject.samples.labels[pair.row]), subject.samples.class_names
    image = data = None
    if folder is not None:
        image = pictures.place(model, label, names[label])
        data = image.with_suffix(".npz")
        pictures.save(folder / image, pair.sample, pair.witness, subject.run.model.layout)
        pictures.save_exact(
            folder / data,
            pair.sample,
            pair.witness,
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
