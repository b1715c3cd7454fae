"""Robust accuracy for a page with a slider for eps: curves and rows of one model, as wide as the page lets them be."""

from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import PLURALS, ResultError
from gfscore.outputs import robust_words
from gfscore.outputs.figures import style
from gfscore.outputs.figures.class_rows import OPEN, PICKED, PICKER_ROW, THRESHOLD_ROWS, VERDICT_LOOKS
from gfscore.results import Metric, ModelAudit, Robustness

HEIGHT = 260
LINES_DRAWN = 40  # classes that have a line; of more a band is drawn
OTHERS = "other {parts}"
TITLE_WIDTH = 430
LEGEND: dict[str, Any] = {"title": None, "orient": "bottom"}
STROKES: dict[str, Any] = {"symbolType": "stroke", "symbolStrokeWidth": 3, "symbolOpacity": 1, "symbolSize": 350}


def robustness_of(model: ModelAudit) -> Robustness:
    """What is drawn; an error that says what to do where it is not known."""
    if model.robustness is None:
        raise ResultError(robust_words.NONE_HERE)
    return model.robustness


def eps_axis(found: Sequence[Robustness]) -> tuple[float, alt.X]:
    """The unit that eps are counted in, and the axis of all of them."""
    norm, most = found[0].norm, max(rung.eps for each in found for rung in each.rungs)
    unit, said = robust_words.eps_unit(norm, most)
    title = f"size of the attack, eps ({views.norm_text(norm)}{said})"
    scale = alt.Scale(domain=[0, most / unit], nice=False)
    return unit, alt.X("eps:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6, labelFlush=True))


def share_axis(field: str = "value:Q") -> alt.Y:
    """Robust accuracy up, always from 0 to 100 %."""
    ticks = alt.Axis(format=".0%", values=[0, 0.2, 0.4, 0.6, 0.8, 1])
    return alt.Y(field, title="robust accuracy", scale=alt.Scale(domain=[0, 1], nice=False), axis=ticks)


def points_of(name: str, points: Iterable[tuple[float, Metric]], unit: float, **more: Any) -> list[dict[str, Any]]:
    """The points of a curve as rows: eps in units, robust accuracy and the ends of its interval."""
    rows = []
    for eps, share in points:
        low, high = share.interval or (share.value, share.value)
        ends = {"value": share.value, "low": low, "high": high}
        rows.append({"name": name, "eps": round(eps / unit, 6), **ends, **more})
    return rows


def curve_tips() -> list[Any]:
    """What is told of a point of a curve."""
    ends = [style.tip("low", "lower end", ".1%"), style.tip("high", "upper end", ".1%")]
    return ["name:N", style.tip("eps", form=".4g"), style.tip("value", "robust accuracy", ".1%"), *ends]


def curves_at_eps(model: ModelAudit) -> ChartType:
    """Robust accuracy over eps of all samples, of the class that is worst at the eps of the headline, and of the rest.

    With many classes the rest is a band from the lowest to the highest.
    """
    found = robustness_of(model)
    unit, x = eps_axis([found])
    head, names = found.headline, [part.name for part in found.classes]
    worst = f"worst: {views.printable(head.worst)}"
    place, others = names.index(head.worst), OTHERS.format(parts=PLURALS[model.partition])
    clean = {robust_words.WHOLE: model.accuracy, worst: model[head.worst].accuracy}
    start = [(0.0, Metric(value=model.accuracy))] if found.n == model.samples.n else []  # of the same samples
    main = points_of(robust_words.WHOLE, [*start, *((rung.eps, rung.whole) for rung in found.rungs)], unit)
    start = [(0.0, Metric(value=clean[worst])) for _ in start]
    main += points_of(worst, [*start, *((rung.eps, rung.classes[place]) for rung in found.rungs)], unit)
    kinds = [robust_words.WHOLE, worst]
    color = style.looks(
        alt.Color,
        "name",
        [*kinds, others],
        (style.BLUE, style.VERMILION, style.GREY),
        # one below another: side by side, long names of classes leave a phone at its right
        legend=alt.Legend(**LEGEND, **STROKES, direction="vertical"),
    )
    dash = style.looks(alt.StrokeDash, "name", [*kinds, others], ([1, 0], [7, 3], [1, 0]), legend=None)
    base = style.chart_of(main).encode(x=x, color=color)
    layers = [_rest(found, place, unit, others, x, color)]
    bands = style.chart_of([row for row in main if row["eps"]]).encode(x=x, color=color)  # clean accuracy has none here
    layers.append(bands.mark_area(opacity=0.16).encode(y=share_axis("low:Q"), y2="high:Q"))
    layers.append(base.mark_line(strokeWidth=2.5).encode(y=share_axis(), strokeDash=dash, tooltip=curve_tips()))
    layers.append(eps_rule([found], unit, x))
    heads = [
        {"name": name, "eps": round(found.eps / unit, 6), "value": share.value, "text": views.percent(share.value)}
        for name, share in ((robust_words.WHOLE, head.whole), (worst, head.classes[place]))
    ]
    marks = style.chart_of(heads).encode(x=x, y=share_axis(), color=color)
    layers.append(marks.mark_point(filled=True, size=70, opacity=1))
    starts = style.chart_of([{"name": name, "eps": 0.0, "value": value} for name, value in clean.items()])
    layers.append(starts.mark_point(fill="white", size=45, opacity=1).encode(x=x, y=share_axis(), color=color))
    for row, above in zip(heads, (True, False), strict=True):
        side = "right" if found.eps > max(rung.eps for rung in found.rungs) / 2 else "left"
        text = {"align": side, "dx": -7 if side == "right" else 7, "dy": -10 if above else 13, "fontWeight": "bold"}
        said = style.chart_of([row]).encode(x=x, y=share_axis(), text="text:N")
        layers.append(said.mark_text(**text, stroke="white", strokeWidth=4))  # lines of other classes run below it
        layers.append(said.mark_text(**text).encode(color=color))
    chart = alt.layer(*layers).properties(width="container", height=HEIGHT)
    title = f"Robust accuracy of each {model.partition}, by the size of the attack"
    about = f"By {robust_words.source_text(model)}. {robust_words.limits_text(found)}"
    note = f"{about} Bands: intervals. Circles: clean accuracy."
    return style.frame_text(chart, title, [note], width=TITLE_WIDTH, description=described(title, [model]))


def _rest(found: Robustness, worst: int, unit: float, others: str, x: alt.X, color: alt.Color) -> style.Part:
    """A thin line for each class but the worst, or a band from the lowest to the highest where there are many."""
    names = [part.name for part in found.classes]
    if len(names) > LINES_DRAWN:
        rows = []
        for rung in found.rungs:
            shares = [share.value for share in rung.classes if share.value is not None]
            ends = {"low": min(shares), "high": max(shares)}
            rows.append({"name": others, "eps": round(rung.eps / unit, 6), **ends})
        band = style.chart_of(rows).mark_area(opacity=0.25)
        return band.encode(x=x, y=share_axis("low:Q"), y2="high:Q", color=color)
    rows = [
        {**row, "name": others, "class": views.printable(names[place])}
        for place in range(len(names))
        if place != worst
        for row in points_of("", ((rung.eps, rung.classes[place]) for rung in found.rungs), unit)
    ]
    tips = ["class:N", *curve_tips()[1:]]
    lines = style.chart_of(rows).mark_line(strokeWidth=0.9, opacity=0.7)
    return lines.encode(x=x, y=share_axis(), color=color, detail="class:N", tooltip=tips)


def eps_rule(found: Sequence[Robustness], unit: float, x: alt.X) -> style.Part:
    """A line at the eps of the headlines."""
    rows = [{"eps": round(eps / unit, 6)} for eps in sorted({each.eps for each in found})]
    return style.chart_of(rows).mark_rule(strokeDash=[2, 3], color=style.INK).encode(x=x)


def robust_picker(model: ModelAudit, least: float | None, verdicts: Sequence[str]) -> ChartType:
    """Robust accuracy of each class at the eps of the headline, lowest first; a click selects ``index``.

    ``verdicts`` holds PASS, FAIL or UNDECIDED for each class of the model, and nothing where ``least`` is None. With
    many classes, the lowest are shown.
    """
    found = robustness_of(model)
    shares, names = found.headline.classes, [part.name for part in found.classes]
    verdicts = verdicts or [OPEN] * len(names)
    order = sorted(range(len(names)), key=lambda place: shares[place].value or 0.0)[:THRESHOLD_ROWS]
    table = [
        {**row, "index": place, "n": found.classes[place].n, "verdict": str(verdicts[place])}
        for place in order
        for row in points_of(views.printable(names[place]), [(found.eps, shares[place])], 1.0)
    ]
    given = [verdict for verdict in VERDICT_LOOKS if verdict in {row["verdict"] for row in table}]
    colors, shapes = zip(*(VERDICT_LOOKS[verdict] for verdict in given), strict=True)
    legend = None if given == [OPEN] else alt.Legend(**LEGEND)
    picked = alt.selection_point(name=PICKED, fields=["index"], on="click", empty=True)
    tips = [alt.Tooltip("name:N", title=model.partition), *curve_tips()[2:], style.tip("n", form=",")]
    base = style.chart_of(table).encode(
        y=alt.Y("name", **style.names_axis([str(row["name"]) for row in table])),
        color=style.looks(alt.Color, "verdict", given, colors, legend=legend),
        opacity=alt.when(picked).then(alt.value(1)).otherwise(alt.value(0.35)),
        tooltip=tips,
    )
    scale = alt.Scale(domain=[0, 1], nice=False)
    title = f"robust accuracy at {robust_words.eps_text(found)}"
    x = alt.X("low:Q", scale=scale, axis=alt.Axis(title=title, format=".0%", tickCount=6))
    shape = style.looks(alt.Shape, "verdict", given, shapes, legend=legend)
    target = base.mark_rule(strokeWidth=PICKER_ROW, cursor="pointer").encode(  # a line is hard to hit: the row is not
        x=alt.value(0), x2=alt.value("width"), opacity=alt.value(0.001), color=alt.value(style.INK)
    )
    points = base.mark_point(filled=True, size=110).encode(x=alt.X("value:Q", scale=scale), shape=shape)
    layers = [target, base.mark_rule(strokeWidth=2.5).encode(x=x, x2="high:Q"), points.add_params(picked)]
    if least is not None:
        rule = style.chart_of([{"least": least}]).mark_rule(strokeDash=[4, 3], color=style.INK)
        layers.append(rule.encode(x=alt.X("least:Q", scale=scale)))
    chart = alt.layer(*layers).properties(width="container", height=PICKER_ROW * len(table))
    parts = PLURALS[model.partition]
    few = f"The {len(table)} lowest of {len(names):,} {parts}." if len(table) < len(names) else ""
    dashed = "" if least is None else f"Dashed: the least that is asked for, {views.percent(least)}."
    together = f"Lines are intervals: {robust_words.together_text([model])}."
    title = f"Robust accuracy of each {model.partition} at {robust_words.eps_text(found)}, from the lowest up"
    notes = [" ".join(filter(None, (together, few, dashed)))]
    return style.frame_text(chart, title, notes, width=TITLE_WIDTH, description=described(title, [model]))


def described(title: str, models: Sequence[ModelAudit]) -> str:
    """What is read to those who cannot see a picture: its title, and whose it is."""
    whose = views.printable(models[0].name) if len(models) == 1 else f"{len(models)} models"
    return f"{title}: {whose}"
