"""``gfscore table``: an audit as LaTeX, Markdown or CSV."""

from pathlib import Path
from typing import Annotated

import typer

from gfscore.cli.streams import write_data
from gfscore.outputs.tables import Layout, TableFormat, render_table
from gfscore.results import Audit
from gfscore.storage import write_text


def table_command(
    audit: Annotated[Path, typer.Argument(help="An audit.json.")],
    form: Annotated[TableFormat, typer.Option("--format", help="How to write it.")] = TableFormat.MARKDOWN,
    layout: Annotated[
        Layout | None,
        typer.Option(
            help="What a row is: a model, a class, or a model with a column per class (matrix).  "
            "[default: classes for one model, models for several]"
        ),
    ] = None,
    digits: Annotated[int, typer.Option(min=0, max=15, help="Digits after the point; CSV has them all.")] = 3,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write.  [default: print it]")] = None,
) -> None:
    """Write the tables of an audit for a paper, a README or a spreadsheet."""
    result = Audit.load(audit)
    chosen = layout or (Layout.CLASSES if len(result.models) == 1 else Layout.MODELS)
    text = render_table(result, layout=chosen, form=form, digits=digits)
    if out is None:
        write_data(text)
    else:
        write_text(out, text)
