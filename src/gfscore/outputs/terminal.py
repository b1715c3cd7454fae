"""The audit and its calibration as a person reads them in a terminal."""

import re
from collections.abc import Mapping, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from gfscore import views
from gfscore.errors import PLURALS, first_few
from gfscore.outputs import robust_words, sentences
from gfscore.outputs.calibration_text import agreement_text, show_calibration
from gfscore.outputs.fitting import add_ends, column_table, fit, flag_lines
from gfscore.outputs.terminal_curves import curve_plot, curve_rows
from gfscore.results import Audit, Calibrated, ClassResult, Metric, ModelAudit

BAR_WIDTH = 16
WORST_ROBUST = "of the worst"
# headings of columns that a narrow terminal goes without, the least needed first; bars have none
SPARE_CLASS_COLUMNS = ("", "share", "n", "most confused with")
SHRUNKEN = (
    "Shrunken: the score drawn towards the mean of all {parts} by as much as chance explains. Of many {parts}, those "
    "at both ends are there mostly by luck."
)
FULL, EIGHTHS = "█", " ▏▎▍▌▋▊▉"
CHOSEN_HERE = (
    "T* was chosen on these samples. So these intervals are a band, which holds at all temperatures at once, T* "
    "included; its error level is beside that of the audit. A noise floor at T* is not computed."
)


def show_audit(audit: Audit, console: Console) -> None:
    """Print one model in full, or several as a table of models; then the calibration, if there is one."""
    console.print(_one(audit.models[0], console) if len(audit.models) == 1 else _many(audit, console))
    if audit.calibration is not None:
        console.print()
        show_calibration(audit.calibration, console)
        at_best = [(model, model.calibrated) for model in audit.models if model.calibrated]
        if at_best:
            console.print(Text(f"All metrics at T* = {at_best[0][1].temperature:.4g}:", style="bold"))
            console.print(_model_table(console, at_best))
            console.print(Text(CHOSEN_HERE, style="dim"))


def _one(model: ModelAudit, console: Console) -> RenderableType:
    noise = sentences.noise_text(model)
    return Group(
        Text(views.printable(sentences.headline(model)), style="bold"),
        *flag_lines(flag for flag in model.flags if flag.mistaken),  # first, for all that follows is about nothing
        *map(Text, sentences.made_by(model)),
        Text(sentences.brackets(model)),
        Text(),
        *_robustness(model, console),
        fit(console, _class_table(model), SPARE_CLASS_COLUMNS),
        *_shrunken_note(model),
        Text(),
        fit(console, _metric_table(model)),
        Text(),
        _worst(model),
        *([] if noise is None else [Text.assemble(("Is it noise? ", "bold"), noise)]),
        *flag_lines(flag for flag in model.flags if not flag.mistaken),
        Text(sentences.claim_text(model), style="dim"),
    )


def _robustness(model: ModelAudit, console: Console) -> list[RenderableType]:
    """Accuracy under attack at a few eps, of the whole and of the worst class; nothing without radii."""
    found = model.robustness
    if found is None:
        return []
    table = column_table("eps", "robust accuracy", f"of the worst {model.partition}")
    table.add_column("which", no_wrap=True)
    for rung in robust_words.shown_rungs(found):
        whole = Metric(value=rung.value, interval=rung.interval)
        style = "bold" if rung is found.headline else ""
        cells = (robust_words.eps_text(found, rung.eps), views.share_text(whole), views.share_text(rung.lowest))
        table.add_row(*(Text(cell, style=style) for cell in (*cells, views.printable(rung.worst))))
    said = robust_words.PROOF if found.kind == "certified" else robust_words.NO_BOUND
    return [
        Text(f"Accuracy under attack, from {robust_words.source_text(model)}."),
        fit(console, table),
        Text(said, style="dim"),
        *curve_plot(model, console),
        Text(),
    ]


def _many(audit: Audit, console: Console) -> RenderableType:
    tried = [
        f"{views.printable(model.name)}: {text}" for model in audit.models for text in sentences.tried_texts(model)
    ]
    mistaken, others = (
        {
            views.printable(model.name): [
                views.printable(flag.message) for flag in model.flags if flag.mistaken is those
            ]
            for model in audit.models
        }
        for those in (True, False)
    )
    first = shared_lines(mistaken)
    return Group(
        *([*first, Text()] if first else []),
        _model_table(console, [(model, model) for model in audit.models]),
        Text(),
        *([*rows, Text()] if (rows := curve_rows(audit.models, console)) else []),
        Text(sentences.brackets_of_all(audit.models)),
        *(Text(text, style="dim") for text in robust_words.notes(audit.models)),
        *map(Text, sentences.ran_on(audit.models)),
        *map(Text, sentences.no_order(audit.models)),
        *map(Text, sentences.weighed_notes(audit.models)),
        *map(Text, _ranking(audit)),
        *shared_lines(others),
        *map(Text, tried),
        Text(sentences.premise_text(audit.models[0]), style="dim"),
    )


def shared_lines(flagged: Mapping[str, Sequence[str]]) -> list[Text]:
    """A line for each warning, by model: one that differs only in its numbers is said once, with those of the first."""
    alike = dict[str, dict[str, str]]()
    for name, texts in flagged.items():
        for text in texts:
            alike.setdefault(re.sub(r"\d[\d.,]*", "0", text), {}).setdefault(name, text)
    lines = []
    for found in alike.values():
        (first, text), *others = found.items()
        about = f"{len(found)} of {len(flagged)} models ({first_few(list(found))})" if others else first
        if others and len(set(found.values())) > 1:
            about += f"; of {first}"
        lines.append(Text(f"! {about}: {text}", style="yellow"))
    return lines


def _ranking(audit: Audit) -> list[str]:
    """How alike scores, clean accuracies and a reference order the models."""
    if audit.ranking is None:
        return []
    found = {
        "score and clean accuracy": audit.ranking.score_and_clean_accuracy,
        "score and reference": audit.ranking.score_and_reference,
        "clean accuracy and reference": audit.ranking.clean_accuracy_and_reference,
    }
    known = {name: agreement_text(agreement) for name, agreement in found.items() if agreement is not None}
    scale = " (1: the same order, 0: unrelated, −1: the reverse)"
    return [f"Do {name} order the models alike? {sentences.begin(text)}{scale}." for name, text in known.items()]


def _model_table(console: Console, models: Sequence[tuple[ModelAudit, ModelAudit | Calibrated]]) -> RenderableType:
    """A row per model: its name, clean accuracy and metrics, which are its own or those at another temperature.

    A narrow terminal goes without the last metrics first; accuracy and the worst class stay.
    """
    score, keys = models[0][0].score, views.metric_keys(*(result for _, result in models), main=True)
    part = models[0][0].partition
    headings = {key: views.metric_name(key, score, part) for key in keys}
    robust = any(model.robust_accuracy for model, _ in models)
    table = column_table("model", "accuracy", *([robust_words.title(models[0][0]), WORST_ROBUST] if robust else []))
    if robust:
        table.add_column(f"worst {part}", no_wrap=True)
    for key in keys:
        table.add_column(headings[key], no_wrap=True)
        if key == "wcr":
            table.add_column(f"which {part}", no_wrap=True)
    for model, result in models:
        cells = list[Text | str]()
        for key in keys:
            cells.append(Text(views.metric_text(model, key, result)))
            if key == "wcr":
                cells.append(Text(views.printable(result.wcr.class_)))
        table.add_row(
            Text(views.printable(model.name)),
            views.percent(model.accuracy, 2),
            *(_robust_cells(model) if robust else []),
            *cells,
        )
    spare = [headings[key] for key in reversed(keys) if key != "wcr"]
    return fit(console, table, [*spare, f"which {part}", headings["wcr"]] if robust else spare)


def _robust_cells(model: ModelAudit) -> list[Text | str]:
    """Robust accuracy of the whole, of the worst class, and which that is."""
    found = model.robustness
    if found is None:
        return [views.share_text(model.robust_accuracy), "–", "–"]
    rung = found.headline
    return [views.share_text(model.robust_accuracy), views.share_text(rung.lowest), views.printable(rung.worst)]


def _class_table(model: ModelAudit) -> Table:
    """A row per class; beside the scores robust accuracy, shrunken scores when there are many classes, or bars."""
    robust, many = model.robust_accuracy is not None, _is_long(model)
    beside = robust_words.title(model) if robust else "shrunken" if many else ""
    table = column_table(model.partition, "n")
    if robust:
        table.add_column(beside, justify="right", no_wrap=True)
    table.add_column("score", no_wrap=True)
    if not robust:
        table.add_column(beside, justify="right" if beside else "left", no_wrap=True)
    for heading in ("accuracy", *(["abstained"] if model.abstained is not None else [])):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("most confused with", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)

    def cell_beside(entry: ClassResult) -> Text:
        if robust:
            return Text(views.share_text(entry.robust_accuracy))
        if many:  # extremes of many classes are mostly luck, which shrunken scores show better than bars
            return Text(views.number(entry.shrunken, views.digits_of(model.score)))
        return Text(_bar(entry.score / model.score.range[1]), style="cyan")

    def row(entry: ClassResult) -> list[Text | str]:
        cells = [Text(views.score_text(model, entry.score, entry.interval)), cell_beside(entry)]
        return [
            Text(views.printable(entry.name)),
            f"{entry.n:,}",
            *(cells[::-1] if robust else cells),
            views.percent(entry.accuracy),
            *([] if entry.abstained is None else [views.percent(entry.abstained)]),
            Text("–" if entry.confused_with is None else views.printable(entry.confused_with)),
            views.percent(entry.confused_share if entry.confused_with is not None else None),
        ]

    return add_ends(table, robust_words.by_robustness(model), row)


def _is_long(model: ModelAudit) -> bool:
    return len(model.classes) > 2 * sentences.END_ROWS


def _shrunken_note(model: ModelAudit) -> list[Text]:
    if model.robust_accuracy is not None or not _is_long(model):
        return []
    return [Text(SHRUNKEN.format(parts=PLURALS[model.partition]), style="dim")]


def _bar(share: float) -> str:
    eighths = round(share * BAR_WIDTH * 8)
    return (FULL * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()


def _metric_table(model: ModelAudit) -> Table:
    table = column_table("", "", prose="", header=False)
    table.columns[0].style, table.columns[1].justify = "bold", "left"
    for name, value, meaning in sentences.metric_rows(model):
        table.add_row(name, Text(value), Text(views.printable(meaning), style="dim"))
    return table


def _worst(model: ModelAudit) -> Text:
    """Which class is least protected, and how sure that is."""
    worst, candidates = views.printable(model.wcr.class_), len(model.worst_set)
    parts, number = PLURALS[model.partition], views.score_text(model, model.wcr.value)
    robust = robust_words.worst_text(model)
    if robust and model.score.eps is None:
        text = Text.assemble(("Least protected: ", "bold"), robust, f" Lowest {views.score_name(model.score)}: ")
        text.append(f"{worst} at {number}. ")
    else:
        text = Text.assemble(("Least protected: ", "bold"), (worst, "bold red"), f" at {number}. ")
    if candidates == 1:
        return text.append("The intervals leave no other candidate.")
    return text.append(f"The intervals leave {candidates:,} of {len(model.classes):,} {parts} as candidates.")
