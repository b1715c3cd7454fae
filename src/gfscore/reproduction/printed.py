"""Claims about the printed tables: are the numbers what the class scores give, and at which temperature."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from gfscore.paper.published_numbers import PrintedRow
from gfscore.reproduction.facts import Facts, ModelMetrics
from gfscore.reproduction.result import PaperClaim, Verdict
from gfscore.reproduction.rounding import rounds_to, rounds_twice_to, within_rounding

MODEL_TABLE = {"cifar10": "Table 3", "imagenet": "Table 4"}
METRICS = ("rdi", "nrgc", "wcr", "fp_great")
NAMES = {
    "great_score": "GREAT",
    "calibrated_great_score": "calibrated",
    "rdi": "RDI",
    "nrgc": "NRGC",
    "wcr": "WCR",
    "fp_great": "FP-GREAT",
}
COLUMNS = ("great_score", "calibrated_great_score", *METRICS)
EXACT = 4 * float(np.finfo(np.float64).eps)  # a few units of the last bit: sums taken in another order
SHOWN = 3  # examples named before "and N more"

Pair = tuple[str, float, str]  # what it is, recomputed, printed


def printed_claims(facts: Facts) -> Iterator[PaperClaim]:
    """What the tables print against what the published class scores give."""
    yield _model_table(facts)
    if facts.published.class_table:
        yield _class_table(facts)
    yield _rounded_twice(facts)
    yield _order(facts)
    yield _decomposition(facts)
    yield _temperature_of_disparity(facts)


def model_pairs(facts: Facts, metrics: ModelMetrics, columns: tuple[str, ...]) -> list[Pair]:
    """Recomputed and printed values of some columns of the model table."""
    values = {name: getattr(metrics, name) for name in METRICS}
    values |= {"great_score": metrics.great, "calibrated_great_score": facts.calibrated.great}
    return [
        (f"{facts.names[model]} {NAMES[column]}", float(values[column][model]), row.cells[column])
        for row in facts.published.model_table
        for model in (index_of(facts, row),)
        for column in columns
    ]


def class_pairs(facts: Facts) -> list[Pair]:
    """Recomputed and printed values of the class table."""
    return [
        (f"{facts.names[model]} {name}", float(value), row.cells[name])
        for row in facts.published.class_table
        for model in (index_of(facts, row),)
        for name, value in (
            *zip(facts.published.class_names, facts.scores[model], strict=True),
            ("aggregate", facts.plain.great[model]),
        )
    ]


def index_of(facts: Facts, row: PrintedRow) -> int:
    """Which model a printed row is about."""
    return next(i for i, model in enumerate(facts.published.models) if model.name == row.model)


def _model_table(facts: Facts) -> PaperClaim:
    pairs = model_pairs(facts, facts.plain, COLUMNS)
    near = sum(within_rounding(value, printed) for _, value, printed in pairs)
    named = sum(
        facts.plain.worst[index_of(facts, row)] == row.cells["wcr_class"] for row in facts.published.model_table
    )
    rows = len(facts.published.model_table)
    return PaperClaim(
        id="model-table",
        datasets=(facts.dataset,),
        where=MODEL_TABLE[facts.dataset],
        statement="Scores, RDI, NRGC, WCR (with its class) and FP-GREAT of every model follow from its class scores.",
        published=f"{rows} rows",
        recomputed=f"{near} of {len(pairs)} numbers within rounding, {named} of {rows} classes",
        verdict=Verdict.HOLDS if near == len(pairs) and named == rows else Verdict.FAILS,
        explanation="Within rounding means at most 0.55 of the last printed digit, which covers numbers that were "
        "rounded twice.",
    )


def _class_table(facts: Facts) -> PaperClaim:
    pairs = class_pairs(facts)
    near = sum(within_rounding(value, printed) for _, value, printed in pairs)
    return PaperClaim(
        id="class-table",
        datasets=(facts.dataset,),
        where="Table 5",
        statement="The class table shows the class scores at T = 1 and their weighted mean.",
        published=f"{len(pairs)} numbers",
        recomputed=f"{near} of {len(pairs)} within rounding",
        verdict=Verdict.HOLDS if near == len(pairs) else Verdict.FAILS,
        explanation="Every class score and every aggregate was compared with the full-precision files.",
    )


def _rounded_twice(facts: Facts) -> PaperClaim:
    pairs = model_pairs(facts, facts.plain, COLUMNS) + class_pairs(facts)
    wrong = [pair for pair in pairs if not rounds_to(pair[1], pair[2])]
    twice = sum(rounds_twice_to(value, printed) for _, value, printed in wrong)
    examples = [f"{what} {printed} for {value:.5f}" for what, value, printed in wrong]
    more = f" and {len(examples) - SHOWN} more" if len(examples) > SHOWN else ""
    return PaperClaim(
        id="rounded-twice",
        datasets=(facts.dataset,),
        where=MODEL_TABLE[facts.dataset] + (", Table 5" if facts.published.class_table else ""),
        statement="Some printed numbers are not the correct rounding of the full-precision ones.",
        recomputed=f"{len(wrong)} of {len(pairs)}; rounding twice explains {twice}",
        verdict=Verdict.FINDING,
        explanation=f"{'; '.join(examples[:SHOWN]) or 'None'}{more}. Rounding twice is to four decimals first, then to "
        "three. No conclusion changes.",
    )


def _order(facts: Facts) -> PaperClaim:
    accuracies = [float(row.cells["robustbench_accuracy"]) for row in facts.published.model_table]
    breaks = [
        (upper.printed_name, lower.printed_name)
        for (upper, first), (lower, second) in pairwise(zip(facts.published.model_table, accuracies, strict=True))
        if second > first
    ]
    shown = "; ".join(f"{upper} stands above {lower}" for upper, lower in breaks)
    return PaperClaim(
        id="table-order",
        datasets=(facts.dataset,),
        where=MODEL_TABLE[facts.dataset],
        statement="The table of models is sorted by RobustBench accuracy.",
        published="sorted",
        recomputed=f"{len(breaks)} of {len(accuracies) - 1} neighbours out of order",
        verdict=Verdict.HOLDS_IN_PART if breaks else Verdict.HOLDS,
        explanation=f"{shown}, though its accuracy is lower." if breaks else "From the highest accuracy to the lowest.",
    )


def _decomposition(facts: Facts) -> PaperClaim:
    stated = np.array([model.metrics.great_score for model in facts.published.models])
    error = float(np.abs(facts.plain.great - stated).max())
    return PaperClaim(
        id="decomposition",
        datasets=(facts.dataset,),
        where="Sections 3.2 and 4.3",
        statement="The weighted mean of the class scores recovers the aggregate score with zero numerical error.",
        published="error 0",
        recomputed=f"largest error {error:.0e}" if error else "largest error 0",
        verdict=Verdict.SAYS_LITTLE if error <= EXACT else Verdict.FAILS,
        explanation="True of any partition, by algebra; and as all classes have the same number of samples here, the "
        "weights are not put to the test.",
    )


def _temperature_of_disparity(facts: Facts) -> PaperClaim:
    plain = model_pairs(facts, facts.plain, METRICS)
    calibrated = model_pairs(facts, facts.calibrated, METRICS)
    at_one, at_best = (sum(within_rounding(value, text) for _, value, text in pairs) for pairs in (plain, calibrated))
    settled = at_one == len(plain) and at_best < len(calibrated)
    return PaperClaim(
        id="temperature-of-disparity",
        datasets=(facts.dataset,),
        where=f"{MODEL_TABLE[facts.dataset]}, Section 3.4",
        statement="After calibration all scores are recomputed; the disparity columns stand beside the calibrated one.",
        published="no temperature given",
        recomputed=f"{at_one} of {len(plain)} numbers match T = 1, {at_best} match T = {facts.temperature:.2f}",
        verdict=Verdict.UNCLEAR if settled else Verdict.FAILS,
        explanation="The table does not say so, but RDI, NRGC, WCR and FP-GREAT are those of the uncalibrated score.",
    )
