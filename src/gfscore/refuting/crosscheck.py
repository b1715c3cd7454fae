"""Accuracy under attack, class by class, beside scores that need none: how alike they rank, and the time each took."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore.attacks.autoattack import autoattack, pgd
from gfscore.attacks.witnesses import BoolArray, Targets
from gfscore.errors import OptionError, naming
from gfscore.inputs.data.views import random_rows
from gfscore.ranking import agreement
from gfscore.refuting.claims import share, shares_by_class
from gfscore.refuting.trying import Subject
from gfscore.results import CrossCheck, Flag, ModelAudit
from gfscore.samples import FloatArray, IntArray, Samples
from gfscore.scores import great_scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Assault:
    """What the samples are attacked with."""

    norm: str  # l2 or linf
    eps: float  # in [0, 1] pixels
    quick: bool = False  # PGD instead of AutoAttack

    def __post_init__(self) -> None:
        if self.norm not in ("l2", "linf"):
            raise OptionError(f"norm {self.norm!r} is not known. Choose l2 or linf.")
        if not 0 < self.eps < np.inf:
            raise OptionError(f"eps {self.eps} is not the size of an attack. Give one in [0, 1] pixels, such as 2/255.")

    @property
    def name(self) -> str:
        """For the record."""
        return "pgd" if self.quick else "autoattack"


def with_cross_check(
    audited: ModelAudit,
    subject: Subject,
    assault: Assault,
    *,
    per_class: int | None,
    delta: float,
    seed: int = 0,
) -> ModelAudit:
    """The audit with the accuracy under attack, whole and per class, of a random part of each class, or of all.

    A wrongly classified sample counts as broken, as AutoAttack and RobustBench have it. Half of ``delta`` goes to the
    interval of the whole, half to those of the classes (Clopper and Pearson).
    """
    labels = subject.samples.labels
    rows = np.arange(len(labels)) if per_class is None else random_rows(labels, per_class, seed)
    correct = rows[subject.local.predicted[rows] == labels[rows]]
    with naming(audited.name):
        module = subject.gradients()
        started = time.perf_counter()
        standing, remarks = _standing(subject, correct, module, assault, seed)
        seconds = {assault.name: time.perf_counter() - started}
    survived = np.isin(rows, correct[standing])
    scores = _scores(subject, rows, seconds)
    attacked = shares_by_class(survived, labels[rows], subject.samples.class_names, delta / 2)
    found = CrossCheck(
        attack=assault.name,
        norm=assault.norm,
        eps=assault.eps,
        n=len(rows),
        accuracy=share(survived, delta / 2),
        delta=delta,
        seconds=seconds,
        agreement=_agreement(scores, survived, labels[rows]),
    )
    flags = tuple(Flag(code="autoattack", message=f"AutoAttack remarks: {remark}") for remark in remarks)
    classes = tuple(entry.model_copy(update={"attacked": attacked.get(entry.name)}) for entry in audited.classes)
    return audited.model_copy(update={"cross_check": found, "classes": classes, "flags": audited.flags + flags})


def _standing(
    subject: Subject, rows: IntArray, module: Any, assault: Assault, seed: int
) -> tuple[BoolArray, tuple[str, ...]]:
    """Which of the correctly classified rows no attack broke, (n,) bool."""
    if len(rows) == 0:
        return np.zeros(0, dtype=bool), ()
    targets = Targets(
        classify=subject.model,
        pixels=subject.model.rows(subject.data, rows),
        labels=subject.samples.labels[rows],
        radii=np.full(len(rows), assault.eps),
        norm=assault.norm,
    )
    if assault.quick:
        return ~pgd(targets, module, seed=seed).found, ()
    layout, n_classes = subject.model.model.layout, subject.samples.n_classes
    witnesses, remarks = autoattack(targets, module, layout, n_classes=n_classes, seed=seed)
    return ~witnesses.found, remarks


def _scores(subject: Subject, rows: IntArray, seconds: dict[str, float]) -> dict[str, FloatArray]:
    """Scores of the same samples that need no attack; ``seconds`` learns what each took."""
    pixels = subject.model.rows(subject.data, rows)
    started = time.perf_counter()
    logits = subject.model(pixels)
    seconds["forward passes"] = time.perf_counter() - started
    samples = Samples.of(logits, subject.samples.labels[rows])
    started = time.perf_counter()
    great = great_scores(
        samples, activation=subject.local.activation or "softmax", temperature=subject.local.temperature or 1.0
    )
    seconds["great, from logits"] = time.perf_counter() - started
    return {"clean accuracy": (great.predicted == samples.labels).astype(np.float64), "great": great.values}


def _agreement(scores: Mapping[str, FloatArray], survived: BoolArray, labels: IntArray) -> dict[str, dict[str, Any]]:
    """How alike each score and the accuracy under attack rank the classes."""
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)

    def by_class(values: NDArray[Any]) -> FloatArray:
        return np.asarray(np.bincount(codes, weights=values) / counts)

    return {name: agreement(by_class(values), by_class(survived)).as_dict() for name, values in scores.items()}
