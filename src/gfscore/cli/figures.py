"""``gfscore figures``: an audit as pictures."""

import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from gfscore import auditing
from gfscore.errors import OptionError, ResultError
from gfscore.results import Audit, ModelAudit

if TYPE_CHECKING:
    from gfscore.outputs.figures import Figure


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
    from gfscore.outputs.figures import FIGURES, save  # Altair takes half a second to load

    result = Audit.load(audit)
    for name in only or ():
        if name not in FIGURES:
            raise OptionError(f"there is no figure {name!r}. Choose from: {', '.join(FIGURES)}.")
    console = Console(quiet=quiet, highlight=False, markup=False, soft_wrap=True)
    for name in only or FIGURES:
        figure, left_out = FIGURES[name], dict[str, list[str]]()
        for stem, subject in _subjects(name, figure, result):
            try:
                chart = figure.draw(subject, **_numbers(figure, result))
            except ResultError as error:
                left_out.setdefault(str(error), []).append(stem)
                continue
            path = out / f"{stem}.{form}"
            save(chart, path, scale=scale)
            console.print(f"Written: {path} ({figure.shows})")
        for reason, stems in left_out.items():
            number = f" of {len(stems)} models" if len(stems) > 1 else ""
            console.print(f"Left out: {name}{number}: {reason}")


def _subjects(name: str, figure: "Figure", result: Audit) -> Iterator[tuple[str, Audit | ModelAudit]]:
    """What a figure is drawn from, and the stem of its file: the audit, or each of its models."""
    if not figure.per_model:
        yield name, result
        return
    taken: set[str] = set()
    for model in result.models:
        stem = name if len(result.models) == 1 else f"{name}-{_file_name(model.name)}"
        while stem.casefold() in taken:
            stem += "-2"
        taken.add(stem.casefold())
        yield stem, model


def _file_name(name: str) -> str:
    """A model's name without what a file's name cannot hold."""
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.")[:80] or "model"


def _numbers(figure: "Figure", result: Audit) -> dict[str, Any]:
    """What a figure needs beside its subject."""
    if figure.takes == "radii":
        model = result.models[0]
        largest = max(len(model.classes) for model in result.models)
        return {"radii": auditing.rdi_radii(largest, delta=model.interval.delta, maximum=model.score.range[1])}
    return {"calibration": result.calibration} if figure.takes == "calibration" else {}
