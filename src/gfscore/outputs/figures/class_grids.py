"""Models by classes: every class score of an audit as a heatmap, and class profiles of a few models as polygons."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import PLURALS, ResultError
from gfscore.outputs import sentences
from gfscore.outputs.figures import style
from gfscore.outputs.figures.model_ranks import Align
from gfscore.results import Audit, ModelAudit

NUMBERED = 24  # classes whose cells are wide enough for numbers
NAMED_COLUMNS = 60  # classes that have a name below their column
HEATMAP_ENDS = 10
GAP = 24
CELL, WIDE_CELL = 44, 70  # pixels; the wide ones where that lets names stand upright
STRIP = 900  # pixels for all columns, when they have no names

SIDE = 420
AXES = 16  # classes of a radar; of more only the ends have an axis
RADAR_ENDS = 6
RINGS = 5  # at most
LABEL = 1.07  # radius at which the names stand; 1 is the highest score
MIDDLE = 0.05  # names this near to the vertical are centred


def class_heatmap(result: Audit | ModelAudit) -> ChartType:
    """A row per model, a column per class, lighter is higher; with many classes also the lowest and highest by name.

    The classes stand in the order of the class index, and are sorted by their mean over the models when there are
    too many to name.
    """
    models = style.several(result)
    scores = _scores_by_class(models)
    names, parts, several = list(scores), PLURALS[models[0].partition], len(models) > 1
    order = "Models from the highest score of all samples down. " if several else ""
    notes = [f"{order}Light is a higher score.", *sentences.no_order(models)]
    everywhere = " in each model" if several else ""
    if len(names) <= NAMED_COLUMNS:
        title, width = f"Score of each {models[0].partition}{everywhere}", _width(names)
        chart = _cells(models, names, width=width, numbers=len(names) <= NUMBERED)
    else:
        names.sort(key=lambda name: sum(scores[name]) / len(scores[name]))
        notes.append(f"The {parts} are sorted by their {'mean over the models' if several else 'score'}.")
        title = f"Scores of all {len(names):,} {parts}{everywhere}"
        width = len(names) * max(1, round(style.px(STRIP) / len(names)))  # whole pixels, else neighbours blend
        half, ends = (width - GAP) // 2, HEATMAP_ENDS
        lowest = _cells(models, names[:ends], width=half, title=f"The {ends} lowest")
        highest = _cells(models, names[-ends:], width=half, title=f"The {ends} highest", labels=False)
        both = alt.hconcat(lowest, highest, spacing=GAP, bounds="flush")
        chart = alt.vconcat(_strip(models, names, width=width), both, spacing=24).resolve_scale(color="shared")
    return style.frame(chart, title, notes, models=models, width=width + 150)


def _scores_by_class(models: Sequence[ModelAudit]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for model in models:
        for entry in model.classes:
            found.setdefault(entry.name, []).append(entry.score)
    return found


def _width(names: Sequence[str]) -> int:
    if len(names) > NUMBERED:
        return style.px(STRIP)
    widest = int(max(map(style.width_of, names))) + 8
    return len(names) * (max(style.px(CELL), widest) if widest <= style.px(WIDE_CELL) else style.px(CELL))


def _heatmap_table(models: Sequence[ModelAudit], names: Sequence[str]) -> style.Part:
    middle, digits = sum(_domain(models)) / 2, views.digits_of(models[0].score)
    place = {name: index for index, name in enumerate(names, 1)}
    chart = style.chart_of(
        {
            "model": views.printable(model.name),
            "name": views.printable(entry.name),
            "place": place[entry.name],
            "next": place[entry.name] + 1,
            "score": entry.score,
            "n": entry.n,
            "text": views.estimate(entry.score, None, digits, certified=views.is_certified(model)),
            "bright": entry.score > middle,
        }
        for model in models
        for entry in model.classes
        if entry.name in place
    )
    name = alt.Tooltip("name:N", title=models[0].partition)
    return chart.encode(tooltip=["model:N", name, style.tip("score"), style.tip("n", form=",")])


def _domain(models: Sequence[ModelAudit]) -> tuple[float, float]:
    """Both ends of the scale of the score: colours mean the same in two figures."""
    return models[0].score.range


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
    look: dict[str, Any] = {"title": None, "ticks": False, "domain": False, "labelPadding": 6}
    x_axis = alt.Axis(labelAngle=0 if short else -40, labelOverlap=False, labelLimit=150, **look)
    x = alt.X("name:N", scale=alt.Scale(domain=[views.printable(name) for name in names]), axis=x_axis)
    y = alt.Y("model", **style.names_axis([views.printable(model.name) for model in models], labels=labels))
    base = _heatmap_table(models, names).encode(x=x, y=y)
    layers = [base.mark_rect(stroke="white", strokeWidth=1).encode(color=_color(models))]
    if numbers:
        ink = alt.condition(alt.datum.bright, alt.value("black"), alt.value("white"))
        layers.append(base.mark_text(fontSize=10).encode(text="text:N", color=ink))
    return alt.layer(*layers).properties(width=width, height=22 * len(models), title=title)


def _strip(models: Sequence[ModelAudit], names: Sequence[str], *, width: int) -> style.Part:
    """All columns side by side, too narrow for names."""
    scale = alt.Scale(domain=[1, len(names) + 1], nice=False)
    axis = alt.Axis(format=",d", grid=False, tickCount=10)
    place = f"place of the {models[0].partition}, from the lowest {'mean ' * (len(models) > 1)}score to the highest"
    x = alt.X("place:Q", scale=scale, axis=axis, title=place)
    y = alt.Y("model", **style.names_axis([views.printable(model.name) for model in models]))
    cells = _heatmap_table(models, names).mark_rect(strokeWidth=0).encode(x=x, x2="next:Q", y=y, color=_color(models))
    return cells.properties(width=width, height=30 * len(models))


def radar(result: Audit | ModelAudit, names: Sequence[str] | None = None) -> ChartType:
    """An axis per class, a polygon per model: the models named, or the first, the middle and the last by score."""
    models = style.several(result)
    last = len(models) - 1
    chosen = [models[i] for i in sorted({0, last // 2, last})] if names is None else _named(models, names)
    shown, left_out = _axes(chosen)
    largest = max(entry.score for model in chosen for entry in model.classes if entry.name in set(shown))
    if largest == 0:
        raise ResultError("all class scores are 0, so the radar would be a point. It needs a positive score.")
    parts = PLURALS[chosen[0].partition]
    step = _round_step(largest / RINGS)
    notes = [style.score_title(chosen[0]) + f"; the rings are {step:g} apart."]
    if left_out:
        mean = ", by their mean over these models" if len(chosen) > 1 else ""
        notes.append(f"Shown are the {RADAR_ENDS} lowest and the {RADAR_ENDS} highest {parts}{mean}.")
    notes += sentences.no_order(chosen)
    layers = [*_grid(shown, step, largest), *_polygons(chosen, shown, largest)]
    chart = alt.layer(*layers).properties(width=style.px(SIDE), height=style.px(SIDE))
    title = f"Scores of the {parts}" + (f" in {len(chosen)} models" if len(chosen) > 1 else "")
    return style.frame(chart, title, notes, models=chosen, width=style.px(SIDE) + 180)


def _named(models: Sequence[ModelAudit], names: Sequence[str]) -> list[ModelAudit]:
    known = {model.name: model for model in models}
    for name in names:
        if name not in known:
            raise ResultError(f"this result holds no model {name!r}. It has: {', '.join(known)}.")
    if not 1 <= len(names) <= len(style.LINES):
        raise ResultError(f"a radar of {len(names)} models cannot be read. Name 1 to {len(style.LINES)}.")
    return [known[name] for name in names]


def _axes(models: Sequence[ModelAudit]) -> tuple[list[str], bool]:
    """Classes that all these models have, and whether some are left out."""
    scores = _scores_by_class(models)
    names = [name for name, own in scores.items() if len(own) == len(models)]
    if len(names) < 3:
        raise ResultError(f"a radar needs 3 axes or more; these models share {len(names)}. Draw the heatmap instead.")
    if len(names) <= AXES:
        return names, False
    names.sort(key=lambda name: sum(scores[name]))
    return names[:RADAR_ENDS] + names[-RADAR_ENDS:], True


def _round_step(value: float) -> float:
    """A round distance of rings, at least ``value``."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= value * (1 - 1e-9))


def _at(index: int, count: int, radius: float) -> dict[str, float]:
    angle = 2 * math.pi * index / count
    return {"x": radius * math.sin(angle), "y": radius * math.cos(angle)}


def _plane(rows: Sequence[dict[str, Any]]) -> style.Part:
    """A chart of points in the plane of the radar."""
    hidden: dict[str, Any] = {"scale": alt.Scale(domain=[-1.12, 1.12], nice=False), "axis": None}
    return style.chart_of(rows).encode(x=alt.X("x:Q", **hidden), y=alt.Y("y:Q", **hidden))


def _grid(names: Sequence[str], step: float, largest: float) -> list[style.Part]:
    count, heights = len(names), [ring * step for ring in range(1, math.floor(largest / step) + 1)]
    rings = [
        {"ring": ring, "order": index} | _at(index, count, height / largest)
        for ring, height in enumerate(heights, 1)
        for index in range(count + 1)
    ]
    spokes = [{"spoke": index} | _at(index, count, radius) for index in range(count) for radius in (0.0, 1.0)]
    marks = [{"text": f"{height:g}", "x": 0.015, "y": height / largest} for height in heights]
    faint: dict[str, Any] = {"color": style.PALE, "strokeWidth": 1}
    charts = [
        _plane(rings).mark_line(**faint).encode(detail="ring:N", order="order:Q"),
        _plane(spokes).mark_line(**faint).encode(detail="spoke:N"),
        _plane(marks).mark_text(align="left", dy=-5, color=style.GREY, fontSize=10).encode(text="text:N"),
    ]
    for index, name in enumerate(names):
        place = _at(index, count, LABEL)
        align: Align = "center" if abs(place["x"]) < MIDDLE else "left" if place["x"] > 0 else "right"
        label = _plane([{"name": views.printable(name)} | place])
        label = label.mark_text(align=align, baseline="middle", limit=style.NAME_LIMIT)
        charts.append(label.encode(text="name:N"))
    return charts


def _polygons(models: Sequence[ModelAudit], names: Sequence[str], largest: float) -> list[style.Part]:
    labels, table = [views.printable(model.name) for model in models], []
    for model, label in zip(models, labels, strict=True):
        scores = {entry.name: entry.score for entry in model.classes}
        table += [
            {"model": label, "name": views.printable(name), "order": index, "score": scores[name]}
            | _at(index, len(names), scores[name] / largest)
            for index, name in enumerate([*names, names[0]])
        ]
    legend = alt.Legend(title=None, orient="bottom", symbolType="stroke", symbolSize=300, columns=3)
    color = style.looks(alt.Color, "model", labels, style.LINES, legend=legend)
    base = _plane(table).encode(color=color, tooltip=["model:N", "name:N", style.tip("score")])
    dash = style.looks(alt.StrokeDash, "model", labels, style.DASHES, legend=legend)
    return [
        base.mark_line(strokeWidth=2).encode(order="order:Q", strokeDash=dash),
        base.mark_circle(size=26, opacity=1),
    ]
