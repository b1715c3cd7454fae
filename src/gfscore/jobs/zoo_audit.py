"""``demo``: every network of the embedded zoo on its data sets, tried to refute, calibrated, and measured otherwise."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gfscore import zoo
from gfscore.assemble import make_provenance
from gfscore.attacks import Refuter, refute, with_refutation
from gfscore.jobs.calibrate import Outside, curve_of, with_calibration
from gfscore.jobs.calling import SILENT, Face, Job
from gfscore.jobs.check import audit_subject
from gfscore.jobs.options import Options, RunOptions, Seed, StoreFolder
from gfscore.jobs.sources import run_models
from gfscore.results import Audit

TEST, GENERATED = "zoo:digits", "generator:zoo"
OBJECTIVE = "classes"
TRIED = 20  # samples of each class whose score is put to the test: a few seconds for all networks
MEASURED = 10  # samples of each class whose first-order radius is measured


@dataclass(frozen=True, slots=True)
class ZooAudit:
    """What the demo shows."""

    audit: Audit
    radii: tuple[float, ...]  # mean first-order radius of each network on a few test images


@Job
def demo(*, store: StoreFolder = None, seed: Seed = 0, face: Face = SILENT) -> ZooAudit:
    """Audit the embedded zoo: eight small digit classifiers, on test images and on generated ones."""
    run = RunOptions(store=store, seed=seed)
    return ZooAudit(audit_zoo((TEST, GENERATED), run, face), _radii(run, face))


def audit_zoo(data: Sequence[str], run: RunOptions, face: Face = SILENT) -> Audit:
    """Every network on each data set, and the temperature calibrated on the first of them."""
    options, models, samples, curves = Options(seed=run.seed), [], {}, {}
    for source in run_models(_networks(), data, run, face):
        subject, audited = audit_subject(source, options)
        samples[source.name], curves[source.name] = subject.samples, curve_of(subject.samples, options)
        if subject.run.data.seed is None:  # images that exist
            found = refute(subject, [Refuter.BISECTION], per_class=TRIED, seed=options.seed)
            audited = with_refutation(audited, subject, found, delta=options.delta)
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


def _radii(run: RunOptions, face: Face) -> tuple[float, ...]:
    """Mean first-order radius of each network on a few test images: another score, to hold the first against."""
    few, options = replace(run, n_per_class=MEASURED), Options(score="first-order", norm="l2", seed=run.seed)
    return tuple(
        float(source.score(source.read(), options, face).values.mean())
        for source in run_models(_networks(), [TEST], few, face)
    )


def _networks() -> list[str]:
    return [f"zoo:{model.name}" for model in zoo.models()]
