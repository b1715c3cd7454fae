"""A repair as a page that works offline: the verdict, both figures, and every class before and after."""

from html import escape

from gfscore import views
from gfscore.outputs.figures import figure_bytes
from gfscore.outputs.figures.repair_figures import repair_arrows, repair_frontier, training_curves
from gfscore.outputs.repair_text import level_text, title_of
from gfscore.outputs.training_text import HEADINGS, baseline_note, baseline_rows, training_sentence
from gfscore.results import BeforeAfter, Repair, Training

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="gfscore">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 Arial, sans-serif; color: #222; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse; margin: .5rem 0 1.5rem; font-variant-numeric: tabular-nums; font-size: .9rem }}
th, td {{ text-align: right; padding: .15rem .6rem; border-bottom: 1px solid #ddd }}
th:first-child, td:first-child {{ text-align: left }}
.wide {{ overflow-x: auto }}
svg {{ max-width: 100%; height: auto }}
.gained {{ color: #00694d }} .paid {{ color: #a34700 }} .unclear {{ color: #666 }}
.verdict {{ font-weight: bold; border-left: 4px solid {colour}; padding-left: .8rem }}
</style>
</head>
<body>
<h1>{title}</h1>
<p class="verdict">{reason}</p>
{body}
</body>
</html>
"""


def repair_page(result: Repair) -> str:
    """The page."""
    parts = []
    if result.decisive is not None:
        figures = [repair_arrows(result), *([repair_frontier(result)] if result.frontier else [])]
        if result.training is not None:
            parts.append(f"<p>{_text(training_sentence(result, result.training))}</p>")
            figures += [training_curves(result)] if result.training.curves else []
            parts.append(_baselines(result, result.training))
        parts += [_figure(figure) for figure in figures]
        parts += [_table(result, judged) for judged in result.judged]
        parts.append(f"<p>{_text(level_text(result, result.decisive))}</p>")
    notes = "".join(f"<li>{_text(flag.message)}</li>" for flag in result.flags)
    made = result.provenance
    by_class = zip(result.class_names, result.bias, strict=True)
    rows = "".join(f"<tr><td>{_text(name)}</td><td>{bias:+.4f}</td></tr>" for name, bias in by_class)
    if result.training is None or any(result.bias):
        parts += [
            "<h2>What is added to the logits</h2>",
            f'<div class="wide"><table><tr><th>class</th><th>bias</th></tr>{rows}</table></div>',
        ]
    parts += [
        *([f"<h2>What to know of it</h2><ul>{notes}</ul>"] if notes else []),
        f"<p>gfscore {_text(made.gfscore)}, {_text(made.created)}; {_text(made.command or 'from Python')}</p>",
    ]
    title = _text(f"Repair of {result.name}")
    colour = "#009E73" if result.gained else "#E69F00"
    return PAGE.format(title=title, reason=_text(result.reason), body="\n".join(parts), colour=colour)


def _text(text: str) -> str:
    return escape(views.printable(text))


def _figure(chart: object) -> str:
    return f"<figure>{figure_bytes(chart, '.svg').decode()}</figure>"  # type: ignore[arg-type]


def _baselines(result: Repair, trained: Training) -> str:
    """What the same budget gives without the method."""
    rows = baseline_rows(result, trained)
    if not rows:
        return ""
    heads = "".join(f"<th>{name}</th>" for name in ("", *HEADINGS))
    cells = ["".join(f"<td>{_text(cell)}</td>" for cell in row) for row in rows]
    table = "".join(f"<tr>{row}</tr>" for row in cells)
    title = "<h2>The same budget without the method</h2>"
    return (
        f'{title}<div class="wide"><table><tr>{heads}</tr>{table}</table></div><p>{_text(baseline_note(trained))}</p>'
    )


def _table(result: Repair, judged: BeforeAfter) -> str:
    """Every part before and after."""
    great = judged.measure == "great"
    heads = "".join(f"<th>{name}</th>" for name in (result.partition, "n", "before", "after", "change", ""))
    rows = []
    for part in sorted(judged.parts, key=lambda part: part.before.value or 0.0):
        ends = [
            views.estimate(each.value, each.interval) if great else views.share_text(each)
            for each in (part.before, part.after)
        ]
        change = views.estimate(part.change.value, part.change.interval) if great else views.points(part.change)
        cells = "".join(f"<td>{_text(cell)}</td>" for cell in (part.name, f"{part.n:,}", *ends, change))
        rows.append(f'<tr>{cells}<td class="{part.verdict}">{part.verdict}</td></tr>')
    table = f'<div class="wide"><table><tr>{heads}</tr>{"".join(rows)}</table></div>'
    return f"<h2>{_text(title_of(result, judged))}</h2>{table}"
