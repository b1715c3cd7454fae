"""Class profiles of a few models as polygons."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import PLURALS, ResultError
from gfscore.outputs.figures import style
from gfscore.outputs.figures.labels import Align
from gfscore.results import Audit, ModelAudit

SIDE = 420
ALL_SHOWN = 16  # classes; of more only the ends have an axis
ENDS = 6
MODELS = 3
RINGS = 5  # at most
LABEL = 1.07  # radius at which the names stand; 1 is the highest score
MIDDLE = 0.05  # names this near to the vertical are centred


def radar(result: Audit | ModelAudit, names: Sequence[str] | None = None) -> ChartType:
    """An axis per class, a polygon per model: the models named, or the first, the middle and the last by score."""
    models = style.several(result)
    chosen = _named(models, names) if names is not None else _spread(models)
    shown, left_out = _classes(chosen)
    largest = max(entry.score for model in chosen for entry in model.classes if entry.name in set(shown))
    if largest == 0:
        raise ResultError("all class scores are 0, so the radar would be a point. It needs a positive score.")
    parts = PLURALS[chosen[0].partition]
    step = _round_step(largest / RINGS)
    notes = [style.about(chosen), style.score_title(chosen[0]) + f"; the rings are {step:g} apart."]
    if left_out:
        mean = ", by their mean over these models" if len(chosen) > 1 else ""
        notes.append(f"Shown are the {ENDS} lowest and the {ENDS} highest {parts}{mean}.")
    notes += views.no_order(chosen)
    layers = [*_grid(shown, step, largest), *_polygons(chosen, shown, largest)]
    chart = alt.layer(*layers).properties(width=SIDE, height=SIDE)
    title = f"Scores of the {parts}" + (f" in {len(chosen)} models" if len(chosen) > 1 else "")
    return style.framed(chart, title, notes, models=chosen, width=SIDE + 180)


def _named(models: Sequence[ModelAudit], names: Sequence[str]) -> list[ModelAudit]:
    known = {model.name: model for model in models}
    for name in names:
        if name not in known:
            raise ResultError(f"this result holds no model {name!r}. It has: {', '.join(known)}.")
    if not 1 <= len(names) <= len(style.LINES):
        raise ResultError(f"a radar of {len(names)} models cannot be read. Name 1 to {len(style.LINES)}.")
    return [known[name] for name in names]


def _spread(models: Sequence[ModelAudit]) -> list[ModelAudit]:
    last = len(models) - 1
    return [models[index] for index in sorted({0, last // 2, last})]


def _classes(models: Sequence[ModelAudit]) -> tuple[list[str], bool]:
    """Names of the axes: classes that all these models have."""
    scores: dict[str, list[float]] = {}
    for model in models:
        for entry in model.classes:
            scores.setdefault(entry.name, []).append(entry.score)
    names = [name for name, own in scores.items() if len(own) == len(models)]
    if len(names) < 3:
        raise ResultError(f"a radar needs 3 axes or more; these models share {len(names)}. Draw the heatmap instead.")
    if len(names) <= ALL_SHOWN:
        return names, False
    names.sort(key=lambda name: sum(scores[name]))
    return names[:ENDS] + names[-ENDS:], True


def _round_step(value: float) -> float:
    """A round distance of rings, at least ``value``."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= value * (1 - 1e-9))


def _at(index: int, count: int, radius: float) -> dict[str, float]:
    angle = 2 * math.pi * index / count
    return {"x": radius * math.sin(angle), "y": radius * math.cos(angle)}


def _xy(**options: Any) -> dict[str, Any]:
    scale = alt.Scale(domain=[-1.12, 1.12], nice=False)
    return {
        "x": alt.X("x:Q", scale=scale, axis=None, **options),
        "y": alt.Y("y:Q", scale=scale, axis=None, **options),
    }


def _grid(names: Sequence[str], step: float, largest: float) -> list[style.Part]:
    count = len(names)
    rings = [
        {"ring": ring, "order": index} | _at(index, count, ring * step / largest)
        for ring in range(1, math.floor(largest / step) + 1)
        for index in range(count + 1)
    ]
    spokes = [{"spoke": index} | _at(index, count, radius) for index in range(count) for radius in (0.0, 1.0)]
    marks = [
        {"text": f"{ring * step:g}", "x": 0.015, "y": ring * step / largest}
        for ring in range(1, math.floor(largest / step) + 1)
    ]
    faint: dict[str, Any] = {"color": style.PALE, "strokeWidth": 1}
    charts: list[style.Part] = [
        alt.Chart(style.rows(rings)).mark_line(**faint).encode(**_xy(), detail="ring:N", order="order:Q"),
        alt.Chart(style.rows(spokes)).mark_line(**faint).encode(**_xy(), detail="spoke:N"),
        alt.Chart(style.rows(marks)).mark_text(align="left", dy=-5, color=style.GREY, fontSize=10)
        .encode(**_xy(), text="text:N"),
    ]  # fmt: skip
    for index, name in enumerate(names):
        place = _at(index, count, LABEL)
        align: Align = "center" if abs(place["x"]) < MIDDLE else "left" if place["x"] > 0 else "right"
        text = alt.Chart(style.rows([{"name": views.printable(name)} | place]))
        label = text.mark_text(align=align, baseline="middle", limit=style.NAME_LIMIT)
        charts.append(label.encode(**_xy(), text="name:N"))
    return charts


def _polygons(models: Sequence[ModelAudit], names: Sequence[str], largest: float) -> list[style.Part]:
    labels = [views.printable(model.name) for model in models]
    table = []
    for model in models:
        scores = {entry.name: entry.score for entry in model.classes}
        table += [
            {"model": views.printable(model.name), "name": views.printable(name), "order": index, "score": scores[name]}
            | _at(index, len(names), scores[name] / largest)
            for index, name in enumerate([*names, names[0]])
        ]
    legend = alt.Legend(title=None, orient="bottom", symbolType="stroke", symbolSize=300, columns=3)
    base = alt.Chart(style.rows(table)).encode(
        **_xy(),
        color=alt.Color(
            "model:N", scale=alt.Scale(domain=labels, range=list(style.LINES[: len(labels)])), legend=legend
        ),
        tooltip=["model:N", "name:N", alt.Tooltip("score:Q", format=".4f")],
    )
    dash = alt.Scale(domain=labels, range=list(style.DASHES[: len(labels)]))
    return [
        base.mark_line(strokeWidth=2).encode(
            order="order:Q", strokeDash=alt.StrokeDash("model:N", scale=dash, legend=legend)
        ),
        base.mark_circle(size=26, opacity=1),
    ]
