"""Classes against a threshold: of one model, to be clicked on, or of several side by side."""

from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from typing import Any

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.outputs.figures import style
from gfscore.results import ClassResult, ModelAudit

ALL_SHOWN = 40  # classes; of more only the lowest have a row
ROW, ROWS_OF_MODELS = 19, 11  # pixels
TITLE_WIDTH = 430
PICKED = "picked"  # name of the selection; it holds the position of a class in the result
LOOKS = {"PASS": (style.BLUE, "circle"), "UNDECIDED": (style.GREY, "diamond"), "FAIL": (style.VERMILION, "triangle")}
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross")  # one less than colours: thirty pairs


def class_picker(model: ModelAudit, threshold: float, verdicts: Sequence[str]) -> ChartType:
    """Score and interval of each class from the lowest up, coloured by its verdict; a click selects ``index``.

    ``verdicts`` holds PASS, FAIL or UNDECIDED for each class of the model. With many classes, the lowest are shown.
    """
    order = sorted(range(len(model.classes)), key=lambda index: model.classes[index].score)[:ALL_SHOWN]
    table = [_entry(model.classes[index]) | {"index": index, "verdict": str(verdicts[index])} for index in order]
    looks = {kind: look for kind, look in LOOKS.items() if kind in {row["verdict"] for row in table}}
    colors = alt.Scale(domain=list(looks), range=[color for color, _ in looks.values()])
    shapes = alt.Scale(domain=list(looks), range=[shape for _, shape in looks.values()])
    legend = alt.Legend(title=None, orient="bottom")
    picked = alt.selection_point(name=PICKED, fields=["index"], on="click", empty=True)
    base = alt.Chart(style.rows(table)).encode(
        y=alt.Y("name", **style.names_axis([row["name"] for row in table])),
        color=alt.Color("verdict:N", scale=colors, legend=legend),
        opacity=alt.when(picked).then(alt.value(1)).otherwise(alt.value(0.35)),
        tooltip=_tooltip(model),
    )
    scale = _scale(table, threshold)
    lines = base.mark_rule(strokeWidth=2.5).encode(x=_axis(model, scale), x2="high:Q")
    points = base.mark_point(filled=True, size=110).encode(
        x=alt.X("score:Q", scale=scale), shape=alt.Shape("verdict:N", scale=shapes, legend=legend)
    )
    target = base.mark_rule(strokeWidth=ROW, cursor="pointer").encode(  # a line is hard to hit: the row is not
        x=alt.value(0), x2=alt.value("width"), opacity=alt.value(0.001), color=alt.value(style.INK)
    )
    chart = alt.layer(target, lines, points.add_params(picked), _rule(threshold, scale))
    parts = PLURALS[model.partition]
    shown = f"The {len(table)} lowest of {len(model.classes):,} {parts}." if len(table) < len(model.classes) else ""
    notes = [style.about([model]), *_interval_notes([model]), f"{shown} Dashed: the threshold, {threshold:g}.".strip()]
    title = f"Score of each {model.partition}, from the least protected up"
    chart = chart.properties(width="container", height=ROW * len(table))
    return style.framed(chart, title, notes, models=[model], width=TITLE_WIDTH)


def side_by_side(models: Sequence[ModelAudit], threshold: float) -> ChartType:
    """Classes of several models in the same rows, lowest of the first model first; with many classes, the lowest."""
    first = sorted(models[0].classes, key=lambda entry: entry.score)[:ALL_SHOWN]
    shown = {entry.name for entry in first}
    table = [
        _entry(entry) | {"model": views.printable(model.name)}
        for model in models
        for entry in model.classes
        if entry.name in shown
    ]
    names = [views.printable(model.name) for model in models]
    colors = alt.Scale(domain=names, range=list(islice(cycle(style.LINES), len(names))))
    shapes = alt.Scale(domain=names, range=list(islice(cycle(SHAPES), len(names))))
    legend = alt.Legend(title=None, orient="bottom", columns=4)
    base = alt.Chart(style.rows(table)).encode(
        y=alt.Y("name", **style.names_axis([views.printable(entry.name) for entry in first])),
        yOffset=alt.YOffset("model:N", scale=alt.Scale(domain=names)),
        color=alt.Color("model:N", scale=colors, legend=legend),
        tooltip=["model:N", *_tooltip(models[0])],
    )
    scale = _scale(table, threshold)
    lines = base.mark_rule(strokeWidth=2).encode(x=_axis(models[0], scale), x2="high:Q")
    points = base.mark_point(filled=True, size=45, opacity=1).encode(
        x=alt.X("score:Q", scale=scale), shape=alt.Shape("model:N", scale=shapes, legend=legend)
    )
    height = len(first) * (8 + ROWS_OF_MODELS * len(names))
    chart = alt.layer(lines, points, _rule(threshold, scale)).properties(width="container", height=height)
    notes = [style.about(models), *_interval_notes(models), f"Dashed: the threshold, {threshold:g}."]
    notes += views.no_order(models)
    title = f"Each {models[0].partition} in every model, from the least protected of {names[0]} up"
    return style.framed(chart, title, notes, models=models, width=TITLE_WIDTH)


def _entry(entry: ClassResult) -> dict[str, Any]:
    low, high = entry.interval or (entry.score, entry.score)
    return {
        "name": views.printable(entry.name),
        "score": entry.score,
        "low": low,
        "high": high,
        "n": entry.n,
        "accuracy": entry.accuracy,
    }


def _tooltip(model: ModelAudit) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("name:N", title=model.partition),
        alt.Tooltip("score:Q", format=".4f"),
        alt.Tooltip("low:Q", title="lower end", format=".4f"),
        alt.Tooltip("high:Q", title="upper end", format=".4f"),
        alt.Tooltip("n:Q", format=","),
        alt.Tooltip("accuracy:Q", title="clean accuracy", format=".1%"),
    ]


def _scale(table: Sequence[Mapping[str, Any]], threshold: float) -> alt.Scale:
    ends = [end for row in table for end in (row["low"], row["high"])]
    return alt.Scale(domain=[min(*ends, threshold), max(*ends, threshold)], nice=True, zero=False)


def _axis(model: ModelAudit, scale: alt.Scale) -> alt.X:
    return alt.X("low:Q", scale=scale, axis=alt.Axis(title=style.score_title(model)))


def _rule(threshold: float, scale: alt.Scale) -> style.Part:
    rule = alt.Chart(style.rows([{"threshold": threshold}])).mark_rule(strokeDash=[4, 3], color=style.INK)
    return rule.encode(x=alt.X("threshold:Q", scale=scale))


def _interval_notes(models: Sequence[ModelAudit]) -> list[str]:
    bounded = [model for model in models if all(entry.interval is not None for entry in model.classes)]
    if not bounded:
        return ["There are no intervals here, so nothing can be decided."]
    notes = [style.intervals_note(bounded)]
    if len(bounded) < len(models):
        notes.append(
            f"Without intervals, so that nothing can be decided: {len(models) - len(bounded)} of {len(models)} models."
        )
    return notes
