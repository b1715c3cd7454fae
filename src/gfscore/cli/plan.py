"""``gfscore plan``: how many samples a wanted precision needs, and back."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table
from rich.text import Text

from gfscore import planning, views
from gfscore.cli.screens import screen
from gfscore.cli.streams import write_data
from gfscore.results import Audit


def plan_command(
    radius: Annotated[float | None, typer.Option(help="Half-width wanted for class scores.")] = None,
    n: Annotated[int | None, typer.Option("--n", help="Samples per class: say what half-width they buy.")] = None,
    classes: Annotated[int | None, typer.Option(min=1, help="Number of classes.")] = None,
    delta: Annotated[float, typer.Option(help="All intervals hold together with probability 1 - delta.")] = 0.05,
    pilot: Annotated[
        Path | None, typer.Option(help="An audit.json of a first, small audit: its means and deviations are used.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the simulation for betting.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say how many samples per class a half-width needs, or what half-width n samples buy, for each interval."""
    first = None if pilot is None else Audit.load(pilot).model
    plans = planning.plan(radius=radius, n=n, n_classes=classes, pilot=first, delta=delta, seed=seed)
    if as_json:
        write_data(json.dumps([asdict(plan) for plan in plans], indent=1) + "\n")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("interval", "samples per class", "half-width", "for which scores"):
        justify: Literal["left", "right"] = "right" if heading in ("samples per class", "half-width") else "left"
        table.add_column(heading, justify=justify, no_wrap=heading != "for which scores")
    for plan in plans:
        table.add_row(plan.method, f"{plan.n:,}", views.number(plan.radius, 4), Text(plan.basis, style="dim"))
    console = screen()
    console.print(table)
    console.print(
        Text(
            "Half-width: half of the distance between both ends of a class interval, in an audit whose intervals hold "
            f"together with probability {1 - delta:g}. On average: single classes are wider, others narrower. "
            "The RDI, a difference of two, is known half as well.",
            style="dim",
        )
    )
