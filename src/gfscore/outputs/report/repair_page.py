"""A repair as a page that works offline: the verdict, every class before and after, and the figures."""

import base64
from collections.abc import Callable
from functools import partial

from altair.typing import ChartType

from gfscore import views
from gfscore.outputs.escaping import as_html
from gfscore.outputs.figures import figure_bytes, for_paper
from gfscore.outputs.figures.paper_figures import COLUMN, PAGE
from gfscore.outputs.figures.repair_figures import repair_arrows, repair_frontier, training_curves
from gfscore.outputs.figures.style import FONT
from gfscore.outputs.repair_text import level_text, title_of
from gfscore.outputs.report.html_parts import TEXT_LIMIT, Html, hash_source, items, read_asset, table, unbroken
from gfscore.outputs.training_text import HEADINGS, baseline_note, baseline_rows, training_sentence
from gfscore.results import BeforeAfter, Repair, Training

COMMAND_LIMIT = 4000  # characters
PAGE_TEXT = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="gfscore">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src {policy}; \
base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{title}</h1></header>
<main>
<section class="verdict{tone}" aria-label="Whether it is a gain"><p class="key">{reason}</p></section>
{body}
<section aria-labelledby="h-made"><h2 id="h-made">How it was made</h2>
<p>gfscore {version}, {created}; {command}</p></section>
</main>
</body>
</html>
"""
# Pictures keep the colours they are printed with, on a ground of their own.
STYLE = """
.gained { color: var(--beside); } .paid { color: var(--worst); } .unclear { color: var(--soft); }
figure.drawn { margin: .6rem 0; }
.drawn img { display: block; max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
@media screen and (prefers-color-scheme: dark) { .drawn img { padding: 10px; } }
"""


def repair_page(result: Repair) -> str:
    """The page."""
    parts, trained = [], result.training
    if result.decisive is not None:
        if trained is not None:
            parts.append(f"<p>{unbroken(_text(training_sentence(result, trained)))}</p>")
        parts.append(_figure(partial(repair_arrows, result)))
        parts += [_table(result, judged) for judged in result.judged]
        parts.append(f"<p>{_text(level_text(result, result.decisive))}</p>")
        if result.frontier:
            parts.append(_figure(partial(repair_frontier, result)))
        if trained is not None:
            parts += [_figure(partial(training_curves, result))] if trained.curves else []
            parts.append(_baselines(result, trained))
    if trained is None or any(result.bias):
        by_class = zip(result.class_names, result.bias, strict=True)
        rows = [[name, f"{bias:+.4f}".replace("-", "−")] for name, bias in by_class]
        parts.append(_section("What is added to the logits", _of_two(("class", "bias"), rows, "Bias of each class")))
    if result.flags:
        notes = items(_text(flag.message) for flag in result.flags)
        parts.append(_section("What to know of it", f'<ul class="flags">{notes}</ul>'))
    style, made = f"{read_asset('report.css')}{STYLE}", result.provenance
    return PAGE_TEXT.format(
        policy=hash_source(style),
        style=style,
        title=as_html(f"Repair of {result.name}", 300),
        tone="" if result.gained else " uneven",
        reason=unbroken(_text(result.reason)),
        body="\n".join(parts),
        version=as_html(made.gfscore),
        created=as_html(made.created),
        command=as_html(views.printable(made.command or "from Python"), COMMAND_LIMIT),
    )


def _text(text: str) -> str:
    return as_html(text, 2 * TEXT_LIMIT)


def _section(title: str, html: str) -> str:
    return f"<section><h2>{_text(title)}</h2>{html}</section>"


def _of_two(headings: tuple[str, str], rows: list[list[str]], caption: str) -> str:
    return table(headings, rows, caption=caption, kind="ladder")


def _figure(draw: Callable[[], ChartType]) -> str:
    """A figure laid out for the page and once more for a phone; its title and notes are text of the page."""
    heading = draw().to_dict()["title"]
    title, notes = (" ".join(heading[part]) for part in ("text", "subtitle"))
    wide, narrow = (_picture(draw, inches) for inches in (PAGE, COLUMN))
    return _section(
        title,
        f'<figure class="drawn"><picture><source media="screen and (max-width: 700px)" srcset="{narrow}">'
        f'<img src="{wide}" alt="{_text(title)}"></picture></figure><p>{_text(notes)}</p>',
    )


def _picture(draw: Callable[[], ChartType], inches: float) -> str:
    """The chart as an address that holds it: two pictures in one page share no names of their parts."""
    svg = figure_bytes(for_paper(draw, inches=inches, font=FONT).chart, ".svg")
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def _baselines(result: Repair, trained: Training) -> str:
    """What the same budget gives without the method."""
    rows = baseline_rows(result, trained)
    if not rows:
        return ""
    made = table(
        ("network", *HEADINGS), [list(row) for row in rows], caption="Trained alike, judged alike", kind="ladder"
    )
    return _section("The same budget without the method", f"{made}<p>{_text(baseline_note(trained))}</p>")


def _table(result: Repair, judged: BeforeAfter) -> str:
    """Every part before and after, the lowest before first."""
    great = judged.measure == "great"
    rows: list[list[str | Html]] = []
    for part in sorted(judged.parts, key=lambda part: part.before.value or 0.0):
        before, after = (
            views.estimate(each.value, each.interval) if great else views.share_text(each)
            for each in (part.before, part.after)
        )
        change = views.estimate(part.change.value, part.change.interval) if great else views.points(part.change)
        verdict = Html(f'<span class="{part.verdict}">{part.verdict}</span>')
        rows.append([part.name, f"{part.n:,}", before, after, change, verdict])
    heads = (result.partition, "n", "before", "after", "change" if great else "change, points", "verdict")
    title = title_of(result, judged)
    return _section(title, table(heads, rows, caption=f"{title}, before and after", kind="ladder"))
