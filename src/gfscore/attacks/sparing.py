"""Accuracy under attack from few attacks: radii predict who withstands, some samples are attacked, and bounds follow.

The theorem is in :mod:`gfscore.bounds.few_attacks`. It asks that predictions, weights and order are fixed before the
first attack, and that the order is drawn by somebody who knows no outcome: :class:`Draw` is that. Outcomes may have
luck in them, as attacks begin at random places: then the target is what comes out if the same run is carried on to the
last sample. For that, a sample's luck must not depend on who is attacked beside it: each block has a seed of its own.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.attacks.cross_check import class_means, describe_radii
from gfscore.attacks.first_attack import attack_likely
from gfscore.attacks.refuting import ScoredRun
from gfscore.bounds import AttackIntervals, attack_intervals, attack_order, near_weights
from gfscore.engines.local import score_first_order, shard_by_shard
from gfscore.errors import naming
from gfscore.measures import Assault, Attacks, Run
from gfscore.measures.attacks import BLOCK
from gfscore.measures.slopes import Gradients
from gfscore.metrics import formulas
from gfscore.ranking import agreement
from gfscore.results import (
    AttackAgreements,
    AttackedPart,
    AttackFreeScores,
    CrossCheck,
    FewAttacks,
    Metric,
    ModelAudit,
)
from gfscore.samples import Samples
from gfscore.score_titles import FIRST_ORDER
from gfscore.scores import FirstOrder, great_scores

MOST_WEIGHT = 2.0  # of a sample whose radius is near eps, against 1 of one far from it
REACH = 4.0  # radii are measured up to so many times the size of the attack, at least

Progress = Callable[[int, int], None]  # samples attacked, and how many there will be


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draw:
    """Who is predicted to withstand, and in which order samples are attacked: fixed before the first attack."""

    predictions: FloatArray  # (N,), 1 where the radius is above eps, else 0
    weights: FloatArray  # (N,), from 1 to MOST_WEIGHT, largest where the radius is near eps
    right: BoolArray  # (N,): the others do not withstand, and are not attacked
    order: IntArray  # (M,) the rows of the right ones that are not fallen, as they are drawn
    seen: BoolArray  # (N,): those that the first of AutoAttack's attacks saw beforehand
    fallen: BoolArray  # (N,): those of them that it broke

    @classmethod
    def of(cls, radii: FloatArray, right: BoolArray, eps: float, *, seed: int) -> Self:
        """The draw from radii (N,) of all samples."""
        weights, rows = near_weights(radii, eps, most=MOST_WEIGHT), np.flatnonzero(right)
        order, nobody = rows[attack_order(weights[rows], seed=seed)], np.zeros(len(radii), dtype=bool)
        predictions = (radii > eps).astype(np.float64)
        return cls(predictions=predictions, weights=weights, right=right, order=order, seen=nobody, fallen=nobody)

    def after(self, seen: BoolArray, fallen: BoolArray) -> Self:
        """The draw among those that a first attack left: their order is of the same kind, as that of any part is."""
        return replace(self, order=self.order[~fallen[self.order]], seen=seen, fallen=fallen)

    @property
    def open(self) -> BoolArray:
        """Those whose outcome only an attack can tell."""
        return self.right & ~self.fallen

    def in_parts(self, codes: IntArray, n_parts: int, *, after: int = 0) -> list[IntArray]:
        """The order within each part, without the first ``after`` of the whole order."""
        rest = self.order[after:]
        return [rest[codes[rest] == part] for part in range(n_parts)]


def radii_of(run: Run, samples: Samples, assault: Assault, progress: Progress) -> tuple[FloatArray, str]:
    """First-order radii of all samples, (N,), in the norm of an attack and beyond its size; and how they were found."""
    usual = FirstOrder(norm=assault.norm)
    how = FirstOrder(norm=assault.norm, eps=assault.eps, max_radius=max(usual.largest, REACH * assault.eps))
    local = score_first_order(run, samples, how, gradients=Gradients.YES, progress=progress)
    return local.values, f"{describe_radii(local)}; made for this check"


def with_few_attacks(
    audited: ModelAudit,
    subject: ScoredRun,
    assault: Assault,
    *,
    budget: int,
    delta: float,
    seed: int = 0,
    target: str = "finite",
    bar: Callable[[str], Progress] = lambda _name: lambda _done, _total: None,
) -> ModelAudit:
    """The audit with the accuracy under attack of all samples, whole and per class, of which ``budget`` are attacked.

    A wrongly classified sample counts as broken and is not attacked; of the others those that are likely to fall meet
    the first of AutoAttack's attacks beforehand (:mod:`~gfscore.attacks.first_attack`). Intervals are those of
    :func:`~gfscore.bounds.attack_intervals`: they hold together with probability 1 - ``delta``.
    """
    run, samples, labels = subject.run, subject.samples, subject.samples.labels
    right, clock, seconds = subject.local.predicted == labels, time.perf_counter, dict[str, float]()
    with naming(audited.name):
        run.differentiable()  # what has no gradients is refused before anything is measured
        started = clock()
        radii, predictor = _radii(subject, assault, bar)
        seconds[FIRST_ORDER] = clock() - started
        draw = Draw.of(radii, right, assault.eps, seed=seed)
        started = clock()
        draw = draw.after(*attack_likely(run, radii, right, assault, seed=seed, progress=bar("first attack")))
        rows, outcomes, known = attack_first(run, draw, assault, budget, seed=seed, progress=bar("attacks"))
        seconds[assault.name] = clock() - started
    found = attack_intervals(
        draw.predictions,
        labels,
        samples.n_classes,
        attacked=rows,
        outcomes=outcomes,
        broken=~draw.open,
        weights=draw.weights,
        delta=delta,
        target=target,
    )
    about = {"budget": budget, "from_store": known, "predictor": predictor, "seed": seed}
    few = _few(found, draw, labels, samples.class_names, rows, outcomes, about)
    scores = {"clean_accuracy": right, "great": great_scores(samples, **subject.confidences).values}
    scores["first_order"] = draw.predictions > 0
    check = _cross_check(found, few, {field: class_means(values, labels) for field, values in scores.items()})
    made = {"attack": assault.name, "norm": assault.norm, "eps": assault.eps, "seconds": seconds}
    by_class = {part.name: Metric(value=part.value, interval=part.interval) for part in few.classes}
    classes = tuple(entry.model_copy(update={"attacked": by_class.get(entry.name)}) for entry in audited.classes)
    return audited.model_copy(update={"cross_check": CrossCheck(**check, **made), "classes": classes})


def _cross_check(found: AttackIntervals, few: FewAttacks, profiles: dict[str, list[float]]) -> dict[str, Any]:
    """What stands in the result beside every attack: here of all samples, with ranks by the estimates."""
    names, ranked = [part.name for part in few.classes], found.estimates.tolist()
    by_name = {field: dict(zip(names, means, strict=True)) for field, means in profiles.items()}
    return {
        "n": few.attacked,
        "accuracy": Metric(value=found.whole, interval=found.whole_interval),
        "delta": found.delta,
        "scores": AttackFreeScores(**by_name),
        "agreement": AttackAgreements(**{field: agreement(means, ranked) for field, means in profiles.items()}),
        "first_order": few.predictor,
        "few": few,
    }


def attack_first(
    run: Run, draw: Draw, assault: Assault, budget: int, *, seed: int, progress: Progress
) -> tuple[IntArray, FloatArray, int]:
    """The first samples of the order, as many whole blocks as the budget holds.

    Rows, outcomes, and how many were known before. A budget below one block is a block.
    """
    measure = Attacks.of(assault, [draw.order], seed=seed, block=min(BLOCK, budget))
    last = len(measure.places) if budget >= len(draw.order) else budget
    rows, outcomes, known = [draw.order[:0]], [np.zeros(0)], 0
    most = min(len(draw.order), last // measure.block * measure.block)
    progress(0, most)
    with shard_by_shard(run, measure, sure=range(last // measure.block)) as give:
        for block in range(last // measure.block):
            members, (part, was_known) = measure.members(block), give(block)
            rows.append(members)
            outcomes.append(part[: len(members), 0].astype(np.float64))
            known += len(members) if was_known else 0
            progress(sum(map(len, rows)), most)
    return np.concatenate(rows), np.concatenate(outcomes), known


def _radii(subject: ScoredRun, assault: Assault, bar: Callable[[str], Progress]) -> tuple[FloatArray, str]:
    """Radii of all samples: those of the audit where they are in the norm of the attack and reach beyond its size."""
    local = subject.local
    if local.name == FIRST_ORDER and local.norm == assault.norm and local.maximum > assault.eps:
        return local.values, f"{describe_radii(local)}; those of the audit"
    return radii_of(subject.run, subject.samples, assault, bar("radii"))


def parts_of(
    draw: Draw, codes: IntArray, names: dict[int, str], rows: IntArray, outcomes: FloatArray, ends: dict[int, Any]
) -> tuple[AttackedPart, ...]:
    """Each part with what was attacked of it; ``ends`` has estimate, lower and upper end by code."""
    mistaken = draw.predictions[rows] != outcomes
    return tuple(
        AttackedPart(
            name=names[code],
            n=int((codes == code).sum()),
            right=int(draw.right[codes == code].sum()),
            fallen=int(draw.fallen[codes == code].sum()),
            attacked=int((codes[rows] == code).sum()),
            mistaken=int(mistaken[codes[rows] == code].sum()),
            value=estimate,
            interval=(low, high),
            predicted=float(np.mean((draw.predictions > 0)[codes == code])),
        )
        for code, (estimate, low, high) in ends.items()
    )


def _few(
    found: AttackIntervals,
    draw: Draw,
    labels: IntArray,
    class_names: tuple[str, ...],
    rows: IntArray,
    outcomes: FloatArray,
    about: dict[str, Any],
) -> FewAttacks:
    """What is bounded, for the result."""
    estimates = found.estimates
    values = zip(estimates.tolist(), found.lower.tolist(), found.upper.tolist(), strict=True)
    ends = dict(zip(found.parts.tolist(), values, strict=True))
    parts = parts_of(draw, labels, dict(enumerate(class_names)), rows, outcomes, ends)
    gini = formulas.nrgc(estimates)
    return FewAttacks(
        attacked=len(rows),
        right=int(draw.right.sum()),
        attacked_first=int(draw.seen.sum()),
        fallen=int(draw.fallen.sum()),
        n=len(labels),
        block=min(BLOCK, about["budget"]),
        mistaken=sum(part.mistaken for part in parts),
        predicted=float((draw.predictions > 0).mean()),
        classes=parts,
        worst=Metric(value=float(estimates.min()), interval=found.worst),
        worst_class=parts[int(estimates.argmin())].name,
        worst_set=tuple(class_names[code] for code in found.worst_set.tolist()),
        gap=Metric(value=float(np.ptp(estimates)), interval=found.gap),
        gini=Metric(value=gini, interval=found.gini),
        delta=found.delta,
        target=found.target,
        **about,
    )
