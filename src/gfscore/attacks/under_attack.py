"""Which samples of a run no attack of a given size moves to another class: of the model as it is, or with a bias.

Whoever computes for the run attacks them, a block at a time; the store keeps what came out.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.engines.local import shard_by_shard
from gfscore.errors import OptionError
from gfscore.measures import Assault, Attacks, Run
from gfscore.measures.attack_remarks import tell
from gfscore.measures.attacks import NOBODY
from gfscore.measures.sized_attacks import LEAST_CLASSES, STANDARD, load_library

TOGETHER = 50  # samples attacked together: all of them are, so that none is in vain; few enough to lose, and to spread

Progress = Callable[[int, int], None]  # samples done, and how many there will be


class AttackKind(StrEnum):
    """What samples are attacked with."""

    AUTOATTACK = "autoattack"  # standard: APGD-CE, targeted APGD, targeted FAB, Square
    APGD = "apgd"  # its first two attacks, which find nearly all that it finds at a tenth of its cost
    PGD = "pgd"  # Auto-PGD for a few steps: quick, and a little kinder

    @classmethod
    def named(cls, name: str) -> "AttackKind":
        """The attack of that name, or an error that lists them."""
        try:
            return cls(name)
        except ValueError:
            raise OptionError(f"attack {name!r} is not known. Choose {', '.join(cls)}.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedAttack:
    """An attack, its norm and its size in [0, 1] pixels."""

    attack: AttackKind
    norm: str
    eps: float
    seed: int = 0

    @property
    def assault(self) -> Assault:
        """What the measure of it is told."""
        parts = STANDARD[:2] if self.attack is AttackKind.APGD else STANDARD
        return Assault(norm=self.norm, eps=self.eps, quick=self.attack is AttackKind.PGD, parts=parts)

    def check(self, n_classes: int) -> None:
        """Refuse what could not be run, before anything else is computed."""
        load_library("pyautoattack")
        if n_classes < LEAST_CLASSES and self.attack is not AttackKind.PGD:
            raise OptionError(
                f"{self.attack} needs {LEAST_CLASSES} classes, for its targeted loss; the model has {n_classes}. "
                f"Use --attack {AttackKind.PGD}."
            )

    def stand(
        self,
        run: Run,
        rows: IntArray,
        right: BoolArray,
        bias: FloatArray,
        progress: Progress = lambda _done, _total: None,
    ) -> tuple[BoolArray, tuple[str, ...]]:
        """Which rows are classified rightly whatever the attack does, (n,), with ``bias`` (K,) on the logits; remarks.

        Only those that are ``right`` (n,) without an attack meet one. A witness counts only if the model itself, not
        its differentiable copy, labels it otherwise with the bias.
        """
        constants = tuple(bias.tolist()) if bias.any() else ()
        found = attack_all(run, rows[right], self.assault, seed=self.seed, bias=constants, progress=progress)
        standing = np.zeros(len(rows), dtype=bool)
        standing[right] = found.standing
        return standing, found.remarks


class Attacked(NamedTuple):
    """What came out for samples that the model gets right."""

    standing: BoolArray  # (n,)
    remarks: tuple[str, ...]
    seconds: float | None  # None where some was known before, or others computed it: no time to compare


def attacks_on(rows: IntArray, assault: Assault, seed: int, bias: tuple[float, ...] = ()) -> Attacks:
    """The attacks on all of some rows that the model gets right, as they are kept in a store."""
    return Attacks.of(assault, [rows], seed=seed, block=TOGETHER, remarks=not assault.quick, bias=bias)


def attack_all(
    run: Run,
    rows: IntArray,
    assault: Assault,
    *,
    seed: int,
    bias: tuple[float, ...] = (),
    progress: Progress = lambda _done, _total: None,
) -> Attacked:
    """Attack some rows, a block at a time, by whatever computes for the run; what the store has is not done again."""
    measure = attacks_on(rows, assault, seed, bias)
    blocks = range(len(measure.places) // TOGETHER)
    found, started, known = list[FloatArray](), time.perf_counter(), run.engine is not None
    progress(0, len(rows))
    with shard_by_shard(run, measure, sure=blocks) as give:
        for block in blocks:
            part, was_known = give(block)
            found.append(part)
            known |= was_known
            progress(min((block + 1) * TOGETHER, len(rows)), len(rows))
    seconds = None if known else time.perf_counter() - started
    whole = np.concatenate([np.zeros((0, measure.columns(run))), *found])
    filled = np.array(measure.places, dtype=np.int64) != NOBODY
    remarks = tell(whole[::TOGETHER, 1:].astype(np.float64), len(rows)) if measure.remarks else ()
    return Attacked(whole[filled, 0] == 1, remarks, seconds)
