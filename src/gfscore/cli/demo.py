"""``gfscore demo``: the whole way on the embedded zoo, in one screen."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gfscore import auditing, zoo
from gfscore.cli import options as shared
from gfscore.cli.running import RunOptions, run_models
from gfscore.errors import naming
from gfscore.inputs.logits_files import read_samples
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
    run_options = RunOptions(store=store, seed=seed, quiet=quiet)
    audited = []
    for run in run_models([f"zoo:{model.name}" for model in zoo.models()], DATA, run_options):
        samples = read_samples(run.logits)
        with naming(run.name):
            local = auditing.score_samples(samples, options)
            audited.append(
                auditing.audit_scores(
                    samples, local, options, name=run.name, source=run.source, data_seed=run.seed, run=run.about
                )
            )
    audit = Audit(models=tuple(audited), provenance=auditing.make_provenance(command="gfscore demo"))
    result = out / "audit.json"
    audit.save(result)
    if not quiet:
        screen.show(audit, zoo.models(), result, Console())
