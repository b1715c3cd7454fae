"""The recomputed tables, beside what the paper prints."""

import numpy as np

from gfscore.paper.published_numbers import PrintedRow
from gfscore.reproduction.facts import TITLES, Facts, places
from gfscore.reproduction.printed import MODEL_TABLE, index_of
from gfscore.reproduction.result import Cell, Row, Table
from gfscore.reproduction.rounding import rounds_to

ENDS = 10  # classes at each end, when there are too many to show


def tables(facts: Facts) -> tuple[Table, ...]:
    """Models, classes, and the ranking by FP-GREAT."""
    classes = _class_table(facts) if facts.published.class_table else _extreme_classes(facts)
    return (_model_table(facts), classes, _rank_table(facts))


def _cell(value: float, printed: str | None = None) -> Cell:
    return Cell(value=value, printed=printed, agrees=None if printed is None else rounds_to(value, printed))


def _model_table(facts: Facts) -> Table:
    plain = facts.plain

    def row(printed: PrintedRow) -> Row:
        i, cells = index_of(facts, printed), printed.cells
        worst = plain.worst[i]
        return Row(
            name=facts.names[i],
            cells=(
                _cell(facts.robust[i], cells["robustbench_accuracy"]),
                _cell(plain.great[i], cells["great_score"]),
                _cell(facts.calibrated.great[i], cells["calibrated_great_score"]),
                _cell(plain.rdi[i], cells["rdi"]),
                _cell(plain.nrgc[i], cells["nrgc"]),
                _cell(plain.wcr[i], cells["wcr"]),
                Cell(value=facts.readable(worst), printed=cells["wcr_class"], agrees=worst == cells["wcr_class"]),
                _cell(plain.fp_great[i], cells["fp_great"]),
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


def _class_table(facts: Facts) -> Table:
    names = facts.published.class_names

    def row(printed: PrintedRow) -> Row:
        i = index_of(facts, printed)
        own = [_cell(facts.scores[i, k], printed.cells[name]) for k, name in enumerate(names)]
        return Row(name=facts.names[i], cells=(*own, _cell(facts.plain.great[i], printed.cells["aggregate"])))

    return Table(
        title="Class scores at T = 1 (Table 5)",
        columns=(*names, "all"),
        digits=(3,) * (len(names) + 1),
        rows=tuple(row(printed) for printed in facts.published.class_table),
        note="As published in full precision; all: the weighted mean.",
    )


def _extreme_classes(facts: Facts) -> Table:
    order = np.argsort(facts.scores.mean(axis=0), kind="stable")
    shown = [*order[:ENDS].tolist(), *order[-ENDS:].tolist()]
    names = facts.published.class_names
    return Table(
        title=f"The {ENDS} lowest and the {ENDS} highest of {facts.n_classes:,} classes at T = 1",
        columns=facts.names,
        digits=(3,) * facts.n_models,
        rows=tuple(
            Row(
                name=f"{names[k]} {facts.readable(names[k])}", cells=tuple(_cell(score) for score in facts.scores[:, k])
            )
            for k in shown
        ),
        note="Ordered by the mean over the models. The paper prints no class table for ImageNet.",
    )


def _rank_table(facts: Facts) -> Table:
    before, after = places(facts.plain.great), places(facts.plain.fp_great)
    order = np.argsort(after)
    return Table(
        title="Places by FP-GREAT",
        columns=("GREAT", "RDI", "FP-GREAT", "place by GREAT", "place by FP-GREAT", "places won"),
        digits=(3, 3, 3, 0, 0, 0),
        rows=tuple(
            Row(
                name=facts.names[i],
                cells=tuple(
                    _cell(float(value))
                    for value in (
                        facts.plain.great[i],
                        facts.plain.rdi[i],
                        facts.plain.fp_great[i],
                        before[i],
                        after[i],
                        before[i] - after[i],
                    )
                ),
            )
            for i in order
        ),
        note="FP-GREAT is the class mean − 0.5 × RDI.",
    )
