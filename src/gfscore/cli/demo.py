"""``gfscore demo``: the whole way on the embedded zoo, in one screen."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gfscore import assembling, auditing, calibrating, zoo
from gfscore.attacks import Refuter, ScoredRun, refute, with_refutation
from gfscore.cli import options as shared
from gfscore.cli import screens
from gfscore.cli.options import RunOptions
from gfscore.cli.running import audit_subject, first_order_scores, run_models, subject_of
from gfscore.outputs import demo_screen, report
from gfscore.results import Audit, ModelAudit
from gfscore.storage import write_text

TEST, GENERATED = "zoo:digits", "generator:zoo"
OBJECTIVE = "classes"
TRIED = 20  # samples of each class whose score is put to the test: a few seconds for all networks
MEASURED = 10  # samples of each class whose first-order radius is measured
FIGURES = ("heatmap", "noise")  # of all networks, on the test images


def demo_command(
    out: Annotated[Path, typer.Option(help="Folder for audit.json, report.html and the figures.")] = Path(
        "gfscore-demo"
    ),
    store: shared.StoreFolder = None,
    seed: shared.Seed = 0,
    quiet: shared.Quiet = False,
) -> None:
    """Audit the embedded zoo: eight small digit classifiers, on test images and on generated ones.

    Runs the forward passes, audits, tries to refute the scores, calibrates the temperature, prints what came out in one
    screen, and writes audit.json, report.html and some figures.
    """
    options = RunOptions(store=store, seed=seed, quiet=quiet)
    audit = zoo_audit((TEST, GENERATED), options)
    audit.save(out / "audit.json")
    write_text(out / "report.html", report.html(audit))
    _draw(demo_screen.on_test(audit), out / "figures")
    if not quiet:
        demo_screen.show_demo(audit, zoo.models(), _radii(options), out, screens.screen())


def _radii(options: RunOptions) -> list[float]:
    """Mean first-order radius of each network on a few test images: another score, to hold the first against."""
    few, how = replace(options, n_per_class=MEASURED), auditing.FirstOrder(norm="l2", seed=options.seed)
    return [
        float(first_order_scores(run, run.read(logits), how, "no", few).values.mean())
        for run, logits in run_models([f"zoo:{model.name}" for model in zoo.models()], [TEST], few)
    ]


def zoo_audit(data: Sequence[str], run_options: RunOptions) -> Audit:
    """Every network on each data set, and the temperature calibrated on the first of them."""
    options = auditing.Options(seed=run_options.seed)
    models, samples, curves = [], {}, {}
    for run, logits in run_models([f"zoo:{model.name}" for model in zoo.models()], data, run_options):
        samples[run.name] = run.read(logits)
        curves[run.name] = calibrating.curve_of(samples[run.name], options)
        models.append(_tried(subject_of(run, logits, options), options))
    first = models[0].samples.source
    calibrated = {model.name: curves[model.name] for model in models if model.samples.source == first}
    calibration = calibrating.calibration_of(calibrated, OBJECTIVE)
    at = dict.fromkeys(calibrated, calibration.temperature)
    return Audit(
        models=tuple(
            calibrating.with_calibration(model, samples[model.name], curves[model.name], at.get(model.name), options)
            for model in models
        ),
        calibration=calibration,
        provenance=assembling.make_provenance(command="gfscore demo"),
    )


def _tried(subject: ScoredRun, options: auditing.Options) -> ModelAudit:
    """The audit after forward passes alone have tried to refute it; on images that exist."""
    audited = audit_subject(subject, options)
    if subject.run.data.seed is not None:
        return audited
    found = refute(subject, [Refuter.BISECTION], per_class=TRIED, seed=options.seed)
    return with_refutation(audited, subject, found, delta=options.delta)


def _draw(audit: Audit, folder: Path) -> None:
    from gfscore.outputs.figures import FIGURES as KNOWN  # Altair takes half a second to load
    from gfscore.outputs.figures import forest, save

    for name in FIGURES:
        save(KNOWN[name].draw(audit), folder / f"{name}.png")
    save(forest(demo_screen.most_uneven(audit)), folder / "forest.png")
