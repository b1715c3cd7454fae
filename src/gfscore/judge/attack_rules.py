r"""Rules on accuracy under attack, judged while attacks go on: what is known so far, what to attack next, when to stop.

A rule is kept if its number is at least the threshold. PASS of all rules is wrong only if one of them is broken, and
then the lower end of that one number has failed: each lower end may fail with the whole level. FAIL is wrong only if
some upper end has failed although every rule is kept: the upper ends share the level. A verdict is PASS or FAIL, and
which of the two is wrong depends on the truth alone, so that it is wrong with probability at most the level. The ends
hold at all times (:mod:`gfscore.bounds.few_attacks`), so that it may be asked after every attack.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.bounds import Attacked, clopper_pearson
from gfscore.errors import OptionError
from gfscore.judge.policy import EVERY, Rule, no_such
from gfscore.results import Verdict

MOST_PLAIN = 10_000_000  # samples beyond which nobody looks how many would decide

Ends = tuple[float, float, float]  # estimate, lower and upper end


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SizeRules:
    """Rules about one size of attack, and what is known of every sample before the first attack."""

    rules: tuple[Rule, ...]
    predictions: FloatArray  # (N,)
    weights: FloatArray  # (N,)
    right: BoolArray  # (N,): the others do not withstand
    fallen: BoolArray  # (N,): nor do these, which a first attack broke
    codes: IntArray  # (N,), class or group
    names: Mapping[int, str]  # of the codes that have samples
    level: float  # of all rules on accuracy under attack
    upper_ends: int  # that share it, at all sizes
    finite: bool  # about these samples, else about what they were drawn from

    @property
    def asked(self) -> list[int]:
        """The codes of the parts that rules are about, ascending."""
        return [code for code, name in self.names.items() if any(rule.part in (EVERY, name) for rule in self.rules)]

    @property
    def of_whole(self) -> bool:
        """Whether a rule is about all samples together."""
        return any(rule.part is None for rule in self.rules)

    def judge(
        self,
        rows: IntArray,
        outcomes: FloatArray,
        in_one_order: int,
        *,
        before: "SizeFound | None" = None,
        changed: str | None = None,
    ) -> "SizeFound":
        """What the attacks so far say; the first ``in_one_order`` of them followed the order of the whole.

        With what was known ``before``, only the part that ``changed`` is looked at again.
        """
        known = Attacked.of(self.predictions, self.codes, rows, outcomes, ~self.right | self.fallen, self.weights)
        if before is not None:
            again = {changed: self._ends(known, self.codes == self._code(str(changed)))}
            parts = {name: again.get(name, ends) for name, ends in before.parts.items()}
            return SizeFound(rules=self.rules, whole=before.whole, parts=parts)
        parts, whole = {self.names[code]: self._ends(known, self.codes == code) for code in self.asked}, None
        if self.of_whole:
            few, everybody = slice(0, in_one_order), np.ones(len(self.codes), dtype=bool)
            whole = self._ends(replace(known, rows=rows[few], outcomes=known.outcomes[few]), everybody)
        return SizeFound(rules=self.rules, whole=whole, parts=parts)

    def _ends(self, known: Attacked, members: BoolArray) -> Ends:
        bets, upper = known.bet(members), self.level / max(self.upper_ends, 1)
        low, high = (bets.ends if self.finite else bets.population_ends)(self.level, upper)
        return bets.estimate, low, high

    def plain_attacks(self, found: "SizeFound") -> int | None:
        """About how many attacks the same verdicts would take without predictions; None where nothing was decided."""
        by_part: dict[str, int] = {}
        whole: list[int] = []
        upper = self.level / max(self.upper_ends, 1)
        for rule in self.rules:
            verdict = found.verdict(rule)
            if verdict is Verdict.UNDECIDED:
                continue
            alpha = self.level if verdict is Verdict.PASS else upper
            for name, ends in found.about(rule).items():
                if rule.part == EVERY and rule.judge(ends[1:]) is not verdict:
                    continue  # one broken class is enough for FAIL
                members = np.ones_like(self.right) if name is None else self.codes == self._code(name)
                needed = plain_samples(ends[0], rule.threshold, alpha)
                attacks = min(int(self.right[members].sum()), round(needed * float(self.right[members].mean())))
                if name is None:
                    whole.append(attacks)
                else:
                    by_part[name] = max(by_part.get(name, 0), attacks)
        return max([*whole, sum(by_part.values())]) if whole or by_part else None

    def _code(self, name: str) -> int:
        return next(code for code, known in self.names.items() if known == name)

    def check_names(self, absent: Sequence[str]) -> None:
        """Refuse a rule on a class that there is not."""
        known = [*self.names.values(), *absent]
        for rule in self.rules:
            if rule.part not in (None, EVERY, *known):
                raise OptionError(no_such(str(rule.part), known, "class"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SizeFound:
    """Estimates and ends at one size of attack, so far."""

    rules: tuple[Rule, ...]
    whole: Ends | None
    parts: Mapping[str, Ends]

    def about(self, rule: Rule) -> dict[str | None, Ends]:
        """What a rule is about: the whole (None), a part, or each part that has samples."""
        if rule.part is None:
            return {} if self.whole is None else {None: self.whole}
        return {name: ends for name, ends in self.parts.items() if rule.part in (EVERY, name)}

    def ends(self, rule: Rule) -> Ends | None:
        """Estimate, lower and upper end of the number of a rule: of the lowest part where it is about each."""
        found = list(self.about(rule).values())
        if not found:
            return None
        estimates, lower, upper = zip(*found, strict=True)
        return min(estimates), min(lower), min(upper)

    def verdict(self, rule: Rule) -> Verdict:
        """What is known of a rule."""
        ends = self.ends(rule)
        return Verdict.UNDECIDED if ends is None else rule.judge(ends[1:])

    @property
    def whole_is_open(self) -> bool:
        """Whether a rule on all samples is not decided yet, and none is broken."""
        of_whole = [self.verdict(rule) for rule in self.rules if rule.part is None]
        return Verdict.FAIL not in self.verdicts and Verdict.UNDECIDED in of_whole

    @property
    def verdicts(self) -> list[Verdict]:
        """Of every rule."""
        return [self.verdict(rule) for rule in self.rules]

    def next_part(self, left: Mapping[str, int]) -> str | None:
        """The part to attack next, of those that have samples ``left``: the lowest against its threshold, undecided.

        If a rule on every class is broken, that class shows it soonest; if it is kept, every class must be shown to.
        """
        open_parts: dict[str, float] = {}
        for rule in self.rules:
            for name, ends in self.about(rule).items() if rule.part is not None else ():
                if name is not None and left.get(name, 0) and rule.judge(ends[1:]) is Verdict.UNDECIDED:
                    open_parts[name] = min(open_parts.get(name, np.inf), ends[0] - rule.threshold)
        return min(open_parts, key=lambda name: open_parts[name]) if open_parts else None


def plain_samples(value: float, threshold: float, alpha: float) -> int:
    """The least number of samples from which Clopper and Pearson's bound decides, were their share the ``value``.

    >>> plain_samples(0.5, 0.3, 0.05), plain_samples(0.5, 0.45, 0.05)
    (20, 290)
    """

    def decides(n: int) -> bool:
        if value >= threshold:
            return float(clopper_pearson(int(np.floor(value * n)), n, 2 * alpha)[0]) >= threshold
        return float(clopper_pearson(int(np.ceil(value * n)), n, 2 * alpha)[1]) < threshold

    high = 1
    while not decides(high) and high < MOST_PLAIN:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    return high
