"""Tables to take into a paper, a README or a spreadsheet: LaTeX, Markdown and CSV; of samples also parquet."""

import io
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from gfscore import views
from gfscore.errors import OptionError, require
from gfscore.metrics import Unit
from gfscore.outputs import robust_words, sentences
from gfscore.outputs.escaping import markdown_cell, markdown_row, write_csv
from gfscore.results import Audit, ClassResult, ModelAudit
from gfscore.storage import atomic_file

Interval = tuple[float, float] | None
Cell = str | float | int | tuple[float | None, Interval] | None
SampleColumns = Mapping[str, Sequence[Any]]
LATEX_SPECIAL = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "–": "--",
    "|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}",
})  # fmt: skip


class Certified(float):
    """A mean of certified radii, which is written rounded down."""


class Layout(StrEnum):
    """What a row is."""

    MODELS = "models"  # a model and its metrics
    CLASSES = "classes"  # a class of a model
    MATRIX = "matrix"  # a model, with a column per class


class TableFormat(StrEnum):
    """How a table is written."""

    LATEX = "latex"
    MARKDOWN = "markdown"
    CSV = "csv"


class Content(NamedTuple):
    """Headings and rows; a pair is an estimate with its interval."""

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]


def render_table(audit: Audit, *, layout: Layout, form: TableFormat, digits: int = 3) -> str:
    """The table as text, with a final newline."""
    contents = {Layout.MODELS: _models, Layout.CLASSES: _classes, Layout.MATRIX: _matrix}
    content = contents[layout](audit)
    match form:
        case TableFormat.LATEX:
            return _latex(content, _caption(audit), digits)
        case TableFormat.MARKDOWN:
            return _markdown(content, _caption(audit), digits)
        case TableFormat.CSV:
            return _csv(content)


def _models(audit: Audit) -> Content:
    keys, score = views.metric_keys(*audit.models), audit.models[0].score
    titles = [(views.metric_title(key, score, column=True), *(["WCR class"] if key == "wcr" else [])) for key in keys]
    tried = any(model.claim.radius_refuted_share is not None for model in audit.models)
    robust = _robust_headings(audit)
    headings = ("Model", "Accuracy", *robust, *chain(*titles), *(["Radii refuted"] if tried else []))

    def row(model: ModelAudit) -> tuple[Cell, ...]:
        cells = [(_metric(model, key), *([model.wcr.class_] if key == "wcr" else [])) for key in keys]
        refuted = (model.claim.radius_refuted_share, model.claim.radius_refuted_interval)
        beside = _robust_cells(model) if robust else ()
        return (model.name, model.accuracy, *beside, *chain(*cells), *([refuted] if tried else []))

    return Content(headings, [row(model) for model in audit.models])


def _robust_headings(audit: Audit) -> tuple[str, ...]:
    """Of the columns of robust accuracy: of the whole, of the worst class, and which it is, where one is known."""
    if all(model.robustness is None for model in audit.models):
        return ()
    title, part = robust_words.models_title(audit.models), audit.models[0].partition
    return sentences.begin(title), f"Worst {part} {title}", f"Worst {part}"


def _robust_cells(model: ModelAudit) -> tuple[Cell, ...]:
    if model.robustness is None:
        return (None, None), (None, None), None
    rung = model.robustness.headline
    return (rung.value, rung.interval), (rung.lowest.value, rung.lowest.interval), rung.worst


def _metric(model: ModelAudit, key: str) -> Cell:
    found = model.metric(key)
    value = _score(model, found.value) if views.metric_row(key).unit is Unit.SCORE else found.value
    return value, found.interval


def _classes(audit: Audit) -> Content:
    entries = [entry for model in audit.models for entry in model.classes]
    more: dict[str, Callable[[ClassResult], Cell]] = {}  # columns that are there only where they say something
    if any(entry.abstained is not None for entry in entries):
        more["Abstained"] = lambda entry: entry.abstained
    if any(entry.refuted is not None for entry in entries):
        more["Radii refuted"] = lambda entry: (
            (entry.refuted.value, entry.refuted.interval) if entry.refuted else (None, None)
        )
    if any(entry.attacked is not None for entry in entries):
        more["Accuracy attacked"] = lambda entry: (
            (entry.attacked.value, entry.attacked.interval) if entry.attacked else (None, None)
        )
    part, several = audit.models[0].partition.capitalize(), len(audit.models) > 1
    robust = _robust_headings(audit)[:1]
    headings = (part, "n", "Score", "Std", "Accuracy", *robust, "Most confused with", *more)

    def row(model: ModelAudit, entry: ClassResult) -> tuple[Cell, ...]:
        score = (_score(model, entry.score), entry.interval)
        known = entry.robust_accuracy
        beside = [(None, None) if known is None else (known.value, known.interval)] if robust else []
        found = (entry.name, entry.n, score, entry.std, entry.accuracy, *beside, entry.confused_with)
        return (*([model.name] if several else []), *found, *(column(entry) for column in more.values()))

    rows = [row(model, entry) for model in audit.models for entry in model.classes]
    return Content(("Model", *headings) if several else headings, rows)


def _matrix(audit: Audit) -> Content:
    names = tuple(dict.fromkeys(entry.name for model in audit.models for entry in model.classes))
    rows = []
    for model in audit.models:
        score_of = {entry.name: _score(model, entry.score) for entry in model.classes}
        rows.append((model.name, *(score_of.get(name) for name in names), _score(model, model.aggregate)))
    return Content(("Model", *names, views.column_name(audit.models[0].score)), rows)


def _score(model: ModelAudit, value: float | None) -> float | None:
    """A mean score, marked when it is a certificate."""
    return value if value is None or not views.is_certified(model) else Certified(value)


def _caption(audit: Audit) -> str:
    """What the reader of a table must know to read it."""
    model, several = audit.models[0], len(audit.models) > 1
    settings = ", ".join(views.settings(model.score))
    how = f" ({settings})" if settings else ""
    certificate = model.claim.premise if model.claim.certified else "The score is not a certificate."
    tried = [
        f"{each.name}: {text}" if several else text for each in audit.models for text in sentences.tried_texts(each)
    ]
    return views.printable(
        f"{views.score_name(model.score)}{how}, at most {model.score.range[1]:.3f}. Brackets: "
        f"{model.interval.method} intervals that hold together with probability {1 - model.interval.delta:g}. "
        + " ".join([*sentences.weighed_notes(audit.models), certificate, *tried, *_robust_notes(audit)])
    )


def _robust_notes(audit: Audit) -> list[str]:
    """What the robust accuracies are, and what they are not, once for all models that have them alike."""
    known = [(model, model.robustness) for model in audit.models if model.robustness is not None]
    return list(
        dict.fromkeys(f"{robust_words.claim_text(model)} {robust_words.limits_text(rungs)}" for model, rungs in known)
    )


def _text(cell: Cell, digits: int) -> str:
    if isinstance(cell, str):
        return views.printable(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    value, interval = cell if isinstance(cell, tuple) else (cell, None)
    return views.estimate(value, interval, digits, certified=isinstance(value, Certified))


def _is_text(content: Content) -> list[bool]:
    return [isinstance(cell, str) or cell is None for cell in content.rows[0]]


def _latex(content: Content, caption: str, digits: int) -> str:
    def line(cells: Sequence[Cell]) -> str:
        row = " & ".join(_text(cell, digits).translate(LATEX_SPECIAL) for cell in cells)
        guard = "{}" if row.startswith(("[", "*")) else ""  # the line break before would take them for its option
        return rf"    {guard}{row} \\"

    columns = "".join("l" if text else "r" for text in _is_text(content))
    top = [rf"% {caption}", rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}", r"    \toprule", line(content.headings)]
    lines = [*top, r"    \midrule", *map(line, content.rows), r"    \bottomrule", r"\end{tabular}", ""]
    return "\n".join(lines)


def _markdown(content: Content, caption: str, digits: int) -> str:
    def line(cells: Sequence[Cell]) -> str:
        texts = [(cell, _text(cell, digits)) for cell in cells]
        return markdown_row(markdown_cell(text) if isinstance(cell, str) else text for cell, text in texts)

    rule = "|" + "|".join("---" if text else "---:" for text in _is_text(content)) + "|"
    return "\n".join([line(content.headings), rule, *map(line, content.rows), "", markdown_cell(caption), ""])


def _csv(content: Content) -> str:
    """Numbers in full precision; an estimate takes three columns."""
    wide = [any(isinstance(row[column], tuple) for row in content.rows) for column in range(len(content.headings))]
    lines: list[list[object]] = [[]]
    for heading, has_ends in zip(content.headings, wide, strict=True):
        lines[0] += [heading, f"{heading} lower", f"{heading} upper"] if has_ends else [heading]
    for row in content.rows:
        cells = [(cell[0], *(cell[1] or (None, None))) if isinstance(cell, tuple) else (cell,) for cell in row]
        lines.append(list(chain(*cells)))
    buffer = io.StringIO()
    write_csv(buffer, lines)
    return buffer.getvalue()


def check_per_sample(path: Path) -> None:
    """Refuse a path for a table of samples that names no known format, before any work is done."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise OptionError(f"--per-sample {path} has the ending {path.suffix!r}. Use .csv or .parquet.")
    if path.suffix.lower() == ".parquet":
        require("pyarrow", extra="tables", purpose="writing parquet")


def write_per_sample(path: Path, tables: Sequence[SampleColumns]) -> None:
    """Write the tables of all models under one another; a column that one lacks stays empty there."""
    check_per_sample(path)
    headings = list(dict.fromkeys(heading for table in tables for heading in table))
    columns = [[table.get(name, [None] * len(table["sample_id"])) for name in headings] for table in tables]
    with atomic_file(path) as temporary:
        if path.suffix.lower() == ".csv":
            with temporary.open("w", newline="", encoding="utf-8") as file:
                write_csv(file, [headings])
                for each in columns:
                    write_csv(file, zip(*each, strict=True))
        else:
            pyarrow, parquet = (
                require(name, extra="tables", purpose="writing parquet") for name in ("pyarrow", "pyarrow.parquet")
            )
            parts = [pyarrow.table(dict(zip(headings, each, strict=True))) for each in columns]
            parquet.write_table(pyarrow.concat_tables(parts, promote_options="permissive"), temporary)
