"""Accuracy under attack, class by class, beside scores that need none: how alike they rank, and the time each took."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import FloatArray, IntArray
from gfscore.attacks.claims import shares
from gfscore.attacks.refuting import ScoredRun
from gfscore.attacks.under_attack import attack_all
from gfscore.engines.local import score_first_order
from gfscore.errors import naming
from gfscore.inputs.data import random_rows
from gfscore.measures import Assault
from gfscore.measures.slopes import Gradients
from gfscore.ranking import agreement
from gfscore.results import AttackAgreements, AttackFreeScores, CrossCheck, Flag, ModelAudit
from gfscore.score_titles import FIRST_ORDER
from gfscore.scores import FirstOrder, LocalScores, great_scores
from gfscore.views import radius_text

Progress = Callable[[int, int], None]  # samples done, and how many there will be


def with_cross_check(
    audited: ModelAudit,
    subject: ScoredRun,
    assault: Assault,
    *,
    per_class: int | None,
    delta: float,
    seed: int = 0,
    bar: Callable[[str], Progress] = lambda _name: lambda _done, _total: None,
) -> ModelAudit:
    """The audit with the accuracy under attack, whole and per class, of a random part of each class, or of all.

    A wrongly classified sample counts as broken, as AutoAttack and RobustBench have it. In the whole each class weighs
    as much as it has audited samples, and intervals are as in :func:`~gfscore.attacks.with_refutation`. What was
    attacked is kept in the store of the run.
    """
    labels = subject.samples.labels
    rows = np.arange(len(labels)) if per_class is None else random_rows(labels, per_class, seed)
    correct, seconds = rows[subject.local.predicted[rows] == labels[rows]], dict[str, float]()
    with naming(audited.name):
        subject.run.differentiable()  # what has no gradients is refused before anything is measured
        attacked = attack_all(subject.run, correct, assault, seed=seed, progress=bar("attacks"))
        if attacked.seconds is not None:
            seconds[assault.name] = attacked.seconds
        scores, first_order = _scores(subject, rows, assault, seconds, bar("radii"))
    survived = np.isin(rows, correct[attacked.standing])
    names, totals = subject.samples.class_names, np.bincount(labels, minlength=subject.samples.n_classes)
    whole, by_class = shares(survived, labels[rows], totals, names, delta)
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
            **{field: dict(zip(by_class, means, strict=True)) for field, means in profiles.items()}
        ),
        agreement=AttackAgreements(**{field: agreement(means, ranked) for field, means in profiles.items()}),
        first_order=first_order,
    )
    flags = tuple(Flag(code="autoattack", message=f"AutoAttack remarks: {told}.") for told in attacked.remarks)
    classes = tuple(entry.model_copy(update={"attacked": by_class.get(entry.name)}) for entry in audited.classes)
    return audited.model_copy(update={"cross_check": found, "classes": classes, "flags": audited.flags + flags})


def _scores(
    subject: ScoredRun, rows: IntArray, assault: Assault, seconds: dict[str, float], progress: Progress
) -> tuple[dict[str, NDArray[Any]], str]:
    """Scores of the samples that need no attack, by the field of the result, and how the first-order radii were found.

    ``seconds`` learns what each took where this process computed it: where a cluster did, or a store knew, there is no
    time to compare.
    """
    run, local, samples = subject.run, subject.local, subject.samples.rows(rows)
    if run.engine is None:
        pixels, started = run.pixels(rows), time.perf_counter()
        run.logits_of(pixels)
        seconds["forward passes"] = time.perf_counter() - started
    started = time.perf_counter()
    great = great_scores(samples, **subject.confidences)
    if run.engine is None:
        seconds["great from logits"] = time.perf_counter() - started
    if local.name == FIRST_ORDER and local.norm == assault.norm:  # perhaps read from a store: no time to compare
        radii, text = local.values[rows], f"{describe_radii(local)}; those of the audit"
    else:
        radius = FirstOrder(norm=assault.norm)
        radii, taken = _first_order_radii(subject, rows, radius, progress)
        text = f"{radius_text(radius.measure(gradients=True))}, {radius.rivals} rivals; made for this check"
        if taken is not None:
            seconds[FIRST_ORDER] = taken + seconds["forward passes"]
    right = great.predicted == samples.labels
    return {"clean_accuracy": right, "great": great.values, "first_order": radii > assault.eps}, text


def _first_order_radii(
    subject: ScoredRun, rows: IntArray, how: FirstOrder, progress: Progress
) -> tuple[FloatArray, float | None]:
    """First-order radii of some rows from gradients; and the time they took, where this process measured them all."""
    before, started = list[int](), time.perf_counter()

    def seen(done: int, total: int) -> None:
        before.append(done)
        progress(done, total)

    local = score_first_order(subject.run, subject.samples, how, gradients=Gradients.YES, only=rows, progress=seen)
    all_here = subject.run.engine is None and before[0] == 0
    return local.values, time.perf_counter() - started if all_here else None


def describe_radii(local: LocalScores) -> str:
    """How first-order radii were found, in words."""
    how = dict(local.settings or {})
    return f"{radius_text(how)}, {how.get('rivals')} rivals"


def class_means(values: NDArray[Any], labels: IntArray) -> list[float]:
    """Mean of each class that has samples, in the order of the labels."""
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    means: list[float] = (np.bincount(codes, weights=values) / counts).tolist()
    return means
