"""``gfscore report``: an audit as a page, as Markdown, or as a section of a model card."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gfscore.cli.screens import say, screen
from gfscore.outputs import report
from gfscore.results import Audit
from gfscore.storage import redact, write_text


class Format(StrEnum):
    """How a report is written."""

    HTML = "html"
    MARKDOWN = "md"
    MODEL_CARD = "model-card"


WRITERS: dict[Format, tuple[Callable[[Audit], str], str]] = {
    Format.HTML: (report.html, "report.html"),
    Format.MARKDOWN: (report.markdown, "report.md"),
    Format.MODEL_CARD: (report.model_card, "model-card.md"),
}


def report_command(
    audit: Annotated[Path, typer.Argument(help="An audit.json.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write.  [default: report.html, .md or model-card.md]")
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", help="A page that works offline, Markdown, or a Hugging Face model card.")
    ] = Format.HTML,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Write a report of an audit: verdict, classes, metrics, what is and is not claimed, and how it was made."""
    write, name = WRITERS[form]
    path = out or Path(name)
    write_text(path, write(Audit.load(audit)))
    say(screen(quiet=quiet), f"Written: {redact(path)}")
