"""Tables to take into a paper, a README or a spreadsheet: LaTeX (booktabs), Markdown and CSV."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain

from gfscore import views
from gfscore.metrics import Unit
from gfscore.outputs.spreadsheets import write_rows
from gfscore.results import Audit, ClassResult, ModelAudit

Interval = tuple[float, float] | None
Cell = str | float | int | tuple[float | None, Interval] | None
LATEX_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "–": "--",
    "|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip
MARKDOWN_SPECIAL = str.maketrans(
    {special: f"\\{special}" for special in "\\|*_`["}
    | {"&": "&amp;", "<": "&lt;", "$": "&#36;", "~": "&#126;"}  # not every Markdown lets these be escaped
)


class Certified(float):
    """A mean of certified radii, which is written rounded down."""


class Layout(StrEnum):
    """What a row is."""

    MODELS = "models"  # a model and its metrics
    CLASSES = "classes"  # a class of a model
    MATRIX = "matrix"  # a model, with a column per class


class Format(StrEnum):
    """How a table is written."""

    LATEX = "latex"
    MARKDOWN = "markdown"
    CSV = "csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Headings and rows; a pair is an estimate with its interval."""

    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str


def render(audit: Audit, *, layout: Layout, form: Format, digits: int = 3) -> str:
    """The table as text, with a final newline."""
    return WRITERS[form](CONTENTS[layout](audit), digits)


def _models(audit: Audit) -> Content:
    keys, score = views.metric_keys(*audit.models), audit.models[0].score
    titles = [(views.metric_title(key, score, column=True), *(["WCR class"] if key == "wcr" else [])) for key in keys]
    tried = any(model.claim.radius_refuted_share is not None for model in audit.models)
    headings = ("Model", "Accuracy", *chain(*titles), *(["Radii refuted"] if tried else []))

    def row(model: ModelAudit) -> tuple[Cell, ...]:
        cells = [(_metric(model, key), *([model.wcr.class_] if key == "wcr" else [])) for key in keys]
        refuted = (model.claim.radius_refuted_share, model.claim.radius_refuted_interval)
        return (model.name, model.accuracy, *chain(*cells), *([refuted] if tried else []))

    return Content(headings=headings, rows=tuple(map(row, audit.models)), caption=_caption(audit))


def _metric(model: ModelAudit, key: str) -> Cell:
    """A metric with its interval, marked when it is a certificate."""
    found = model.metric(key)
    value = _score(model, found.value) if views.metric_row(key).unit is Unit.SCORE else found.value
    return value, found.interval


def _classes(audit: Audit) -> Content:
    part = audit.models[0].partition.capitalize()
    entries = [entry for model in audit.models for entry in model.classes]
    more: dict[str, Callable[[ClassResult], Cell]] = {}  # columns that are there only where they say something
    if any(entry.abstained is not None for entry in entries):
        more["Abstained"] = lambda entry: entry.abstained
    if any(entry.refuted is not None for entry in entries):
        more["Radii refuted"] = lambda entry: (
            (entry.refuted.value, entry.refuted.interval) if entry.refuted else (None, None)
        )
    headings = ("Model", part, "n", "Score", "Std", "Accuracy", "Most confused with", *more)

    def row(model: ModelAudit, entry: ClassResult) -> tuple[Cell, ...]:
        found = (
            model.name,
            entry.name,
            entry.n,
            (_score(model, entry.score), entry.interval),
            entry.std,
            entry.accuracy,
        )
        return (*found, entry.confused_with, *(column(entry) for column in more.values()))

    rows = tuple(row(model, entry) for model in audit.models for entry in model.classes)
    if len(audit.models) == 1:
        headings, rows = headings[1:], tuple(cells[1:] for cells in rows)
    return Content(headings=headings, rows=rows, caption=_caption(audit))


def _matrix(audit: Audit) -> Content:
    names = tuple(dict.fromkeys(entry.name for model in audit.models for entry in model.classes))
    rows = []
    for model in audit.models:
        score_of = {entry.name: _score(model, entry.score) for entry in model.classes}
        rows.append((model.name, *(score_of.get(name) for name in names), _score(model, model.aggregate)))
    return Content(
        headings=("Model", *names, views.column_name(audit.models[0].score)), rows=tuple(rows), caption=_caption(audit)
    )


def _score(model: ModelAudit, value: float | None) -> float | None:
    """A mean score, marked when it is a certificate."""
    return value if value is None or not views.is_certified(model) else Certified(value)


def _caption(audit: Audit) -> str:
    """What the reader of a table must know to read it."""
    model = audit.models[0]
    settings = ", ".join(views.settings(model.score))
    how = f" ({settings})" if settings else ""
    certificate = model.claim.premise if model.claim.certified else "The score is not a certificate."
    return views.printable(
        f"{views.score_name(model.score)}{how}, at most {model.score.range[1]:.3f}. Brackets: "
        f"{model.interval.method} intervals that hold together with probability {1 - model.interval.delta:g}. "
        + " ".join([*views.weighed_notes(audit.models), certificate, *_tried(audit)])
    )


def _tried(audit: Audit) -> list[str]:
    """What came of trying to refute the scores, with the model's name where there are several."""
    several = len(audit.models) > 1
    return [f"{model.name}: {text}" if several else text for model in audit.models for text in views.tried_texts(model)]


def _text(cell: Cell, digits: int) -> str:
    if isinstance(cell, tuple):
        return views.estimate(cell[0], cell[1], digits, certified=isinstance(cell[0], Certified))
    if isinstance(cell, str):
        return views.printable(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    return views.estimate(cell, None, digits, certified=isinstance(cell, Certified))


def _latex(content: Content, digits: int) -> str:
    def line(cells: Sequence[Cell]) -> str:
        row = " & ".join("".join(LATEX_SPECIAL.get(c, c) for c in _text(cell, digits)) for cell in cells)
        guard = "{}" if row.startswith(("[", "*")) else ""  # the line break before would take them for its option
        return rf"    {guard}{row} \\"

    columns = "".join("l" if isinstance(cell, str) or cell is None else "r" for cell in content.rows[0])
    return "\n".join(
        [
            rf"% {content.caption}",
            rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
            r"    \toprule",
            line(content.headings),
            r"    \midrule",
            *map(line, content.rows),
            r"    \bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _markdown(content: Content, digits: int) -> str:
    def line(cells: Sequence[Cell]) -> str:
        texts = [_text(cell, digits) for cell in cells]
        escaped = [
            markdown_cell(text) if isinstance(cell, str) else text for cell, text in zip(cells, texts, strict=True)
        ]
        return "| " + " | ".join(escaped) + " |"

    aligned = ["---" if isinstance(cell, str) or cell is None else "---:" for cell in content.rows[0]]
    rows = [line(row) for row in content.rows]
    return "\n".join(
        [line(content.headings), "|" + "|".join(aligned) + "|", *rows, "", markdown_cell(content.caption), ""]
    )


def markdown_cell(text: str) -> str:
    """Text that stays text inside a Markdown table."""
    return text.translate(MARKDOWN_SPECIAL)


def _csv(content: Content, _digits: int) -> str:
    """Numbers in full precision; an estimate takes three columns."""
    expanded = [any(isinstance(row[column], tuple) for row in content.rows) for column in range(len(content.headings))]
    buffer = io.StringIO()
    header: list[object] = []
    for heading, wide in zip(content.headings, expanded, strict=True):
        header += [heading, f"{heading} lower", f"{heading} upper"] if wide else [heading]
    lines = [header]
    for row in content.rows:
        cells: list[object] = []
        for cell in row:
            if isinstance(cell, tuple):
                lower, upper = cell[1] or (None, None)
                cells += [cell[0], lower, upper]
            else:
                cells.append(cell)
        lines.append(cells)
    write_rows(buffer, lines)
    return buffer.getvalue()


CONTENTS: dict[Layout, Callable[[Audit], Content]] = {
    Layout.MODELS: _models,
    Layout.CLASSES: _classes,
    Layout.MATRIX: _matrix,
}
WRITERS: dict[Format, Callable[[Content, int], str]] = {
    Format.LATEX: _latex,
    Format.MARKDOWN: _markdown,
    Format.CSV: _csv,
}
