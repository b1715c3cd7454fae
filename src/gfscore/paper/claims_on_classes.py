"""How claims of the paper stand against its numbers, and the judges of those about its tables and about classes.

What the claims say, and how the answers are worded, is data: ``data/claims.toml``. Here a claim is judged by the facts,
by a function that is named after its id.
"""

from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.paper.recomputed import (
    DISPARITIES,
    PaperFacts,
    class_table,
    model_table,
    printed_numbers,
    rho,
    rounds_to,
    rounds_twice_to,
    within_rounding,
)

NUMBERS = ("GREAT", "calibrated", *DISPARITIES)  # columns of the table of models that follow from class scores
EXAMPLES = 3  # named before "and N more"
EXACT = 4 * float(np.finfo(np.float64).eps)  # a few units of the last bit: sums taken in another order
NEAR_ZERO = 0.05


class Standing(StrEnum):
    """How a statement of the paper stands against the numbers published with it."""

    HOLDS = "holds"
    HOLDS_IN_PART = "holds in part"
    SAYS_LITTLE = "holds, says little"
    DEPENDS = "depends on the metric"
    OVERSTATED = "overstated"
    UNCLEAR = "unclear in the paper"
    FAILS = "fails"
    FINDING = "not in the paper"


class Judgement(NamedTuple):
    """What the facts say about a claim."""

    values: dict[str, Any]  # for its texts
    standing: Standing | None = None  # None: a finding, or the claim holds if what is recomputed reads as published
    case: str | None = None  # which of its explanations


Judge = Callable[[PaperFacts], Judgement]


class Judges(dict[str, Judge]):
    """Judges by the id of the claim that each is named after."""

    def enter(self, judge: Judge) -> Judge:
        """A decorator that enters a judge."""
        self[judge.__name__.lstrip("_").replace("_", "-")] = judge
        return judge


def grade(full: bool, part: bool = False) -> Standing:
    """Holds when it does in full, holds in part when it does in part, else fails."""
    return Standing.HOLDS if full else Standing.HOLDS_IN_PART if part else Standing.FAILS


ON_CLASSES = Judges()

# The tables that are printed


def _count_near(numbers: list[tuple[str, float, str]]) -> int:
    return sum(within_rounding(value, printed) for _, value, printed in numbers)


@ON_CLASSES.enter
def _model_table(facts: PaperFacts) -> Judgement:
    table = model_table(facts, facts.plain)
    numbers = printed_numbers(table, NUMBERS)
    near, n, n_rows = _count_near(numbers), len(numbers), len(table.rows)
    named = sum(bool(row.cells[table.columns.index("worst class")].agrees) for row in table.rows)
    values = {"near": near, "n": n, "named": named, "n_rows": n_rows}
    return Judgement(values, grade(near == n and named == n_rows))


@ON_CLASSES.enter
def _class_table(facts: PaperFacts) -> Judgement:
    numbers = printed_numbers(class_table(facts))
    near, n = _count_near(numbers), len(numbers)
    return Judgement({"near": near, "n": n}, grade(near == n))


@ON_CLASSES.enter
def _rounded_twice(facts: PaperFacts) -> Judgement:
    numbers = printed_numbers(model_table(facts, facts.plain), NUMBERS) + printed_numbers(class_table(facts))
    wrong = [entry for entry in numbers if not rounds_to(entry[1], entry[2])]
    twice = sum(rounds_twice_to(value, printed) for _, value, printed in wrong)
    examples = "; ".join(f"{what} {printed} for {value:.5f}" for what, value, printed in wrong[:EXAMPLES]) or "None"
    if len(wrong) > EXAMPLES:
        examples += f" and {len(wrong) - EXAMPLES} more"
    return Judgement({"n_wrong": len(wrong), "n": len(numbers), "twice": twice, "examples": examples})


@ON_CLASSES.enter
def _table_order(facts: PaperFacts) -> Judgement:
    printed = [(float(row["robustbench_accuracy"]), row["printed_name"]) for row in facts.published.model_table]
    breaks = [f"{upper} stands above {lower}" for (one, upper), (two, lower) in pairwise(printed) if two > one]
    values = {"n_breaks": len(breaks), "n": len(printed) - 1, "breaks": "; ".join(breaks)}
    return Judgement(values, grade(not breaks, part=True))


@ON_CLASSES.enter
def _decomposition(facts: PaperFacts) -> Judgement:
    stated = np.array([model.metrics["great_score"] for model in facts.published.models])
    error = float(np.abs(facts.plain.great - stated).max())
    standing = Standing.SAYS_LITTLE if error <= EXACT else Standing.FAILS
    return Judgement({"error": f"{error:.0e}" if error else "0"}, standing)


@ON_CLASSES.enter
def _temperature_of_disparity(facts: PaperFacts) -> Judgement:
    tables = (model_table(facts, metrics) for metrics in (facts.plain, facts.calibrated))
    plain, calibrated = (printed_numbers(table, DISPARITIES) for table in tables)
    at_one, at_best, n = _count_near(plain), _count_near(calibrated), len(plain)
    standing = Standing.UNCLEAR if at_one == n and at_best < n else Standing.FAILS
    return Judgement({"at_one": at_one, "at_best": at_best, "n": n}, standing)


# Classes


@ON_CLASSES.enter
def _worst_and_best_classes(facts: PaperFacts) -> Judgement:
    lowest = np.argsort(facts.scores, axis=1)[:, :2]
    is_cat = np.array([name == "cat" for name in facts.published.class_names])
    cat_low = int(is_cat[lowest].any(axis=1).sum())
    return Judgement({"worst": Counter(facts.plain.worst), "best": Counter(facts.plain.best), "cat_low": cat_low})


@ON_CLASSES.enter
def _consistently(facts: PaperFacts) -> Judgement:
    cat, automobile = facts.plain.worst.count("cat"), facts.plain.best.count("automobile")
    standing = Standing.HOLDS if cat == automobile == facts.n_models else Standing.OVERSTATED
    return Judgement({"cat": cat, "automobile": automobile}, standing)


@ON_CLASSES.enter
def _intrinsic(facts: PaperFacts) -> Judgement:
    by_accuracy = [facts.published.class_names[k] for k in facts.accuracies.argmin(axis=1)]
    same = sum(first == second for first, second in zip(by_accuracy, facts.plain.worst, strict=True))
    return Judgement({"same": same}, Standing.OVERSTATED)


@ON_CLASSES.enter
def _class_names(facts: PaperFacts) -> Judgement:
    return Judgement({"worst": facts.readable("n04525038"), "best": facts.readable("n12057211")})


@ON_CLASSES.enter
def _zero_wcr(facts: PaperFacts) -> Judgement:
    zero = sorted(name for name, value in zip(facts.names, facts.plain.wcr, strict=True) if value == 0)
    return Judgement({"zero": ", ".join(zero) or "none"})


@ON_CLASSES.enter
def _zero_is_accuracy(facts: PaperFacts) -> Judgement:
    models, classes = np.nonzero(facts.scores == 0)
    missed = int((facts.accuracies[models, classes] == 0).sum())
    names = sorted({facts.readable(facts.published.class_names[k]) for k in classes})
    return Judgement({"missed": missed, "n_zero": len(classes), "names": ", ".join(names)})


@ON_CLASSES.enter
def _near_zero(facts: PaperFacts) -> Judgement:
    low = int((facts.scores < NEAR_ZERO).all(axis=0).sum())
    return Judgement({"low": low, "limit": NEAR_ZERO}, grade(low > 1))


@ON_CLASSES.enter
def _profile_follows_accuracy(facts: PaperFacts) -> Judgement:
    def mean_rho(scores: FloatArray) -> float:
        return float(np.mean([rho(row, accuracy) for row, accuracy in zip(scores, facts.accuracies, strict=True)]))

    return Judgement({"plain": mean_rho(facts.scores), "calibrated": mean_rho(facts.calibrated_scores)})


@ON_CLASSES.enter
def _worst_class_certainty(facts: PaperFacts) -> Judgement:
    radius = facts.class_radius
    candidates = (facts.scores - radius <= (facts.scores + radius).min(axis=1, keepdims=True)).sum(axis=1)
    certain = int((candidates == 1).sum())
    return Judgement({"certain": certain, "fewest": candidates.min(), "most": candidates.max()})
