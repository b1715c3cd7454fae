"""What AutoAttack takes of a model, from trials: the time of a pass in each of its attacks, and how many it breaks.

Its attacks come one after the other, and what one breaks the next do not see. So its cost is that of the first for
every image that is classified correctly, and that of the others for those that stand; which share stands is what radii
of a trial say. If nothing breaks, it takes the most.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gfscore.arrays import IntArray
from gfscore.attacks.first_attack import FIRST, LIKELY
from gfscore.engines.local import measured, score_first_order
from gfscore.jobs import trials
from gfscore.jobs.steps import RADII_TOGETHER, known_correct
from gfscore.jobs.trials import Amount, Step, Stopwatch, Tried, try_out
from gfscore.measures import Assault, Logits, Run
from gfscore.measures.sized_attacks import TARGET_CLASSES, autoattack, quick_attack
from gfscore.measures.slopes import Gradients
from gfscore.measures.targets import Targets
from gfscore.samples import Samples
from gfscore.scores import FirstOrder
from gfscore.scores.midpoints import MIDPOINT_RIVALS

ATTACKED_TOGETHER = 250
APGD_STEPS, FAB_STEPS, SQUARE_QUERIES = 100, 100, 5000  # of standard AutoAttack
QUICK_TITLE = "APGD, 20 steps"
LOOKS = {"apgd-ce": 10, "apgd-t": 15, "fab-t": 15, "square": 15}  # at what still stands, and starts
SHARES = {"apgd-ce": 10, "apgd-t": 50, "fab-t": 50, "square": 50}  # of steps that a trial does one: few, of many images
AT_ONCE = 32  # images of its first piece, at most: as few as a block has cost more each
COSTS = 120  # gradients that a trial takes of an image, about
OF_GRADIENT = 1 / 3  # of the time of a gradient: that of a forward pass
REACH = 4.0  # times the size of the attack that radii of a trial may reach, at least


def part_passes(part: str, n_classes: int) -> tuple[int, int]:
    """Forward passes and gradients of an image that one of AutoAttack's attacks does not break.

    >>> part_passes("apgd-ce", 10), part_passes("square", 10)
    ((111, 101), (5015, 0))
    """
    targets = min(TARGET_CLASSES, n_classes - 1)
    gradients = {
        "apgd-ce": APGD_STEPS + 1,
        "apgd-t": (APGD_STEPS + 1) * targets,
        "fab-t": FAB_STEPS * targets,
        "square": 0,
    }[part]
    alone = {"fab-t": FAB_STEPS * targets, "square": SQUARE_QUERIES}.get(part, 0)
    return gradients + alone + LOOKS[part], gradients


def autoattack_passes(n_classes: int, parts: Sequence[str] = tuple(LOOKS)) -> tuple[int, int]:
    """Forward passes and gradients of an image that no part of AutoAttack breaks: the most that it takes.

    >>> autoattack_passes(10), autoattack_passes(1000)
    ((7865, 1910), (7865, 1910))
    """
    found = [part_passes(part, n_classes) for part in parts]
    return sum(forward for forward, _ in found), sum(backward for _, backward in found)


@dataclass(frozen=True, kw_only=True, eq=False)
class Foreseen:
    """How many of some rows are right, would stand an attack, and are likely to fall: by radii of a trial."""

    run: Run
    rows: IntArray
    assault: Assault

    @cached_property
    def _tried(self) -> Tried:
        step = Step(
            what="radii",
            images=len(self.rows),
            rows=self.rows,
            measure=self._look,
            amount=lambda _tried: Amount(work=0, forward=0),
            bytes_written=0,
            together=RADII_TOGETHER,
        )
        return try_out(self.run, step)

    def _look(self, part: Run, watch: Stopwatch) -> None:
        with watch.running():
            samples, radii = _radii(part, self.assault)
        correct = samples.logits.argmax(axis=1) == samples.labels
        watch.correct = int(correct.sum())
        watch.standing = int((radii > self.assault.eps).sum())
        watch.likely = int((correct & (radii <= LIKELY * self.assault.eps)).sum())
        watch.work = watch.correct

    @cached_property
    def correct(self) -> int:
        """Rows that are classified correctly: as stored, or as in the trial."""
        known = known_correct(self.run)
        return (
            round(len(self.rows) * self._tried.per_image("correct")) if known is None else int(known[self.rows].sum())
        )

    @property
    def is_known(self) -> bool:
        """Whether that is stored."""
        return known_correct(self.run) is not None

    @cached_property
    def at_once(self) -> int:
        """Images that a trial of attacks may begin with, so that it ends in time on a core that is free."""
        how = FirstOrder(norm=self.assault.norm)
        a_gradient = self._tried.per_correct("cpu") / (how.rivals + how.refine * MIDPOINT_RIVALS)
        return max(1, min(AT_ONCE, int(trials.SECONDS / 3 / max(COSTS * a_gradient, 1e-6))))

    @cached_property
    def standing(self) -> float:
        """The share of the correct ones with a radius above the size of the attack."""
        return self._tried.per_correct("standing")

    @cached_property
    def likely(self) -> float:
        """The share of the correct ones that the first attack sees before a budget is spent."""
        return self._tried.per_correct("likely")


def _radii(part: Run, assault: Assault) -> tuple[Samples, Any]:
    samples = part.read(measured(part, Logits()).path)
    usual = FirstOrder(norm=assault.norm)
    how = FirstOrder(norm=assault.norm, eps=assault.eps, max_radius=max(usual.largest, REACH * assault.eps))
    return samples, score_first_order(part, samples, how, gradients=Gradients.YES).values


def _targets(part: Run, rows: IntArray, assault: Assault) -> Targets:
    return Targets(
        classify=part.logits_of,
        pixels=part.pixels(rows),
        labels=part.data.labels[rows],
        radii=np.full(len(rows), assault.eps),
        norm=assault.norm,
    )


def autoattack_step(
    run: Run,
    rows: IntArray,
    assault: Assault,
    n: int | None = None,
    *,
    foreseen: Foreseen,
    stand: float | None = None,
    what: str = "AutoAttack",
    seed: int = 0,
    times: int = 1,
    most: bool = False,
) -> Step:
    """AutoAttack, or some of its attacks, on ``n`` images that are right, as those of some rows; without it on all.

    Of those a share ``stand``s; by default what is foreseen. With ``times`` it is done for so many networks. With
    ``most`` it may end before.
    """
    n_classes = run.check().n_classes
    first, *rest = assault.parts

    def share() -> float:
        return foreseen.standing if stand is None else stand

    def measure(part: Run, watch: Stopwatch) -> None:
        samples, radii = _radii(part, assault)
        right = np.flatnonzero(samples.logits.argmax(axis=1) == samples.labels)
        watch.work = watch.correct = len(right)
        if not len(right):
            return
        once = _timed(part, right, assault, first, n_classes, seed)
        watch.seconds, watch.cpu = (len(right) * each for each in once)
        standing = np.flatnonzero(radii > assault.eps)
        others = [_timed(part, standing if len(standing) else right, assault, each, n_classes, seed) for each in rest]
        seconds, cpu = (len(right) * sum(each) for each in zip(*others, strict=True)) if others else (0.0, 0.0)
        watch.most = watch.seconds + seconds
        watch.seconds, watch.cpu = watch.seconds + share() * seconds, watch.cpu + share() * cpu

    def amount(_tried: Tried) -> Amount:
        count = times * (foreseen.correct if n is None else n)
        once, others = part_passes(first, n_classes), autoattack_passes(n_classes, rest)
        expected = [round(count * (one + share() * more)) for one, more in zip(once, others, strict=True)]
        largest = count * (once[0] + others[0]), count * (once[1] + others[1])
        if most or (not rest and foreseen.is_known and n is None):
            return Amount(work=count, forward=largest[0], backward=largest[1], are="at most")
        ends = largest if largest != tuple(expected) else None
        return Amount(work=count, forward=expected[0], backward=expected[1], are="estimated", most=ends)

    images = len(rows) if n is None else n
    return Step(
        what=what,
        images=images,
        rows=rows,
        measure=measure,
        amount=amount,
        bytes_written=0,
        together=ATTACKED_TOGETHER,
        first=foreseen.at_once,
        stored=None if n is None else 0,
    )


def quick_step(
    run: Run,
    rows: IntArray,
    assault: Assault,
    n: int | None = None,
    *,
    seed: int = 0,
    times: int = 1,
    what: str = QUICK_TITLE,
) -> Step:
    """The quick attack on ``n`` images that are right, as those of some rows; without it on all that are."""

    def measure(part: Run, watch: Stopwatch) -> None:
        samples = part.read(measured(part, Logits()).path)
        right = np.flatnonzero(samples.logits.argmax(axis=1) == samples.labels)
        watch.work = watch.correct = len(right)
        if len(right):
            targets, module = _targets(part, right, assault), part.differentiable()
            with counting(module, watch), watch.running():
                quick_attack(targets, module, seed=seed)

    def amount(tried: Tried) -> Amount:
        known = known_correct(run)
        right = len(rows) * tried.per_image("correct") if known is None else int(known[rows].sum())
        count = times * (right if n is None else n)
        forward, backward = (round(count * tried.per_correct(name)) for name in ("forward", "backward"))
        return Amount(work=count, forward=forward, backward=backward, are="estimated")

    return Step(
        what=what,
        images=len(rows) if n is None else n,
        rows=rows,
        measure=measure,
        amount=amount,
        bytes_written=0,
        together=ATTACKED_TOGETHER,
        stored=None if n is None else 0,
    )


def first_attack_step(run: Run, foreseen: Foreseen, *, seed: int = 0) -> Step:
    """The first of AutoAttack's attacks on all that is likely to fall, before a budget is spent."""
    first = Assault(norm=foreseen.assault.norm, eps=foreseen.assault.eps, parts=FIRST)
    n = round(foreseen.correct * foreseen.likely)
    return autoattack_step(run, foreseen.rows, first, n, foreseen=foreseen, what="first attack", seed=seed)


def _timed(part: Run, rows: IntArray, assault: Assault, attack: str, n_classes: int, seed: int) -> tuple[float, float]:
    """Seconds, and seconds of a processor, of one attack on an image that it does not break."""
    targets, module, watch = _targets(part, rows, assault), part.differentiable(), Stopwatch()
    settings: dict[str, Any] = {"n_classes": n_classes, "seed": seed, "parts": (attack,)}
    with counting(module, watch), watch.running():
        autoattack(targets, module, part.model.layout, share=SHARES[attack], **settings)
    forward, backward = part_passes(attack, n_classes)
    done = watch.backward + OF_GRADIENT * (watch.forward - watch.backward)
    scale = (backward + OF_GRADIENT * (forward - backward)) / max(done, 1.0)
    return scale * watch.seconds, scale * watch.cpu


@contextmanager
def counting(module: Any, watch: Stopwatch) -> Iterator[None]:
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
