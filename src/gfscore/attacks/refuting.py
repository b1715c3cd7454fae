"""Which samples are tried, by which refuters, and what came out for each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.attacks.gradient_attacks import attack_minimally, premise_violations
from gfscore.attacks.witnesses import Pool, bisect
from gfscore.errors import MissingExtraError, ModelError, OptionError
from gfscore.inputs.data import random_rows
from gfscore.inputs.preprocessing import Pixels
from gfscore.measures import Run
from gfscore.measures.sized_attacks import load_library
from gfscore.measures.targets import Targets, Witnesses
from gfscore.results import Flag
from gfscore.samples import Samples
from gfscore.score_titles import GREAT
from gfscore.scores import LocalScores

PER_CLASS = 50  # samples tried of each class, unless said otherwise
POOL_IMAGES, POOL_VALUES = 1000, 1 << 26  # images to walk towards at most, and their numbers: 256 MB
BLOCK_IMAGES, BLOCK_VALUES = 256, 1 << 23  # images tried together at most, and their numbers


class Refuter(StrEnum):
    """What can be tried."""

    BISECTION = "bisection"  # forward passes alone
    PREMISE = "premise"  # the gradient of the margin, against what the GREAT score takes for granted
    ATTACK = "attack"  # minimal-norm attacks

    @classmethod
    def named(cls, name: str) -> "Refuter":
        """The refuter of that name, or an error that lists the names."""
        try:
            return cls(name)
        except ValueError:
            raise OptionError(f"method {name!r} is not known. Choose {', '.join(cls)}.") from None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoredRun:
    """A run, and the radii that its scores would be."""

    run: Run
    samples: Samples
    local: LocalScores

    @property
    def norm(self) -> str:
        """Of the radii; the GREAT score speaks of L2."""
        return self.local.norm or "l2"

    @property
    def confidences(self) -> dict[str, Any]:
        """Activation and temperature of the GREAT score, the usual ones where another score was made."""
        return {"activation": self.local.activation or "softmax", "temperature": self.local.temperature or 1.0}

    def targets(self, rows: IntArray, radii: FloatArray, norm: str) -> Targets:
        """Samples as targets."""
        pixels, labels = self.run.pixels(rows), self.samples.labels[rows]
        return Targets(classify=self.run.logits_of, pixels=pixels, labels=labels, radii=radii, norm=norm)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WitnessPair:
    """A sample and the witness against its radius."""

    row: int
    sample: Pixels
    witness: Pixels
    predicted: int
    distance: float
    radius: float

    @property
    def share(self) -> float:
        """How much of the radius the witness leaves: the less, the stronger it is."""
        return self.distance / self.radius


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Refutation:
    """What came out for each sample that was tried."""

    tried_by: tuple[Refuter, ...]
    rows: IntArray  # (n,) of the samples: correct, with a positive radius
    labels: IntArray  # (n,)
    claimed: IntArray  # (K,) samples of each class with a positive radius, tried or not
    distances: FloatArray  # (n,) to the witness; infinite without one
    violated: BoolArray | None  # (n,) bool: the premise fails; None when it was not tried
    strongest: tuple[WitnessPair, ...]  # one of each class: smallest share of the radius first
    flags: tuple[Flag, ...] = ()  # what could not be tried

    @property
    def refuted(self) -> BoolArray:
        """Which radii are refuted, (n,) bool."""
        return np.isfinite(self.distances)


def refute(
    subject: ScoredRun,
    methods: Sequence[Refuter] | None = None,
    *,
    per_class: int | None = PER_CLASS,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Refutation:
    """Try to refute the radii of a random part of each class: ``per_class`` samples with a positive radius, or all.

    Without ``methods``, everything is tried that the model and the installed extras allow; what is left out is
    flagged. A method that is named must be possible. ``progress`` hears of the samples done, and of how many in all.
    """
    tried, module, flags = _choose_refuters(subject, methods)
    radii, of_class = subject.local.values, subject.samples.labels
    positive = np.flatnonzero(radii > 0)
    if len(positive) == 0:
        raise OptionError("no sample has a positive radius, so there is none to refute. Check the clean accuracy.")
    rows = positive if per_class is None else positive[random_rows(of_class[positive], per_class, seed)]
    pool = _draw_pool(subject, seed) if Refuter.BISECTION in tried else None
    distances, steep = np.full(len(rows), np.inf), np.zeros(len(rows), dtype=bool)
    strongest: dict[int, WitnessPair] = {}
    step = max(1, min(BLOCK_IMAGES, BLOCK_VALUES // subject.run.pixels(slice(0, 1)).size))
    for start in range(0, len(rows), step):
        block = slice(start, min(start + step, len(rows)))
        targets = subject.targets(rows[block], radii[rows[block]], subject.norm)
        witnesses = _find_witnesses(targets, tried, pool, module, seed)
        distances[block] = witnesses.distances
        if Refuter.PREMISE in tried:
            steep[block] = premise_violations(targets, module, **subject.confidences)
        for place in np.flatnonzero(witnesses.found).tolist():
            pair = _pair(int(rows[block][place]), targets, witnesses, place)
            label = int(of_class[pair.row])
            strongest[label] = min(strongest.get(label, pair), pair, key=lambda one: one.share)
        progress(block.stop, len(rows))
    return Refutation(
        tried_by=tried,
        rows=rows,
        labels=of_class[rows],
        claimed=np.bincount(of_class[positive], minlength=subject.samples.n_classes),
        distances=distances,
        # a witness inside the radius shows that the margin fell faster than the premise allows on the way to it
        violated=steep | np.isfinite(distances) if Refuter.PREMISE in tried else None,
        strongest=tuple(sorted(strongest.values(), key=lambda pair: pair.share)),
        flags=flags,
    )


def _choose_refuters(
    subject: ScoredRun, methods: Sequence[Refuter] | None
) -> tuple[tuple[Refuter, ...], Any, tuple[Flag, ...]]:
    """The methods that can be tried, the differentiable model if one of them needs it, and flags for the others."""
    of_great = subject.local.name == GREAT
    if methods is not None:
        if Refuter.PREMISE in methods and not of_great:
            raise OptionError(
                f"the premise is that of the GREAT score; the {subject.local.name} score has another. "
                "Choose bisection or attack."
            )
        if Refuter.ATTACK in methods:
            load_library("foolbox"), load_library("pyautoattack")
        needed = set(methods) - {Refuter.BISECTION}
        return tuple(dict.fromkeys(methods)), subject.run.differentiable() if needed else None, ()
    tried, flags, module = [Refuter.BISECTION], [], None
    try:
        module = subject.run.differentiable()
        if of_great:
            tried.append(Refuter.PREMISE)
        load_library("foolbox"), load_library("pyautoattack")
        tried.append(Refuter.ATTACK)
    except (MissingExtraError, ModelError) as error:
        why = f"tried by {' and '.join(tried)} only: {str(error).rstrip('.')}. What stands may fall to the others."
        flags.append(Flag(code="not_all_refuters", message=why))
    return tuple(tried), module, tuple(flags)


def _draw_pool(subject: ScoredRun, seed: int) -> Pool:
    """Random images of all classes, to walk towards."""
    n = subject.samples.n_samples
    size = min(POOL_IMAGES, max(2, POOL_VALUES // subject.run.pixels(slice(0, 1)).size), n)
    rows = np.sort(np.random.default_rng(seed).choice(n, size, replace=False))
    return Pool(pixels=subject.run.pixels(rows), predicted=subject.local.predicted[rows])


def _find_witnesses(targets: Targets, tried: Sequence[Refuter], pool: Pool | None, module: Any, seed: int) -> Witnesses:
    """From forward passes first; attacks look at what still stands."""
    witnesses = Witnesses.none(targets) if pool is None else bisect(targets, pool, seed=seed)
    standing = np.flatnonzero(~witnesses.found)
    if Refuter.ATTACK in tried and len(standing):
        return witnesses.merge(standing, attack_minimally(targets.select(standing), module, seed=seed))
    return witnesses


def _pair(row: int, targets: Targets, witnesses: Witnesses, place: int) -> WitnessPair:
    return WitnessPair(
        row=row,
        sample=targets.pixels[place],
        witness=witnesses.pixels[place],
        predicted=int(witnesses.predicted[place]),
        distance=float(witnesses.distances[place]),
        radius=float(targets.radii[place]),
    )
