"""``demo`` and ``reproduce``: the embedded zoo end to end, and the paper's experiments."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from gfscore import zoo
from gfscore.assemble import make_provenance
from gfscore.attacks import Refuter, refute, with_refutation
from gfscore.errors import OptionError
from gfscore.jobs.arranging import listed_data
from gfscore.jobs.calibrate import Outside, curve_of, with_calibration
from gfscore.jobs.calling import SILENT, Face, Job
from gfscore.jobs.check import audit_subject
from gfscore.jobs.common_words import ALL_RADII, DataSpecs, Seed, StoreFolder
from gfscore.jobs.dry_run import refuse_dry_run
from gfscore.jobs.options import Options, RunOptions
from gfscore.jobs.robustness import MeasuredRadii, measure_robustness
from gfscore.jobs.sources import run_models
from gfscore.paper import Dataset, Reproduction, Table, measured_table, published
from gfscore.paper import reproduce as recompute_published
from gfscore.results import Audit, ModelAudit
from gfscore.words import Word

TEST, GENERATED = "zoo:digits", "generator:zoo"
OBJECTIVE = "classes"
TRIED = 20  # samples of each class whose score is put to the test: a few seconds for all networks


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
        refuse_dry_run(run, "--from-published runs none")
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
    for source in run_models(specs, listed_data(data), run, face):
        audited.setdefault(source.origin.source, []).append(audit_subject(source, options)[1])
    models = tuple(model for models in audited.values() for model in models)
    provenance = make_provenance(command=f"gfscore reproduce {which}")
    tables = tuple(measured_table(models, names, which) for models in audited.values())
    return Audit(models=models, provenance=provenance), tables


@Job
def demo(*, store: StoreFolder = None, seed: Seed = 0, face: Face = SILENT) -> Audit:
    """Audit the embedded zoo: eight small digit classifiers, on test images and on generated ones."""
    return audit_zoo((TEST, GENERATED), RunOptions(store=store, seed=seed), face)


def audit_zoo(data: Sequence[str], run: RunOptions, face: Face = SILENT) -> Audit:
    """Every network on each data set, and the temperature calibrated on the first of them.

    On images that exist, scores are put to the test, and robust accuracy is measured by forward passes alone: at the
    size of the attacks that the networks were attacked with when they were made.
    """
    options, models, samples, curves = Options(seed=run.seed), [], {}, {}
    attack = Options(seed=run.seed, norm="l2", eps=zoo.models()[0].attack_radius, gradients="no")
    radii = MeasuredRadii.of(attack, ALL_RADII)
    for source in run_models(_networks(), data, run, face):
        subject, audited = audit_subject(source, options)
        samples[source.name], curves[source.name] = subject.samples, curve_of(subject.samples, options)
        if subject.run.data.seed is None:  # images that exist
            found = refute(subject, [Refuter.BISECTION], per_class=TRIED, seed=options.seed)
            audited = with_refutation(audited, subject, found, delta=options.delta)
            if radii is not None:
                audited = measure_robustness(audited, subject.run, subject.samples, radii, face, delta=options.delta)
        models.append(audited)
    first = models[0].samples.source
    calibrated = {model.name: curves[model.name] for model in models if model.samples.source == first}
    calibration = Outside(objective=OBJECTIVE).calibrate(calibrated)
    at = dict.fromkeys(calibrated, calibration.temperature)
    return Audit(
        models=tuple(
            with_calibration(model, samples[model.name], curves[model.name], options, at.get(model.name))
            for model in models
        ),
        calibration=calibration,
        provenance=make_provenance(command="gfscore demo"),
    )


def _networks() -> list[str]:
    return [f"zoo:{model.name}" for model in zoo.models()]
