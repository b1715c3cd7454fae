"""Attacks of a check as a step: tried on a few images, as nobody knows beforehand how many passes each takes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from gfscore.arrays import IntArray
from gfscore.attacks import Refuter, ScoredRun, refute
from gfscore.attacks.cross_check import attacks_on
from gfscore.engines.local import measured, score_first_order
from gfscore.inputs.data import random_rows
from gfscore.jobs.options import Options
from gfscore.jobs.stages import score_samples
from gfscore.jobs.steps import known_correct, missing_rows, module_of, radii_step
from gfscore.jobs.trials import Amount, Step, Stopwatch, Tried
from gfscore.measures import Assault, Logits, Run
from gfscore.measures.attacks import NOBODY
from gfscore.measures.sized_attacks import TARGET_CLASSES, autoattack, quick_attack
from gfscore.measures.slopes import Gradients
from gfscore.scores import FirstOrder

ATTACKED_TOGETHER = 250
APGD_STEPS, FAB_STEPS, SQUARE_QUERIES = 100, 100, 5000  # of standard AutoAttack
LOOKS = 55  # at what still stands, and starts
PART = 25  # a trial of AutoAttack does one of so many steps

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
    if assault is not None and budget is not None:
        found.append(radii_step(run, FirstOrder(norm=assault.norm), Gradients.YES))
        some = np.random.default_rng(options.seed).permutation(run.n_samples)[:budget]
        rows = np.sort(some).astype(np.int64)
    elif assault is not None:
        if options.radius is None or options.radius.norm != assault.norm:  # the audit has none to show beside attacks
            found.append(radii_step(run, FirstOrder(norm=assault.norm), Gradients.YES, rows))
        rows, images = _left_to_attack(run, rows, assault, options.seed)
    if assault is not None:
        step = (_quick if assault.quick else _autoattack)(run, rows, options, assault)
        found.append(step if budget is not None else replace(step, images=images))
    return found


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


def autoattack_passes(n_classes: int) -> tuple[int, int]:
    """Forward passes of an image that no part of AutoAttack breaks, and gradients: the most that it takes.

    APGD on one loss and on each target, FAB on each target, and Square's queries, with some looks in between.

    >>> autoattack_passes(10), autoattack_passes(1000)
    ((7865, 1910), (7865, 1910))
    """
    targets = min(TARGET_CLASSES, n_classes - 1)
    gradients = (APGD_STEPS + 1) * (1 + targets) + FAB_STEPS * targets
    return gradients + SQUARE_QUERIES + FAB_STEPS * targets + LOOKS, gradients


def _step(run: Run, rows: IntArray, what: str, measure: Measure, per_image: tuple[int, int] | None = None) -> Step:
    """Attacks on those of some rows that are classified correctly; ``per_image`` are passes at most, where known."""

    def amount(tried: Tried) -> Amount:
        known = known_correct(run)
        correct = len(rows) * tried.per_image("correct") if known is None else int(known[rows].sum())
        if per_image is not None:
            forward, backward = (round(correct * passes) for passes in per_image)
            return Amount(work=correct, forward=forward, backward=backward, are="at most")
        forward, backward = (round(correct * tried.per_correct(name)) for name in ("forward", "backward"))
        return Amount(work=correct, forward=forward, backward=backward, are="estimated")

    about: dict[str, Any] = {"images": len(rows), "rows": rows, "bytes_written": 0, "together": ATTACKED_TOGETHER}
    return Step(what=what, measure=measure, amount=amount, **about)


def _scored(part: Run, options: Options) -> ScoredRun:
    samples = part.read(measured(part, Logits()).path)
    radius = options.radius
    if radius is None:
        local = score_samples(samples, options)
    else:
        local = score_first_order(part, samples, radius, gradients=options.choice)
    return ScoredRun(run=part, samples=samples, local=local)


def _refuters(run: Run, rows: IntArray, options: Options, methods: list[Refuter] | None) -> Step:
    def measure(part: Run, watch: Stopwatch) -> None:
        subject = _scored(part, options)
        watch.work = watch.correct = int((subject.local.values > 0).sum())
        before, forward_alone = part.notes.passes, methods == [Refuter.BISECTION]
        if watch.correct:
            module = module_of(part, Gradients.NO if forward_alone else Gradients.AUTO)
            with _counting(module, watch), watch.running():
                refute(subject, methods, per_class=None, seed=options.seed)
        watch.forward += part.notes.passes - before

    return _step(run, rows, "refuters", measure)


def _quick(run: Run, rows: IntArray, options: Options, assault: Assault) -> Step:
    def measure(part: Run, watch: Stopwatch) -> None:
        subject = _scored(part, options)
        correct = np.flatnonzero(subject.local.values > 0)
        watch.work = watch.correct = len(correct)
        if watch.correct:
            targets = subject.targets(correct, np.full(len(correct), assault.eps), assault.norm)
            with _counting(part.differentiable(), watch), watch.running():
                quick_attack(targets, part.differentiable(), seed=options.seed)

    return _step(run, rows, "APGD, 20 steps", measure)


def _autoattack(run: Run, rows: IntArray, options: Options, assault: Assault) -> Step:
    """AutoAttack takes minutes: a trial does one of so many steps of each attack, and its time counts so many times."""

    def measure(part: Run, watch: Stopwatch) -> None:
        subject, layout = _scored(part, options), part.model.layout
        correct, n_classes = np.flatnonzero(subject.local.values > 0), run.check().n_classes
        watch.work = watch.correct = len(correct)
        if watch.correct:
            targets = subject.targets(correct, np.full(len(correct), assault.eps), assault.norm)
            with watch.running():
                autoattack(targets, part.differentiable(), layout, n_classes=n_classes, seed=options.seed, share=PART)
        watch.seconds, watch.cpu = PART * watch.seconds, PART * watch.cpu

    return _step(run, rows, "AutoAttack", measure, autoattack_passes(run.check().n_classes))


@contextmanager
def _counting(module: Any, watch: Stopwatch) -> Iterator[None]:
    """Count the images that go through a differentiable model inside the block, and their gradients."""

    def seen(_module: Any, _inputs: Any, output: Any) -> None:
        watch.forward += len(output)
        watch.backward += len(output) if output.requires_grad else 0

    hook = None if module is None else module.register_forward_hook(seen)
    try:
        yield
    finally:
        if hook is not None:
            hook.remove()
