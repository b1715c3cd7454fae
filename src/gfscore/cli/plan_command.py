"""``gfscore plan``: how many samples a wanted precision needs, and back."""

import json
from dataclasses import asdict
from typing import Annotated, Literal

import typer
from rich.table import Table
from rich.text import Text

from gfscore import views
from gfscore.cli.binding import Call, command
from gfscore.cli.screens import screen
from gfscore.cli.streams import write_data
from gfscore.jobs.plan import plan


@command(plan)
def plan_command(job: Call, *, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Say how many samples per class a half-width needs, or what half-width n samples buy, for each interval."""
    plans = job()
    if as_json:
        write_data(json.dumps([asdict(entry) for entry in plans], indent=1) + "\n")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("interval", "samples per class", "half-width", "for which scores"):
        justify: Literal["left", "right"] = "right" if heading in ("samples per class", "half-width") else "left"
        table.add_column(heading, justify=justify, no_wrap=heading != "for which scores")
    for entry in plans:
        table.add_row(entry.method, f"{entry.n:,}", views.number(entry.radius, 4), Text(entry.basis, style="dim"))
    console = screen()
    console.print(table)
    console.print(
        Text(
            "Half-width: half of the distance between both ends of a class interval, in an audit whose intervals hold "
            f"together with probability {1 - job.words['delta']:g}. On average: single classes are wider, "
            "others narrower. The RDI, a difference of two, is known half as well.",
            style="dim",
        )
    )
