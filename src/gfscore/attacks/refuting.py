"""Which samples are tried, by which refuters, and what came out for each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

import numpy as np

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.attacks.gradient_attacks import attack_minimally, premise_violations
from gfscore.attacks.witnesses import Pool, bisect
from gfscore.engines.local import gathered
from gfscore.errors import MissingExtraError, ModelError, OptionError
from gfscore.inputs.data import random_rows
from gfscore.inputs.preprocessing import Pixels
from gfscore.measures import Run
from gfscore.measures.row_lists import ListMeasure
from gfscore.measures.sending import pack, unpack
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
class Tried:
    """What came out for a piece of the samples."""

    distances: FloatArray  # (n,) to the witness; infinite without one
    predicted: IntArray  # (n,), what the model says about the witness
    steep: BoolArray  # (n,): the premise fails at the sample
    kept: IntArray  # (m,), places of the strongest witness of each class
    pixels: Pixels  # (m, ...), those witnesses


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tries(ListMeasure[Tried]):
    """What refuters find against the radii of samples, a piece of them at a time."""

    methods: tuple[Refuter, ...]
    norm: str
    seed: int
    activation: str
    temperature: float
    radii: FloatArray  # of all samples, or of the rows that are asked for
    towards: IntArray | None = None  # (2, m): rows to walk towards, and what the model decides there
    is_part: bool = False  # whether radii are of the rows that are asked for

    def sent(self) -> dict[str, Any]:
        """Everything but the radii, which go with each piece."""
        others = {name: getattr(self, name) for name in ("norm", "seed", "activation", "temperature")}
        towards = None if self.towards is None else self.towards.tolist()
        return {**others, "methods": [str(each) for each in self.methods], "towards": towards}

    def payload(self, rows: IntArray) -> bytes:
        """The radii of a piece."""
        return pack({"radii": self.radii[rows]})

    @classmethod
    def received(cls, said: Mapping[str, Any], run: Run, rows: IntArray, payload: bytes) -> "Tries":
        """What tries alike."""
        del run, rows
        towards = None if said["towards"] is None else np.array(said["towards"], dtype=np.int64)
        made = {"methods": tuple(map(Refuter, said["methods"])), "towards": towards, "is_part": True}
        return cls(**{**said, **made, "radii": unpack(payload)[0]["radii"]})

    def piece_rows(self, run: Run) -> int:
        """As many as fit into memory together."""
        return max(1, min(BLOCK_IMAGES, BLOCK_VALUES // run.pixels(slice(0, 1)).size))

    def compute(self, run: Run, rows: IntArray) -> Tried:
        """Try some rows."""
        radii = self.radii if self.is_part else self.radii[rows]
        targets = Targets(
            classify=run.logits_of, pixels=run.pixels(rows), labels=run.data.labels[rows], radii=radii, norm=self.norm
        )
        pool = None
        if self.towards is not None:
            pool = Pool(pixels=run.pixels(self.towards[0]), predicted=self.towards[1])
        module = run.differentiable() if set(self.methods) - {Refuter.BISECTION} else None
        witnesses, steep = _find_witnesses(targets, self.methods, pool, module, self.seed), np.zeros(len(rows), bool)
        if Refuter.PREMISE in self.methods:
            steep = premise_violations(targets, module, activation=self.activation, temperature=self.temperature)
        strongest = dict[int, int]()
        for place in np.flatnonzero(witnesses.found).tolist():
            best = strongest.setdefault(int(targets.labels[place]), place)
            if witnesses.distances[place] / radii[place] < witnesses.distances[best] / radii[best]:
                strongest[int(targets.labels[place])] = place
        kept = np.array(sorted(strongest.values()), dtype=np.int64)
        return Tried(
            distances=witnesses.distances,
            predicted=witnesses.predicted,
            steep=np.asarray(steep, dtype=bool),
            kept=kept,
            pixels=witnesses.pixels[kept],
        )

    def to_bytes(self, part: Tried) -> bytes:
        """The arrays as a safetensors file."""
        return pack({each.name: getattr(part, each.name) for each in fields(part)})

    def from_bytes(self, content: bytes) -> Tried:
        """What :meth:`to_bytes` gave."""
        return Tried(**unpack(content)[0])


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
    tried, flags = _choose_refuters(subject, methods)
    radii, of_class = subject.local.values, subject.samples.labels
    positive = np.flatnonzero(radii > 0)
    if len(positive) == 0:
        raise OptionError("no sample has a positive radius, so there is none to refute. Check the clean accuracy.")
    rows = positive if per_class is None else positive[random_rows(of_class[positive], per_class, seed)]
    tries = Tries(
        methods=tried,
        norm=subject.norm,
        seed=seed,
        radii=radii,
        towards=_draw_pool(subject, seed) if Refuter.BISECTION in tried else None,
        **subject.confidences,
    )
    parts = gathered(subject.run, tries, rows, progress)
    distances, steep = (np.concatenate([getattr(part, name) for part in parts]) for name in ("distances", "steep"))
    return Refutation(
        tried_by=tried,
        rows=rows,
        labels=of_class[rows],
        claimed=np.bincount(of_class[positive], minlength=subject.samples.n_classes),
        distances=distances,
        # a witness inside the radius shows that the margin fell faster than the premise allows on the way to it
        violated=steep | np.isfinite(distances) if Refuter.PREMISE in tried else None,
        strongest=_strongest(subject, rows, parts),
        flags=flags,
    )


def _strongest(subject: ScoredRun, rows: IntArray, parts: Sequence[Tried]) -> tuple[WitnessPair, ...]:
    """The witness of each class that leaves least of its radius, that one first."""
    strongest, start = dict[int, WitnessPair](), 0
    for part in parts:
        for place, witness in zip(part.kept.tolist(), part.pixels, strict=True):
            row = int(rows[start + place])
            label = int(subject.samples.labels[row])
            pair = WitnessPair(
                row=row,
                sample=subject.run.pixels(np.array([row]))[0],
                witness=witness,
                predicted=int(part.predicted[place]),
                distance=float(part.distances[place]),
                radius=float(subject.local.values[row]),
            )
            strongest[label] = min(strongest.get(label, pair), pair, key=lambda one: one.share)
        start += len(part.distances)
    return tuple(sorted(strongest.values(), key=lambda pair: pair.share))


def _choose_refuters(
    subject: ScoredRun, methods: Sequence[Refuter] | None
) -> tuple[tuple[Refuter, ...], tuple[Flag, ...]]:
    """The methods that can be tried, and flags for the others."""
    of_great = subject.local.name == GREAT
    if methods is not None:
        if Refuter.PREMISE in methods and not of_great:
            raise OptionError(
                f"the premise is that of the GREAT score; the {subject.local.name} score has another. "
                "Choose bisection or attack."
            )
        if Refuter.ATTACK in methods:
            load_library("foolbox"), load_library("pyautoattack")
        if set(methods) - {Refuter.BISECTION}:
            subject.run.differentiable()  # or an error that says why not
        return tuple(dict.fromkeys(methods)), ()
    tried, flags = [Refuter.BISECTION], []
    try:
        subject.run.differentiable()
        if of_great:
            tried.append(Refuter.PREMISE)
        load_library("foolbox"), load_library("pyautoattack")
        tried.append(Refuter.ATTACK)
    except (MissingExtraError, ModelError) as error:
        why = f"tried by {' and '.join(tried)} only: {str(error).rstrip('.')}. What stands may fall to the others."
        flags.append(Flag(code="not_all_refuters", message=why))
    return tuple(tried), tuple(flags)


def _draw_pool(subject: ScoredRun, seed: int) -> IntArray:
    """Random rows of all classes, to walk towards, and what the model decides there; (2, m)."""
    n = subject.samples.n_samples
    size = min(POOL_IMAGES, max(2, POOL_VALUES // subject.run.pixels(slice(0, 1)).size), n)
    rows = np.sort(np.random.default_rng(seed).choice(n, size, replace=False))
    return np.stack([rows, subject.local.predicted[rows]])


def _find_witnesses(targets: Targets, tried: Sequence[Refuter], pool: Pool | None, module: Any, seed: int) -> Witnesses:
    """From forward passes first; attacks look at what still stands."""
    witnesses = Witnesses.none(targets) if pool is None else bisect(targets, pool, seed=seed)
    standing = np.flatnonzero(~witnesses.found)
    if Refuter.ATTACK in tried and len(standing):
        return witnesses.merge(standing, attack_minimally(targets.select(standing), module, seed=seed))
    return witnesses
