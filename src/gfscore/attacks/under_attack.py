"""Which samples of a run no attack of a given size moves to another class: of the model as it is, or with a bias."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.errors import OptionError
from gfscore.inputs.models.biased import biased_module
from gfscore.measures import Run
from gfscore.measures.sized_attacks import LEAST_CLASSES, STANDARD, autoattack, load_library, quick_attack
from gfscore.measures.targets import Targets


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

    def check(self, n_classes: int) -> None:
        """Refuse what could not be run, before anything else is computed."""
        load_library("pyautoattack")
        if n_classes < LEAST_CLASSES and self.attack is not AttackKind.PGD:
            raise OptionError(
                f"{self.attack} needs {LEAST_CLASSES} classes, for its targeted loss; the model has {n_classes}. "
                f"Use --attack {AttackKind.PGD}."
            )

    def stand(self, run: Run, rows: IntArray, bias: FloatArray) -> tuple[BoolArray, tuple[str, ...]]:
        """Which rows are classified rightly whatever the attack does, (n,), with ``bias`` (K,) on the logits; remarks.

        A witness counts only if the model itself, not its differentiable copy, labels it otherwise with the bias.
        """
        pixels, labels = run.pixels(rows), run.data.labels[rows]
        shift = bias.astype(np.float32)

        def classify(images: FloatArray) -> FloatArray:
            return np.asarray(run.logits_of(images) + shift)

        standing = classify(pixels).argmax(axis=1) == labels
        if not standing.any():
            return standing, ()
        module = biased_module(run.differentiable(), shift)
        targets = Targets(
            classify=classify,
            pixels=pixels[standing],
            labels=labels[standing],
            radii=np.full(int(standing.sum()), self.eps),
            norm=self.norm,
        )
        remarks: tuple[str, ...] = ()
        if self.attack is AttackKind.PGD:
            witnesses = quick_attack(targets, module, seed=self.seed)
        else:
            parts = STANDARD[:2] if self.attack is AttackKind.APGD else STANDARD
            layout = run.model.layout
            witnesses, remarks = autoattack(targets, module, layout, n_classes=len(bias), seed=self.seed, parts=parts)
        standing[np.flatnonzero(standing)[witnesses.found]] = False
        return standing, remarks
