"""``gfscore demo`` and ``reproduce``: the embedded zoo, and the paper's experiments."""

from pathlib import Path
from typing import Annotated

import typer

from gfscore import zoo
from gfscore.cli.binding import Call, Quiet, command
from gfscore.cli.screens import say, screen, write_data
from gfscore.cli.written import Force, check_free, file_in, folder_of, say_replaced
from gfscore.jobs.experiments import demo, reproduce
from gfscore.outputs import demo_screen, report
from gfscore.outputs.reproduction_text import show_reproduction, show_table
from gfscore.paper import Reproduction
from gfscore.results import Audit
from gfscore.storage import redact, write_text

FIGURES = ("robustness-models", "heatmap", "noise")  # of all networks, on the test images


@command(demo)
def demo_command(
    job: Call,
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for audit.json, report.html and the figures.")
    ] = Path("gfscore-demo"),
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Audit the embedded zoo: eight small digit classifiers, on test images and on generated ones.

    Runs the forward passes, audits, estimates robust accuracy, tries to refute the scores, calibrates the temperature,
    prints what came out in one screen, and writes audit.json, report.html and some figures.
    """
    folder_of(out, holds="a result, a report and figures")
    drawn = [out / "figures" / f"{name}.png" for name in (*FIGURES, "robustness", "forest")]
    replaced = check_free(out / "audit.json", out / "report.html", force=force) + check_free(*drawn, force=force)
    found = job()
    found.save(out / "audit.json")
    write_text(out / "report.html", report.html(found))
    _draw(demo_screen.on_test(found), out / "figures")
    say_replaced(replaced, quiet=quiet)
    if not quiet:
        demo_screen.show_demo(found, zoo.models(), out, screen())


def _draw(audit: Audit, folder: Path) -> None:
    from gfscore.outputs.figures import FIGURES as KNOWN  # Altair takes half a second to load
    from gfscore.outputs.figures import forest, robust_curves, save

    for name in FIGURES:
        save(KNOWN[name].draw(audit), folder / f"{name}.png")
    save(robust_curves(demo_screen.most_robust(audit)), folder / "robustness.png")
    save(forest(demo_screen.most_uneven(audit)), folder / "forest.png")


@command(reproduce)
def reproduce_command(
    job: Call,
    *,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Folder for audit.json, or a file that ends in .json, when models are run."),
    ] = Path("gfscore-reproduce"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print tables and claims as JSON (--from-published).")
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Recompute the tables and claims of the GF-Score paper, and say which of them hold.

    With --from-published nothing is run. With --data and --model-dir the paper's RobustBench models are run, which
    RobustBench downloads where it can, and their numbers stand beside the published ones. A run that was stopped goes
    on where it was.
    """
    path = file_in(out, "audit.json")
    replaced = [] if job.words["from_published"] else check_free(path, force=force)
    found = job()
    if isinstance(found, Reproduction):
        if as_json:
            write_data(found.to_json())
        elif not quiet:
            show_reproduction(found, screen())
        return
    audit, tables = found
    audit.save(path)
    say_replaced(replaced, quiet=quiet)
    console = screen(quiet=quiet)
    for table in tables:
        show_table(table, console)
    say(console, f"Written: {redact(path)}")
