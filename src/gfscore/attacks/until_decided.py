"""Attacks on one size after the other until rules on accuracy under attack are decided, and no further.

While a rule on all samples is open, attacks follow one order of all; then those classes are attacked whose rules are
open, each in its own order. What is known is looked at again and again: the bounds hold at all times.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.attacks.first_attack import attack_likely
from gfscore.attacks.sparing import Draw
from gfscore.engines.local import shard_by_shard
from gfscore.judge.attack_rules import SizeFound, SizeRules
from gfscore.measures import Assault, Attacks, Run
from gfscore.measures.attacks import BLOCK
from gfscore.results import Verdict

PART_BLOCK = 10  # samples of a part attacked together: each part takes a block at least
PATIENCE = 0.02  # between two looks at a rule on all samples, attacks grow by this share: looking takes time too

Give = Callable[[int], tuple[FloatArray, bool]]  # a block's outcomes, and whether an earlier run knew them


@dataclass(slots=True, kw_only=True, eq=False)
class Attacker:
    """Attacks on one run, counted against a budget."""

    run: Run
    norm: str
    quick: bool  # short APGD instead of AutoAttack
    seed: int
    budget: int | None  # None: everything may be attacked
    moved: Callable[[int, int], None]
    attacked: int = 0
    known: int = 0  # of those attacked, by an earlier run
    possible: int = 0

    @property
    def block(self) -> int:
        """Samples attacked together."""
        return min(BLOCK, self.budget or BLOCK)

    def assault(self, eps: float) -> Assault:
        """The attack of a size."""
        return Assault(norm=self.norm, eps=eps, quick=self.quick)

    def affords(self, n: int) -> bool:
        """Whether so many more may be attacked."""
        return self.budget is None or self.attacked + n <= self.budget

    def count(self, n: int, *, was_known: bool) -> None:
        """Note that so many were attacked."""
        self.attacked += n
        self.known += n if was_known else 0
        self.moved(self.attacked, min(self.budget or self.possible, self.possible))


@dataclass(slots=True, kw_only=True, eq=False)
class SizeCase:
    """One size of attack: its rules, its draw, and what came out so far."""

    eps: float
    rules: SizeRules
    draw: Draw
    radii: FloatArray
    rows: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    outcomes: FloatArray = field(default_factory=lambda: np.zeros(0))
    in_one_order: int = 0
    found: SizeFound | None = None

    def look(self, changed: str | None = None) -> SizeFound:
        """What is known now; with ``changed`` no other part was attacked since the last look."""
        before = None if changed is None else self.found
        self.found = self.rules.judge(self.rows, self.outcomes, self.in_one_order, before=before, changed=changed)
        return self.found

    def attack(self, attacker: Attacker) -> None:
        """Attack until every rule is decided, one is broken, or nothing is left."""
        self._attack_likely(attacker)
        self.look()
        self._attack_all(attacker)
        self._attack_parts(attacker)

    def _attack_likely(self, attacker: Attacker) -> None:
        """The first of AutoAttack's attacks on those that are likely to fall."""
        found = attack_likely(attacker.run, self.radii, self.draw.right, attacker.assault(self.eps), seed=attacker.seed)
        before, self.draw = len(self.draw.order), self.draw.after(*found)
        self.rules = replace(self.rules, fallen=self.draw.fallen)
        attacker.possible -= before - len(self.draw.order)

    def _attack_all(self, attacker: Attacker) -> None:
        """One order of all samples, while a rule on all of them is open, with a look at it from time to time."""
        found, looked_at = self.look(), 0
        measure = Attacks.of(attacker.assault(self.eps), [self.draw.order], seed=attacker.seed, block=attacker.block)
        with shard_by_shard(attacker.run, measure) as give:
            for block in range(len(measure.places) // measure.block):
                if not found.whole_is_open or not self._add(attacker, measure, block, give):
                    break
                if len(self.rows) - looked_at >= PATIENCE * len(self.rows):
                    self.in_one_order = looked_at = len(self.rows)
                    found = self.look()
        self.in_one_order = len(self.rows)
        self.look()

    def _attack_parts(self, attacker: Attacker) -> None:
        """Each part in its own order, the one next that may decide soonest."""
        found, names = self.look(), self.rules.names
        orders = self.draw.in_parts(self.rules.codes, max(names) + 1, after=len(self.rows))
        block = min(PART_BLOCK, attacker.block)
        measure = Attacks.of(attacker.assault(self.eps), orders, seed=attacker.seed, block=block)
        left = dict(zip(names.values(), _blocks(orders, list(names), block), strict=True))
        with shard_by_shard(attacker.run, measure) as give:
            while Verdict.FAIL not in found.verdicts:
                part = found.next_part({name: len(blocks) for name, blocks in left.items()})
                if part is None or not self._add(attacker, measure, left[part].pop(0), give):
                    break
                found = self.look(part)

    def _add(self, attacker: Attacker, measure: Attacks, block: int, give: Give) -> bool:
        """Whether a block was attacked: not where the budget does not hold it."""
        members = measure.members(block)
        if not attacker.affords(len(members)):
            return False
        part, was_known = give(block)
        self.rows = np.append(self.rows, members)
        self.outcomes = np.append(self.outcomes, part[: len(members), 0].astype(np.float64))
        attacker.count(len(members), was_known=was_known)
        return True


def _blocks(orders: list[IntArray], codes: list[int], block: int) -> Iterator[list[int]]:
    """The numbers of the blocks of some orders, one list each."""
    counts = [-(-len(order) // block) for order in orders]
    starts = np.cumsum([0, *counts]).tolist()
    yield from (list(range(starts[code], starts[code + 1])) for code in codes)
