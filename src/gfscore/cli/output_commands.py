"""``gfscore report``, ``figures``, ``table``, ``dashboard`` and ``plan``: what needs neither models nor samples."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from gfscore import views
from gfscore.cli.binding import Call, Quiet, command
from gfscore.cli.screens import say, screen, write_data
from gfscore.cli.written import Force, check_free, folder_of, say_replaced
from gfscore.errors import FileError, OptionError
from gfscore.jobs.named_files import read_audits, read_drawable, read_notes
from gfscore.jobs.plan import audit_radii, plan
from gfscore.outputs import report
from gfscore.outputs.fitting import column_table, fit
from gfscore.outputs.report.pdf_report import find_browser, write_pdf
from gfscore.outputs.tables import Layout, TableFormat, mark_table, render_table
from gfscore.results import Audit
from gfscore.storage import redact, write_text

# what ALL_FIGURES has, which takes half a second to load
FIGURE_NAMES = (
    *("robustness", "robustness-models"),
    *("forest", "heatmap", "disparity", "robustness-rdi", "reranking", "lorenz", "noise", "vulnerability", "radar"),
    *("concentration", "attacked", "calibration", "temperature"),
    *("arrows", "frontier", "training"),  # of a repair
    "ranks",  # of a leaderboard
)
AuditPaths = Annotated[
    list[Path],
    typer.Argument(metavar="AUDIT", help="audit.json files, or folders that hold one; models of several are joined."),
]


DrawnPaths = Annotated[
    list[Path],
    typer.Argument(
        metavar="RESULT",
        help="audit.json files, or folders that hold one; models of several are joined. Or one repair.json, or the "
        ".json of a leaderboard.",
    ),
]


class ReportFormat(StrEnum):
    """How a report is written."""

    HTML = "html"
    MARKDOWN = "md"
    PDF = "pdf"
    MODEL_CARD = "model-card"


WRITERS: dict[ReportFormat, tuple[Callable[[Audit, report.ReportHead], str], str]] = {
    ReportFormat.HTML: (report.html, "report.html"),
    ReportFormat.MARKDOWN: (report.markdown, "report.md"),
    ReportFormat.PDF: (report.html, "report.pdf"),  # the page, printed
    ReportFormat.MODEL_CARD: (lambda audit, _: report.model_card(audit), "model-card.md"),
}
ENDINGS = {
    ".html": ReportFormat.HTML,
    ".htm": ReportFormat.HTML,
    ".md": ReportFormat.MARKDOWN,
    ".markdown": ReportFormat.MARKDOWN,
    ".pdf": ReportFormat.PDF,
}


@command()
def report_command(
    paths: AuditPaths,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File to write.  [default: report.html, .md or .pdf, or model-card.md]"),
    ] = None,
    form: Annotated[
        ReportFormat | None,
        typer.Option(
            "--format",
            help="A page that works offline, Markdown, a PDF (printed by a "
            "Chromium, Chrome or Edge that is installed), "
            "or a Hugging Face model card.  [default: by the ending of --out, else html]",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.  [default: what the audit is of]")] = None,
    author: Annotated[str | None, typer.Option(help="Who answers for it.")] = None,
    subject: Annotated[str | None, typer.Option(help="What it is about: a product, a version, an order.")] = None,
    date: Annotated[str | None, typer.Option(help="Date of the report, as it shall stand there.")] = None,
    note: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Text file to put on the first page, as text. May be given several times."),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a report of an audit: three sentences, classes, metrics, what is and is not claimed, how it was made."""
    chosen = _report_format(form, out)
    head = report.ReportHead(
        title=title or "", author=author or "", subject=subject or "", date=date or "", notes=read_notes(note or ())
    )
    if chosen is ReportFormat.MODEL_CARD and head != report.ReportHead():
        raise OptionError("a model card has no title, author, subject, date or note of its own. Leave them out.")
    write, name = WRITERS[chosen]
    path = Path(name) if out is None else out / name if out.is_dir() else out
    replaced = check_free(path, force=force)
    text = write(read_audits(paths), head)
    if chosen is ReportFormat.PDF:
        write_pdf(path, text)
    else:
        write_text(path, text)
    say_replaced(replaced, quiet=quiet)
    say(screen(quiet=quiet), f"Written: {redact(path)}")


def _report_format(form: ReportFormat | None, out: Path | None) -> ReportFormat:
    """How to write a report: as said, else as the ending of its file tells; both must agree."""
    ending = "" if out is None or out.is_dir() else out.suffix.lower()
    told = ENDINGS.get(ending)
    if form is None:
        if told is None and ending:
            raise OptionError(
                f"--out {out} has the ending {ending!r}, which does not say what to write. End it in .html, .md or "
                ".pdf, or say --format."
            )
        form = told or ReportFormat.HTML
    elif told is not None and ENDINGS[Path(WRITERS[form][1]).suffix] is not told:
        raise OptionError(f"--out {out} reads like {told}, and --format is {form}. Change one of them.")
    if form is ReportFormat.PDF:
        find_browser()  # before anything is read
    return form


class FigureFormat(StrEnum):
    """How a figure is written."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"
    HTML = "html"  # interactive, and works offline


class FigureStyle(StrEnum):
    """What a figure is for."""

    SCREEN = "screen"  # with title and notes
    PAPER = "paper"  # bare, a column wide
    PAPER_WIDE = "paper-wide"  # bare, a page wide


INCHES = {FigureStyle.SCREEN: None, FigureStyle.PAPER: 3.25, FigureStyle.PAPER_WIDE: 6.75}


@command()
def figures_command(
    paths: DrawnPaths,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the figures.")] = Path("gfscore-figures"),
    form: Annotated[FigureFormat, typer.Option("--format", help="How to write them.")] = FigureFormat.PNG,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Draw only this figure: {', '.join(FIGURE_NAMES)}. May be given several times.  [default: all]",
        ),
    ] = None,
    style: Annotated[
        FigureStyle,
        typer.Option(
            help="With title and notes, or for a paper: without them, 3.25 or (paper-wide) 6.75 inch wide, in its font."
        ),
    ] = FigureStyle.SCREEN,
    font: Annotated[
        str | None, typer.Option(metavar="NAME", help="Font of the paper.  [default: Times or the like]")
    ] = None,
    scale: Annotated[float, typer.Option(min=0.5, max=8, help="Pixels of a PNG for each point.")] = 2,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Draw every figure that a result holds the numbers for, and say which were left out and why."""
    from gfscore.outputs.figures import ALL_FIGURES, draw_all, figures_of, save  # Altair takes half a second to load

    for name in only or ():
        if name not in ALL_FIGURES:
            raise OptionError(f"there is no figure {name!r}. Choose from: {', '.join(ALL_FIGURES)}.")
    if font is not None and style is FigureStyle.SCREEN:
        raise OptionError("--font is for papers. Say --style paper too, or leave it out.")
    folder_of(out, holds="figures")
    result = read_drawable(paths)
    known, kind = figures_of(result), "an audit" if isinstance(result, Audit) else f"a {type(result).__name__.lower()}"
    for name in only or ():
        if name not in known:
            raise OptionError(f"{name} is no figure of {kind}. Choose from: {', '.join(known)}.")
    console, reasons, n_drawn = screen(quiet=quiet), dict[str, str](), 0
    chosen = {name: known[name] for name in only or known}
    radii = audit_radii(result) if isinstance(result, Audit) else None
    all_drawn = list(draw_all(chosen, result, radii=radii, inches=INCHES[style], font=font))
    files = [out / f"{each.stem}.{form}" for each in all_drawn if each.chart is not None]
    replaced = check_free(*files, force=force)
    for name, drawn in groupby(all_drawn, key=lambda each: each.name):
        left_out = Counter[str]()
        for each in drawn:
            if each.chart is None:
                left_out[str(each.reason)] += 1
                continue
            path = out / f"{each.stem}.{form}"
            save(each.chart, path, scale=scale, size=each.scale)
            n_drawn += 1
            say(console, f"Written: {redact(path)} ({each.shows})")
        for reason, count in left_out.items():
            number = f" of {count} models" if count > 1 else ""
            reasons[name] = reason
            if not only:
                say(console, f"Left out: {name}{number}: {reason}")
    if only and not n_drawn:
        raise OptionError(f"nothing was drawn. {'; '.join(f'{name}: {why}' for name, why in reasons.items())}")
    for name, reason in reasons.items() if only else ():
        say(console, f"Left out: {name}: {reason}")
    say_replaced(replaced, quiet=quiet)


@command(was={"layout": "rows"})
def table_command(
    paths: AuditPaths,
    form: Annotated[TableFormat, typer.Option("--format", help="How to write it.")] = TableFormat.MARKDOWN,
    rows: Annotated[
        Layout | None,
        typer.Option(
            help="What a row is: a model, a class, or a model with a column per class (matrix).  "
            "[default: classes for one model, models for several]"
        ),
    ] = None,
    digits: Annotated[int, typer.Option(min=0, max=15, help="Digits after the point; CSV has them all.")] = 3,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write.  [default: print it]")] = None,
    force: Force = False,
) -> None:
    """Write the tables of an audit for a paper, a README or a spreadsheet."""
    result = read_audits(paths)
    chosen = rows or (Layout.CLASSES if len(result.models) == 1 else Layout.MODELS)
    text = render_table(result, layout=chosen, form=form, digits=digits)
    if out is None:
        write_data(text)
    else:
        replaced = check_free(out, force=force, text=text)
        write_text(out, mark_table(text, form))
        say_replaced(replaced, quiet=False)


@command()
def dashboard_command(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="audit.json files, folders that hold some, or logits files.  [default: the embedded zoo]"),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="The images behind the logits files, to see the samples of a class."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen at.")] = 8501,
    upload_limit: Annotated[int, typer.Option(min=1, metavar="MB", help="Largest file to upload.")] = 200,
) -> None:
    """Look at audits in a browser: sliders, classes to click on, models side by side, downloads.

    Opens on the embedded zoo when given nothing. Stop it with Ctrl-C.
    """
    for path in paths or []:
        if not path.exists():
            raise FileError("does not exist. Check the path.").found_in(path)
    from gfscore.dashboard.serving import address, check_address, serve  # the others do without

    check_address(host, port)
    typer.echo(f"gfscore dashboard at {address(host, port)} (stop with Ctrl-C)")
    serve(paths or [], data=data, host=host, port=port, upload_limit=upload_limit)


@command(plan)
def plan_command(job: Call, *, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Say how many samples per class a half-width needs, or what half-width n samples buy, for each interval."""
    plans = job()
    if as_json:
        write_data(json.dumps([asdict(entry) for entry in plans], indent=1) + "\n")
        return
    table = column_table("interval", "samples per class", "half-width", prose="for which scores")
    for entry in plans:
        table.add_row(entry.method, f"{entry.n:,}", views.number(entry.radius, 4), Text(entry.basis, style="dim"))
    console = screen()
    console.print(fit(console, table))
    console.print(
        Text(
            "Half-width: half of the distance between both ends of a class interval, in an audit whose intervals hold "
            f"together with probability {1 - job.words['delta']:g}. On average: single classes are wider, "
            "others narrower. The RDI, a difference of two, is known half as well.",
            style="dim",
        )
    )
