"""Tables in narrow terminals: columns are left out, or stand below each other, and no number or name is cut."""

from collections.abc import Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Column, Table

UNLIMITED = 1_000_000  # columns: what a table would take if it could


def fitting(console: Console, table: Table, spare: Sequence[str]) -> Table:
    """The table with as many of its columns as fit; ``spare`` are headings that may go, the least needed first."""
    for heading in spare:
        if _measured(console, table).maximum <= console.width:
            break
        table = _of(table, [column for column in table.columns if column.header != heading])
    return table


def blocks(console: Console, table: Table) -> list[Table]:
    """The table in as many blocks as it takes for each to fit, every one with the first column; all rows in each."""
    if _measured(console, table).minimum <= console.width:
        return [table]
    first, *others = table.columns
    block, done = [first, others[0]], list[Table]()
    for column in others[1:]:
        if _measured(console, _of(table, [*block, column])).minimum > console.width:
            done.append(_of(table, block))
            block = [first]
        block.append(column)
    return [*done, _of(table, block)]


def _measured(console: Console, table: Table) -> Measurement:
    return Measurement.get(console, console.options.update(max_width=UNLIMITED), table)


def _of(table: Table, columns: Sequence[Column]) -> Table:
    """The same rows with some of the columns, which hold the cells."""
    part = Table(
        *columns, box=table.box, padding=table.padding, pad_edge=table.pad_edge, header_style=table.header_style
    )
    part.rows = table.rows
    return part
