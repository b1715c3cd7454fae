"""The demo's one screen: what a newcomer needs to understand what the tool tells them."""

import math
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from gfscore import views
from gfscore.outputs import sentences
from gfscore.outputs.fitting import column_table, drop_columns, fit
from gfscore.results import Audit, Calibration, ModelAudit
from gfscore.storage import redact
from gfscore.zoo import ZooModel

LEGEND = {
    "GREAT": "mean score of the test images, at most 1.253",
    "drawn": "the same of the generated ones",
    "RDI": "best minus worst class",
    "p": "how often chance makes as much of equal classes",
    "radius": "first-order radius, from forward passes on a few test images",
    "attacked": "accuracy under attack, measured when the networks were made",
}
SPARE = ("drawn", "attacked")  # what a narrow terminal goes without


def on_test(audit: Audit) -> Audit:
    """The part of the audit that is about test images, not about generated ones."""
    return audit.model_copy(update={"models": tuple(model for model in audit.models if model.samples.seed is None)})


def most_uneven(audit: Audit) -> ModelAudit:
    """The model with the widest gap between its classes."""
    return max(audit.models, key=lambda model: model.rdi.value or 0.0)


def show_demo(audit: Audit, zoo: Sequence[ZooModel], radii: Sequence[float], folder: Path, console: Console) -> None:
    """A table of the zoo, what stands out in it, and what to do next; ``radii`` are first-order ones, by network."""
    test = on_test(audit)
    generated = [model for model in audit.models if model.samples.seed is not None]
    standard = test.models[0]
    table = drop_columns(console, _zoo_table(test.models, generated, zoo, radii), SPARE)
    headings = [str(column.header) for column in table.columns]
    legend = "; ".join(f"{name}: {meaning}" for name, meaning in LEGEND.items() if name in headings)
    written = views.printable(f"{redact(folder)}/: audit.json, report.html (open it), figures/")
    console.print(
        Group(
            Text("Which digits do these eight small networks leave unprotected?", style="bold"),
            Text(f"{standard.samples.n:,} test images and {generated[0].samples.n:,} generated ones, no attack.\n"),
            fit(console, table),
            Text(f"{legend}.", style="dim"),
            Text(),
            *_findings(test, zoo, radii),
            Text(),
            Text.assemble(("Written: ", "bold"), written),
            Text("Look closer:   gfscore audit --model zoo:pgd-large --data zoo:digits"),
            Text("Your network:  gfscore audit --model net.onnx --data images.npz"),
            Text("Your logits:   gfscore audit logits.npz"),
        ),
        soft_wrap=False,
    )


def _zoo_table(
    on_test: Sequence[ModelAudit], generated: Sequence[ModelAudit], zoo: Sequence[ZooModel], radii: Sequence[float]
) -> Table:
    headings = ("clean", "GREAT", "drawn", "worst class", "RDI", "p", "radius", "attacked")
    table = column_table("network", *headings)
    for test, drawn, known, radius in zip(on_test, generated, zoo, radii, strict=True):
        worst = views.estimate(test.wcr.value, test.wcr.interval, digits=2)
        table.add_row(
            known.name,
            views.percent(test.accuracy),
            views.number(test.aggregate),
            views.number(drawn.aggregate),
            f"{test.wcr.class_}: {worst}",
            views.number(test.rdi.value),
            "–" if test.noise is None else f"{sentences.adjusted(test.noise.rdi):.3f}",
            views.number(radius, 2),
            views.percent(known.attack_accuracy),
        )
    return table


def _findings(test: Audit, zoo: Sequence[ZooModel], radii: Sequence[float]) -> list[Text]:
    uneven = most_uneven(test)
    uneven_name = zoo[test.models.index(uneven)].name
    highest, known = max(zip(test.models, zoo, strict=True), key=lambda pair: pair[0].aggregate)
    most_robust = max(zoo, key=lambda model: model.attack_accuracy)
    return [
        Text.assemble(
            ("Least protected: ", "bold"),
            f"digit {uneven.wcr.class_} in “{uneven_name}”, the most uneven network: {views.number(uneven.wcr.value)} "
            f"against {views.number(uneven.class_mean)} on average. The intervals leave "
            f"{' and '.join(uneven.worst_set)} as candidates for the worst.",
        ),
        Text.assemble(("Is it noise? ", "bold"), sentences.noise_text(uneven) or "not tested."),
        Text.assemble(
            ("Beware: ", "bold red"),
            f"“{known.name}” has the highest score, {views.number(highest.aggregate)}, but an attack of L2 radius "
            f"{known.attack_radius:g} leaves it {views.percent(known.attack_accuracy)} accuracy, “{most_robust.name}” "
            f"{views.percent(most_robust.attack_accuracy)}. {known.description} The score compares the classes of one "
            "network; it does not rank networks, and it is not a certificate.",
        ),
        *_caught(highest, test, radii),
        *_temperature(test.calibration),
    ]


def _caught(highest: ModelAudit, test: Audit, radii: Sequence[float]) -> list[Text]:
    """What forward passes alone found against the network with the highest score: another score, and refuters."""
    share, mine = highest.claim.radius_refuted_share, radii[test.models.index(highest)]
    found = []
    if math.isclose(mine, min(radii), rel_tol=1e-3):  # the highest score, and the shortest way to a wrong decision
        others = [
            f"“{_network(model)}”"
            for model, radius in zip(test.models, radii, strict=True)
            if model is not highest and math.isclose(radius, mine, rel_tol=1e-3)
        ]
        same = f", the same as of {' and '.join(others)}: larger confidences, not another decision" if others else ""
        found.append(f"its first-order radius, {views.number(mine, 2)}, is the lowest of all{same}.")
    if share:
        found.append(
            f"Radius reading of its score refuted on {views.percent(share)} of samples "
            f"({highest.claim.tried_on:,} tried): closer than the score says lies an image taken for another digit."
        )
    if not found:
        return []
    caught = f"forward passes alone give “{_network(highest)}” away: "
    return [Text.assemble(("Caught: ", "bold red"), caught + " ".join(found))]


def _network(model: ModelAudit) -> str:
    return model.name.partition(" on ")[0]  # with several data sets the name says which


def _temperature(calibration: Calibration | None) -> list[Text]:
    if calibration is None or calibration.temperature is None:
        return []
    low, high = calibration.temperature_range
    return [
        Text.assemble(
            ("Temperature: ", "bold"),
            f"from {low:g} to {high:g}, the classes are ordered most like their clean accuracies at T* = "
            f"{calibration.temperature:.3g} ({views.number(calibration.value)}; at T = 1 "
            f"{views.number(calibration.baselines.at_one)}). It moves every score and no decision.",
        )
    ]
