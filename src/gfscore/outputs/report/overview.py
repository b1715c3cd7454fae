"""All models of a report at a glance: a table, the classes by models as colours, and curves over eps."""

from collections.abc import Sequence
from itertools import chain

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.outputs import robust_words, sentences
from gfscore.outputs.escaping import as_html, cut_middle, shorten
from gfscore.outputs.report import page_charts
from gfscore.outputs.report.html_parts import Html, table, unbroken
from gfscore.results import Audit, ModelAudit

NARROW = 10  # columns of a heatmap with numbers that fit on a phone
LONG = 60  # rows of a heatmap with numbers
ENDS = 10  # classes that have numbers where there are too many for all
HEAD = 22  # characters of a name above a column
WITH_ENDS = ("wcr", "rdi", "nrgc")  # in the table of models, which must fit on paper: what is said of classes first


def overview(audit: Audit) -> str:
    """The section on all models; empty for one."""
    models = audit.models
    if len(models) < 2:
        return ""
    warning = "".join(f" {note}" for note in sentences.no_order(models))
    parts = PLURALS[models[0].partition]
    note = f"<p>{as_html(warning.strip(), 400)}</p>" if warning else ""
    return (
        f'<section aria-labelledby="h-models" class="all"><h2 id="h-models">All models</h2>'
        f'<h3 id="h-heat">{sentences.begin(parts)} by models</h3>{heatmap(models)}'
        f'<h3 id="h-table">Models side by side</h3>{_models(audit)}{note}{_curves(models)}</section>'
    )


def _models(audit: Audit) -> str:
    first, keys = audit.models[0], views.metric_keys(*audit.models, main=True)
    titles = [[views.metric_title(key, first.score), *(["which"] if key == "wcr" else [])] for key in keys]
    robust, part = any(model.robustness for model in audit.models), first.partition
    beside = [robust_words.models_title(audit.models), f"worst {part}"] if robust else []
    headings = ["model", "accuracy", *beside, *chain(*titles), "warnings"]
    rows: list[list[str | Html]] = []
    for place, model in enumerate(audit.models):
        with_ends = () if robust else WITH_ENDS
        values = {key: views.metric_text(model, key, interval=key in with_ends) for key in keys}
        cells = [[values[key], *([shorten(model.wcr.class_)] if key == "wcr" else [])] for key in keys]
        known = [_in_one(cell) for cell in robust_words.headline_cells(model, named=shorten)] if robust else []
        name = Html(f'<a href="#m{place}">{as_html(model.name)}</a>')
        rows.append([name, views.percent(model.accuracy), *known, *chain(*cells), str(len(model.flags))])
    caption = " ".join([sentences.brackets(first), *sentences.weighed_notes(audit.models)])
    looks = [f'data-model="{place}"' for place in range(len(rows))]
    return table(headings, rows, caption=caption, kind="models robust" if robust else "models", looks=looks)


def _in_one(text: str) -> Html:
    """A cell that is one thing where its cells stand below each other."""
    return Html(f"<span>{unbroken(as_html(text))}</span>")


def _shares(models: Sequence[ModelAudit]) -> tuple[str, list[dict[str, tuple[float, str]]]]:
    """What the heatmap is of; and of each model, by class, the place on the scale and the number."""
    known = [model.robustness for model in models]
    if all(each is None for each in known):
        low, high = models[0].score.range
        title = f"{views.score_name(models[0].score)}, on its scale from {low:g} to {high:.4g}"
        digits = max(1, views.digits_of(models[0].score) - 1)
        return title, [
            {
                entry.name: (
                    (entry.score - low) / (high - low),
                    views.estimate(entry.score, None, digits, certified=views.is_certified(model)),
                )
                for entry in model.classes
            }
            for model in models
        ]
    sizes = dict.fromkeys(robust_words.eps_text(each) for each in known if each is not None)
    title = f"robust accuracy at eps = {' or '.join(sizes)}, in per cent"
    return title, [
        {}
        if each is None
        else {
            part.name: (metric.value, f"{100 * metric.value:.0f}")
            for part, metric in zip(each.classes, each.headline.classes, strict=True)
            if metric.value is not None
        }
        for each in known
    ]


def heatmap(models: Sequence[ModelAudit]) -> str:
    """Every class of every model on one scale: with numbers where they fit, else colours, and the lowest by name."""
    title, shares = _shares(models)
    classes = list(dict.fromkeys(name for own in shares for name in own))
    part, parts = models[0].partition, PLURALS[models[0].partition]
    legend = "".join(f'<span class="s{level}">{10 * level}</span>' for level in range(page_charts.SHADES + 1))
    scale = f'<p class="legend">Per cent of the scale, low to high: {legend}</p>'
    missing = any(name not in own for own in shares for name in classes)
    about = f"{sentences.begin(title)}{' (–: not measured)' if missing else ''}"
    if min(len(classes), len(models)) <= NARROW and max(len(classes), len(models)) <= LONG:
        return f"{_numbers(models, shares, classes, about)}{scale}"

    def mean(name: str) -> float:
        known = [own[name][0] for own in shares if name in own]
        return sum(known) / len(known)

    classes.sort(key=mean)
    rows = "".join(
        f'<tr data-model="{place}"><th scope="row"><a href="#m{place}">{as_html(model.name)}</a></th><td>'
        f"{page_charts.strip([own[name][0] if name in own else None for name in classes])}</td></tr>"
        for place, (model, own) in enumerate(zip(models, shares, strict=True))
    )
    caption = f"{about}: all {len(classes):,} {parts}, from the lowest mean over the models on the left to the highest"
    strips = f'<table class="strips"><caption>{as_html(caption, 300)}</caption><tbody>{rows}</tbody></table>'
    lowest = f"{about}: the {ENDS} {parts} that are lowest on average; all are in the table of each model"
    return f"{strips}{scale}{_numbers(models, shares, classes[:ENDS], lowest)}<p>Each {part} counts the same.</p>"


def _numbers(
    models: Sequence[ModelAudit], shares: Sequence[dict[str, tuple[float, str]]], classes: Sequence[str], title: str
) -> str:
    """A table of coloured numbers; the models are its rows, or its columns where that reads better."""

    def cell(own: dict[str, tuple[float, str]], name: str) -> str:
        if name not in own:
            return "<td>–</td>"
        share, text = own[name]
        return f'<td class="s{page_charts.shade(share)}">{text}</td>'

    def head(text: str) -> str:
        return f'<th scope="col"><span>{as_html(cut_middle(text, HEAD))}</span></th>'

    tall = len(models) <= NARROW < len(classes)
    if max(len(models), len(classes)) <= NARROW:  # the longer names stand where they can be read
        tall = max(len(model.name) for model in models) < max(map(len, classes))
    if tall:
        top = "".join(map(head, (model.name for model in models)))
        rows = [
            f'<tr><th scope="row">{as_html(name)}</th>{"".join(cell(own, name) for own in shares)}</tr>'
            for name in classes
        ]
    else:
        top = "".join(map(head, classes))
        rows = [
            f'<tr data-model="{place}"><th scope="row"><a href="#m{place}">{as_html(model.name)}</a></th>'
            f"{''.join(cell(own, name) for name in classes)}</tr>"
            for place, (model, own) in enumerate(zip(models, shares, strict=True))
        ]
    corner = f'<td class="corner">{models[0].partition if tall else "model"}</td>'
    return (
        f'<table class="heat"><caption>{as_html(title, 300)}</caption><thead><tr>{corner}{top}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _curves(models: Sequence[ModelAudit]) -> str:
    """Robust accuracy of the models over eps, of the whole and of the worst class; empty where nothing is known."""
    known = [(place, model) for place, model in enumerate(models) if model.robustness is not None]
    kinds = {(model.robustness.norm, model.robustness.kind) for _, model in known if model.robustness is not None}
    if len(known) < 2 or len(kinds) > 1:
        return ""
    own, places = [model for _, model in known], [place for place, _ in known]  # looks go by the models with curves
    pair = "".join(page_charts.models_chart(own, worst=worst, places=places) for worst in (False, True))
    names = "".join(
        f'<li class="k{look % page_charts.COLOURED}" data-model="{place}"><svg class="key" aria-hidden="true">'
        f'<line class="line" x1="0" x2="100%" y1="6" y2="6"/></svg> {as_html(model.name)}</li>'
        for look, (place, model) in enumerate(known)
    )
    grey = len(known) > page_charts.COLOURED
    hint = (
        '<p class="screen need-js">Choose models in the table above to see their lines in colour.</p>' if grey else ""
    )
    many = " crowd" if grey else ""
    bands = "" if len(known) > 4 else f"Bands: intervals; {robust_words.together_text(own)}. "
    note = f"{bands}{' '.join(robust_words.notes(own))} Dashed: the eps of the headline."
    return (
        f'<h3>Robust accuracy by the size of the attack</h3><div class="curves{many}"><div class="pair">{pair}</div>'
        f'<ul class="lines">{names}</ul></div>{hint}<p>{as_html(note, 800)}</p>'
    )
