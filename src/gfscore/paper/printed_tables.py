"""The paper's tables, recomputed beside what it prints; and the claims about what is printed."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from pydantic import Field

from gfscore.paper.claim_table import ClaimTable, Judgement, Standing, finding, grade
from gfscore.paper.facts import TITLES, ModelMetrics, PaperFacts, places, rounds_to, rounds_twice_to, within_rounding
from gfscore.paper.published_numbers import Dataset, PrintedRow, published
from gfscore.results import ModelAudit, Result

MODEL_TABLE = {"cifar10": "Table 3", "imagenet": "Table 4"}
SCORES = ("GREAT", "calibrated")
DISPARITIES = ("RDI", "NRGC", "WCR", "FP-GREAT")
ENDS = 10  # classes at each end, when there are too many to show
EXAMPLES = 3  # named before "and N more"
EXACT = 4 * float(np.finfo(np.float64).eps)  # a few units of the last bit: sums taken in another order

ON_TABLES = ClaimTable()


class Cell(Result):
    """A recomputed value, and what the paper prints in its place."""

    value: float | str
    printed: str | None = Field(default=None, description="null when the paper prints nothing there")
    agrees: bool | None = Field(default=None, description="the print is the value, correctly rounded")


class Row(Result):
    """A row of a table: a model or a class."""

    name: str
    cells: tuple[Cell, ...]


class Table(Result):
    """A recomputed table; ``digits`` has the decimals to show in each column, null for text."""

    title: str
    columns: tuple[str, ...]
    digits: tuple[int | None, ...]
    rows: tuple[Row, ...]
    note: str


def recomputed_tables(facts: PaperFacts) -> tuple[Table, ...]:
    """Models, classes, and the ranking by FP-GREAT."""
    classes = _class_table(facts) if facts.published.class_table else _extreme_classes(facts)
    return (_model_table(facts, facts.plain), classes, _rank_table(facts))


def measured_table(audits: Sequence[ModelAudit], models: Sequence[str], dataset: Dataset) -> Table:
    """Measured metrics of the paper's models; ``models`` has the RobustBench name of each audit."""
    facts = PaperFacts(published(dataset))
    plain, known = facts.plain, [model.name for model in facts.published.models]

    def row(audit: ModelAudit, i: int) -> Row:
        return Row(
            name=facts.names[i],
            cells=(
                _cell(audit.accuracy, f"{facts.own_clean[i] / 100:.4f}"),
                _cell(audit.aggregate, f"{plain.great[i]:.3f}"),
                _cell(audit.rdi.value, f"{plain.rdi[i]:.3f}"),
                _cell(audit.nrgc.value, f"{plain.nrgc[i]:.3f}"),
                _cell(audit.wcr.value, f"{plain.wcr[i]:.3f}"),
                _cell(audit.wcr.class_, plain.worst[i]),
                _cell(audit.fp_great.value, f"{plain.fp_great[i]:.3f}"),
            ),
        )

    return Table(
        title=f"Measured on {audits[0].samples.source}, {audits[0].samples.n:,} samples",
        columns=("accuracy", "GREAT", "RDI", "NRGC", "WCR", "worst class", "FP-GREAT"),
        digits=(4, 3, 3, 3, 3, None, 3),
        rows=tuple(row(audit, known.index(name)) for audit, name in zip(audits, models, strict=True)),
        note="An asterisk marks a value that differs from the published one in its last digit.",
    )


def _cell(value: float | str | None, printed: str | None = None) -> Cell:
    if printed is None:
        return Cell(value=value)
    if value is None:
        return Cell(value="–", printed=printed, agrees=False)
    return Cell(
        value=value, printed=printed, agrees=value == printed if isinstance(value, str) else rounds_to(value, printed)
    )


def _model_table(facts: PaperFacts, metrics: ModelMetrics) -> Table:
    def row(printed: PrintedRow) -> Row:
        i, cells = facts.model_of(printed), printed.cells
        worst = metrics.worst[i]
        return Row(
            name=facts.names[i],
            cells=(
                _cell(facts.robust[i], cells["robustbench_accuracy"]),
                _cell(metrics.great[i], cells["great_score"]),
                _cell(facts.calibrated.great[i], cells["calibrated_great_score"]),
                _cell(metrics.rdi[i], cells["rdi"]),
                _cell(metrics.nrgc[i], cells["nrgc"]),
                _cell(metrics.wcr[i], cells["wcr"]),
                Cell(value=facts.readable(worst), printed=cells["wcr_class"], agrees=worst == cells["wcr_class"]),
                _cell(metrics.fp_great[i], cells["fp_great"]),
            ),
        )

    return Table(
        title=f"The {facts.n_models} {TITLES[facts.dataset]} models ({MODEL_TABLE[facts.dataset]})",
        columns=("RobustBench", "GREAT", "calibrated", "RDI", "NRGC", "WCR", "worst class", "FP-GREAT"),
        digits=(2, 3, 3, 3, 3, 3, None, 3),
        rows=tuple(row(printed) for printed in facts.published.model_table),
        note=f"Recomputed from the class scores. RobustBench: accuracy under AutoAttack in percent, not recomputed. "
        f"Calibrated: the GREAT score at T = {facts.temperature:.2f}; all other columns are at T = 1.",
    )


def _class_table(facts: PaperFacts) -> Table:
    names = facts.published.class_names

    def row(printed: PrintedRow) -> Row:
        i = facts.model_of(printed)
        own = [_cell(facts.scores[i, k], printed.cells[name]) for k, name in enumerate(names)]
        return Row(name=facts.names[i], cells=(*own, _cell(facts.plain.great[i], printed.cells["aggregate"])))

    return Table(
        title="Class scores at T = 1 (Table 5)",
        columns=(*names, "all"),
        digits=(3,) * (len(names) + 1),
        rows=tuple(row(printed) for printed in facts.published.class_table),
        note="As published in full precision; all: the weighted mean.",
    )


def _extreme_classes(facts: PaperFacts) -> Table:
    order = np.argsort(facts.scores.mean(axis=0), kind="stable")
    names = facts.published.class_names
    return Table(
        title=f"The {ENDS} lowest and the {ENDS} highest of {facts.n_classes:,} classes at T = 1",
        columns=facts.names,
        digits=(3,) * facts.n_models,
        rows=tuple(
            Row(name=f"{names[k]} {facts.readable(names[k])}", cells=tuple(map(_cell, facts.scores[:, k])))
            for k in (*order[:ENDS], *order[-ENDS:])
        ),
        note="Ordered by the mean over the models. The paper prints no class table for ImageNet.",
    )


def _rank_table(facts: PaperFacts) -> Table:
    plain = facts.plain
    before, after = places(plain.great), places(plain.fp_great)
    columns = np.column_stack((plain.great, plain.rdi, plain.fp_great, before, after, before - after))
    return Table(
        title="Places by FP-GREAT",
        columns=("GREAT", "RDI", "FP-GREAT", "place by GREAT", "place by FP-GREAT", "places won"),
        digits=(3, 3, 3, 0, 0, 0),
        rows=tuple(Row(name=facts.names[i], cells=tuple(map(_cell, columns[i]))) for i in np.argsort(after)),
        note="FP-GREAT is the class mean − 0.5 × RDI.",
    )


def _numbers(table: Table, columns: Sequence[str]) -> Iterator[tuple[str, float, str]]:
    """Of each number in these columns: whose and which it is, recomputed, and as printed."""
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            if column in columns and not isinstance(cell.value, str) and cell.printed is not None:
                yield f"{row.name} {column}", cell.value, cell.printed


def _count_near(numbers: Sequence[tuple[str, float, str]]) -> int:
    return sum(within_rounding(value, printed) for _, value, printed in numbers)


@ON_TABLES.claim("model-table", published={"cifar10": "17 rows", "imagenet": "5 rows"}, where=MODEL_TABLE)
def _models_follow(facts: PaperFacts) -> Judgement:
    """Scores, RDI, NRGC, WCR (with its class) and FP-GREAT of every model follow from its class scores."""
    table = _model_table(facts, facts.plain)
    numbers = list(_numbers(table, SCORES + DISPARITIES))
    near, n_rows = _count_near(numbers), len(table.rows)
    named = sum(bool(row.cells[table.columns.index("worst class")].agrees) for row in table.rows)
    return Judgement(
        f"{near} of {len(numbers)} numbers within rounding, {named} of {n_rows} classes",
        grade(near == len(numbers) and named == n_rows),
        "Within rounding means at most 0.55 of the last printed digit, which covers numbers that were rounded twice.",
    )


@ON_TABLES.claim("class-table", published="187 numbers", where="Table 5", only="cifar10")
def _classes_follow(facts: PaperFacts) -> Judgement:
    """The class table shows the class scores at T = 1 and their weighted mean."""
    table = _class_table(facts)
    numbers = list(_numbers(table, table.columns))
    near = _count_near(numbers)
    return Judgement(
        f"{near} of {len(numbers)} within rounding",
        grade(near == len(numbers)),
        "Every class score and every aggregate was compared with the full-precision files.",
    )


@ON_TABLES.claim("rounded-twice", where={"cifar10": "Table 3, Table 5", "imagenet": "Table 4"})
def _rounded_twice(facts: PaperFacts) -> Judgement:
    """Some printed numbers are not the correct rounding of the full-precision ones."""
    classes = _class_table(facts)
    numbers = [*_numbers(_model_table(facts, facts.plain), SCORES + DISPARITIES), *_numbers(classes, classes.columns)]
    wrong = [entry for entry in numbers if not rounds_to(entry[1], entry[2])]
    twice = sum(rounds_twice_to(value, printed) for _, value, printed in wrong)
    examples = "; ".join(f"{what} {printed} for {value:.5f}" for what, value, printed in wrong[:EXAMPLES]) or "None"
    more = f" and {len(wrong) - EXAMPLES} more" if len(wrong) > EXAMPLES else ""
    return finding(
        f"{len(wrong)} of {len(numbers)}; rounding twice explains {twice}",
        f"{examples}{more}. Rounding twice is to four decimals first, then to three. No conclusion changes.",
    )


@ON_TABLES.claim("table-order", published="sorted", where=MODEL_TABLE)
def _sorted(facts: PaperFacts) -> Judgement:
    """The table of models is sorted by RobustBench accuracy."""
    printed = [(float(row.cells["robustbench_accuracy"]), row.printed_name) for row in facts.published.model_table]
    breaks = [
        f"{upper} stands above {lower}" for (first, upper), (second, lower) in pairwise(printed) if second > first
    ]
    return Judgement(
        f"{len(breaks)} of {len(printed) - 1} neighbours out of order",
        grade(not breaks, part=True),
        f"{'; '.join(breaks)}, though its accuracy is lower." if breaks else "From the highest accuracy to the lowest.",
    )


@ON_TABLES.claim("decomposition", published="error 0", where="Sections 3.2 and 4.3")
def _decomposition(facts: PaperFacts) -> Judgement:
    """The weighted mean of the class scores recovers the aggregate score with zero numerical error."""
    stated = np.array([model.metrics["great_score"] for model in facts.published.models])
    error = float(np.abs(facts.plain.great - stated).max())
    return Judgement(
        f"largest error {error:.0e}" if error else "largest error 0",
        Standing.SAYS_LITTLE if error <= EXACT else Standing.FAILS,
        "True of any partition, by algebra; and as all classes have the same number of samples here, the weights are "
        "not put to the test.",
    )


@ON_TABLES.claim(
    "temperature-of-disparity",
    published="no temperature given",
    where={dataset: f"{table}, Section 3.4" for dataset, table in MODEL_TABLE.items()},
)
def _temperature_of_disparity(facts: PaperFacts) -> Judgement:
    """After calibration all scores are recomputed; the disparity columns stand beside the calibrated one."""
    plain, calibrated = (
        list(_numbers(_model_table(facts, metrics), DISPARITIES)) for metrics in (facts.plain, facts.calibrated)
    )
    at_one, at_best = _count_near(plain), _count_near(calibrated)
    return Judgement(
        f"{at_one} of {len(plain)} numbers match T = 1, {at_best} match T = {facts.temperature:.2f}",
        Standing.UNCLEAR if at_one == len(plain) and at_best < len(calibrated) else Standing.FAILS,
        "The table does not say so, but RDI, NRGC, WCR and FP-GREAT are those of the uncalibrated score.",
    )
