"""The audit as a person reads it in a terminal."""

from collections.abc import Sequence
from typing import Literal

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.outputs import calibration
from gfscore.outputs.fitting import fitting
from gfscore.results import Audit, Calibrated, ClassResult, ModelAudit

BAR_WIDTH = 16
# headings of columns that a narrow terminal goes without, the least needed first; bars have none
SPARE = ("", "n", "most confused with")
FULL, EIGHTHS = "█", " ▏▎▍▌▋▊▉"


def show(audit: Audit, console: Console) -> None:
    """One model in full, or several as a table of models; then the calibration, if there is one."""
    console.print(_one(audit.models[0], console) if len(audit.models) == 1 else _many(audit, console))
    if audit.calibration is not None:
        console.print()
        calibration.show(audit.calibration, console)
        at_best = [(model, model.calibrated) for model in audit.models if model.calibrated]
        if at_best:
            console.print(Text(f"All metrics at T* = {at_best[0][1].temperature:.4g}:", style="bold"))
            console.print(_fitting_models(console, at_best))
            console.print(Text(calibration.CHOSEN, style="dim"))


def _one(model: ModelAudit, console: Console) -> RenderableType:
    return Group(
        Text(views.printable(views.headline(model)), style="bold"),
        Text(views.brackets(model)),
        Text(),
        fitting(console, _class_table(model), SPARE),
        Text(),
        _metric_table(model),
        Text(),
        _worst(model),
        *_noise(model),
        *_flags(model),
        _claim(model),
    )


def _many(audit: Audit, console: Console) -> RenderableType:
    table = _fitting_models(console, [(model, model) for model in audit.models])
    flags = [
        Text(f"! {views.printable(model.name)}: {views.printable(flag.message)}", style="yellow")
        for model in audit.models
        for flag in model.flags
    ]
    return Group(
        table,
        Text(),
        *map(Text, views.weighed_notes(audit.models)),
        *_ranking(audit),
        *flags,
        *_tried(audit),
        Text(views.premise_text(audit.models[0]), style="dim"),
    )


def _ranking(audit: Audit) -> list[Text]:
    """How alike scores, clean accuracies and a reference order the models."""
    if audit.ranking is None:
        return []
    found = {
        "score and clean accuracy": audit.ranking.score_and_clean_accuracy,
        "score and reference": audit.ranking.score_and_reference,
        "clean accuracy and reference": audit.ranking.clean_accuracy_and_reference,
    }
    return [
        Text(f"Order of the models by {name}: {calibration.agreement_text(agreement)}")
        for name, agreement in found.items()
        if agreement is not None
    ]


def _tried(audit: Audit) -> list[Text]:
    """What came of trying to refute the score of each model, before what all of them claim."""
    return [
        Text(f"{views.printable(model.name)}: {text}") for model in audit.models for text in views.tried_texts(model)
    ]


def _fitting_models(console: Console, models: Sequence[tuple[ModelAudit, ModelAudit | Calibrated]]) -> Table:
    """A row per model: its name, clean accuracy and metrics, which are its own or those at another temperature.

    A narrow terminal goes without the last metrics first; score and worst class stay.
    """
    score, keys = models[0][0].score, views.metric_keys(*(result for _, result in models), main=True)
    headings = {key: views.metric_title(key, score, column=True) for key in keys}
    robust = any(model.robust_accuracy for model, _ in models)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("model", overflow="fold")
    extra = ("robust accuracy",) if robust else ()
    for heading in ("accuracy", *extra, *headings.values()):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("worst class", overflow="fold")
    for model, result in models:
        table.add_row(
            Text(views.printable(model.name)),
            views.percent(model.accuracy, 2),
            *([views.share_text(model.robust_accuracy)] if robust else []),
            *(views.metric_text(model, key, result, interval=False) for key in keys),
            Text(views.printable(result.wcr.class_)),
        )
    spare = [headings[key] for key in reversed(keys) if key not in ("aggregate", "wcr")]
    return fitting(console, table, tuple(spare))


def _class_table(model: ModelAudit) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(model.partition, overflow="fold")
    table.add_column("n", justify="right", no_wrap=True)
    table.add_column("score", no_wrap=True)
    beside, justify = _beside(model)
    table.add_column(beside, justify=justify, no_wrap=True)
    table.add_column("accuracy", justify="right", no_wrap=True)
    if model.abstained is not None:
        table.add_column("abstained", justify="right", no_wrap=True)
    table.add_column("most confused with", overflow="fold")
    low, high = views.lowest_and_highest(model)
    _add_classes(table, model, low)
    if high:
        table.add_row(Text(f"… {len(model.classes) - len(low) - len(high):,} more", style="dim"))
        _add_classes(table, model, high)
    return table


def _add_classes(table: Table, model: ModelAudit, entries: list[ClassResult]) -> None:
    for entry in entries:
        confused = "–"
        if entry.confused_with is not None:
            confused = f"{views.printable(entry.confused_with)} ({views.percent(entry.confused_share)})"
        table.add_row(
            Text(views.printable(entry.name)),
            f"{entry.n:,}",
            Text(views.score_text(model, entry.score, entry.interval)),
            _cell_beside(model, entry),
            views.percent(entry.accuracy),
            *([] if entry.abstained is None else [views.percent(entry.abstained)]),
            Text(confused),
        )


def _beside(model: ModelAudit) -> tuple[str, Literal["left", "right"]]:
    """Heading of the column beside the scores: robust accuracy, shrunken scores when there are many, or bars."""
    if model.robust_accuracy is not None:
        return "robust accuracy", "right"
    return ("shrunken", "right") if _is_long(model) else ("", "left")


def _cell_beside(model: ModelAudit, entry: ClassResult) -> Text:
    if model.robust_accuracy is not None:
        return Text(views.share_text(entry.robust_accuracy))
    if _is_long(model):
        return Text(views.number(entry.shrunken, views.digits_of(model.score)))
    return Text(_bar(entry.score / model.score.range[1]), style="cyan")


def _is_long(model: ModelAudit) -> bool:
    """Whether there are so many classes that extremes are mostly luck, which shrunken scores show better than bars."""
    return len(model.classes) > 2 * views.SHOWN


def _bar(share: float) -> str:
    eighths = round(share * BAR_WIDTH * 8)
    return (FULL * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()


def _metric_table(model: ModelAudit) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value, meaning in views.metric_rows(model):
        table.add_row(name, Text(value), Text(views.printable(meaning), style="dim"))
    return table


def _worst(model: ModelAudit) -> Text:
    """Which class is least protected, and how sure that is."""
    worst, candidates = views.printable(model.wcr.class_), len(model.worst_set)
    parts, number = PLURALS[model.partition], views.score_text(model, model.wcr.value)
    text = Text.assemble(("Least protected: ", "bold"), (worst, "bold red"), f" at {number}. ")
    if candidates == 1:
        return text.append("The intervals leave no other candidate.")
    return text.append(f"The intervals leave {candidates:,} of {len(model.classes):,} {parts} as candidates.")


def _noise(model: ModelAudit) -> list[Text]:
    text = views.noise_text(model)
    return [] if text is None else [Text.assemble(("Is it noise? ", "bold"), text)]


def _flags(model: ModelAudit) -> list[Text]:
    return [Text(f"! {views.printable(flag.message)}", style="yellow") for flag in model.flags]


def _claim(model: ModelAudit) -> Text:
    return Text(views.claim_text(model), style="dim")
