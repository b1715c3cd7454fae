"""The demo's one screen: what a newcomer needs to understand what the tool tells them."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from gfscore import views
from gfscore.outputs import robust_words, sentences
from gfscore.outputs.fitting import column_table, drop_columns, fit
from gfscore.outputs.terminal_curves import curve_rows
from gfscore.results import Audit, Calibration, ModelAudit
from gfscore.storage import redact
from gfscore.zoo import ZooModel

LEGEND = {
    "robust": "share of test images that attacks up to {attack} would leave correct, estimated without one",
    "worst digit": "the same of the digit where it is lowest",
    "attacked": "what such an attack left, measured when the networks were made",
    "GREAT": "mean score of the test images, at most 1.253: made of confidences, it does not compare networks",
    "drawn": "the same of the generated ones",
    "gap": "best minus worst digit by that score (RDI)",
    "p": "how often chance makes as much of equal digits",
}
SPARE = ("drawn", "p", "gap", "attacked")  # what a narrow terminal goes without


def on_test(audit: Audit) -> Audit:
    """The part of the audit that is about test images, not about generated ones."""
    return audit.model_copy(update={"models": tuple(model for model in audit.models if model.samples.seed is None)})


def most_uneven(audit: Audit) -> ModelAudit:
    """The model with the widest gap between its classes."""
    return max(audit.models, key=lambda model: model.rdi.value or 0.0)


def most_robust(audit: Audit) -> ModelAudit:
    """The model with the highest robust accuracy; without radii the first."""
    return max(audit.models, key=_robust)


def _robust(model: ModelAudit) -> float:
    return 0.0 if model.robustness is None else model.robustness.headline.value


def show_demo(audit: Audit, zoo: Sequence[ZooModel], folder: Path, console: Console) -> None:
    """A table of the zoo, what stands out in it, and what to do next."""
    test = on_test(audit)
    generated = [model for model in audit.models if model.samples.seed is not None]
    first = test.models[0]
    table = drop_columns(console, _zoo_table(test.models, generated, zoo), SPARE)
    headings = [str(column.header) for column in table.columns]
    attack = "" if first.robustness is None else robust_words.size_text(first.robustness)
    legend = "; ".join(f"{name}: {meaning}" for name, meaning in LEGEND.items() if name in headings)
    written = views.printable(f"{redact(folder)}/: audit.json, report.html (open it), figures/")
    best = _network(most_robust(test))
    console.print(
        Group(
            Text("Which digits do these eight small networks leave unprotected?", style="bold"),
            Text(f"{first.samples.n:,} test images and {generated[0].samples.n:,} generated ones, no attack.\n"),
            fit(console, table),
            Text(
                f"{legend.format(attack=attack)}. {'' if first.robustness is None else robust_words.NO_BOUND}",
                style="dim",
            ),
            Text(),
            *([*rows, Text()] if (rows := curve_rows(test.models, console)) else []),
            *_findings(test, zoo),
            Text(),
            Text.assemble(("Written: ", "bold"), written),
            Text(f"Look closer:   gfscore audit --model zoo:{best} --data zoo:digits"),
            Text("Your network:  gfscore audit --model net.onnx --data images.npz"),
            Text("Your logits:   gfscore audit logits.npz"),
        ),
        soft_wrap=False,
    )


def _zoo_table(on_test: Sequence[ModelAudit], generated: Sequence[ModelAudit], zoo: Sequence[ZooModel]) -> Table:
    table = column_table("network", "clean", "robust", "worst digit", "attacked", "GREAT", "drawn", "gap", "p")
    for test, drawn, known in zip(on_test, generated, zoo, strict=True):
        rung = None if test.robustness is None else test.robustness.headline
        table.add_row(
            known.name,
            views.percent(test.accuracy),
            "–" if rung is None else views.percent(rung.value),
            "–" if rung is None else f"{rung.worst}: {views.share_text(rung.lowest)}",
            views.percent(known.attack_accuracy),
            views.number(test.aggregate),
            views.number(drawn.aggregate),
            views.number(test.rdi.value),
            "–" if test.noise is None else f"{sentences.adjusted(test.noise.rdi):.3f}",
        )
    return table


def _findings(test: Audit, zoo: Sequence[ZooModel]) -> list[Text]:
    uneven = most_uneven(test)
    return [
        *_robustness(test, zoo),
        *_beware(test, zoo),
        Text.assemble(
            ("Is it noise? ", "bold"),
            f"By GREAT score “{_network(uneven)}” is the most uneven network, lowest for digit {uneven.wcr.class_}. ",
            sentences.noise_text(uneven) or "Not tested.",
        ),
        *_temperature(test.calibration),
    ]


def _robustness(test: Audit, zoo: Sequence[ZooModel]) -> list[Text]:
    """Which network attacks would hurt least, and where it is weakest."""
    best, lowest = most_robust(test), min(test.models, key=_robust)
    if best.robustness is None or lowest.robustness is None:
        return []
    measured = {model.name: views.percent(known.attack_accuracy) for model, known in zip(test.models, zoo, strict=True)}
    return [
        Text.assemble(
            ("Robust accuracy: ", "bold"),
            f"in “{_network(best)}” {robust_words.whole_text(best)} (an attack left {measured[best.name]}), in "
            f"“{_network(lowest)}” {views.share_text(lowest.robustness.headline.whole)} ({measured[lowest.name]}).",
        ),
        Text.assemble(("Least protected: ", "bold"), f"in “{_network(best)}”, digit {robust_words.worst_text(best)}"),
    ]


def _beware(test: Audit, zoo: Sequence[ZooModel]) -> list[Text]:
    """The network with the highest score, where it is not the most robust: what it is, and what gives it away."""
    highest = max(test.models, key=lambda model: model.aggregate)
    if highest.robustness is None or highest is most_robust(test):
        return []
    known, mine = zoo[test.models.index(highest)], highest.robustness.headline
    place = 1 + sum(_robust(model) > mine.value for model in test.models)
    same = [
        f"“{_network(model)}”"
        for model in test.models
        if model is not highest and model.robustness is not None and model.robustness.headline == mine
    ]
    last = len(test.models) - len(same)
    which = "the lowest robust accuracy" if place == last else f"place {place} by robust accuracy"
    alike = f", digit by digit that of {' and '.join(same)}" if same else ""
    found = [
        Text.assemble(
            ("Beware: ", "bold red"),
            f"“{known.name}” has the highest GREAT score, {views.number(highest.aggregate)}, and {which}, "
            f"{views.percent(mine.value)}{alike}. {known.description} The score compares the classes of one network; "
            "it does not rank networks, and it is not a certificate.",
        )
    ]
    share = highest.claim.radius_refuted_share
    if share:
        found.append(
            Text.assemble(
                ("Caught: ", "bold red"),
                f"Radius reading of its score refuted on {views.percent(share)} of samples ({highest.claim.tried_on:,} "
                "tried, by forward passes alone): closer than the score says lies an image taken for another digit.",
            )
        )
    return found


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
