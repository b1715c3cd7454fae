"""``gfscore gate``, ``compare`` and ``repair``: verdicts as exit codes, as tables, and as files for CI systems."""

from pathlib import Path
from typing import Annotated

import typer

from gfscore.cli.binding import Call, Quiet, command
from gfscore.cli.screens import say, screen, write_data
from gfscore.cli.written import Force, check_free, folder_of, say_replaced
from gfscore.jobs.compare import compare
from gfscore.jobs.gate import gate
from gfscore.jobs.repair import repair
from gfscore.jobs.repair_reasons import ONNX, VECTOR, WEIGHTS
from gfscore.outputs import ci_formats
from gfscore.outputs.comparison_text import show_comparison
from gfscore.outputs.repair_text import markdown_section, show_repair
from gfscore.outputs.verdicts import show_gate
from gfscore.results import Audit, Comparison, GateResult, ModelAudit, Repair, Verdict
from gfscore.storage import redact, write_text

NOT_SHOWN = 3  # exit code of a repair whose worst class is not shown to gain
EXIT_CODES = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.UNDECIDED: 3}


@command(gate)
def gate_command(
    job: Call,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Folder for gate.json, and for audit.json where there is one.  [default: none]"
        ),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Also write the rules as JUnit XML test cases.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Also write the rules as SARIF 2.1.0, for code scanning.")] = None,
    summary: Annotated[Path | None, typer.Option(help="Also write the verdict as Markdown, for a job's page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print gate.json instead of tables.")] = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Judge models by a policy: exit code 0 for PASS, 1 for FAIL, 3 for UNDECIDED.

    Each rule is judged on the interval of its number, not on the estimate. The verdict is wrong with probability at
    most delta.
    """
    if out is not None:
        folder_of(out, holds="gate.json and audit.json")
    files = [] if out is None else [out / "gate.json", out / "audit.json"]
    replaced, beside = check_free(*files, force=force), list[Path]()
    for option, path in (("--junit", junit), ("--sarif", sarif), ("--summary", summary)):
        beside += check_free(path, force=force, option=option)
    audits: list[ModelAudit] = []
    result: GateResult = job(seen=audits.append)
    if out is not None:
        if audits:
            Audit(models=tuple(audits), provenance=result.provenance).save(out / "audit.json")
        result.save(out / "gate.json")
    formats = ((junit, ci_formats.junit), (sarif, ci_formats.sarif), (summary, ci_formats.summary))
    for path, write in formats:
        if path is not None:
            write_text(path, write(result))
    known = [path for path in replaced if audits or path.name == "gate.json"]
    say_replaced([*known, *beside], quiet=quiet or as_json)
    if as_json:
        write_data(result.to_json())
    elif not quiet:
        show_gate(result, screen())
    raise typer.Exit(EXIT_CODES[result.verdict])


@command(compare)
def compare_command(
    job: Call,
    *,
    fail_on_worse: Annotated[
        bool, typer.Option("--fail-on-worse", help="Exit with 1 when a class got worse, 3 when it is undecided.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File to write the comparison to, as JSON.  [default: none]"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Compare two versions of a model on the same samples: what changed in each class, and how sure that is.

    Samples are matched by id, or by order where the labels are equal; two audits are compared without, which shows only
    large changes.
    """
    path = None if out is None else out / "comparison.json" if out.is_dir() else out
    replaced = check_free(path, force=force)
    found: Comparison = job()
    if path is not None:
        found.save(path)
        say_replaced(replaced, quiet=quiet or as_json)
    if as_json:
        write_data(found.to_json())
    elif not quiet:
        console = screen()
        show_comparison(found, console)
        if path is not None:
            say(console, f"Written: {redact(path)}")
    raise typer.Exit(EXIT_CODES[found.verdict] if fail_on_worse else 0)


@command(repair)
def repair_command(
    job: Call,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder for repair.json, the repaired model, a page, figures and a section of a model card.  "
            "[default: gfscore-repair]",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print repair.json instead of tables; write files only with --out.")
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Repair the worst class of a model: by a constant for the logit of each class (no training), or by training it.

    One part of the data chooses, another judges: every class before and after. Exit code 0 when the worst class is
    shown to gain, 3 when it is not; a repaired model is written only when it is.
    """
    folder = None if as_json and out is None else folder_of(out or Path("gfscore-repair"), holds="a model and a result")
    files = [] if folder is None else [folder / name for name in ("repair.json", ONNX, VECTOR, WEIGHTS)]
    replaced = check_free(*files[:1], force=force)
    check_free(*(() if replaced else files[1:]), force=force)  # beside a repair of ours they are ours
    found: Repair = job(folder=folder)
    if folder is not None:
        written = _write_repair(found, folder)
        say_replaced(replaced, quiet=quiet or as_json)
    if as_json:
        write_data(found.to_json())
    elif not quiet:
        console = screen()
        show_repair(found, console)
        if folder is not None:
            say(console, f"Written: {redact(folder)}/: {', '.join(written)}")
    raise typer.Exit(0 if found.gained else NOT_SHOWN)


def _write_repair(found: Repair, folder: Path) -> list[str]:
    """Write the result, and what shows it; the names of all files."""
    from gfscore.outputs.figures import save  # Altair takes half a second to load
    from gfscore.outputs.figures.repair_figures import repair_arrows, repair_frontier, training_curves
    from gfscore.outputs.report.repair_page import repair_page

    found.save(folder / "repair.json")
    write_text(folder / "repair.html", repair_page(found))
    write_text(folder / "model-card.md", markdown_section(found))
    names = ["repair.json", "repair.html", "model-card.md"]
    if found.decisive is not None:
        figures = {"classes.png": repair_arrows(found)}
        if found.frontier:
            figures["frontier.png"] = repair_frontier(found)
        if found.training is not None and found.training.curves:
            figures["training.png"] = training_curves(found)
        for name, figure in figures.items():
            save(figure, folder / name)
        names += list(figures)
    weights = None if found.training is None else found.training.weights
    return [*(name for name in (found.written, weights) if name), *names]
