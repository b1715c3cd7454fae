"""A leaderboard for people: as a table of a terminal, as CSV, as a page that works offline, and in sentences."""

import io
from html import escape

from rich.console import Console, Group
from rich.text import Text

from gfscore import views
from gfscore.outputs.escaping import as_html, write_csv
from gfscore.outputs.fitting import column_table, fit
from gfscore.results import Leaderboard, RankedModel

SPARE = ("clean", "all samples", "which")  # what a narrow terminal goes without, the least needed first
WIDTH = 100  # columns of a text
COLUMNS = (
    *("rank", "best_rank", "worst_rank", "model", "worst_class_robust_accuracy", "lower", "upper", "worst_class"),
    *("robust_accuracy", "clean_accuracy", "n", "kind", "norm", "eps", "not_ranked"),
)
SOURCES = {
    "attacked": "attacks on every sample: what they left correct",
    "bounded": "attacks on some samples, and radii that predict the others: an interval that holds for the attack",
    "certified": "certified radii: proven, under their premise",
    "estimated": "radii: estimated, no bound",
}


def ordinal(number: int) -> str:
    """A place as people say it.

    >>> [ordinal(number) for number in (1, 2, 3, 4, 11, 12, 13, 21, 102, 111)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '102nd', '111th']
    """
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def ranks_text(model: RankedModel) -> str:
    """The ranks that the data allow."""
    first, last = model.ranks
    return ordinal(first) if first == last else f"{ordinal(first)} to {ordinal(last)}"


def place_text(model: RankedModel) -> str:
    """The ranks that the data allow, in a sentence."""
    first, last = model.ranks
    return f"is {ordinal(first)}" if first == last else f"is between {ordinal(first)} and {ordinal(last)}"


def title(board: Leaderboard) -> str:
    """What the models are ranked by."""
    at = f"{views.eps_text(board.eps, board.norm)} ({views.norm_text(board.norm)})"
    on = "" if board.data is None else f", on {views.printable(board.data.rstrip('/').rpartition('/')[2])}"
    return f"{len(board.models)} models by the robust accuracy of their worst {board.partition} at {at}{on}"


def notes(board: Leaderboard) -> list[str]:
    """What a reader must know: where the numbers come from, and what the ranks are worth."""
    found = [f"From {SOURCES[board.kind]}."]
    levels = {model.delta for model in board.models}
    share = f"{min(levels):.2g}" if len(levels) == 1 else f"{min(levels):.2g} to {max(levels):.2g}"
    found.append(
        f"Ranks and intervals of all models hold together with probability {1 - board.delta:.4g}: those of each may "
        f"fail with {share}. A rank is left open where intervals overlap, whatever the order of the estimates."
    )
    if board.kind == "estimated":
        found.append(
            "Attacks may leave less or more, and models in another order: intervals and ranks cover the choice of "
            "samples only. gfscore check --autoattack attacks."
        )
    if board.data is None:
        found.append("It is not known whether all were run on the same data.")
    return found


def headline(board: Leaderboard) -> str:
    """Who leads, as far as the data tell."""
    leaders = [model for model in board.models if model.ranks[0] == 1]
    first = views.printable(board.models[0].name)
    if len(leaders) == 1:
        return f"{first} leads: no other model can be first."
    others = len(leaders) - 1
    return f"{first} {place_text(board.models[0])}: {others:,} other{'s' if others > 1 else ''} may be first as well."


def show_leaderboard(board: Leaderboard, console: Console) -> None:
    """The models, the highest first, each with the ranks that the data allow; then those that have none."""
    table = column_table("model", "rank", f"worst {board.partition}", "which", "all samples", "clean")
    for column, heading in zip(table.columns, ("model", "rank"), strict=False):
        column.header, column.justify = heading, "left"
    for model in board.models:
        table.add_row(
            Text(views.printable(model.name)),
            ranks_text(model),
            views.share_text(model.worst),
            Text(views.printable(model.worst_class)),
            "–" if model.whole is None else views.percent(model.whole),
            views.percent(model.accuracy),
        )
    parts = [Text(title(board), style="bold"), Text(), fit(console, table, SPARE), Text(), Text(headline(board))]
    parts += [Text(note, style="dim") for note in notes(board)]
    if board.unranked:
        parts.append(Text("\nNot ranked, which is not last:"))
        parts += [Text(f"{views.printable(each.name)}: {views.printable(each.reason)}") for each in board.unranked]
    console.print(Group(*parts))


def board_text(board: Leaderboard) -> str:
    """The leaderboard as a terminal of some columns shows it."""
    text = io.StringIO()
    show_leaderboard(board, Console(file=text, width=WIDTH, color_system=None, legacy_windows=False))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()).rstrip()


def board_csv(board: Leaderboard) -> str:
    """A row for each model, numbers in full; models that are not ranked come last, without numbers and with why."""
    about = (board.kind, board.norm, board.eps)
    rows: list[tuple[object, ...]] = [COLUMNS]
    for model in board.models:
        low, high = model.worst.interval or (None, None)
        worst = (model.worst.value, low, high, model.worst_class)
        rows.append((model.rank, *model.ranks, model.name, *worst, model.whole, model.accuracy, model.n, *about, None))
    empty = [None] * (len(COLUMNS) - 5)
    rows += [(None, None, None, each.name, *empty, each.reason) for each in board.unranked]
    text = io.StringIO()
    write_csv(text, [list(row) for row in rows])
    return text.getvalue()


def board_table(board: Leaderboard) -> str:
    """The table of a page: each model with a strip of the ranks that it may have; every name is escaped."""
    headings = ("Model", "Rank", "", f"Worst {board.partition}", "Which", "All samples", "Clean")
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    rows = "".join(
        f'<tr><th scope="row">{as_html(model.name)}</th>{"".join(map(_cell, headings[1:], _cells(model, board)))}</tr>'
        for model in board.models
    )
    return f'<table class="ladder"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _cells(model: RankedModel, board: Leaderboard) -> tuple[str, ...]:
    whole = "–" if model.whole is None else views.percent(model.whole)
    return (
        ranks_text(model),
        _strip(model, len(board.models)),
        escape(views.share_text(model.worst)),
        as_html(model.worst_class),
        whole,
        views.percent(model.accuracy).replace(" ", "&nbsp;"),  # never torn at the end of a line
    )


def _cell(heading: str, html: str) -> str:
    """A cell with its heading in it, for pages on which cells stand below each other."""
    return f'<td data-l="{escape(heading)}">{html}</td>'


def unranked_list(board: Leaderboard) -> str:
    """The models without a rank, with the reasons; nothing where there is none."""
    items = "".join(f"<li>{as_html(each.name)}: {escape(views.printable(each.reason))}</li>" for each in board.unranked)
    return f"<ul>{items}</ul>" if items else ""


def board_html(board: Leaderboard) -> str:
    """The leaderboard for a notebook."""
    said = "".join(f"<p><small>{escape(note)}</small></p>" for note in notes(board))
    apart = f"<p>Not ranked, which is not last:</p>{unranked_list(board)}" if board.unranked else ""
    return f"<h4>{escape(title(board))}</h4>{board_table(board)}<p>{escape(headline(board))}</p>{said}{apart}"


def _strip(model: RankedModel, count: int) -> str:
    """A line from the best rank to the worst, a dot at the estimate's, for those who see; the cell before says it."""
    step = 160 / count
    first, last, here = (step * (rank - 0.5) for rank in (*model.ranks, model.rank))
    line = f'<line x1="{first - step / 2 + 1:.1f}" x2="{last + step / 2 - 1:.1f}" y1="7" y2="7"'
    return (
        '<svg width="160" height="14" viewBox="0 0 160 14" aria-hidden="true">'
        f'{line} stroke="#3b82c4" stroke-width="6"></line>'
        f'<circle cx="{here:.1f}" cy="7" r="4" fill="#d9792b"></circle></svg>'
    )
