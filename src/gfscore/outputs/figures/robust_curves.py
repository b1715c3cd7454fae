"""Robust accuracy over eps: a line for each class of one model, or the whole and the worst class of several."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import cycle
from typing import Any, NamedTuple

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import ResultError
from gfscore.outputs import robust_words
from gfscore.outputs.figures import style
from gfscore.results import Audit, Metric, ModelAudit, Robustness

WIDTH, HEIGHT = 480, 320
PANEL = 290  # pixels across, of one of two
PAPER_HEIGHT = 170  # of a panel in a column
LINES_DRAWN = 40  # classes that have a line; of more a band is drawn
NAMED = 12  # classes that all have their name at the end of their line
BANDED = 6  # models, of more bands would only cover each other
APART, TICKS_APART = 14, 24  # pixels from the name of a line to the next, and from a number below the axis
LEADER = 14  # pixels from the end of a line to its name
BAND = 0.16  # opacity


class _Line(NamedTuple):
    """A curve, and how it is drawn."""

    text: str  # at its end
    points: Sequence[tuple[float, Metric]]  # eps, and robust accuracy there
    start: float  # clean accuracy
    color: str
    dash: Sequence[int] = (1, 0)
    weight: float = 2.5
    joined: bool = True  # to clean accuracy, where both are of the same samples


def robust_curves(result: Audit | ModelAudit) -> ChartType:
    """Robust accuracy of each class over eps, with bands around all samples and around the worst class.

    The worst is that at the eps of the headline. With many classes their lines are a band from the lowest to the
    highest. Needs radii.
    """
    model = style.one(result)
    found = _of(model)
    worst, axis, height = found.headline.worst, _Axis(found.norm, [found], style.px(WIDTH)), style.high(HEIGHT)
    names = [part.name for part in found.classes]
    clean = {entry.name: entry.accuracy for entry in model.classes}
    curves = {name: [(rung.eps, rung.classes[place]) for rung in found.rungs] for place, name in enumerate(names)}
    joined = found.n == model.samples.n
    points = [(rung.eps, rung.whole) for rung in found.rungs]
    whole = _Line(robust_words.WHOLE, points, model.accuracy, style.BLUE, joined=joined)
    text = f"worst: {views.printable(worst)}"
    lowest = _Line(text, curves[worst], clean[worst], style.VERMILION, style.DASHES[1], joined=joined)
    others = [
        _Line(views.printable(name), curves[name], clean[name], style.GREY, weight=0.8, joined=joined)
        for name in names
        if name != worst
    ]
    if len(names) > LINES_DRAWN:
        thin = _bands([_spread(curves.values())], axis, style.PALE, 0.7)
    else:
        thin = [_strokes(line, axis, opacity=0.6) for line in others]
    main = [whole, lowest]
    layers = [*thin, *(part for line in main for part in _bands([line.points], axis, line.color, BAND))]
    layers += [_rule(found.eps, axis), *(_strokes(line, axis) for line in main)]
    layers += [part for line in main for part in (_clean(line, axis), *_value(line, found.eps, axis))]
    layers += _labels([*main, *(others if len(names) <= NAMED else [])], style.px(WIDTH), height)
    notes = robust_words.curve_notes(model, lines=len(names) <= LINES_DRAWN)
    title = f"Robust accuracy of each {model.partition}, by the size of the attack"
    chart = alt.layer(*layers).properties(width=style.px(WIDTH), height=height)
    return style.frame(chart, title, notes, models=[model], width=style.px(WIDTH) + 180, settings=False)


def robust_models(result: Audit | ModelAudit) -> ChartType:
    """Robust accuracy over eps of several models: of all samples on the left, of the worst class on the right."""
    models = (result,) if isinstance(result, ModelAudit) else result.models
    known = [model for model in models if model.robustness is not None]
    if len(known) < 2:
        raise ResultError(
            f"this figure compares robust accuracies of at least 2 models; this result has {len(known)}. "
            "Audit several with --model."
        )
    found = [_of(model) for model in known]
    if len({(each.norm, each.kind) for each in found}) > 1:
        raise ResultError("the robust accuracies of these models are of different norms or kinds. Audit them alike.")
    narrow = style.is_narrow()  # the names stand below, not at the ends of the lines
    axis = _Axis(found[0].norm, found, style.px(PANEL))
    height = PAPER_HEIGHT if narrow else max(HEIGHT, APART * len(known) + 20)
    looks = list(zip(known, found, cycle(style.LINES), _dashes(), strict=False))
    wholes, worsts = [], []
    for model, each, color, dash in looks:
        name = views.printable(model.name)
        joined, worst = each.n == model.samples.n, views.printable(each.headline.worst)
        whole, lowest = ([(rung.eps, getattr(rung, of)) for rung in each.rungs] for of in ("whole", "lowest"))
        wholes.append(_Line(name, whole, model.accuracy, color, dash, 2, joined))
        start = min(entry.accuracy for entry in model.classes)
        worsts.append(_Line(f"{name}: {worst}", lowest, start, color, dash, 2, joined))
    part = known[0].partition
    sides = (
        (wholes, robust_words.WHOLE, None),
        (worsts, f"the worst {part} at each eps", _legend if narrow else _labels),
    )
    panels = [partial(_panel, lines, axis, found, title, height, names) for lines, title, names in sides]
    notes = robust_words.models_notes(known, bands=len(known) <= BANDED, left_out=len(models) - len(known))
    chart = style.panels(panels, spacing=24)
    title = "Robust accuracy of the models, by the size of the attack"
    return style.frame(chart, title, notes, models=known, width=2 * style.px(PANEL) + 220, settings=False)


def _of(model: ModelAudit) -> Robustness:
    if model.robustness is None:
        raise ResultError(robust_words.NONE_HERE)
    return model.robustness


def _dashes() -> Iterable[Sequence[int]]:
    """A dash for each round of the colours, so that models beyond the sixth are told apart."""
    for dash in cycle(style.DASHES):
        yield from [dash] * len(style.LINES)


class _Axis:
    """Eps across, in 255ths where people write it so; robust accuracy up, always from 0 to 100 %."""

    def __init__(self, norm: str, found: Sequence[Robustness], width: int) -> None:
        most = max(rung.eps for each in found for rung in each.rungs)
        self.unit, said = robust_words.eps_unit(norm, most)
        heads = [each.eps for each in found]
        ticks = list[float]()
        for eps in (0.0, *heads, *sorted(rung.eps for each in found for rung in robust_words.shown_rungs(each))):
            tick = round(eps / self.unit, 6)
            if all(abs(tick - other) * self.unit / most * width >= TICKS_APART for other in ticks):
                ticks.append(tick)
        scale = alt.Scale(domain=[0, most / self.unit], nice=False)
        title = f"size of the attack, eps ({views.norm_text(norm)}{said})"
        look = alt.Axis(values=sorted(ticks), labelOverlap=False, format=".3~g")
        self.x = alt.X("eps:Q", title=title, scale=scale, axis=look)
        percent = alt.Axis(format=".0%", values=[0, 0.2, 0.4, 0.6, 0.8, 1])
        self.y = alt.Y("value:Q", title="robust accuracy", scale=alt.Scale(domain=[0, 1], nice=False), axis=percent)

    def rows(self, points: Iterable[tuple[float, Metric]]) -> list[dict[str, Any]]:
        """Points of a curve as rows; ends of intervals where there are some."""
        found = []
        for eps, metric in points:
            low, high = metric.interval or (None, None)
            found.append({"eps": round(eps / self.unit, 6), "value": metric.value, "low": low, "high": high})
        return found


def _strokes(line: _Line, axis: _Axis, **look: Any) -> style.Part:
    """The line through the points; from clean accuracy at 0 on, where that is of the same samples."""
    rows = [{"name": line.text, **row} for row in axis.rows(line.points)]
    if line.joined:
        rows.insert(0, {"name": line.text, "eps": 0.0, "value": line.start, "low": None, "high": None})
    ends = [style.tip("low", "lower end", ".1%"), style.tip("high", "upper end", ".1%")]
    tooltip = ["name:N", style.tip("eps", form=".4g"), style.tip("value", "robust accuracy", ".1%"), *ends]
    drawn = style.chart_of(rows).mark_line(
        color=line.color, strokeWidth=line.weight, strokeDash=list(line.dash), **look
    )
    return drawn.encode(x=axis.x, y=axis.y, tooltip=tooltip)


def _bands(
    curves: Iterable[Sequence[tuple[float, Metric]]], axis: _Axis, color: str, opacity: float
) -> list[style.Part]:
    found = [[row for row in axis.rows(points) if row["low"] is not None] for points in curves]
    area = {"color": color, "opacity": opacity}
    y = axis.y.copy(deep=False)
    y.shorthand = "low:Q"
    return [style.chart_of(rows).mark_area(**area).encode(x=axis.x, y=y, y2="high:Q") for rows in found if rows]


def _spread(curves: Iterable[Sequence[tuple[float, Metric]]]) -> list[tuple[float, Metric]]:
    """From the lowest class to the highest, at each eps."""
    found = []
    for column in zip(*curves, strict=True):
        values = [metric.value for _, metric in column if metric.value is not None]
        found.append((column[0][0], Metric(value=min(values), interval=(min(values), max(values)))))
    return found


def _rule(eps: float, axis: _Axis) -> style.Part:
    rule = style.chart_of([{"eps": round(eps / axis.unit, 6)}]).mark_rule(strokeDash=[2, 3], color=style.INK)
    return rule.encode(x=axis.x)


def _clean(line: _Line, axis: _Axis) -> style.Part:
    point = style.chart_of([{"eps": 0.0, "value": line.start}])
    return point.mark_point(color=line.color, fill="white", size=45, opacity=1).encode(x=axis.x, y=axis.y)


def _value(line: _Line, eps: float, axis: _Axis) -> list[style.Part]:
    """A dot at the eps of the headline, with its number."""
    rows = [row | {"text": views.percent(row["value"])} for row in axis.rows(line.points)]
    rows = [row for row in rows if abs(row["eps"] - eps / axis.unit) < 1e-6]
    base = style.chart_of(rows).encode(x=axis.x, y=axis.y)
    below = line.color == style.VERMILION
    text = {"align": "left", "dx": 5, "dy": 11 if below else -9, "fontWeight": "bold", "color": line.color}
    texts = [base.mark_text(**text, **halo).encode(text="text:N") for halo in (style.HALO, {})]
    return [base.mark_point(color=line.color, filled=True, size=60, opacity=1), *texts]


def _labels(lines: Sequence[_Line], width: int, height: int) -> list[style.Part]:
    """The name of each line at its right end, moved apart where names would lie on each other."""
    ends = [(1 - (line.points[-1][1].value or 0.0)) * height for line in lines]
    order = sorted(range(len(lines)), key=lambda place: ends[place])
    places, free = dict[int, float](), 0.0
    for place in order:  # downwards, each at least a line below the one before
        places[place] = max(ends[place], free)
        free = places[place] + APART
    most = float(height)
    for place in reversed(order):  # and up again, where they stick out at the bottom
        places[place] = min(places[place], most)
        most = places[place] - APART
    found = []
    for place, line in enumerate(lines):
        leader = style.chart_of([{}]).mark_rule(
            color=line.color, strokeWidth=0.8, opacity=0.7, aria=False
        )  # nothing to read out
        across = {"x": alt.value(width + 2), "x2": alt.value(width + LEADER)}
        found.append(leader.encode(**across, y=alt.value(ends[place]), y2=alt.value(places[place])))
        bold = "bold" if line.weight >= 2 else "normal"
        text = style.chart_of([{"text": line.text}]).mark_text(
            align="left", dx=3, color=line.color, fontWeight=bold, limit=style.NAME_LIMIT
        )
        found.append(text.encode(x=alt.value(width + LEADER), y=alt.value(places[place]), text="text:N"))
    return found


def _legend(lines: Sequence[_Line], _width: int, _height: int) -> list[style.Part]:
    """The names of the lines below the picture: a line of one point shows nothing but its entry there."""
    texts = [line.text for line in lines]
    columns = style.legend_columns(texts, 3)
    legend = alt.Legend(title=None, orient="bottom", symbolType="stroke", symbolSize=300, columns=columns)
    color = style.looks(alt.Color, "name", texts, [line.color for line in lines], legend=legend)
    dash = style.looks(alt.StrokeDash, "name", texts, [list(line.dash) for line in lines], legend=legend)
    shown = style.chart_of({"name": text, "eps": 0, "value": 0} for text in texts).mark_line(aria=False)
    return [shown.encode(x="eps:Q", y="value:Q", color=color, strokeDash=dash)]


def _panel(
    lines: Sequence[_Line],
    axis: _Axis,
    found: Sequence[Robustness],
    title: str,
    height: int,
    names: Callable[[Sequence[_Line], int, int], list[style.Part]] | None,
    _: bool,
) -> style.Part:
    layers = []
    if len(lines) <= BANDED:
        layers += [part for line in lines for part in _bands([line.points], axis, line.color, BAND / 1.5)]
    layers += [_rule(eps, axis) for eps in sorted({each.eps for each in found})]
    layers += [part for line in lines for part in (_strokes(line, axis), _clean(line, axis))]
    layers += names(lines, style.px(PANEL), height) if names else []
    return alt.layer(*layers).properties(width=style.px(PANEL), height=height, title=title)
