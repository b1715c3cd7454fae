"""``reproduce``: the paper's experiment, from its published numbers or from its models."""

from enum import StrEnum
from typing import Annotated

from gfscore.assemble import make_provenance
from gfscore.errors import OptionError
from gfscore.jobs.calling import SILENT, Face, Job
from gfscore.jobs.check import audit_subject
from gfscore.jobs.options import DataSpecs, Options, RunOptions
from gfscore.jobs.sources import listed_objects, run_models
from gfscore.paper import Dataset, Reproduction, Table, measured_table, published
from gfscore.paper import reproduce as recompute_published
from gfscore.results import Audit, ModelAudit
from gfscore.words import Word


class Experiment(StrEnum):
    """The paper's two experiments."""

    CIFAR10 = "cifar10"
    IMAGENET = "imagenet"


@Job
def reproduce(
    dataset: Annotated[Experiment, Word(is_argument=True, help="Which of the paper's two experiments.")],
    *,
    from_published: Annotated[bool, Word(help="Recompute from the numbers published with the paper.")] = False,
    data: DataSpecs = None,
    only: Annotated[
        list[str] | None, Word(help="Run only this model (its RobustBench name). May be given several times.")
    ] = None,
    run: RunOptions,
    face: Face = SILENT,
) -> Reproduction | tuple[Audit, tuple[Table, ...]]:
    """Recompute the tables and claims of the GF-Score paper, and say which of them hold.

    With ``from_published`` nothing is run. With data, the paper's RobustBench models are run, which RobustBench
    downloads where it can: then an audit comes back, and a table for each data set beside the published numbers.
    """
    which: Dataset = "cifar10" if Experiment(dataset) is Experiment.CIFAR10 else "imagenet"
    if from_published:
        run.refuse_ray("--from-published")
        return recompute_published(which)
    if not data:
        raise OptionError("say what to run on: --data (the test set, or generated images), or add --from-published.")
    numbers = published(which)
    known = [model.name for model in numbers.models]
    for name in only or []:
        if name not in known:
            raise OptionError(f"{name!r} is not one of the paper's models: {', '.join(known)}.")
    names = [name for name in known if not only or name in only]
    specs = [f"robustbench:{which}/{numbers.threat}/{name}" for name in names]
    options, audited = Options(activation=numbers.activation, seed=run.seed), dict[str, list[ModelAudit]]()
    for source in run_models(specs, listed_objects(data), run, face):
        audited.setdefault(source.origin.source, []).append(audit_subject(source, options)[1])
    models = tuple(model for models in audited.values() for model in models)
    provenance = make_provenance(command=f"gfscore reproduce {which}")
    tables = tuple(measured_table(models, names, which) for models in audited.values())
    return Audit(models=models, provenance=provenance), tables
