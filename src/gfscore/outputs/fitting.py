"""Tables that fit their terminal: columns go, the least needed first, and no name or number is ever cut or split."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.style import StyleType
from rich.table import Column, Table
from rich.text import Text

from gfscore import views
from gfscore.outputs.sentences import both_ends
from gfscore.results import Flag

Entry = TypeVar("Entry")
RowMaker = Callable[[Entry], Sequence[Text | str]]
UNITS = r"[−-]?\d[\d.,]* %", r"\[[−\d][^\]\n]{,60}\]", r"\[default: \S+\]", r"\b[A-Za-z]\*? = "
WORD = re.compile(rf"(?:{'|'.join(UNITS)}|\S)+\s*")  # what is never broken
PROSE_WIDTH = 24  # columns that a text which is broken between its words has at least
INDENT, GAP = 2, 2  # columns before what belongs to a name above it, and between two cells


def column_table(first: str, *numbers: str, prose: str | None = None, header: bool = True) -> Table:
    """An empty table without lines: a column of names, columns of numbers, and one of text that may be broken."""
    table = Table(box=None, pad_edge=False, header_style="bold", show_header=header)
    table.add_column(first, no_wrap=True)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    if prose is not None:
        table.add_column(prose, min_width=PROSE_WIDTH)
    return table


def add_ends(table: Table, ordered: Sequence[Entry], row: RowMaker[Entry], more: str = "more") -> Table:
    """The table with a row for each entry; of many for those at both ends, and a line that counts the others."""
    low, high = both_ends(ordered)
    for entry in low:
        table.add_row(*row(entry))
    if high:
        table.add_row(Text(f"… {len(ordered) - len(low) - len(high):,} {more}", style="dim"))
    for entry in high:
        table.add_row(*row(entry))
    return table


def fit(console: Console, table: Table, spare: Sequence[str] = ()) -> RenderableType:
    """The table as its terminal can show it, with as many ``spare`` columns as :func:`drop_columns` leaves.

    Where it is still too wide, names stand on lines of their own above their numbers; where the numbers are too wide
    side by side, each of them does.
    """
    table = drop_columns(console, table, spare)
    return _broken(console, table) if _fits(console, table) else _stack(console, table)


def drop_columns(console: Console, table: Table, spare: Sequence[str]) -> Table:
    """The table with as many of its columns as fit; ``spare`` are headings that may go, the least needed first."""
    for heading in spare:
        if _fits(console, table):
            break
        table = _select(table, [column for column in table.columns if column.header != heading])
    return table


def split_columns(console: Console, table: Table) -> list[Table]:
    """The table in as many blocks as it takes for each to fit, every one with the first column; all rows in each.

    Headings of columns that are too wide together are broken between words first.
    """
    if _fits(console, table):
        return [table]
    first, *others = [replace(column, header=_narrow_heading(column)) for column in table.columns]
    block, done = [first, others[0]], list[Table]()
    for column in others[1:]:
        if not _fits(console, _select(table, [*block, column])):
            done.append(_select(table, block))
            block = [first]
        block.append(column)
    return [*done, _select(table, block)]


def _narrow_heading(column: Column) -> str:
    width = max(cell.cell_len for cell in _cells(column))
    return "\n".join(line.plain for line in wrap_words(Text(str(column.header)), width))


def wrap_words(text: Text, width: int) -> list[Text]:
    """A text in lines that are broken between words; a number and its unit, and both ends of an interval, are one word.

    >>> [line.plain for line in wrap_words(Text("fell by 12.5 % [10.1 %, 14.9 %] in all"), 12)]
    ['fell by', '12.5 %', '[10.1 %, 14.9 %]', 'in all']
    """
    lines = list[Text]()
    for paragraph in text.split("\n", allow_blank=True):
        used, breaks = 0, list[int]()
        for word in WORD.finditer(paragraph.plain):
            if used and used + cell_len(word[0].rstrip()) > width:
                breaks.append(word.start())
                used = 0
            used += cell_len(word[0])
        lines += paragraph.divide(breaks)
    for line in lines:
        line.rstrip()
    return lines


def _fits(console: Console, table: Table) -> bool:
    _, right, _, left = table.padding
    gaps = (right + left) * (len(table.columns) - 1)
    return sum(_least_width(column, header=table.show_header) for column in table.columns) + gaps <= console.width


def _least_width(column: Column, *, header: bool) -> int:
    texts = [*_cells(column), *([Text(str(column.header))] if header else [])]
    if column.no_wrap:
        return max((cell_len(line) for text in texts for line in text.plain.split("\n")), default=0)
    words = [cell_len(word.rstrip()) for text in texts for word in WORD.findall(text.plain)]
    return max([column.min_width or 0, *words])


def _broken(console: Console, table: Table) -> Table:
    """The table with the texts of its last column in lines, where that is one which may be broken."""
    *others, last = table.columns
    if last.no_wrap:
        return table
    _, right, _, left = table.padding
    used = sum(_least_width(column, header=table.show_header) + right + left for column in others)
    lines = [wrap_words(cell, console.width - used) for cell in _cells(last)]
    broken = Column(header=last.header, no_wrap=True, _cells=[Text("\n").join(each) for each in lines])
    return _select(table, [*others, broken])


def _select(table: Table, columns: Sequence[Column]) -> Table:
    """All rows with some of the columns, which hold the cells."""
    part = Table(
        *columns,
        box=table.box,
        padding=table.padding,
        pad_edge=table.pad_edge,
        header_style=table.header_style,
        show_header=table.show_header,
    )
    part.rows = table.rows
    return part


def _stack(console: Console, table: Table) -> Group:
    """Each name on a line of its own, and below it the cells of its row: side by side where there is room for that."""
    first, *others = (
        (str(column.header) if table.show_header else "", column, _cells(column)) for column in table.columns
    )
    whole = [entry for entry in others if entry[1].no_wrap]
    widths = [max(len(heading), *(cell.cell_len for cell in cells)) for heading, _, cells in whole]
    beside = INDENT + sum(widths) + GAP * (len(widths) - 1) <= console.width
    right = [column.justify == "right" for _, column, _ in whole]

    def row(cells: Sequence[Text]) -> Text:
        padded = [
            Text.assemble(" " * (space if to_right else 0), cell, " " * (0 if to_right else space))
            for cell, width, to_right in zip(cells, widths, right, strict=True)
            for space in [width - cell.cell_len]
        ]
        line = Text(" " * INDENT).append_text(Text(" " * GAP).join(padded))
        line.rstrip()
        return line

    head = [Text(first[0]), row([Text(heading) for heading, _, _ in whole])] if beside else [Text(first[0])]
    lines = [_whole(line, table.header_style) for line in head if line.plain.strip()]
    for number, name in enumerate(first[2]):
        lines.append(_whole(name, first[1].style))
        cells = [cells[number] for _, _, cells in whole]
        if beside and any(cell.plain for cell in cells):
            lines.append(_whole(row(cells)))
        for heading, column, cells in others:
            if cells[number].plain and not (beside and column.no_wrap):
                text = Text.assemble(f"{heading}: " if heading else "", cells[number])
                fits = text.cell_len <= console.width - INDENT
                apart = [Text(f"{heading}:"), Text.assemble(" " * INDENT, cells[number])] if heading else [text]
                whole_cell = [text] if fits else apart
                pieces = whole_cell if column.no_wrap else wrap_words(text, console.width - INDENT)
                lines += [_whole(Text.assemble(" " * INDENT, piece)) for piece in pieces]
    return Group(*lines)


def _cells(column: Column) -> list[Text]:
    """What stands in a column, without its heading."""
    return [cell if isinstance(cell, Text) else Text(str(cell)) for cell in column.cells]


def _whole(line: Text, style: StyleType = "") -> Text:
    """A line that is not broken."""
    line = line.copy()
    line.stylize(style)
    line.no_wrap, line.overflow = True, "ignore"
    return line


def flag_lines(flags: Iterable[Flag]) -> list[Text]:
    """A line for each flag, as warnings are shown."""
    return [Text(views.printable(f"! {flag.message}"), style="yellow") for flag in flags]
