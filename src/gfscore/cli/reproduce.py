"""``gfscore reproduce``: the paper's experiment, from its published numbers or from its models."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gfscore import assembling, auditing
from gfscore.cli import options as shared
from gfscore.cli.grouping import expand
from gfscore.cli.running import audit_run, run_models
from gfscore.cli.screens import say, screen
from gfscore.cli.streams import write_data
from gfscore.errors import OptionError
from gfscore.outputs.reproduction_text import show_reproduction, show_table
from gfscore.paper import measured_table, published, reproduce
from gfscore.results import Audit, ModelAudit
from gfscore.storage import redact


class Experiment(StrEnum):
    """The paper's two experiments."""

    CIFAR10 = "cifar10"
    IMAGENET = "imagenet"


@expand
def reproduce_command(
    *,
    dataset: Annotated[Experiment, typer.Argument(help="Which of the paper's two experiments.")],
    from_published: Annotated[
        bool, typer.Option("--from-published", help="Recompute from the numbers published with the paper.")
    ] = False,
    data: shared.DataSpecs = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Run only this model (its RobustBench name). May be given several times.")
    ] = None,
    run: shared.RunOptions,
    out: Annotated[Path, typer.Option(help="Folder for audit.json, when models are run.")] = Path("gfscore-reproduce"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print tables and claims as JSON (--from-published).")
    ] = False,
) -> None:
    """Recompute the tables and claims of the GF-Score paper, and say which of them hold.

    With --from-published nothing is run. With --data and --model-dir the paper's RobustBench models are run, which
    RobustBench downloads where it can, and their numbers stand beside the published ones. A run that was stopped goes
    on where it was.
    """
    if from_published:
        run.refuse_ray("--from-published")
        reproduction = reproduce(dataset.value)
        if as_json:
            write_data(reproduction.to_json())
        elif not run.quiet:
            show_reproduction(reproduction, screen())
        return
    if not data:
        raise OptionError("say what to run on: --data (the test set, or generated images), or add --from-published.")
    numbers = published(dataset.value)
    known = [model.name for model in numbers.models]
    for name in only or []:
        if name not in known:
            raise OptionError(f"{name!r} is not one of the paper's models: {', '.join(known)}.")
    names = [name for name in known if not only or name in only]
    specs = [f"robustbench:{dataset.value}/{numbers.threat}/{name}" for name in names]
    audit_options = auditing.Options(activation=numbers.activation, seed=run.seed)
    audited: dict[str, list[ModelAudit]] = {}
    for done, logits in run_models(specs, data, run):
        audited.setdefault(done.data.source, []).append(audit_run(done, logits, audit_options))
    audit = Audit(
        models=tuple(model for models in audited.values() for model in models),
        provenance=assembling.make_provenance(command=f"gfscore reproduce {dataset.value}"),
    )
    audit.save(out / "audit.json")
    if not run.quiet:
        console = screen()
        for models in audited.values():
            show_table(measured_table(models, names, dataset.value), console)
        say(console, f"Written: {redact(out / 'audit.json')}")
