"""What attacks of a given size found: for each sample that is attacked, whether it withstood.

Samples are attacked in small blocks, in an order that was drawn beforehand. A block has a seed of its own, made of the
seed and the names of its samples, so that its outcomes do not depend on what else runs, where, when, or how far an
earlier run came: a larger budget goes on where a smaller one ended.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import OptionError
from gfscore.inputs.models.biased import biased_module
from gfscore.inputs.preprocessing import Pixels
from gfscore.measures.attack_remarks import encode
from gfscore.measures.run import RowMeasure, RowsDone, Run
from gfscore.measures.sized_attacks import QUICK, STANDARD, autoattack, quick_attack
from gfscore.measures.targets import Targets

BLOCK = 20  # samples attacked together: enough for a processor, few enough to stop soon after a verdict stands
NOBODY = -1  # a place in a block that no sample fills


@dataclass(frozen=True, slots=True, kw_only=True)
class Assault:
    """What samples are attacked with."""

    norm: str  # l2 or linf
    eps: float  # in [0, 1] pixels
    quick: bool = False  # short APGD instead of AutoAttack
    parts: tuple[str, ...] = STANDARD  # of AutoAttack: fewer of its four attacks are faster, and kinder

    def __post_init__(self) -> None:
        if self.norm not in ("l2", "linf"):
            raise OptionError(f"norm {self.norm!r} is not known. Choose l2 or linf.")
        if not 0 < self.eps < np.inf:
            raise OptionError(f"eps {self.eps} is not the size of an attack. Give one in [0, 1] pixels, such as 2/255.")

    @property
    def name(self) -> str:
        """For the record."""
        whole = "autoattack" if self.parts == STANDARD else "+".join(self.parts)
        return "pgd" if self.quick else whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacks(RowMeasure):
    """Whether samples withstand an attack, (n, 1): 1 or 0; NaN in the places that no sample fills.

    With ``remarks`` two more columns hold what AutoAttack remarked on the block of each
    (:mod:`~gfscore.measures.attack_remarks`). A row is a place in the order of the draw, not a sample: a shard is a
    block of it. What a model gets wrong anyway has 0 and is not attacked.
    """

    name = "attacked"
    assault: Assault
    places: tuple[int, ...]  # the sample in each place, block after block, or NOBODY
    seed: int = 0
    block: int = BLOCK
    remarks: bool = False  # whether those of AutoAttack are kept
    bias: tuple[float, ...] = ()  # constants on the logits of the model that is attacked, (K,); none: as it is

    @classmethod
    def of(
        cls,
        assault: Assault,
        orders: Sequence[ArrayLike],
        *,
        seed: int = 0,
        block: int = BLOCK,
        remarks: bool = False,
        bias: tuple[float, ...] = (),
    ) -> "Attacks":
        """Attacks in one or more orders of their own, such as one a class: no block holds samples of two.

        >>> Attacks.of(Assault(norm="linf", eps=0.01), [[7, 3, 5], [4]], block=2).places
        (7, 3, 5, -1, 4, -1)
        """
        places: list[int] = []
        for order in orders:
            rows = np.asarray(order, dtype=np.int64).tolist()
            places += rows + [NOBODY] * (-len(rows) % block)
        return cls(assault=assault, places=tuple(places), seed=seed, block=block, remarks=remarks, bias=bias)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The attack, whom it meets in which order, and what is added to the logits."""
        order = hashlib.sha256(np.array(self.places, dtype="<i8").tobytes()).hexdigest()
        kind = self.assault
        noted: dict[str, Any] = {"remarks": True} if self.remarks else {}
        if kind.quick:
            noted["steps"] = [f"{loss} {steps}" for loss, steps in QUICK]
        if self.bias:
            noted["bias"] = list(self.bias)
        return {"attack": kind.name, "norm": kind.norm, "eps": kind.eps, "seed": self.seed, "places": order, **noted}

    def n_rows(self, run: Run) -> int:
        """The places of the order."""
        del run
        return len(self.places)

    def rows_per_shard(self, run: Run) -> int:
        """A block."""
        del run
        return self.block

    def columns(self, run: Run) -> int:
        """The outcome, and what was remarked."""
        del run
        return 3 if self.remarks else 1

    def about(self, run: Run) -> dict[str, Any]:
        """What an entry of outcomes says to people."""
        data = f"{run.data.source}, {self.assault.name} {self.assault.norm} {self.assault.eps:.4g}"
        return {"model": run.model.name, "data": data, "n": run.n_samples}

    def members(self, block: int) -> IntArray:
        """The samples of a block, in order."""
        places = np.array(self.places[block * self.block : (block + 1) * self.block], dtype=np.int64)
        return np.asarray(places[places != NOBODY])

    def compute(self, run: Run, rows: slice, done: RowsDone = lambda _rows: None) -> FloatArray:
        """Outcomes for some places, a block at a time; ``rows`` begins with a block."""
        found = np.full((rows.stop - rows.start, self.columns(run)), np.nan, dtype=np.float32)
        for start in range(rows.start, rows.stop, self.block):
            members = self.members(start // self.block)
            if len(members):
                place = start - rows.start
                standing, remarked = self._withstood(run, members)
                found[place : place + len(members), 0] = standing
                found[place : place + len(members), 1:] = remarked[: self.columns(run) - 1]
            done(min(start + self.block, rows.stop) - rows.start)
        return found

    def _withstood(self, run: Run, rows: IntArray) -> tuple[FloatArray, tuple[int, int]]:
        """Which samples withstand, (n,): 1 or 0; and what was remarked."""
        pixels, labels = run.pixels(rows), run.data.labels[rows]
        shift = np.array(self.bias, dtype=np.float32)

        def classify(images: Pixels) -> FloatArray:
            return np.asarray(run.logits_of(images) + shift) if self.bias else run.logits_of(images)

        logits = classify(pixels)
        right = np.flatnonzero(logits.argmax(axis=1) == labels)
        standing, remarks = np.zeros(len(rows)), tuple[str, ...]()
        if len(right):
            targets = Targets(
                classify=classify,
                pixels=pixels[right],
                labels=labels[right],
                radii=np.full(len(right), self.assault.eps),
                norm=self.assault.norm,
            )
            seed, module = self._seed_of(run, rows), run.differentiable()
            module = biased_module(module, shift) if self.bias else module
            if self.assault.quick:
                witnesses = quick_attack(targets, module, seed=seed)
            else:
                settings = {"n_classes": logits.shape[1], "seed": seed, "parts": self.assault.parts}
                witnesses, remarks = autoattack(targets, module, run.model.layout, **settings)
            standing[right] = ~witnesses.found
        return standing, encode(remarks, len(right))

    def _seed_of(self, run: Run, rows: IntArray) -> int:
        """A seed from that of the attack and the names of the samples of a block."""
        ids = run.data.sample_ids
        names = [str(row) if ids is None else ids[row] for row in rows.tolist()]
        digest = hashlib.sha256("\n".join([str(self.seed), *names]).encode()).digest()
        return int.from_bytes(digest[:4], "little")  # what every generator takes
