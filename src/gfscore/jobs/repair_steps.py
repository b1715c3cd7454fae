"""The steps of a repair by a bias: choose on one part of the data, judge on another."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.attacks.under_attack import SizedAttack
from gfscore.errors import OptionError
from gfscore.inputs.models.biased import log_probabilities
from gfscore.jobs.calling import SILENT, Face
from gfscore.jobs.repair_parts import RepairPart
from gfscore.jobs.robustness import draw_part
from gfscore.judge.repairs import judge_parts, samples_to_show, worst_gain
from gfscore.judge.robust_changes import sign_p_values
from gfscore.repairing import Contest, Point, bounds_of, choose_bias, point_at
from gfscore.results import BeforeAfter
from gfscore.scores import SCORE_MAX
from gfscore.scores.great import local_scores

LEAST_MEAN = 0.1  # of the parts' shares under attack: radii err by up to some 5 points, so that this may be nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Bargain:
    """What is wanted, and what it may cost."""

    method: str = "bias"
    norm: str | None = None  # None with eps: from logits alone
    eps: float | None = None
    keep_mean: float = 0.02
    max_loss: float = 0.05
    delta: float = 0.05
    seed: int = 0
    attack: SizedAttack | None = None
    attacked: int | None = None  # samples of each part; None: all


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """What was chosen, and what came of it."""

    before: Point
    chosen: Point
    frontier: list[Point]
    clean_frontier: list[Point]
    weakest: int  # the code of the part that was worst on the samples that chose
    judged: tuple[BeforeAfter, ...] = ()
    judged_on: str | None = None
    gained: bool = False
    nothing: str | None = None  # why there was nothing to judge
    short: tuple[int, ...] = ()  # parts that are not shown to be above what the weakest was
    compared: int | None = None  # the part that is meant by that: one of the three weakest on the samples that chose
    remarks: tuple[str, ...] = ()  # of the attack


def choose_and_judge(choosing: RepairPart, judging: RepairPart | None, how: Bargain, *, face: Face = SILENT) -> Outcome:
    """The bias that the first part chooses, judged on the second; refused where the first is too small to tell.

    Without the second it is chosen alone.
    """
    seed = how.seed
    contests, n_classes = choosing.contests(how.eps), choosing.samples.n_classes
    before = point_at(contests, np.zeros(n_classes))
    ordered = np.unique(choosing.codes)[before.shares[0].argsort(kind="stable")].tolist()
    weakest = ordered[0]
    nothing = Outcome(before=before, chosen=before, frontier=[before], clean_frontier=[before], weakest=weakest)
    if before.mean() < LEAST_MEAN:
        return replace(nothing, nothing="nothing to redistribute")
    bounds = bounds_of(contests, keep_mean=how.keep_mean, max_loss=how.max_loss, n_classes=n_classes)
    tell = face.bar(choosing.source.name, "trade-offs", "searches")
    choice = choose_bias(contests, bounds, seed=seed, tell=tell)
    chosen = choice.chosen
    found = replace(nothing, chosen=chosen, frontier=choice.frontiers[0], clean_frontier=choice.frontiers[-1])
    if chosen.worst <= before.worst:
        return replace(found, chosen=before, nothing="no bias within the bounds raises it")
    _refuse_chance(choosing, contests[0].holds(before.bias), contests[0].holds(chosen.bias), weakest, how.delta)
    return found if judging is None else _judge(found, judging, how, ordered, face)


def _refuse_chance(part: RepairPart, before: BoolArray, after: BoolArray, weakest: int, delta: float) -> None:
    """Refuse a choice whose gain chance explains even on the samples that made it, and say how many would show it."""
    inside = part.codes == weakest
    won, lost = int((~before & after)[inside].sum()), int((before & ~after)[inside].sum())
    if sign_p_values(np.array([won]), np.array([lost]))[0] <= delta:
        return
    needed, n = samples_to_show(won, lost, int(inside.sum()), delta), int(inside.sum())
    enough = "" if needed is None else f" If shares stay as they are, about {needed} of it would show the gain."
    raise OptionError(
        f"the samples that choose are too few: {won} of {n} of {part.names[weakest]!r}, the worst, are won and {lost} "
        f"lost, which chance explains.{enough} Give more, or allow a larger --max-loss."
    )


def _judge(found: Outcome, part: RepairPart, how: Bargain, ordered: Sequence[int], face: Face) -> Outcome:
    """Every way of judging, on the samples that did not choose; the strictest decides."""
    biases = found.before.bias, found.chosen.bias
    contests, delta = part.contests(how.eps), how.delta
    held = {"clean": _both(contests[-1], biases)}
    if len(contests) > 1:
        held["first-order"] = _both(contests[0], biases)
    codes, remarks = dict.fromkeys(held, part.codes), tuple[str, ...]()
    if how.attack is not None and part.run is not None:
        name, places = how.attack.attack.value, _attacked_places(part, how)
        outcomes = [
            how.attack.stand(part.run, part.rows[places], right[places], bias, face.bar(part.source.name, what))
            for what, right, bias in zip((f"{name} before", f"{name} after"), held["clean"], biases, strict=True)
        ]
        held[name], codes[name] = (outcomes[0][0], outcomes[1][0]), part.codes[places]
        remarks = tuple(dict.fromkeys(outcomes[0][1] + outcomes[1][1]))
    decisive = list(held)[-1]
    judged = [
        judge_parts(name, part.names, _floats(both), codes[name], delta=delta) for name, both in reversed(held.items())
    ]
    if part.norms is None:
        judged.append(_great(part, biases, delta))
    gain = worst_gain(held[decisive], codes[decisive], ordered, delta=delta)
    return replace(
        found,
        judged=tuple(judged),
        judged_on=decisive,
        gained=gain.is_shown,
        short=gain.short,
        compared=gain.weakest,
        remarks=remarks,
    )


def _both(contest: Contest, biases: tuple[FloatArray, FloatArray]) -> tuple[BoolArray, BoolArray]:
    return contest.holds(biases[0]), contest.holds(biases[1])


def _floats(held: tuple[BoolArray, BoolArray]) -> tuple[FloatArray, FloatArray]:
    return held[0].astype(np.float64), held[1].astype(np.float64)


def _great(part: RepairPart, biases: tuple[FloatArray, FloatArray], delta: float) -> BeforeAfter:
    """GREAT scores (softmax, T = 1) of logits with and without the bias."""
    labels, given = part.samples.labels, part.samples.logits
    logits = log_probabilities(given) if part.samples.probabilities else given.astype(np.float64)
    scores = [local_scores(logits + bias, labels, activation="softmax", temperature=1.0) for bias in biases]
    return judge_parts("great", part.names, (scores[0], scores[1]), part.codes, maximum=SCORE_MAX, delta=delta)


def _attacked_places(part: RepairPart, how: Bargain) -> IntArray:
    """Places of the samples that are attacked: as many of each class or group, drawn at random."""
    places = None if how.attacked is None else draw_part(part.samples, part.codes, how.attacked, how.seed)
    return np.arange(len(part.codes)) if places is None else places
