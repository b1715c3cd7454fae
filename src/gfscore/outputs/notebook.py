"""Results at a prompt and in a notebook: classes first, with bars; and what a result can be asked to do there."""

from collections.abc import Sequence
from dataclasses import fields
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

from gfscore import views
from gfscore.errors import OptionError
from gfscore.outputs import report, robust_words, sentences, verdicts
from gfscore.outputs.comparison_text import show_comparison
from gfscore.outputs.escaping import as_html
from gfscore.outputs.figures import class_heatmap, forest, robust_curves, robust_models
from gfscore.outputs.report.pdf_report import write_pdf
from gfscore.results import Audit, ClassResult, Comparison, GateResult, ModelAudit, RobustChange, Verdict
from gfscore.storage import to_write, write_text

LOWEST = 10  # classes that a text shows
WIDTH = 100  # columns of a text
BAR = 20  # characters of the longest bar of a text
REPORTS = {".html": report.html, ".htm": report.html, ".md": report.markdown, ".pdf": report.html}
COLOURS = {Verdict.PASS: "#2a7f3f", Verdict.FAIL: "#b3261e", Verdict.UNDECIDED: "#8a6100"}


def model_text(model: ModelAudit) -> str:
    """A model's audit in a few lines, its lowest classes first."""
    rows, noise, ordered = sentences.metric_rows(model), sentences.noise_text(model), robust_words.by_robustness(model)
    width, values = (max(len(row[column]) for row in rows) for column in (0, 1))
    lines = [sentences.headline(model), *_class_lines(model, ordered[:LOWEST])]
    if len(ordered) > LOWEST:
        lines.append(f"  … {len(ordered) - LOWEST:,} more, all higher")
    lines += [f"  {name:<{width}}  {value:<{values}}  {meaning}" for name, value, meaning in rows]
    lines += [] if noise is None else [f"  {noise}"]
    lines += [*(f"  ! {flag.message}" for flag in model.flags), f"  {sentences.claim_text(model)}"]
    return "\n".join(map(views.printable, lines))


def _class_lines(model: ModelAudit, entries: Sequence[ClassResult]) -> list[str]:
    shares = sentences.class_shares(model)
    cells = [
        (
            views.printable(entry.name),
            views.score_text(model, entry.score, entry.interval),
            "█" * round(BAR * entry.score / model.score.range[1]),
            views.percent(entry.accuracy),
            *(views.share_text(share(entry)) for share in shares.values()),
        )
        for entry in entries
    ]
    table = [(model.partition, "score", "", "accuracy", *shares), *cells]
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    padded = ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in table)
    return [f"  {line}".rstrip() for line in padded]


def audit_text(audit: Audit) -> str:
    """All models, one after the other."""
    return "\n\n".join(map(model_text, audit.models))


def audit_html(audit: Audit) -> str:
    """All models for a notebook."""
    return "".join(map(model_html, audit.models))


def model_html(model: ModelAudit) -> str:
    """A model's audit for a notebook: its classes with bars, then its metrics; every name is escaped."""
    shares, (low, high) = sentences.class_shares(model), sentences.both_ends(robust_words.by_robustness(model))
    headings = (model.partition, "n", "score", "", "accuracy", *shares, "most confused with")
    rows = [
        (
            as_html(entry.name),
            f"{entry.n:,}",
            escape(views.score_text(model, entry.score, entry.interval)),
            _bar(entry.score / model.score.range[1], worst=entry.name == model.wcr.class_),
            views.percent(entry.accuracy),
            *(escape(views.share_text(share(entry))) for share in shares.values()),
            as_html(entry.confused_with or "–"),
        )
        for entry in (*low, *high)
    ]
    if high:
        rows.insert(len(low), ("…", *[""] * (len(headings) - 1)))
    notes = [text for text in (sentences.noise_text(model), *(flag.message for flag in model.flags)) if text]
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    metrics = [tuple(map(escape, row)) for row in sentences.metric_rows(model)]
    return (
        f"<h4>{escape(sentences.headline(model))}</h4>{_table(rows, headings)}{_table(metrics)}"
        + (f"<ul>{items}</ul>" if items else "")
        + f"<p><small>{escape(sentences.brackets(model))} {escape(sentences.claim_text(model))}</small></p>"
    )


def gate_text(result: GateResult) -> str:
    """A verdict as the terminal shows it."""
    return _printed(verdicts.show_gate, result)


def gate_html(result: GateResult) -> str:
    """A verdict for a notebook: every model with its rules."""
    parts = []
    for model in result.models:
        rules = [(_coloured(rule.verdict), escape(rule.rule), escape(rule.reason)) for rule in model.rules]
        flags = "".join(f"<li>{escape(flag.message)}</li>" for flag in model.flags)
        parts.append(f"<h4>{_coloured(model.verdict)} {as_html(model.name)}</h4>{_table(rules)}")
        parts.append(f"<ul>{flags}</ul>" if flags else "")
    return "".join(parts)


def comparison_text(result: Comparison) -> str:
    """A comparison as the terminal shows it."""
    return _printed(show_comparison, result)


def comparison_html(result: Comparison) -> str:
    """A comparison for a notebook: the classes, the largest fall first."""
    digits = views.digits_of(result.score)
    low, high = sentences.both_ends(sorted(result.classes, key=lambda entry: entry.change.value or 0.0))
    rows = [
        (
            as_html(entry.name),
            views.number(entry.old, digits),
            views.number(entry.new, digits),
            escape(views.estimate(entry.change.value, entry.change.interval, digits)),
            f"{views.percent(entry.accuracy[0])} → {views.percent(entry.accuracy[1])}",
            escape(entry.verdict),
        )
        for entry in (*low, *high)
    ]
    headings = (result.partition, "old", "new", "change", "accuracy", "")
    leads = "".join(_robust_change(change, result.partition) for change in result.robustness)
    notes = [result.reason, *([result.hidden] if result.hidden else []), *(flag.message for flag in result.flags)]
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    title = f"{as_html(result.old)} → {as_html(result.new)}: {result.n:,} samples"
    return f"<h4>{_coloured(result.verdict)} {title}</h4>{leads}{_table(rows, headings)}<ul>{items}</ul>"


def _robust_change(change: RobustChange, part: str) -> str:
    """Robust accuracy of both versions, the largest fall first."""
    low, high = sentences.both_ends(sorted(change.classes, key=lambda entry: entry.change.value or 0.0))
    rows = [
        (
            as_html(entry.name),
            views.percent(entry.old),
            views.percent(entry.new),
            escape(views.points(entry.change)),
            escape(entry.verdict),
        )
        for entry in (*low, *high)
    ]
    at = f"{views.eps_text(change.eps, change.norm)} ({views.norm_text(change.norm)}, {change.kind})"
    whole = f"{views.percent(change.old)} → {views.percent(change.new)}, {views.points(change.change)} points"
    note = robust_words.NO_BOUND if change.kind == "estimated" else ""
    table = _table(rows, (part, "old", "new", "change in points", ""))
    return f"<p>Robust accuracy at {escape(f'{at}: {whole}.')}</p>{table}<p><small>{note}</small></p>"


def plot(result: Audit | ModelAudit) -> Any:
    """The classes as a picture, an Altair chart: robust accuracy over eps where it is known, else their scores.

    Scores of one model are drawn with intervals, of several as a table of colours.
    """
    models = result.models if isinstance(result, Audit) else (result,)
    known = [model.robustness for model in models if model.robustness is not None]
    if len(models) == 1:
        return robust_curves(result) if known else forest(result)
    alike = len({(each.norm, each.kind) for each in known}) == 1
    return robust_models(result) if len(known) > 1 and alike else class_heatmap(result)


def write_report(audit: Audit, path: str | Path, **words: Any) -> Path:
    """Write a page, Markdown or a PDF, as the ending of the path says; ``words`` are those of a ReportHead."""
    place = to_write(path)
    ending = place.suffix.lower()
    if ending not in REPORTS:
        raise OptionError(f"a report cannot be written as {place.name!r}. End its name in .html, .md or .pdf.")
    unknown = set(words) - {field.name for field in fields(report.ReportHead)}
    if unknown:
        known = ", ".join(field.name for field in fields(report.ReportHead))
        raise OptionError(f"a report has no {min(unknown)!r}. Say: {known}.")
    notes = words.get("notes", ())
    head = report.ReportHead(**words | {"notes": (notes,) if isinstance(notes, str) else tuple(notes)})
    text = REPORTS[ending](audit, head)
    if ending == ".pdf":
        write_pdf(place, text)
    else:
        write_text(place, text)
    return place


def _printed(show: Any, result: Any) -> str:
    text = StringIO()
    show(result, Console(file=text, width=WIDTH, color_system=None, legacy_windows=False))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()).rstrip()


def _coloured(verdict: Verdict) -> str:
    return f'<b style="color:{COLOURS[verdict]}">{verdict.value}</b>'


def _bar(share: float, *, worst: bool) -> str:
    """A bar as wide as a share of its cell, of a colour that light and dark pages have contrast with."""
    width, colour = 120 * min(1.0, max(0.0, share)), "#d9792b" if worst else "#3b82c4"
    return (
        '<svg width="120" height="10" role="img" aria-hidden="true">'
        f'<rect width="{width:.1f}" height="10" fill="{colour}"></rect></svg>'
    )


def _table(rows: Sequence[Sequence[str]], headings: Sequence[str] = ()) -> str:
    """A table of cells that are HTML."""
    head = [("th", [escape(heading) for heading in headings])] if headings else []
    lines = [*head, *(("td", list(row)) for row in rows)]
    style = 'style="text-align:left;white-space:nowrap"'
    cells = ("".join(f"<{tag} {style}>{cell}</{tag}>" for cell in row) for tag, row in lines)
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"
