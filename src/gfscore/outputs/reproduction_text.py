"""A recomputed paper, for the terminal and for the documentation."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, Group
from rich.table import Table as RichTable
from rich.text import Text

from gfscore import views
from gfscore.outputs.escaping import markdown_cell, markdown_row
from gfscore.outputs.fitting import split_columns
from gfscore.paper import Cell, Origin, PaperClaim, Reproduction, Row, Standing, Table

STYLES = dict.fromkeys(Standing, "yellow") | {
    Standing.HOLDS: "green",
    Standing.FAILS: "red",
    Standing.FINDING: "cyan",
}
MARK = "*"  # on a number that the paper prints otherwise
INTRODUCTION = """\
The GF-Score paper (Shah, Visavadiya and Padala 2026) was published together with its class scores in full precision.
This page recomputes the paper's tables from them with this library, and sets each statement that numbers can decide
beside what they give. Every number and every verdict below is computed when the page is built; the same comes from

```console
$ gfscore reproduce cifar10 --from-published
$ gfscore reproduce imagenet --from-published
```

It is no new experiment: no model was run, so it shows whether the paper follows from its numbers, not whether the
numbers are right.
"""
MEANING = """\
- **The arithmetic can be relied on.** The tables follow from the class scores, and the counts of weakest and strongest
  classes are right. What the paper defines can be computed, and this library computes the same.
- **The calibrated temperature is nothing to rely on.** The value reported for CIFAR-10 belongs to another objective
  than the one defined; by the paper's own criterion the calibrated scores do worse than the uncalibrated ones, and
  clean accuracy alone does better than both. This library calibrates only when asked, names the objective, reports
  plateaus and edges, and shows clean accuracy beside the result.
- **“More robust models are less fair” is true of one measure and not of another.** A range grows with the scores; a
  relative measure falls. Read RDI and NRGC together, and the class profile before either.
- **The bounds are wide.** They cannot tell most models apart, nor name the worst class. An audit should show its
  intervals, and this library does.
- **A zero is first of all a clean error.** A misclassified sample scores zero, so the profile follows clean accuracy
  closely: look at both.
- **The score is not a certificate.** It changes with a temperature that changes no decision.
"""


def show_reproduction(reproduction: Reproduction, console: Console) -> None:
    """Print the tables and the claims; what is wider than the terminal stands in blocks, and nothing is cut short."""
    console.print(
        Group(
            Text(f"The GF-Score paper recomputed: {reproduction.title}", style="bold"),
            Text(f"{reproduction.setup}.", style="dim"),
            *(part for table in reproduction.tables for part in (Text(), _table(table, console))),
            Text(),
            Text("What the paper says, and what its numbers give", style="bold"),
            _claims(reproduction.claims),
            _summary(reproduction.claims),
            Text(),
            *_sources(reproduction.sources),
        ),
    )


def show_table(table: Table, console: Console) -> None:
    """Print one table, with what the paper prints otherwise below it."""
    console.print(_table(table, console))


def _table(table: Table, console: Console) -> Group:
    grid = RichTable(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    grid.add_column("", no_wrap=True)
    texts = [_texts(table, row) for row in table.rows]
    for column, digits in zip(table.columns, table.digits, strict=True):
        grid.add_column(column, justify="left" if digits is None else "right", no_wrap=True)
    for row, own in zip(table.rows, texts, strict=True):
        grid.add_row(Text(row.name), *map(Text, own))
    notes = [table.note, *_differences(table)]
    return Group(
        Text(table.title, style="bold"), *split_columns(console, grid), *(Text(note, style="dim") for note in notes)
    )


def _texts(table: Table, row: Row) -> list[str]:
    return [
        _value(cell, digits) + (MARK if cell.agrees is False else "")
        for cell, digits in zip(row.cells, table.digits, strict=True)
    ]


def _value(cell: Cell, digits: int | None) -> str:
    return cell.value if isinstance(cell.value, str) else views.number(cell.value, digits or 0)


def _differences(table: Table) -> Iterator[str]:
    """A line about the numbers that the paper prints otherwise, if there are any."""
    differing = [
        f"{row.name} {column} {cell.printed}"
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
        if cell.agrees is False
    ]
    if differing:
        yield f"{MARK} The paper prints: {', '.join(differing)}."


def _summary(claims: Sequence[PaperClaim]) -> Text:
    counts = Counter(claim.verdict for claim in claims)
    parts = [
        Text(f"{verdict.value}: {counts[verdict]}", style=STYLES[verdict]) for verdict in Standing if counts[verdict]
    ]
    return Text.assemble(f"{len(claims)} in all. ", Text(" · ").join(parts))


def _claims(claims: Iterable[PaperClaim]) -> RichTable:
    """A block per claim: verdict, statement, both values, and why."""
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=max(len(verdict.value) for verdict in Standing))
    grid.add_column()
    for claim in claims:
        block = Text(claim.statement)
        if claim.where is not None:
            block.append(f" ({claim.where})", style="dim")
        if claim.published is not None:
            block.append("\npaper       ", style="dim").append(claim.published)
        block.append("\nrecomputed  ", style="dim").append(claim.recomputed, style="bold")
        block.append(f"\n{claim.explanation}\n", style="dim")
        grid.add_row(Text(claim.verdict.value, style=f"bold {STYLES[claim.verdict]}"), block)
    return grid


def _sources(sources: Iterable[Origin]) -> Iterator[Text]:
    names: dict[str, list[str]] = {}
    for source in sources:
        names.setdefault(source.origin, []).append(source.name)
    yield Text("Sources", style="bold")
    for origin, known in names.items():
        yield Text(f"{', '.join(known)}: {origin}.", style="dim")


def markdown_page(reproductions: Sequence[Reproduction]) -> str:
    """The page "Reproducing the paper" of the documentation, from a reproduction of each experiment."""
    shared = tuple(claim for claim in reproductions[0].claims if all(claim in other.claims for other in reproductions))
    parts = ["# Reproducing the paper", "", INTRODUCTION]
    parts += ["## What came out", "", *_overview(reproductions), "", "## What it means", "", MEANING]
    for reproduction in reproductions:
        own = [claim for claim in reproduction.claims if claim not in shared]
        parts += [f"## {reproduction.title}", "", f"{reproduction.setup}.", ""]
        parts += ["### What the paper says, and what its numbers give", "", *_markdown_claims(own), ""]
        for table in reproduction.tables:
            parts += [f"### {table.title}", "", *_markdown_table(table), ""]
    if shared:
        parts += ["## Both experiments", "", *_markdown_claims(shared), ""]
    sources = dict.fromkeys(source for reproduction in reproductions for source in reproduction.sources)
    origins = _rows(("name", "what", "source"), [(source.name, source.what, source.origin) for source in sources])
    return "\n".join([*parts, "## Sources", "", *origins, ""])


def _overview(reproductions: Sequence[Reproduction]) -> list[str]:
    counts = [Counter(claim.verdict for claim in reproduction.claims) for reproduction in reproductions]
    rows = [
        (verdict.value, *(str(count[verdict]) for count in counts))
        for verdict in Standing
        if any(count[verdict] for count in counts)
    ]
    return _rows(("verdict", *(reproduction.title for reproduction in reproductions)), rows, numbers=True)


def _markdown_claims(claims: Iterable[PaperClaim]) -> list[str]:
    """A row per claim; why it is judged so stands below the statement, to keep the table narrow."""
    lines = ["| verdict | what the paper says | paper | recomputed |", "|---|---|---|---|"]
    for claim in claims:
        where = f" ({claim.where})" if claim.where else ""
        statement, why = markdown_cell(claim.statement + where), markdown_cell(claim.explanation)
        values = f"{markdown_cell(claim.published or '–')} | {markdown_cell(claim.recomputed)}"
        lines.append(f"| {claim.verdict.value} | {statement}<br><small>{why}</small> | {values} |")
    return lines


def _markdown_table(table: Table) -> list[str]:
    rows = [(row.name, *_texts(table, row)) for row in table.rows]
    lines = _rows(("", *table.columns), rows, numbers=True)
    return lines + [line for note in (table.note, *_differences(table)) for line in ("", markdown_cell(note))]


def _rows(headings: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> list[str]:
    first, *others = [markdown_row(map(markdown_cell, cells)) for cells in (headings, *rows)]
    return [first, "|---" + ("|---:" if numbers else "|---") * (len(headings) - 1) + "|", *others]
