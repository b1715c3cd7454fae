"""What the refuters found, as part of an audit: shares with intervals, a claim that says so, and pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gfscore.attacks import pictures
from gfscore.attacks.witnesses import BoolArray
from gfscore.bounds import clopper_pearson
from gfscore.refuting.trying import Pair, Refutation, Subject
from gfscore.results import Metric, ModelAudit, Witness
from gfscore.samples import IntArray

PICTURES = 20  # classes whose strongest witness is kept


def with_refutation(
    audited: ModelAudit, subject: Subject, found: Refutation, *, delta: float, folder: Path | None = None
) -> ModelAudit:
    r"""The audit with its claim filled in; the strongest witness of each class is drawn into ``folder``, if given.

    A share is over the samples that were tried, all of which claim a positive radius. Its interval is Clopper and
    Pearson's, with half of ``delta`` for the whole and half over the classes. Samples were drawn by class, so the
    whole is a sum of unequal coins, which is never further from its mean than equal ones (Hoeffding, 1956): it is
    about the classes in the numbers in which they were tried.
    """
    names = subject.samples.class_names
    update: dict[str, Any] = {"tried_by": tuple(found.tried_by), "tried_on": len(found.rows), "delta": delta}
    if found.violated is not None:
        update["premise_violated_share"] = float(found.violated.mean())
    classes = audited.classes
    if found.tried_radii:
        whole = share(found.refuted, delta / 2)
        update |= {"radius_refuted_share": whole.value, "radius_refuted_interval": whole.interval}
        by_class = shares_by_class(found.refuted, found.labels, names, delta / 2)
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


def share(happened: BoolArray, delta: float) -> Metric:
    """How often it happened, with the interval of Clopper and Pearson."""
    lower, upper = clopper_pearson(int(happened.sum()), len(happened), delta)
    return Metric(value=float(happened.mean()), interval=(float(lower), float(upper)))


def shares_by_class(happened: BoolArray, labels: IntArray, names: Sequence[str], delta: float) -> dict[str, Metric]:
    """How often it happened in each class that was tried; all intervals together hold with probability 1 - delta."""
    present, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    happened_in = np.bincount(codes, weights=happened).astype(np.int64)
    lower, upper = clopper_pearson(happened_in, counts, delta)
    return {
        names[label]: Metric(value=float(happened_in[place] / counts[place]), interval=(low, high))
        for place, (label, low, high) in enumerate(zip(present.tolist(), lower.tolist(), upper.tolist(), strict=True))
    }


def _recorded(model: str, pair: Pair, subject: Subject, folder: Path | None) -> Witness:
    """A pair for the result, and as a picture where there is a folder."""
    label, names = int(subject.samples.labels[pair.row]), subject.samples.class_names
    image = None
    if folder is not None:
        image = pictures.place(model, label, names[label])
        pictures.save(folder / image, pair.sample, pair.witness, subject.model.model.layout)
    ids = subject.samples.sample_ids
    return Witness(
        class_=names[label],
        predicted=names[pair.predicted],
        sample=str(pair.row) if ids is None else ids[pair.row],
        distance=pair.distance,
        radius=pair.radius,
        image=None if image is None else image.as_posix(),
    )
