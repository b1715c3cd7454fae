"""``gfscore audit``, ``certify``, ``check``, ``calibrate`` and ``logits``: call a job, show and keep what it found."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from gfscore import views
from gfscore.cli.binding import AsJson, Call, Out, PerSample, Quiet, command
from gfscore.cli.screens import say, screen, write_data
from gfscore.cli.written import Force, check_free, file_in, folder_of, say_replaced
from gfscore.jobs.audit import audit, sample_table
from gfscore.jobs.calibrate import calibrate
from gfscore.jobs.certify import certify
from gfscore.jobs.check import check
from gfscore.jobs.init import Found, init
from gfscore.jobs.sources import logits
from gfscore.outputs.calibration_text import show_calibration
from gfscore.outputs.tables import check_per_sample, write_per_sample
from gfscore.outputs.terminal import show_audit
from gfscore.outputs.verdicts import show_check
from gfscore.results import Audit
from gfscore.storage import is_address, redact

RESULT = "audit.json"


@command(audit)
def audit_command(
    job: Call,
    *,
    per_sample: PerSample = None,
    out: Out = None,
    as_json: AsJson = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Audit how evenly robustness is spread over the classes: of logits files, or of models that are run on data.

    Prints the score of each class, the worst class (WCR) and how unequal they are (RDI, NRGC, FP-GREAT), of a model its
    robust accuracy first; and writes audit.json.
    """
    _deliver(job, per_sample, out, as_json=as_json, force=force, quiet=quiet)


@command(certify)
def certify_command(
    job: Call,
    *,
    per_sample: PerSample = None,
    out: Out = None,
    as_json: AsJson = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Audit how evenly certified robustness is spread over the classes: radii that are proven, not estimated.

    Prints the same tables as audit and writes audit.json; every radius is in [0, 1] pixels.
    """
    _deliver(job, per_sample, out, as_json=as_json, force=force, quiet=quiet)


@command(check)
def check_command(
    job: Call,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for audit.json and pictures.  [default: gfscore-check]")
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Try to refute the score: look for an adversarial example inside the radius that each sample would have.

    Prints the share of radii refuted per class, and writes audit.json and the strongest witness of each class as a
    picture. With --autoattack and --eps: accuracy under attack per class instead, beside the scores.
    """
    folder = None if as_json and out is None else folder_of(out or Path("gfscore-check"), holds="a result and pictures")
    replaced = check_free(None if folder is None else folder / RESULT, force=force)
    found: Audit = job(folder=folder)
    if folder is not None:
        found.save(folder / RESULT)
        say_replaced(replaced, quiet=quiet or as_json)
    if as_json:
        write_data(found.to_json())
    elif not quiet:
        show_check(found, folder, screen())


@command(calibrate)
def calibrate_command(
    job: Call, *, as_json: Annotated[bool, typer.Option("--json", help="Print the calibration as JSON.")] = False
) -> None:
    """Find the temperatures that maximise an objective over models, and say what the choice is worth.

    The objective is a step function of the temperature: all intervals that maximise it are given, with what T = 1 and
    clean accuracy alone would give.
    """
    calibration = job()
    if as_json:
        write_data(calibration.to_json())
    else:
        show_calibration(calibration, screen())


@command(logits)
def logits_command(job: Call, *, force: Force = False, quiet: Quiet = False) -> None:
    """Run a model on labelled images and keep its logits.

    A run that was stopped, however it was stopped, goes on where it was.
    """
    out = job.words["out"]
    replaced = check_free(None if is_address(out) else Path(out), force=force)
    written = job()
    say_replaced(replaced, quiet=quiet)
    say(screen(quiet=quiet), f"Written: {redact(written)}")


@command(init)
def init_command(job: Call, *, quiet: Quiet = False) -> None:
    """Find out how a model takes its images, and write gfscore.toml, which every command takes as --config.

    Presets are tried on 128 images; nothing is asked.
    """
    found: Found = job()
    console = screen(quiet=quiet)
    for note in found.notes:
        console.print(views.printable(note))
    say(console, f"Written: {redact(found.path)}")
    say(console, f"Next: gfscore audit --config {redact(found.path)}")


def _deliver(job: Call, per_sample: Path | None, out: Path | None, *, as_json: bool, force: bool, quiet: bool) -> None:
    """Call the job, write what was asked for, and show the rest; with JSON, nothing stands beside it."""
    tables: list[Mapping[str, Sequence[Any]]] = []
    path = None if as_json and out is None else file_in(out or Path("gfscore-audit"), RESULT)
    replaced = check_free(path, force=force) + check_free(per_sample, force=force, option="--per-sample")
    if per_sample is None:
        found: Audit = job()
    else:
        check_per_sample(per_sample)
        found = job(seen=lambda name, samples, local: tables.append(sample_table(samples, local, name=name)))
        write_per_sample(per_sample, tables)
    if path is not None:
        found.save(path)
    say_replaced(replaced, quiet=quiet or as_json)
    if as_json:
        write_data(found.to_json())
    elif not quiet:
        console = screen()
        show_audit(found, console)
        for written in filter(None, (per_sample, path)):
            say(console, f"Written: {redact(written)}")
