"""The report as Markdown, for a README, a wiki or a pull request."""

from collections.abc import Iterable, Sequence

from gfscore import views
from gfscore.outputs.escaping import shortened
from gfscore.outputs.report import words
from gfscore.outputs.tables import markdown_cell
from gfscore.results import Audit, ClassResult, ModelAudit, Provenance


def markdown(audit: Audit) -> str:
    """Verdict, classes, metrics, warnings, claims and provenance of every model; of many classes the ends."""
    return "\n".join(["# Robustness by " + audit.models[0].partition, "", *model_parts(audit, level=2)]) + "\n"


def model_parts(audit: Audit, *, level: int) -> list[str]:
    """The lines below the title, with headings from ``level`` on."""
    lines = [line for model in audit.models for line in _model(model, "#" * level)]
    return [*lines, f"{'#' * level} How it was made", "", *_provenance(audit.provenance)]


def _model(model: ModelAudit, mark: str) -> list[str]:
    said = words.verdict(model)
    gate = [] if model.verdict is None else [f"Gate: **{text(model.verdict)}**", ""]
    return [
        f"{mark} {text(shortened(model.name))}",
        "",
        *gate,
        f"**{text(said.headline)}**",
        "",
        " ".join(map(text, said.sentences)),
        "",
        f"{mark}# Score of each {model.partition}",
        "",
        *_classes(model),
        f"{mark}# Metrics",
        "",
        *_metrics(model),
        f"{mark}# Warnings",
        "",
        *(_list(shortened(flag.message, words.TEXT_LIMIT) for flag in model.flags) or ["None was raised."]),
        "",
        f"{mark}# Claimed",
        "",
        *_list(words.claimed(model)),
        "",
        f"{mark}# Not claimed",
        "",
        *_list(words.not_claimed(model)),
        "",
    ]


def _classes(model: ModelAudit) -> list[str]:
    low, high = views.lowest_and_highest(model)
    shares = views.class_shares(model)
    headings = [model.partition, "n", "score", views.accuracy_name(model.score), *shares, "most confused with"]
    gap = [["…", *[""] * (len(headings) - 1)]] if high else []
    rows = [*(_row(model, entry) for entry in low), *gap, *(_row(model, entry) for entry in high)]
    note = "" if not high else f" The {len(low)} lowest and {len(high)} highest of {len(model.classes):,} are shown."
    return [*table(headings, rows), "", text(views.brackets(model) + note), ""]


def _row(model: ModelAudit, entry: ClassResult) -> list[str]:
    confused = "–"
    if entry.confused_with is not None:
        confused = f"{shortened(entry.confused_with)} ({views.percent(entry.confused_share)})"
    score = views.score_text(model, entry.score, entry.interval)
    shares = [views.share_text(share(entry)) for share in views.class_shares(model).values()]
    return [shortened(entry.name), f"{entry.n:,}", score, views.percent(entry.accuracy), *shares, confused]


def _metrics(model: ModelAudit) -> list[str]:
    rows = [[line.name, line.value, line.meaning, line.floor or "–"] for line in words.metric_lines(model)]
    how = ", ".join(filter(None, (words.score_title(model.score), words.settings(model.score))))
    about = f"{model.samples.n:,} samples, {shortened(model.samples.source, 300)}; {how}."
    return [*table(["metric", "value", "meaning", "chance alone would give"], rows), "", text(about), ""]


def _provenance(made: Provenance) -> list[str]:
    command = "" if made.command is None else f" by `{_code(made.command)}`"
    return [f"Made{command} on {made.created} with gfscore {text(made.gfscore)}, Python {text(made.python)}."]


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table of texts that stay text."""
    lines = [headings, ["---"] * len(headings)]
    escaped = [[text(cell) for cell in row] for row in rows]
    return [f"| {' | '.join(cells)} |" for cells in (*lines, *escaped)]


def text(given: str) -> str:
    """Text that stays text: no markup, and no line of its own."""
    escaped = markdown_cell(views.printable(given))
    return f"\\{escaped}" if escaped[:1] in ("#", "-", "+", ">") else escaped


def _list(texts: Iterable[str]) -> list[str]:
    return [f"- {text(each)}" for each in texts]


def _code(command: str) -> str:
    """A command between backticks, which it cannot hold itself."""
    return shortened(command, 2000).replace("`", "'")
