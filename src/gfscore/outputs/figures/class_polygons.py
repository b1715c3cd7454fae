"""Class profiles of a few models as polygons."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import PLURALS, ResultError
from gfscore.outputs import sentences
from gfscore.outputs.figures import style
from gfscore.outputs.figures.class_grids import scores_by_class
from gfscore.outputs.figures.model_ranks import Align
from gfscore.results import Audit, ModelAudit

SIDE = 420
AXES = 16  # classes of a radar; of more only the ends have an axis
RADAR_ENDS = 6
RINGS = 5  # at most
LABEL = 1.07  # radius at which the names stand; 1 is the highest score
MIDDLE = 0.05  # names this near to the vertical are centred
LONG, LINE, GAP = 70, 14, 12  # pixels: of names that a column numbers instead, between lines of these, at their end


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
    numbered = style.is_narrow() and max(map(style.width_of, shown)) > LONG
    axes = [f"{place}" for place in range(1, len(shown) + 1)] if numbered else [views.printable(name) for name in shown]
    layers = [*_grid(axes, step, largest), *_polygons(chosen, shown, largest)]
    side = style.side(SIDE)
    chart: style.Part = alt.layer(*layers).properties(width=side, height=side)
    if numbered:  # names of this length would take the room of the picture
        chart = alt.vconcat(chart, _key(shown), spacing=8)
    title = f"Scores of the {parts}" + (f" in {len(chosen)} models" if len(chosen) > 1 else "")
    return style.frame(chart, title, notes, models=chosen, width=side + 180)


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
    scores = scores_by_class(models)
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


def _key(names: Sequence[str]) -> style.Part:
    """Which class each number stands for, in lines below the picture."""
    columns = style.legend_columns(["00  " + name for name in names], 3)
    across = round((style.room() or SIDE) / columns)
    lines = math.ceil(len(names) / columns)
    texts = [
        style.chart_of([{"text": f"{place + 1}  {views.printable(name)}"}])
        .mark_text(align="left", baseline="top", limit=across - 8)
        .encode(x=alt.value(place // lines * across), y=alt.value(place % lines * LINE), text="text:N")
        for place, name in enumerate(names)
    ]
    return alt.layer(*texts).properties(width=columns * across - GAP, height=lines * LINE)


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
        _plane(marks)
        .mark_text(align="left", dy=-5, color=style.GREY, fontSize=style.small_text())
        .encode(text="text:N"),
    ]
    for index, name in enumerate(names):
        place = _at(index, count, LABEL)
        align: Align = "center" if abs(place["x"]) < MIDDLE else "left" if place["x"] > 0 else "right"
        label = _plane([{"name": name} | place])
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
    legend = alt.Legend(
        title=None, orient="bottom", symbolType="stroke", symbolSize=300, columns=style.legend_columns(labels, 3)
    )
    color = style.looks(alt.Color, "model", labels, style.LINES, legend=legend)
    base = _plane(table).encode(color=color, tooltip=["model:N", "name:N", style.tip("score")])
    dash = style.looks(alt.StrokeDash, "model", labels, style.DASHES, legend=legend)
    return [
        base.mark_line(strokeWidth=2).encode(order="order:Q", strokeDash=dash),
        base.mark_circle(size=26, opacity=1),
    ]
