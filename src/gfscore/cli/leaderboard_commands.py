"""``gfscore leaderboard``: models ranked, on the screen and as page, table, picture or JSON."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from gfscore.cli.binding import Call, Quiet, command
from gfscore.cli.screens import say, screen, write_data
from gfscore.cli.written import Force, check_free, say_replaced
from gfscore.errors import OptionError
from gfscore.jobs.leaderboard import leaderboard
from gfscore.outputs.leaderboard_text import board_csv, show_leaderboard
from gfscore.results import Leaderboard
from gfscore.storage import redact, write_text

PICTURES = (".png", ".svg", ".pdf")


def _page(board: Leaderboard) -> str:
    from gfscore.outputs.report.leaderboard_page import leaderboard_page  # which most calls do without

    return leaderboard_page(board)


TEXTS: dict[str, Callable[[Leaderboard], str]] = {".html": _page, ".csv": board_csv, ".json": Leaderboard.to_json}


@command(leaderboard)
def leaderboard_command(
    job: Call,
    *,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            "-o",
            help="File to write, by its ending: .html (a page that works offline), .csv, .json, or a picture of the "
            "ranks as .png, .svg or .pdf. May be given several times.  [default: none]",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the leaderboard as JSON.")] = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Rank models by the robust accuracy of their worst class, each with the ranks that the data allow.

    Models without it, or measured otherwise than the others, are listed with the reason, not as last.
    """
    paths = list(out or ())
    for path in paths:
        if path.suffix.lower() not in (*TEXTS, *PICTURES):
            known = ", ".join((*TEXTS, *PICTURES))
            raise OptionError(f"--out {path} has the ending {path.suffix!r}. End it in one of {known}.")
    replaced = check_free(*paths, force=force)
    board: Leaderboard = job()
    for path in paths:
        if path.suffix.lower() in TEXTS:
            write_text(path, TEXTS[path.suffix.lower()](board))
        else:
            from gfscore.outputs.figures import save  # Altair takes half a second to load

            save(board.plot(), path)
    say_replaced(replaced, quiet=quiet or as_json)
    if as_json:
        write_data(board.to_json())
    elif not quiet:
        console = screen()
        show_leaderboard(board, console)
        for path in paths:
            say(console, f"Written: {redact(path)}")
