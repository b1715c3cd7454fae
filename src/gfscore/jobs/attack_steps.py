"""Attacks as steps of a dry run: those of a check, of a referee, and those that judge a repair."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from gfscore.arrays import IntArray
from gfscore.attacks import Refuter, ScoredRun, refute
from gfscore.attacks.under_attack import SizedAttack, attacks_on
from gfscore.engines.local import measured, score_first_order
from gfscore.inputs.data import random_rows
from gfscore.jobs.attack_trials import (
    ATTACKED_TOGETHER,
    QUICK_TITLE,
    Foreseen,
    autoattack_step,
    counting,
    first_attack_step,
    quick_step,
)
from gfscore.jobs.options import Options
from gfscore.jobs.stages import score_samples
from gfscore.jobs.steps import known_correct, missing_rows, module_of, radii_step
from gfscore.jobs.trials import Amount, Step, Stopwatch, Tried
from gfscore.measures import Assault, Logits, Run
from gfscore.measures.attacks import BLOCK, NOBODY
from gfscore.measures.slopes import Gradients
from gfscore.scores import FirstOrder

Measure = Callable[[Run, Stopwatch], None]


def attack_steps(
    run: Run,
    options: Options,
    methods: list[Refuter] | None,
    assault: Assault | None,
    per_class: int,
    budget: int | None = None,
) -> list[Step]:
    """Refuters, or AutoAttack, on a random part of each class; or attacks on a budget of samples, and radii of all."""
    rows = random_rows(run.data.labels, per_class, options.seed)
    found = [_refuters(run, rows, options, methods)] if assault is None or methods is not None else []
    if assault is None:
        return found
    if budget is not None:
        return [*found, *budget_steps(run, [assault], budget, options.seed, covered=_covers(options, assault))]
    if options.radius is None or options.radius.norm != assault.norm:  # the audit has none to show beside attacks
        found.append(radii_step(run, FirstOrder(norm=assault.norm), Gradients.YES, rows))
    rows, images = _left_to_attack(run, rows, assault, options.seed)
    if assault.quick:
        return [*found, replace(quick_step(run, rows, assault, seed=options.seed), images=images)]
    foreseen = Foreseen(run=run, rows=rows, assault=assault)
    step = autoattack_step(run, rows, assault, foreseen=foreseen, seed=options.seed)
    return [*found, replace(step, images=images)]


def _covers(options: Options, assault: Assault) -> bool:
    """Whether the score is radii that an attack can be predicted by."""
    radius = options.radius
    return radius is not None and radius.norm == assault.norm and radius.largest > assault.eps


def budget_steps(
    run: Run, assaults: Sequence[Assault], budget: int | None, seed: int, *, covered: bool = False, most: bool = False
) -> list[Step]:
    """Radii of all samples unless they are ``covered``; then for each size of attack what falls beforehand, and a draw.

    With ``most`` attacks end once a verdict stands; without a budget they may go through all.
    """
    found = [] if covered else [radii_step(run, FirstOrder(norm=assaults[0].norm), Gradients.YES)]
    everything = np.arange(run.n_samples)
    for assault in assaults:
        foreseen = Foreseen(run=run, rows=everything, assault=assault)
        left = foreseen.correct
        if not assault.quick:
            found.append(first_attack_step(run, foreseen, seed=seed))
            left = round(left * foreseen.standing)
        n = left if budget is None or budget >= left else budget // min(BLOCK, budget) * min(BLOCK, budget)
        if assault.quick:
            found.append(quick_step(run, everything, assault, n, seed=seed))
        else:  # what the first attack left stands the others, but for a few
            found.append(
                autoattack_step(run, everything, assault, n, foreseen=foreseen, stand=1.0, seed=seed, most=most)
            )
    return found


def judging_steps(run: Run, rows: IntArray, attack: SizedAttack, networks: int) -> Step:
    """The attack that judges some networks by the same images."""
    assault, name = attack.assault, {"pgd": QUICK_TITLE, "apgd": "APGD", "autoattack": "AutoAttack"}[attack.attack]
    what = f"{name}, {'twice' if networks == 2 else f'{networks} times'}"
    if assault.quick:
        return quick_step(run, rows, assault, seed=attack.seed, times=networks, what=what)
    foreseen = Foreseen(run=run, rows=rows, assault=assault)
    return autoattack_step(run, rows, assault, foreseen=foreseen, seed=attack.seed, times=networks, what=what)


def _left_to_attack(run: Run, rows: IntArray, assault: Assault, seed: int) -> tuple[IntArray, int]:
    """Those of the rows that a store does not have attacked yet, and how many there are to attack in all.

    That is all rows, as long as nobody knows which of them the model gets right.
    """
    known = known_correct(run)
    if known is None:
        return rows, len(rows)
    measure = attacks_on(rows[known[rows]], assault, seed)
    places = np.array(measure.places, dtype=np.int64)
    recipe = run.stored_recipe(measure)
    left = places if recipe is None else places[missing_rows(run, measure)]
    return np.sort(left[left != NOBODY]), int(known[rows].sum())


def _refuters(run: Run, rows: IntArray, options: Options, methods: list[Refuter] | None) -> Step:
    """Refuters on those of some rows that are classified correctly."""

    def measure(part: Run, watch: Stopwatch) -> None:
        samples, radius = part.read(measured(part, Logits()).path), options.radius
        if radius is None:
            local = score_samples(samples, options)
        else:
            local = score_first_order(part, samples, radius, gradients=options.choice)
        watch.work = watch.correct = int((local.values > 0).sum())
        before, forward_alone = part.notes.passes, methods == [Refuter.BISECTION]
        if watch.correct:
            module = module_of(part, Gradients.NO if forward_alone else Gradients.AUTO)
            with counting(module, watch), watch.running():
                refute(ScoredRun(run=part, samples=samples, local=local), methods, per_class=None, seed=options.seed)
        watch.forward += part.notes.passes - before

    def amount(tried: Tried) -> Amount:
        known = known_correct(run)
        correct = len(rows) * tried.per_image("correct") if known is None else int(known[rows].sum())
        forward, backward = (round(correct * tried.per_correct(name)) for name in ("forward", "backward"))
        return Amount(work=correct, forward=forward, backward=backward, are="estimated")

    return Step(
        what="refuters",
        images=len(rows),
        rows=rows,
        measure=measure,
        amount=amount,
        bytes_written=0,
        together=ATTACKED_TOGETHER,
    )
