"""What came of a check, as a person reads it in a terminal: radii refuted, and accuracy under attack beside scores."""

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from gfscore import views
from gfscore.results import Agreement, Audit, ClassResult, CrossCheck, ModelAudit
from gfscore.score_titles import GREAT, SCORES
from gfscore.storage import redact

Column = tuple[str, Callable[[ClassResult], str]]


def show(audit: Audit, folder: Path | None, console: Console) -> None:
    """Each model by itself; then where the result and the pictures are."""
    for model in audit.models:
        console.print(Text(views.printable(views.headline(model)), style="bold"))
        if model.claim.tried_by:
            console.print(_refutation(model))
        if model.cross_check is not None:
            console.print(_cross_check(model, model.cross_check))
        console.print(Group(*(Text(f"! {views.printable(flag.message)}", style="yellow") for flag in model.flags)))
    if folder is not None:
        pictures = " and witnesses/" if any(model.claim.witnesses for model in audit.models) else ""
        written = views.printable(f"Written: {redact(folder)}/: audit.json{pictures}")
        console.print(Text(written), soft_wrap=True)


def _refutation(model: ModelAudit) -> RenderableType:
    claim = model.claim
    parts: list[RenderableType] = []
    if claim.radius_refuted_share is not None:
        columns: tuple[Column, ...] = (
            ("score", lambda entry: views.score_text(model, entry.score, entry.interval)),
            ("radii refuted", lambda entry: views.share_text(entry.refuted)),
        )
        parts = [_classes(model, columns), Text()]
    parts += [Text(text, style="bold") for text in views.tried_texts(model)]
    if claim.witnesses:
        strongest = claim.witnesses[0]
        where = f" ({strongest.image}; exact pixels: {strongest.data})" if strongest.image else ""
        text = (
            f"Strongest witness: sample {strongest.sample} of “{strongest.class_}” is “{strongest.predicted}” at "
            f"distance {strongest.distance:.3g}, inside its radius of {strongest.radius:.3g}{where}."
        )
        parts.append(Text(views.printable(text)))
    if claim.radius_refuted_share is not None and claim.delta is not None:
        parts.append(Text(_about_shares(claim.delta), style="dim"))
    return Group(*parts, Text(views.premise_text(model), style="dim"))


def _about_shares(delta: float) -> str:
    return (
        "Shares are of samples with a positive score, from those tried; in the whole each class weighs as much as it "
        f"has of them. Intervals hold together with probability {1 - delta:g}, beside those of the scores. A radius "
        "that stands is not proved."
    )


def _cross_check(model: ModelAudit, found: CrossCheck) -> RenderableType:
    columns: tuple[Column, ...] = (
        ("accuracy attacked", lambda entry: views.share_text(entry.attacked)),
        ("first-order", lambda entry: _percent(found.scores.first_order.get(entry.name))),
        ("clean", lambda entry: _percent(found.scores.clean_accuracy.get(entry.name))),
        (SCORES[GREAT].heading, lambda entry: views.number(found.scores.great.get(entry.name))),
    )
    title = {"autoattack": "AutoAttack (standard)", "pgd": "PGD"}[found.attack]
    whole = (
        f"{title}, {found.norm} {found.eps:.4g}: accuracy {views.share_text(found.accuracy)}, from {found.n:,} samples"
    )
    lines = [
        f"{whole}, classes weighed as audited; intervals hold together with probability {1 - found.delta:g}.",
        "Classes ranked as under attack (Spearman): "
        + ", ".join(f"{name} {views.number(entry.spearman, 2)}" for name, entry in agreements(found).items())
        + ".",
        f"First-order radii: {found.first_order}.",
        "Time on the same samples: "
        + ", ".join(f"{name} {_time(taken)}" for name, taken in found.seconds.items())
        + ".",
    ]
    return Group(_classes(model, columns), Text(), *map(Text, lines))


def agreements(found: CrossCheck) -> dict[str, Agreement]:
    """How alike each score and the attack order the classes, by the name of the score."""
    named = {
        "clean accuracy": found.agreement.clean_accuracy,
        "great": found.agreement.great,
        "first-order": found.agreement.first_order,
    }
    return {name: entry for name, entry in named.items() if entry is not None}


def _classes(model: ModelAudit, columns: Sequence[Column]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(model.partition, overflow="fold")
    for heading, _ in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    low, high = views.lowest_and_highest(model)
    for entry in low:
        table.add_row(Text(views.printable(entry.name)), *(cell(entry) for _, cell in columns))
    if high:
        table.add_row(Text(f"… {len(model.classes) - len(low) - len(high):,} more", style="dim"))
    for entry in high:
        table.add_row(Text(views.printable(entry.name)), *(cell(entry) for _, cell in columns))
    return table


def _percent(share: float | None) -> str:
    return "–" if share is None else views.percent(share)


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"
