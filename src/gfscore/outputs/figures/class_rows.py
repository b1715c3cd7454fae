"""A row for each class, with its interval: of one model from the lowest up, or against a threshold."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import PLURALS, ResultError
from gfscore.outputs import sentences
from gfscore.outputs.figures import style
from gfscore.results import Audit, ClassResult, ModelAudit

FOREST_ROWS = 60  # classes; of more only the ends have a row
FOREST_ENDS, PAPER_ENDS = 12, 8
FOREST_WIDTH, FOREST_ROW, PAPER_ROW = 420, 18, 13
TALL_ROWS = 40  # classes, of which each still has a row as tall as on a screen: more do not go onto a page
CANDIDATE, OTHER = "may be the worst", "not the worst"
THRESHOLD_ROWS = 40  # classes; of more only the lowest have a row
PICKER_ROW, ROWS_OF_MODELS = 19, 11  # pixels
TITLE_WIDTH = 430
PICKED = "picked"  # name of the selection; it holds the position of a class in the result
OPEN = "not judged"
VERDICT_LOOKS = {
    OPEN: (style.BLUE, "circle"),
    "PASS": (style.BLUE, "circle"),
    "UNDECIDED": (style.GREY, "diamond"),
    "FAIL": (style.VERMILION, "triangle"),
}
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross")  # one less than colours: thirty pairs
LEGEND: dict[str, Any] = {"title": None, "orient": "bottom"}


def forest(result: Audit | ModelAudit) -> ChartType:
    """Score and interval of each class, sorted; with many classes all as a curve, and a row for those at the ends.

    Needs intervals. The classes whose interval allows them to be the worst are marked.
    """
    model = style.one(result)
    if any(entry.interval is None for entry in model.classes):
        raise ResultError("the forest plot shows intervals, and this result has none. Run gfscore audit on the logits.")
    ordered = sorted(model.classes, key=lambda entry: entry.score)
    parts, found = PLURALS[model.partition], len(model.worst_set)
    notes = [
        style.intervals_note([model]),
        f"They leave {found:,} of {len(ordered):,} {parts} as candidates for the worst. Dashed: mean of the {parts}.",
    ]
    ends = FOREST_ENDS if style.room() is None else PAPER_ENDS
    if len(ordered) <= FOREST_ROWS:
        chart = _forest_rows(model, ordered, axis=True)
    else:
        chart = alt.vconcat(
            _forest_curve(model, ordered),
            _forest_rows(model, ordered[:ends], title=f"The {ends} lowest"),
            _forest_rows(model, ordered[-ends:], title=f"The {ends} highest", axis=True),
            spacing=14,
        ).resolve_scale(color="shared", shape="shared")
    title = f"Score of each {model.partition}, from the least protected up"
    return style.frame(chart, title, notes, models=[model], width=style.px(FOREST_WIDTH) + 280)


def _forest_entry(model: ModelAudit, entry: ClassResult, rank: int) -> dict[str, Any]:
    return _entry(entry, rank=rank) | {
        "kind": CANDIDATE if entry.name in model.worst_set else OTHER,
        "estimate": views.score_text(model, entry.score, entry.interval),
        "count": f"n = {entry.n:,}",
    }


def _forest_rows(
    model: ModelAudit, entries: Sequence[ClassResult], *, title: str = "", axis: bool = False
) -> style.Part:
    """A row for each class: name, interval, point, and the numbers."""
    table = [_forest_entry(model, entry, rank) for rank, entry in enumerate(entries, 1)]
    names = style.names_axis([row["name"] for row in table])
    base = style.chart_of(table).encode(y=alt.Y("name", **names), tooltip=_tooltip(model))
    ends = [end for entry in model.classes for end in entry.interval or ()]
    x_title = style.score_title(model) if axis else None
    across: dict[str, Any] = {
        "scale": alt.Scale(domain=[min(ends), max(ends)], nice=True, zero=False),
        "axis": alt.Axis(
            title=x_title, labels=axis, ticks=axis, domain=axis, tickCount=max(2, style.px(FOREST_WIDTH) // 40)
        ),
    }
    known = [CANDIDATE, OTHER][: 1 + (len(model.worst_set) < len(model.classes))]
    kinds = alt.Scale(domain=known, range=[style.VERMILION, style.BLUE])
    shapes = alt.Scale(domain=known, range=["diamond", "circle"])
    legend = alt.Legend(**LEGEND)
    color = alt.Color("kind:N", scale=kinds, legend=legend)
    shape = alt.Shape("kind:N", scale=shapes, legend=legend)
    lines = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", **across), x2=alt.X2("high:Q"), color=color)
    points = base.mark_point(filled=True, size=70, opacity=1)
    points = points.encode(x=alt.X("score:Q", **across), color=color, shape=shape)
    numbers = [base.mark_text(align="left").encode(x=alt.value(style.px(FOREST_WIDTH) + 12), text="estimate:N")]
    # Else the note says it for all; and a column has no room for it.
    if len({entry.n for entry in model.classes}) > 1 and not style.is_narrow():
        numbers.append(base.mark_text(align="left").encode(x=alt.value(style.px(FOREST_WIDTH) + 145), text="count:N"))
    mean = style.chart_of([{"mean": model.class_mean}]).mark_rule(strokeDash=[4, 3], color=style.GREY)
    mean = mean.encode(x=alt.X("mean:Q", **across), tooltip=style.tip("mean"))
    row = FOREST_ROW if style.room() is None or len(table) <= TALL_ROWS else PAPER_ROW
    size = {"width": style.px(FOREST_WIDTH), "height": row * len(table)}
    return alt.layer(mean, lines, points, *numbers).properties(**size, title=title)


def _forest_curve(model: ModelAudit, entries: Sequence[ClassResult]) -> style.Part:
    """All classes in order of their score, with their intervals as a band."""
    table = [_forest_entry(model, entry, rank) for rank, entry in enumerate(entries, 1)]
    x = alt.X(
        "rank:Q",
        title=f"{PLURALS[model.partition]}, from the lowest score to the highest",
        scale=alt.Scale(domain=[1, len(table)], nice=False),
        axis=alt.Axis(format=",d", grid=False),
    )
    base, y = style.chart_of(table), alt.Y("low:Q", title=style.score_title(model))
    band = base.mark_area(color=style.SKY, opacity=0.45).encode(x=x, y=y, y2="high:Q")
    line = base.mark_line(color=style.INK, strokeWidth=1.5).encode(x=x, y="score:Q")
    title = f"All {len(table):,} {PLURALS[model.partition]}"
    return alt.layer(band, line).properties(
        width=style.px(FOREST_WIDTH), height=style.high(190) // (2 if style.is_narrow() else 1), title=title
    )


def class_picker(model: ModelAudit, threshold: float | None, verdicts: Sequence[str]) -> ChartType:
    """Score and interval of each class from the lowest up, coloured by its verdict; a click selects ``index``.

    ``verdicts`` holds PASS, FAIL or UNDECIDED for each class of the model, and nothing where there is no threshold.
    With many classes, the lowest are shown.
    """
    verdicts = verdicts or [OPEN] * len(model.classes)
    order = sorted(range(len(model.classes)), key=lambda index: model.classes[index].score)[:THRESHOLD_ROWS]
    table = [_entry(model.classes[index]) | {"index": index, "verdict": str(verdicts[index])} for index in order]
    given = [verdict for verdict in VERDICT_LOOKS if verdict in {row["verdict"] for row in table}]
    colors, shapes = zip(*(VERDICT_LOOKS[verdict] for verdict in given), strict=True)
    legend = None if given == [OPEN] else alt.Legend(**LEGEND)
    picked = alt.selection_point(name=PICKED, fields=["index"], on="click", empty=True)
    base = style.chart_of(table).encode(
        y=alt.Y("name", **style.names_axis([row["name"] for row in table])),
        color=style.looks(alt.Color, "verdict", given, colors, legend=legend),
        opacity=alt.when(picked).then(alt.value(1)).otherwise(alt.value(0.35)),
        tooltip=_tooltip(model),
    )
    scale = _scale(table, threshold)
    lines = base.mark_rule(strokeWidth=2.5).encode(x=_axis(model, scale), x2="high:Q")
    shape = style.looks(alt.Shape, "verdict", given, shapes, legend=legend)
    points = base.mark_point(filled=True, size=110).encode(x=alt.X("score:Q", scale=scale), shape=shape)
    target = base.mark_rule(strokeWidth=PICKER_ROW, cursor="pointer").encode(  # a line is hard to hit: the row is not
        x=alt.value(0), x2=alt.value("width"), opacity=alt.value(0.001), color=alt.value(style.INK)
    )
    chart = alt.layer(target, lines, points.add_params(picked), *_rule(threshold, scale))
    chart = chart.properties(width="container", height=PICKER_ROW * len(table))
    parts = PLURALS[model.partition]
    shown = f"The {len(table)} lowest of {len(model.classes):,} {parts}." if len(table) < len(model.classes) else ""
    notes = [*_interval_notes([model]), *filter(None, [f"{shown} {_dashed(threshold)}".strip()])]
    title = f"Score of each {model.partition}, from the least protected up"
    return style.frame(chart, title, notes, models=[model], width=TITLE_WIDTH)


def side_by_side(models: Sequence[ModelAudit], threshold: float | None) -> ChartType:
    """Classes of several models in the same rows, lowest of the first model first; with many classes, the lowest."""
    first = sorted(models[0].classes, key=lambda entry: entry.score)[:THRESHOLD_ROWS]
    shown = {entry.name for entry in first}
    table = [
        _entry(entry) | {"model": views.printable(model.name)}
        for model in models
        for entry in model.classes
        if entry.name in shown
    ]
    names = [views.printable(model.name) for model in models]
    legend = alt.Legend(**LEGEND, columns=4)
    base = style.chart_of(table).encode(
        y=alt.Y("name", **style.names_axis([views.printable(entry.name) for entry in first])),
        yOffset=alt.YOffset("model:N", scale=alt.Scale(domain=names)),
        color=style.looks(alt.Color, "model", names, cycle(style.LINES), legend=legend),
        tooltip=["model:N", *_tooltip(models[0])],
    )
    scale = _scale(table, threshold)
    lines = base.mark_rule(strokeWidth=2).encode(x=_axis(models[0], scale), x2="high:Q")
    shape = style.looks(alt.Shape, "model", names, cycle(SHAPES), legend=legend)
    points = base.mark_point(filled=True, size=45, opacity=1).encode(x=alt.X("score:Q", scale=scale), shape=shape)
    height = len(first) * (8 + ROWS_OF_MODELS * len(names))
    chart = alt.layer(lines, points, *_rule(threshold, scale)).properties(width="container", height=height)
    notes = [*_interval_notes(models), *filter(None, [_dashed(threshold)]), *sentences.no_order(models)]
    title = f"Each {models[0].partition} in every model, from the least protected of {names[0]} up"
    return style.frame(chart, title, notes, models=models, width=TITLE_WIDTH)


def _entry(entry: ClassResult, **more: Any) -> dict[str, Any]:
    low, high = entry.interval or (entry.score, entry.score)
    ends = {"score": entry.score, "low": low, "high": high}
    return {"name": views.printable(entry.name), **more, **ends, "n": entry.n, "accuracy": entry.accuracy}


def _tooltip(model: ModelAudit) -> list[alt.Tooltip]:
    ends = [style.tip("low", "lower end"), style.tip("high", "upper end")]
    others = [style.tip("n", form=","), style.tip("accuracy", "clean accuracy", ".1%")]
    return [alt.Tooltip("name:N", title=model.partition), style.tip("score"), *ends, *others]


def _scale(table: Sequence[Mapping[str, Any]], threshold: float | None) -> alt.Scale:
    ends = [end for row in table for end in (row["low"], row["high"])] + ([] if threshold is None else [threshold])
    return alt.Scale(domain=[min(ends), max(ends)], nice=True, zero=False)


def _axis(model: ModelAudit, scale: alt.Scale) -> alt.X:
    return alt.X("low:Q", scale=scale, axis=alt.Axis(title=style.score_title(model)))


def _dashed(threshold: float | None) -> str:
    return "" if threshold is None else f"Dashed: the threshold, {threshold:g}."


def _rule(threshold: float | None, scale: alt.Scale) -> list[style.Part]:
    if threshold is None:
        return []
    rule = style.chart_of([{"threshold": threshold}]).mark_rule(strokeDash=[4, 3], color=style.INK)
    return [rule.encode(x=alt.X("threshold:Q", scale=scale))]


def _interval_notes(models: Sequence[ModelAudit]) -> list[str]:
    bounded = [model for model in models if all(entry.interval is not None for entry in model.classes)]
    if not bounded:
        return ["There are no intervals here, so nothing can be decided."]
    without = len(models) - len(bounded)
    lacking = f"Without intervals, so that nothing can be decided: {without} of {len(models)} models."
    return [style.intervals_note(bounded), *([lacking] if without else [])]
