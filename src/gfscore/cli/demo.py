"""``gfscore demo``: the whole way on the embedded zoo, in one screen."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gfscore import auditing, zoo
from gfscore.cli import options as shared
from gfscore.cli.running import audit_run, run_models
from gfscore.outputs import demo as screen
from gfscore.results import Audit

DATA = ("zoo:digits", "generator:zoo")


def demo_command(
    out: Annotated[Path, typer.Option(help="Folder for audit.json.")] = Path("gfscore-demo"),
    store: shared.StoreFolder = None,
    seed: shared.Seed = 0,
    quiet: shared.Quiet = False,
) -> None:
    """Audit the embedded zoo: eight small digit classifiers, on test images and on generated ones.

    Runs the forward passes, audits, prints what came out in one screen and writes audit.json.
    """
    options = auditing.Options(seed=seed)
    run_options = shared.RunOptions(store=store, seed=seed, quiet=quiet)
    specs = [f"zoo:{model.name}" for model in zoo.models()]
    audited = tuple(audit_run(run, options) for run in run_models(specs, DATA, run_options))
    audit = Audit(models=audited, provenance=auditing.make_provenance(command="gfscore demo"))
    result = out / "audit.json"
    audit.save(result)
    if not quiet:
        screen.show(audit, zoo.models(), result, Console())
