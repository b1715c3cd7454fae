"""Accuracy under attack, class by class, beside scores that need none: how alike they rank, and the time each took."""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.attacks.claims import shares
from gfscore.attacks.refuting import ScoredRun
from gfscore.errors import naming
from gfscore.inputs.data import random_rows
from gfscore.inputs.preprocessing import Pixels
from gfscore.measures import Assault
from gfscore.measures.sized_attacks import autoattack, pgd
from gfscore.measures.slopes import exact_norms
from gfscore.ranking import agreement
from gfscore.results import AttackAgreements, AttackFreeScores, CrossCheck, Flag, ModelAudit
from gfscore.samples import Samples
from gfscore.score_titles import FIRST_ORDER
from gfscore.scores import FirstOrder, LocalScores, first_order_radii, great_scores, strongest_rivals
from gfscore.views import radius_text


def with_cross_check(
    audited: ModelAudit, subject: ScoredRun, assault: Assault, *, per_class: int | None, delta: float, seed: int = 0
) -> ModelAudit:
    """The audit with the accuracy under attack, whole and per class, of a random part of each class, or of all.

    A wrongly classified sample counts as broken, as AutoAttack and RobustBench have it. In the whole each class weighs
    as much as it has audited samples, and intervals are as in :func:`~gfscore.attacks.with_refutation`.
    """
    labels = subject.samples.labels
    rows = np.arange(len(labels)) if per_class is None else random_rows(labels, per_class, seed)
    correct = rows[subject.local.predicted[rows] == labels[rows]]
    with naming(audited.name):
        module = subject.run.differentiable()
        started = time.perf_counter()
        standing, remarks = _standing(subject, correct, module, assault, seed)
        seconds = {assault.name: time.perf_counter() - started}
    survived = np.isin(rows, correct[standing])
    scores, first_order = _scores(subject, rows, module, assault, seconds)
    names, totals = subject.samples.class_names, np.bincount(labels, minlength=subject.samples.n_classes)
    whole, attacked = shares(survived, labels[rows], totals, names, delta)
    profiles = {field: class_means(values, labels[rows]) for field, values in scores.items()}
    ranked = class_means(survived, labels[rows])
    found = CrossCheck(
        attack=assault.name,
        norm=assault.norm,
        eps=assault.eps,
        n=len(rows),
        accuracy=whole,
        delta=delta,
        seconds=seconds,
        scores=AttackFreeScores(
            **{field: dict(zip(attacked, means, strict=True)) for field, means in profiles.items()}
        ),
        agreement=AttackAgreements(**{field: agreement(means, ranked) for field, means in profiles.items()}),
        first_order=first_order,
    )
    flags = tuple(Flag(code="autoattack", message=f"AutoAttack remarks: {remark}") for remark in remarks)
    classes = tuple(entry.model_copy(update={"attacked": attacked.get(entry.name)}) for entry in audited.classes)
    return audited.model_copy(update={"cross_check": found, "classes": classes, "flags": audited.flags + flags})


def _standing(
    subject: ScoredRun, rows: IntArray, module: Any, assault: Assault, seed: int
) -> tuple[BoolArray, tuple[str, ...]]:
    """Which of the correctly classified rows no attack broke, (n,) bool; and what the attack remarked."""
    if len(rows) == 0:
        return np.zeros(0, dtype=bool), ()
    targets = subject.targets(rows, np.full(len(rows), assault.eps), assault.norm)
    if assault.quick:
        return ~pgd(targets, module, seed=seed).found, ()
    layout, n_classes = subject.run.model.layout, subject.samples.n_classes
    witnesses, remarks = autoattack(targets, module, layout, n_classes=n_classes, seed=seed)
    return ~witnesses.found, remarks


def _scores(
    subject: ScoredRun, rows: IntArray, module: Any, assault: Assault, seconds: dict[str, float]
) -> tuple[dict[str, NDArray[Any]], str]:
    """Scores of the samples that need no attack, by the field of the result, and how the first-order radii were found.

    ``seconds`` learns what each took.
    """
    local, pixels, labels = subject.local, subject.run.pixels(rows), subject.samples.labels[rows]
    started = time.perf_counter()
    samples = Samples.of(subject.run.logits_of(pixels), labels)
    forward = time.perf_counter()
    great = great_scores(samples, **subject.confidences)
    scored = time.perf_counter()
    seconds |= {"forward passes": forward - started, "great from logits": scored - forward}
    if local.name == FIRST_ORDER and local.norm == assault.norm:  # perhaps read from a store: no time to compare
        radii, text = local.values[rows], f"{describe_radii(local)}; those of the audit"
    else:
        radius = FirstOrder(norm=assault.norm)
        radii = _first_order_radii(subject, samples, pixels, module, radius)
        seconds[FIRST_ORDER] = time.perf_counter() - scored + forward - started
        text = f"{radius_text(radius.measure(gradients=True))}, {radius.rivals} rivals; made for this check"
    scores = {"clean_accuracy": great.predicted == labels, "great": great.values, "first_order": radii > assault.eps}
    return scores, text


def _first_order_radii(
    subject: ScoredRun, samples: Samples, pixels: Pixels, module: Any, how: FirstOrder
) -> FloatArray:
    """First-order radii from gradients, refined at midpoints, a batch at a time."""
    rivals = strongest_rivals(samples.logits, samples.labels, how.rivals)
    own = np.take_along_axis(samples.logits, samples.labels[:, None], axis=1)
    margins = own - np.take_along_axis(samples.logits, rivals, axis=1)
    norms = exact_norms(subject.run, module, pixels, samples.labels, rivals, how, np.arange(len(pixels)))
    return first_order_radii(margins, norms)


def describe_radii(local: LocalScores) -> str:
    """How first-order radii were found, in words."""
    how = dict(local.settings or {})
    return f"{radius_text(how)}, {how.get('rivals')} rivals"


def class_means(values: NDArray[Any], labels: IntArray) -> list[float]:
    """Mean of each class that has samples, in the order of the labels."""
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    means: list[float] = (np.bincount(codes, weights=values) / counts).tolist()
    return means
