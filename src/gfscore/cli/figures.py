"""``gfscore figures``: an audit as pictures."""

from collections import Counter
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from gfscore import planning
from gfscore.cli.screens import say, screen
from gfscore.errors import OptionError
from gfscore.results import Audit
from gfscore.storage import redact


class Format(StrEnum):
    """How a figure is written."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"
    HTML = "html"  # interactive, and works offline


def figures_command(
    audit: Annotated[Path, typer.Argument(help="An audit.json.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the figures.")] = Path("gfscore-figures"),
    form: Annotated[Format, typer.Option("--format", help="How to write them.")] = Format.PNG,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Draw only this figure. May be given several times.")
    ] = None,
    scale: Annotated[float, typer.Option(min=0.5, max=8, help="Pixels of a PNG for each point.")] = 2,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Draw every figure that an audit holds the numbers for, and say which were left out and why."""
    from gfscore.outputs.figures import FIGURES, draw_all, save  # Altair takes half a second to load

    result = Audit.load(audit)
    for name in only or ():
        if name not in FIGURES:
            raise OptionError(f"there is no figure {name!r}. Choose from: {', '.join(FIGURES)}.")
    console = screen(quiet=quiet)
    chosen = {name: FIGURES[name] for name in only or FIGURES}
    for name, drawn in groupby(
        draw_all(chosen, result, radii=planning.audit_radii(result)), key=lambda each: each.name
    ):
        left_out = Counter[str]()
        for each in drawn:
            if each.chart is None:
                left_out[str(each.reason)] += 1
                continue
            path = out / f"{each.stem}.{form}"
            save(each.chart, path, scale=scale)
            say(console, f"Written: {redact(path)} ({each.shows})")
        for reason, count in left_out.items():
            number = f" of {count} models" if count > 1 else ""
            say(console, f"Left out: {name}{number}: {reason}")
