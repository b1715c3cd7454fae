"""Several models for a page with one legend for all pictures: each model looks the same in every one of them."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import ResultError
from gfscore.outputs import robust_words, sentences
from gfscore.outputs.escaping import shorten
from gfscore.outputs.figures import style
from gfscore.outputs.figures.class_rows import THRESHOLD_ROWS
from gfscore.outputs.figures.eps_views import (
    HEIGHT,
    TITLE_WIDTH,
    curve_tips,
    described,
    eps_axis,
    eps_rule,
    points_of,
    share_axis,
)
from gfscore.results import ModelAudit

BROWN = "#8C510A"
COLORS = (*style.LINES, style.INK, BROWN)  # eight that are told apart; the ninth model has the first with a dash
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "triangle-right")
ROW, BETWEEN = 11, 8  # pixels of a model in a class, and between classes
BANDED = 8  # models; of more bands would only cover each other
BAND = 0.10  # opacity
STRIPE = "#F3F3F3"


class ModelLook(NamedTuple):
    """How a model looks in every picture."""

    name: str
    color: str
    shape: str
    dash: Sequence[int]


def model_looks(names: Sequence[str]) -> list[ModelLook]:
    """A look for each model, of which no two are alike up to 48: eight colours, then the same with another dash.

    >>> [look.color == COLORS[0] for look in model_looks(["a", "b"])]
    [True, False]
    """
    return [
        ModelLook(
            name=views.printable(name),
            color=COLORS[place % len(COLORS)],
            shape=SHAPES[place % len(SHAPES)],
            dash=style.DASHES[place // len(COLORS) % len(style.DASHES)],
        )
        for place, name in enumerate(names)
    ]


def _channel(channel: Any, looks: Sequence[ModelLook], field: str) -> Any:
    names, given = [look.name for look in looks], [getattr(look, field) for look in looks]
    return style.looks(channel, "name", names, given, legend=None)


def compared_curves(
    models: Sequence[ModelAudit], looks: Sequence[ModelLook], of: Literal["whole", "lowest"]
) -> ChartType:
    """Robust accuracy over eps of several models: of all samples, or of the class that is worst at each eps."""
    known = [(look, model.robustness) for look, model in zip(looks, models, strict=True)]
    pairs = [(look, found) for look, found in known if found is not None]
    if not pairs:
        raise ResultError(robust_words.NONE_HERE)
    found = [each for _, each in pairs]
    if len({(each.norm, each.kind) for each in found}) > 1:
        raise ResultError("the robust accuracies of these models are of different norms or kinds. Audit them alike.")
    unit, x = eps_axis(found)
    rows = [
        row
        for look, each in pairs
        for row in points_of(look.name, ((rung.eps, getattr(rung, of)) for rung in each.rungs), unit)
    ]
    base = style.chart_of(rows).encode(x=x, color=_channel(alt.Color, looks, "color"))
    lines = base.mark_line(strokeWidth=2).encode(
        y=share_axis(), strokeDash=_channel(alt.StrokeDash, looks, "dash"), tooltip=curve_tips()
    )
    layers = [eps_rule(found, unit, x), lines]
    if len(pairs) <= BANDED:
        bands = base.mark_area(opacity=BAND).encode(y=share_axis("low:Q"), y2="high:Q", detail="name:N")
        layers.insert(0, bands)
    whose = "all samples" if of == "whole" else f"the worst {models[0].partition} at each eps"
    chart = alt.layer(*layers).properties(width="container", height=HEIGHT)
    title = f"Robust accuracy of {whose}"
    return style.frame_text(chart, title, [], width=TITLE_WIDTH, description=described(title, models))


def curve_notes(models: Sequence[ModelAudit]) -> str:
    """What the readers of the curves must know."""
    found = [model.robustness for model in models if model.robustness is not None]
    about = "; ".join(dict.fromkeys(robust_words.source_text(model) for model in models if model.robustness))
    bands = f" Bands: intervals; {robust_words.together_text(models)}." if len(found) <= BANDED else ""
    dotted = " Dotted: the size of the attack that is chosen."
    return f"By {about}. {robust_words.limits_text(found[0])}{bands}{dotted}{_covered(models)}"


def _covered(models: Sequence[ModelAudit]) -> str:
    """Which curves lie on each other, so that only the last of them is seen."""
    alike: dict[Any, list[str]] = {}
    for model in models:
        if model.robustness is not None:
            drawn = tuple((rung.eps, rung.whole.value, rung.lowest.value) for rung in model.robustness.rungs)
            alike.setdefault(drawn, []).append(shorten(model.name))
    groups = [" and ".join(names) for names in alike.values() if len(names) > 1]
    return "".join(f" The curves of {names} are the same: only the last is seen." for names in groups)


def compared_classes(
    models: Sequence[ModelAudit], looks: Sequence[ModelLook], *, robust: bool, threshold: float | None
) -> ChartType:
    """Classes of several models in the same rows, lowest of the first model first: robust accuracy, or the score.

    Every other class has a stripe behind it; with many classes, the lowest are shown.
    """
    values = [_values(model, robust=robust) for model in models]
    if not values[0]:
        raise ResultError(robust_words.NONE_HERE)
    first = sorted(values[0], key=lambda name: values[0][name][0])[:THRESHOLD_ROWS]
    names = [views.printable(name) for name in first]
    table = [
        {"class": views.printable(name), "name": look.name, "value": value, "low": low, "high": high}
        for look, found in zip(looks, values, strict=True)
        for name in first
        if name in found
        for value, low, high in [found[name]]
    ]
    score = models[0]
    form, title = ".4f", style.score_title(score)
    scale = alt.Scale(zero=False, nice=True)
    if robust:
        form, title, scale = ".1%", robust_words.models_title(models), alt.Scale(domain=[0, 1], nice=False)
    axis = alt.Axis(title=title, tickCount=6, orient="top", format=".0%" if robust else alt.Undefined)
    rows = style.names_axis(names)
    rows["scale"] = alt.Scale(domain=names, paddingInner=0, paddingOuter=0)
    y = alt.Y("class", **rows)
    offset = alt.YOffset("name:N", scale=alt.Scale(domain=[look.name for look in looks], paddingOuter=0.6))
    tips = ["class:N", "name:N", *(style.tip(key, said, form) for key, said in _SAID)]
    base = style.chart_of(table).encode(y=y, yOffset=offset, color=_channel(alt.Color, looks, "color"), tooltip=tips)
    stripes = style.chart_of([{"class": name} for name in names[::2]]).mark_bar(color=STRIPE, aria=False)
    shape = _channel(alt.Shape, looks, "shape")
    layers = [
        stripes.encode(y=y, x=alt.value(0), x2=alt.value("width")),
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q"),
        base.mark_point(filled=True, size=45, opacity=1).encode(x=alt.X("value:Q", scale=scale), shape=shape),
    ]
    if threshold is not None:
        rule = style.chart_of([{"least": threshold}]).mark_rule(strokeDash=[4, 3], color=style.INK)
        layers.append(rule.encode(x=alt.X("least:Q", scale=scale)))
    chart = alt.layer(*layers).properties(width="container", height=len(names) * (BETWEEN + ROW * len(looks)))
    few = f"The {len(names)} lowest of {len(values[0]):,}. " if len(names) < len(values[0]) else ""
    together = robust_words.together_text(models) if robust else "all of a model hold together"
    what = "Robust accuracy" if robust else "Score"
    heading = f"{what} of each {score.partition}, from the lowest of {looks[0].name} up"
    notes = [f"{few}Lines are intervals: {together}.", *([] if robust else sentences.no_order(models))]
    return style.frame_text(chart, heading, notes, width=TITLE_WIDTH, description=described(heading, models))


_SAID = (("value", "value"), ("low", "lower end"), ("high", "upper end"))


def _values(model: ModelAudit, *, robust: bool) -> dict[str, tuple[float, float, float]]:
    """Value and interval of each class."""
    found = {}
    for entry in model.classes:
        value, interval = entry.score, entry.interval
        if robust:
            share = entry.robust_accuracy
            if share is None or share.value is None:
                continue
            value, interval = share.value, share.interval
        found[entry.name] = (value, *(interval or (value, value)))
    return found
