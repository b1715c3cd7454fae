"""What follows from the published numbers of one experiment: its metrics, and its tables beside what is printed."""

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
from pydantic import Field

from gfscore.arrays import FloatArray, IntArray
from gfscore.bounds import hoeffding_radius, rdi_radius
from gfscore.metrics import formulas
from gfscore.paper.published_numbers import Dataset, PrintedRow, Published, published
from gfscore.ranking import ranks, spearman
from gfscore.results import ModelAudit, Result

TITLES: dict[Dataset, str] = {"cifar10": "CIFAR-10", "imagenet": "ImageNet"}
DELTA = 0.05  # the paper's bounds hold with probability 95 %
ROUNDED_TWICE = Decimal("0.55")  # of the last digit: what rounding to one digit more first can add up to, 0.05 + 0.5
MODEL_TABLE = {"cifar10": "Table 3", "imagenet": "Table 4"}
DISPARITIES = ("RDI", "NRGC", "WCR", "FP-GREAT")  # columns
ENDS = 10  # classes at each end, when there are too many to show


class ModelMetrics:
    """Metrics of M models at one temperature, ``(M,)`` each, and the worst and the best class of each.

    They follow from the class scores ``(M, K)`` and the sample counts ``(M, K)``.
    """

    def __init__(self, scores: FloatArray, counts: IntArray, class_names: tuple[str, ...]) -> None:
        self.great = (counts * scores).sum(axis=1) / counts.sum(axis=1)
        self.rdi = np.array([formulas.rdi(row) for row in scores])
        self.nrgc = np.array([formulas.nrgc(row) for row in scores], dtype=np.float64)
        self.wcr = np.array([formulas.wcr(row) for row in scores])
        self.fp_great = np.array([formulas.fp_great(row) for row in scores])
        self.worst = tuple(class_names[k] for k in scores.argmin(axis=1))
        self.best = tuple(class_names[k] for k in scores.argmax(axis=1))


class PaperFacts:
    """What follows from the published numbers of M models over K classes; the models are in the order of the files."""

    def __init__(self, published: Published) -> None:
        models = published.models
        clean = {entry.model: entry.clean_accuracy for entry in published.leaderboard}
        self.published = published
        self.dataset = published.dataset
        self.temperature = models[0].temperature  # the calibrated one, the same for all models
        self.names = tuple(model.short_name for model in models)
        self.scores = np.array([model.scores for model in models])  # (M, K) at T = 1
        self.calibrated_scores = np.array([model.calibrated_scores for model in models])  # (M, K)
        self.counts = np.array([model.counts for model in models])  # (M, K)
        self.accuracies = np.array([model.accuracies for model in models])  # (M, K), shares of 1
        self.robust = np.array([model.robustbench_accuracy for model in models])  # (M,), RobustBench, in percent
        self.clean = np.array([clean[model.name] for model in models], dtype=np.float64)  # (M,), too, without attack
        self.own_clean = np.array([100 * model.accuracy for model in models])  # (M,), of the published run, in percent
        self.plain = ModelMetrics(self.scores, self.counts, published.class_names)  # at T = 1
        self.calibrated = ModelMetrics(self.calibrated_scores, self.counts, published.class_names)
        self.n_models, self.n_classes = self.scores.shape
        self.n_min = int(self.counts.min())  # samples of the class that has the fewest
        # How far off all class scores of a model, or its RDI, are at most with probability 95 %: Propositions 1 and 2.
        self.class_radius = float(hoeffding_radius(self.n_min, DELTA, n_classes=self.n_classes))
        self.rdi_radius = rdi_radius(self.n_min, DELTA, n_classes=self.n_classes)

    @property
    def places_won(self) -> IntArray:
        """Places that each model rises when ranked by FP-GREAT instead of the score."""
        return places(self.plain.great) - places(self.plain.fp_great)

    def stated(self, claim: str) -> list[str]:
        """The numbers with decimals that a claim states, as printed."""
        text = next(row.published for row in self.published.claims if row.id == claim)
        return re.findall(r"\d+\.\d+", text or "")

    def readable(self, name: str) -> str:
        """The class in words where only its WordNet id was published."""
        return self.published.readable_names.get(name, name)

    def model_of(self, row: PrintedRow) -> int:
        """Index of the model that a printed row is about."""
        return next(i for i, model in enumerate(self.published.models) if model.name == row["model"])


def rho(first: FloatArray, second: FloatArray) -> float:
    """Spearman's correlation, NaN where it does not exist, so that no comparison with it holds."""
    value = spearman(first, second)
    return float("nan") if value is None else value


def places(values: FloatArray) -> IntArray:
    """Place of each model, 1 for the highest value.

    >>> places(np.array([0.2, 0.5, 0.4]))
    array([3, 1, 2])
    """
    return (len(values) + 1 - ranks(values)).astype(np.int64)


def rounds_to(value: float, printed: str) -> bool:
    """Whether ``printed`` is ``value`` correctly rounded to as many decimals as it shows.

    >>> rounds_to(0.104478, "0.104"), rounds_to(0.104478, "0.105")
    (True, False)
    """
    return _round(Decimal(value), _unit(printed)) == Decimal(printed)


def rounds_twice_to(value: float, printed: str) -> bool:
    """Whether ``printed`` is ``value`` rounded to one decimal more, and that rounded again.

    >>> rounds_twice_to(0.104478, "0.105")
    True
    """
    unit = _unit(printed)
    return _round(_round(Decimal(value), unit / 10), unit) == Decimal(printed)


def within_rounding(value: float, printed: str) -> bool:
    """Whether rounding, once or twice, explains the difference: at most 0.55 of the last printed unit.

    >>> within_rounding(0.104478, "0.105"), within_rounding(0.1044, "0.105")
    (True, False)
    """
    return abs(Decimal(value) - Decimal(printed)) <= ROUNDED_TWICE * _unit(printed)


def _unit(printed: str) -> Decimal:
    return Decimal(1).scaleb(int(Decimal(printed).as_tuple().exponent))


def _round(value: Decimal, unit: Decimal) -> Decimal:
    return value.quantize(unit, rounding=ROUND_HALF_UP)


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
    classes = class_table(facts) if facts.published.class_table else _extreme_classes(facts)
    return (model_table(facts, facts.plain), classes, _rank_table(facts))


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


def model_table(facts: PaperFacts, metrics: ModelMetrics) -> Table:
    """The table of models; the disparity columns from these metrics."""

    def row(printed: PrintedRow) -> Row:
        i = facts.model_of(printed)
        worst = metrics.worst[i]
        return Row(
            name=facts.names[i],
            cells=(
                _cell(facts.robust[i], printed["robustbench_accuracy"]),
                _cell(metrics.great[i], printed["great_score"]),
                _cell(facts.calibrated.great[i], printed["calibrated_great_score"]),
                _cell(metrics.rdi[i], printed["rdi"]),
                _cell(metrics.nrgc[i], printed["nrgc"]),
                _cell(metrics.wcr[i], printed["wcr"]),
                Cell(value=facts.readable(worst), printed=printed["wcr_class"], agrees=worst == printed["wcr_class"]),
                _cell(metrics.fp_great[i], printed["fp_great"]),
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


def class_table(facts: PaperFacts) -> Table:
    """The table of class scores; without rows where the paper prints none."""
    names = facts.published.class_names

    def row(printed: PrintedRow) -> Row:
        i = facts.model_of(printed)
        own = [_cell(facts.scores[i, k], printed[name]) for k, name in enumerate(names)]
        return Row(name=facts.names[i], cells=(*own, _cell(facts.plain.great[i], printed["aggregate"])))

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


def printed_numbers(table: Table, columns: Sequence[str] = ()) -> list[tuple[str, float, str]]:
    """Of each number in these columns, or in all: whose and which it is, recomputed, and as printed."""
    return [
        (f"{row.name} {column}", cell.value, cell.printed)
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
        if column in (columns or table.columns) and not isinstance(cell.value, str) and cell.printed is not None
    ]
