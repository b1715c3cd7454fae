"""The paper's models, run: their audit beside the published numbers."""

from collections.abc import Sequence

from gfscore.paper.published_numbers import published
from gfscore.reproduction.facts import Facts
from gfscore.reproduction.result import Cell, Row, Table
from gfscore.reproduction.rounding import rounds_to
from gfscore.results import ModelAudit

COLUMNS = ("accuracy", "GREAT", "RDI", "NRGC", "WCR", "worst class", "FP-GREAT")
DIGITS = (4, 3, 3, 3, 3, None, 3)


def paper_models(dataset: str) -> tuple[str, ...]:
    """Names of the paper's models, as RobustBench has them."""
    return tuple(model.name for model in published(dataset).models)


def paper_activation(dataset: str) -> str:
    """The activation that the paper used."""
    return published(dataset).activation


def measured_table(audits: Sequence[ModelAudit], models: Sequence[str], dataset: str) -> Table:
    """Measured metrics of the paper's models; ``models`` has the RobustBench name of each audit."""
    facts = Facts.of(published(dataset))
    known = paper_models(dataset)
    return Table(
        title=f"Measured on {audits[0].samples.source}, {audits[0].samples.n:,} samples",
        columns=COLUMNS,
        digits=DIGITS,
        rows=tuple(_row(audit, facts, known.index(name)) for audit, name in zip(audits, models, strict=True)),
        note="An asterisk marks a value that differs from the published one in its last digit.",
    )


def _row(audit: ModelAudit, facts: Facts, index: int) -> Row:
    plain = facts.plain
    pairs: tuple[tuple[float | str | None, float | str], ...] = (
        (audit.accuracy, facts.own_clean[index] / 100),
        (audit.aggregate, plain.great[index]),
        (audit.rdi.value, plain.rdi[index]),
        (audit.nrgc.value, plain.nrgc[index]),
        (audit.wcr.value, plain.wcr[index]),
        (audit.wcr.class_, plain.worst[index]),
        (audit.fp_great.value, plain.fp_great[index]),
    )
    cells = tuple(_cell(value, paper, digits) for (value, paper), digits in zip(pairs, DIGITS, strict=True))
    return Row(name=facts.names[index], cells=cells)


def _cell(value: float | str | None, paper: float | str, digits: int | None) -> Cell:
    printed = paper if isinstance(paper, str) else f"{paper:.{digits}f}"
    if value is None:
        return Cell(value="–", printed=printed, agrees=False)
    agrees = value == paper if isinstance(value, str) else rounds_to(value, printed)
    return Cell(value=value, printed=printed, agrees=agrees)
