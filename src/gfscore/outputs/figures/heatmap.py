"""Models by classes: every class score of an audit in one picture."""

from collections.abc import Sequence
from typing import Any

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.outputs.figures import style
from gfscore.results import Audit, ModelAudit

NUMBERED = 24  # classes whose cells are wide enough for numbers
ALL_SHOWN = 60  # classes that have a name below their column
ENDS = 10
GAP = 24
CELL, WIDE_CELL = 44, 70  # pixels; the wide ones where that lets names stand upright
STRIP = 900  # pixels for all columns, when they have no names


def class_heatmap(result: Audit | ModelAudit) -> ChartType:
    """A row per model, a column per class, lighter is higher; with many classes also the lowest and highest by name.

    The classes stand in the order of the class index, and are sorted by their mean over the models when there are
    too many to name.
    """
    models = style.several(result)
    names = list(dict.fromkeys(entry.name for model in models for entry in model.classes))
    parts = PLURALS[models[0].partition]
    several = len(models) > 1
    order = "Models from the highest score of all samples down. " if several else ""
    notes = [style.about(models), f"{order}Light is a higher score.", *views.no_order(models)]
    everywhere = " in each model" if several else ""
    if len(names) <= ALL_SHOWN:
        title = f"Score of each {models[0].partition}{everywhere}"
        width = _width(names)
        chart: style.Part = _cells(models, names, width=width, numbers=len(names) <= NUMBERED)
        return style.framed(chart, title, notes, models=models, width=width + 150)
    ordered = _by_mean(models, names)
    notes.append(f"The {parts} are sorted by their {'mean over the models' if several else 'score'}.")
    title = f"Scores of all {len(names):,} {parts}{everywhere}"
    width = len(names) * max(1, round(STRIP / len(names)))  # whole pixels, else neighbours blend
    half = (width - GAP) // 2
    ends = alt.hconcat(
        _cells(models, ordered[:ENDS], width=half, title=f"The {ENDS} lowest"),
        _cells(models, ordered[-ENDS:], width=half, title=f"The {ENDS} highest", labels=False),
        spacing=GAP,
        bounds="flush",
    )
    chart = alt.vconcat(_strip(models, ordered, width=width), ends, spacing=24).resolve_scale(color="shared")
    return style.framed(chart, title, notes, models=models, width=width + 150)


def _width(names: Sequence[str]) -> int:
    if len(names) > NUMBERED:
        return STRIP
    widest = int(max(map(style.width_of, names))) + 8
    return len(names) * (max(CELL, widest) if widest <= WIDE_CELL else CELL)


def _by_mean(models: Sequence[ModelAudit], names: Sequence[str]) -> list[str]:
    sums: dict[str, list[float]] = {name: [] for name in names}
    for model in models:
        for entry in model.classes:
            sums[entry.name].append(entry.score)
    return sorted(names, key=lambda name: sum(sums[name]) / len(sums[name]))


def _table(models: Sequence[ModelAudit], names: Sequence[str]) -> list[dict[str, Any]]:
    middle = sum(_domain(models)) / 2
    place = {name: index for index, name in enumerate(names)}
    return [
        {
            "model": views.printable(model.name),
            "name": views.printable(entry.name),
            "place": place[entry.name] + 1,
            "next": place[entry.name] + 2,
            "score": entry.score,
            "n": entry.n,
            "text": views.estimate(entry.score, None, 2, certified=views.is_certified(model)),
            "bright": entry.score > middle,
        }
        for model in models
        for entry in model.classes
        if entry.name in place
    ]


def _domain(models: Sequence[ModelAudit]) -> tuple[float, float]:
    """Lowest and highest class score: the colours span what there is."""
    scores = [entry.score for model in models for entry in model.classes]
    return min(scores), max(scores)


def _color(models: Sequence[ModelAudit]) -> alt.Color:
    low, high = models[0].score.range
    bar = alt.Legend(title=["score", f"(scale {low:g} to {high:.3g})"], gradientLength=110, format=".2f")
    return alt.Color("score:Q", scale=alt.Scale(scheme=style.SHADES, domain=list(_domain(models))), legend=bar)


def _cells(
    models: Sequence[ModelAudit],
    names: Sequence[str],
    *,
    width: int,
    numbers: bool = True,
    labels: bool = True,
    title: str = "",
) -> style.Part:
    """Columns with names, and numbers in the cells where they fit."""
    short = max(map(style.width_of, names)) < width / len(names) - 4
    x_axis = alt.Axis(
        title=None,
        ticks=False,
        domain=False,
        labelAngle=0 if short else -40,
        labelOverlap=False,
        labelLimit=150,
        labelPadding=6,
    )
    x = alt.X("name:N", scale=alt.Scale(domain=[views.printable(name) for name in names]), axis=x_axis)
    y = alt.Y("model", **style.names_axis([views.printable(model.name) for model in models], labels=labels))
    base = alt.Chart(style.rows(_table(models, names))).encode(x=x, y=y, tooltip=_tooltip(models))
    layers: list[style.Part] = [base.mark_rect(stroke="white", strokeWidth=1).encode(color=_color(models))]
    if numbers:
        ink = alt.condition(alt.datum.bright, alt.value("black"), alt.value("white"))
        layers.append(base.mark_text(fontSize=10).encode(text="text:N", color=ink))
    return alt.layer(*layers).properties(width=width, height=22 * len(models), title=title)


def _strip(models: Sequence[ModelAudit], names: Sequence[str], *, width: int) -> style.Part:
    """All columns side by side, too narrow for names."""
    scale = alt.Scale(domain=[1, len(names) + 1], nice=False)
    axis = alt.Axis(format=",d", grid=False, tickCount=10)
    place = f"place of the {models[0].partition}, from the lowest {'mean ' * (len(models) > 1)}score to the highest"
    return (
        alt.Chart(style.rows(_table(models, names)))
        .mark_rect(strokeWidth=0)
        .encode(
            x=alt.X("place:Q", scale=scale, axis=axis, title=place),
            x2="next:Q",
            y=alt.Y("model", **style.names_axis([views.printable(model.name) for model in models])),
            color=_color(models),
            tooltip=_tooltip(models),
        )
        .properties(width=width, height=30 * len(models))
    )


def _tooltip(models: Sequence[ModelAudit]) -> list[Any]:
    return [
        "model:N",
        alt.Tooltip("name:N", title=models[0].partition),
        alt.Tooltip("score:Q", format=".4f"),
        alt.Tooltip("n:Q", format=","),
    ]
