"""Models by classes: every class score of an audit as a heatmap."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.outputs import sentences
from gfscore.outputs.figures import style
from gfscore.results import Audit, ModelAudit

NUMBERED = 24  # classes whose cells are wide enough for numbers
NAMED_COLUMNS = 60  # classes that have a name below their column
HEATMAP_ENDS = 10
GAP = 24
CELL, WIDE_CELL = 44, 70  # pixels; the wide ones where that lets names stand upright
STRIP = 900  # pixels for all columns, when they have no names
ROW, PAPER_ROW = 22, 15
TALL_ROWS = 4  # models, of which each still has a row as tall as on a screen
NAMED_CELL = 13  # pixels of the narrowest column that has a name, which then stands upright
NUMBERED_BLOCKS, NAMED_BLOCKS, NUMBERED_ROWS = 2, 3, 24  # on paper columns go on below, so often at most


def class_heatmap(result: Audit | ModelAudit) -> ChartType:
    """A row per model, a column per class, lighter is higher; with many classes also the lowest and highest by name.

    The classes stand in the order of the class index, and are sorted by their mean over the models when there are
    too many to name.
    """
    models = style.several(result)
    scores = scores_by_class(models)
    names, parts, several = list(scores), PLURALS[models[0].partition], len(models) > 1
    order = "Models from the highest score of all samples down. " if several else ""
    notes = [f"{order}Light is a higher score.", *sentences.no_order(models)]
    everywhere = " in each model" if several else ""
    each, blocks = f"Score of each {models[0].partition}{everywhere}", _paper_blocks(models, names)
    if blocks is not None:
        title, width = each, style.px(CELL) * blocks.columns
        chart = _below_each_other(models, names, blocks)
    elif len(names) <= NAMED_COLUMNS and style.room() is None:
        title, width = each, _width(names)
        chart = _cells(models, names, width=width, numbers=len(names) <= NUMBERED)
    else:
        names.sort(key=lambda name: sum(scores[name]) / len(scores[name]))
        notes.append(f"The {parts} are sorted by their {'mean over the models' if several else 'score'}.")
        title = f"Scores of all {len(names):,} {parts}{everywhere}"
        width = len(names) * max(1, round(STRIP / len(names)))  # whole pixels, else neighbours blend
        width = width if style.room() is None else style.px(STRIP)  # on paper they cover each other instead
        panels = [_strip(models, names, width=width), *_ends(models, names, width)]
        chart = alt.vconcat(*panels, spacing=24).resolve_scale(color="shared")
    return style.frame(chart, title, notes, models=models, width=width + 150)


def _ends(models: Sequence[ModelAudit], names: Sequence[str], width: int) -> list[style.Part]:
    """The lowest classes and the highest, with names: beside each other, in a column below each other."""
    ends, narrow = HEATMAP_ENDS, style.is_narrow()
    each = width if narrow else (width - GAP) // 2
    lowest = _cells(models, names[:ends], width=each, title=f"The {ends} lowest", numbers=not narrow)
    highest = _cells(models, names[-ends:], width=each, title=f"The {ends} highest", numbers=not narrow, labels=narrow)
    return [lowest, highest] if narrow else [alt.hconcat(lowest, highest, spacing=GAP, bounds="flush")]


class _Blocks(NamedTuple):
    """How the columns of a heatmap are parted on paper."""

    columns: int  # of each block, at most
    numbers: bool  # whether they are wide enough for numbers


def _paper_blocks(models: Sequence[ModelAudit], names: Sequence[str]) -> _Blocks | None:
    """Blocks of columns below each other whose names and, where that will do, numbers can be read; of too many none."""
    room = style.room(beside=max(style.width_of(views.printable(model.name)) for model in models) + GAP)
    if room is None:
        return None
    digits, certified = views.digits_of(models[0].score), views.is_certified(models[0])
    text = views.estimate(models[0].score.range[1], None, digits, certified=certified)
    wide = style.width_of(text) + 4
    for least, most, numbers in ((wide, NUMBERED_BLOCKS, True), (NAMED_CELL, NAMED_BLOCKS, False)):
        blocks = math.ceil(len(names) / max(1, int(room / least)))
        few = len(names) <= NUMBERED and blocks * len(models) <= NUMBERED_ROWS
        if blocks <= most and (few or not numbers):
            return _Blocks(math.ceil(len(names) / blocks), numbers)
    return None


def _below_each_other(models: Sequence[ModelAudit], names: Sequence[str], blocks: _Blocks) -> style.Part:
    cell = style.px(CELL)
    parts = [names[at : at + blocks.columns] for at in range(0, len(names), blocks.columns)]
    charts = [_cells(models, part, width=cell * len(part), numbers=blocks.numbers) for part in parts]
    return charts[0] if len(charts) == 1 else alt.vconcat(*charts, spacing=10).resolve_scale(color="shared")


def scores_by_class(models: Sequence[ModelAudit]) -> dict[str, list[float]]:
    """The scores of each class, one for each model that has the class."""
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


def _heatmap_table(models: Sequence[ModelAudit], names: Sequence[str], *, least: int = 1) -> style.Part:
    """A cell for each model and class, ``least`` places wide: where a pixel holds several, the next covers the rest."""
    middle, digits = sum(_domain(models)) / 2, views.digits_of(models[0].score)
    place = {name: index for index, name in enumerate(names, 1)}
    chart = style.chart_of(
        {
            "model": views.printable(model.name),
            "name": views.printable(entry.name),
            "place": place[entry.name],
            "next": min(place[entry.name] + least, len(names) + 1),
            "score": entry.score,
            "n": entry.n,
            "text": views.estimate(entry.score, None, digits, certified=views.is_certified(model)),
            "bright": entry.score > middle,
        }
        for model in models
        for entry in sorted(model.classes, key=lambda entry: place.get(entry.name, 0))
        if entry.name in place
    )
    name = alt.Tooltip("name:N", title=models[0].partition)
    return chart.encode(tooltip=["model:N", name, style.tip("score"), style.tip("n", form=",")])


def _domain(models: Sequence[ModelAudit]) -> tuple[float, float]:
    """Both ends of the scale of the score: colours mean the same in two figures."""
    return models[0].score.range


def _color(models: Sequence[ModelAudit]) -> alt.Color:
    low, high = models[0].score.range
    title: list[str] | str = ["score", f"(scale {low:g} to {high:.3g})"]
    place: dict[str, Any] = {}
    if style.is_narrow():  # beside the cells it would take a third of the column
        title, place = " ".join(title), {"orient": "bottom", "direction": "horizontal", "titleOrient": "top"}
    bar = alt.Legend(title=title, gradientLength=110, format=".2f", **place)
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
    cell = width / len(names)
    short = max(map(style.width_of, names)) < cell - 4
    look: dict[str, Any] = {"title": None, "ticks": False, "domain": False, "labelPadding": 6}
    angle = 0 if short else -40 if cell >= 2 * NAMED_CELL else -90
    x_axis = alt.Axis(labelAngle=angle, labelOverlap=False, labelLimit=150, **look)
    x = alt.X("name:N", scale=alt.Scale(domain=[views.printable(name) for name in names]), axis=x_axis)
    y = alt.Y("model", **style.names_axis([views.printable(model.name) for model in models], labels=labels))
    base = _heatmap_table(models, names).encode(x=x, y=y)
    layers = [base.mark_rect(stroke="white", strokeWidth=1).encode(color=_color(models))]
    if numbers:
        ink = alt.condition(alt.datum.bright, alt.value("black"), alt.value("white"))
        layers.append(base.mark_text(fontSize=style.small_text()).encode(text="text:N", color=ink))
    return alt.layer(*layers).properties(width=width, height=_row_height(models) * len(models), title=title)


def _row_height(models: Sequence[ModelAudit]) -> int:
    return ROW if style.room() is None or len(models) <= TALL_ROWS else PAPER_ROW


def _strip(models: Sequence[ModelAudit], names: Sequence[str], *, width: int) -> style.Part:
    """All columns side by side, too narrow for names."""
    scale = alt.Scale(domain=[1, len(names) + 1], nice=False)
    axis = alt.Axis(format=",d", grid=False, tickCount=min(10, width // 40))
    place = f"place of the {models[0].partition}, from the lowest {'mean ' * (len(models) > 1)}score to the highest"
    x = alt.X("place:Q", scale=scale, axis=axis, title=style.lines(place, width))
    y = alt.Y("model", **style.names_axis([views.printable(model.name) for model in models]))
    cells = _heatmap_table(models, names, least=math.ceil(len(names) / width)).mark_rect(strokeWidth=0)
    cells = cells.encode(x=x, x2="next:Q", y=y, color=_color(models))
    return cells.properties(width=width, height=(30 if style.room() is None else _row_height(models)) * len(models))
