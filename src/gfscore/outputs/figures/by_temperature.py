"""What the temperature does: the objective of a calibration, and the class scores.

They read two parts of a result that may be null: ``calibration`` of the audit, and ``curves`` of a model.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import PLURALS, ResultError
from gfscore.outputs.figures import style
from gfscore.results import Audit, Calibration, Curves, ModelAudit

WIDTH, HEIGHT = 520, 320
LINES_DRAWN = 40  # classes that have a line; of more a band is drawn
TICKS = [digit * 10.0**power for power in range(-4, 5) for digit in (1, 2, 5)]
APART = 0.05  # of the picture's height, at least, between two names
OBJECTIVES = {
    "models": "Spearman correlation over models of score and clean accuracy",
    "classes": "Spearman correlation over classes of score and clean accuracy, mean over models",
    "stability": "smallest Spearman correlation with the profile at a temperature nearby, mean over models",
    "given": "Spearman correlation over models of score and the given reference",
}


def calibration_curve(result: Audit) -> ChartType:
    """The calibration's objective against the temperature: plateau shaded, optimum and baselines marked."""
    found = result.calibration if isinstance(result, Audit) else None
    if found is None:
        raise ResultError("this result has no calibration curve. Calibrate first: gfscore audit --calibrate OBJECTIVE.")
    edges, values = found.curve.edges, found.curve.values
    if len(edges) != len(values) + 1 or len(values) < 1:
        raise ResultError(f"calibration.curve has {len(edges)} edges and {len(values)} values. Calibrate again.")
    x, objective = _axis(edges), found.objective
    y = alt.Y("value:Q", title=_fold(OBJECTIVES.get(objective, objective)), scale=alt.Scale(zero=False, nice=True))
    # Each step begins at its edge; the last one is carried to the end of the range.
    steps = [{"T": t, "value": value} for t, value in zip(edges, [*values, values[-1]], strict=True)]
    line = style.chart_of(steps).mark_line(color=style.BLUE, strokeWidth=2, interpolate="step-after")
    layers = [*_plateau(found, x), line.encode(x=x, y=y, tooltip=[style.tip("T", form=".4g"), style.tip("value")])]
    notes = []
    if found.temperature is not None:
        layers.append(_mark(found.temperature, x))
        best = f"T = {found.temperature:.4g}, where it is {views.number(found.value)}"
        notes.append(f"Objective {objective!r}. Dashed: {best}.")
    if found.intervals:
        notes.append("Shaded: the temperatures at which the objective is highest.")
    alone = found.baselines.clean_accuracy
    if alone is not None:
        base = style.chart_of([{"name": f"clean accuracy alone: {alone:.3f}", "value": alone}]).encode(y=y)
        layers.append(base.mark_rule(color=style.VERMILION, strokeDash=[2, 2]))
        for halo in (style.HALO, {}):
            name = base.mark_text(align="right", dy=-7, dx=-4, color=style.VERMILION, **halo)
            layers.append(name.encode(x=alt.value(style.px(WIDTH)), text="name:N"))
    chart = alt.layer(*layers).properties(width=style.px(WIDTH), height=style.high(HEIGHT))
    title = "What the calibration maximises, by temperature"
    return style.frame(chart, title, notes, models=result.models, width=style.px(WIDTH) + 60, settings=False)


def temperature_curves(result: Audit | ModelAudit, calibration: Calibration | None = None) -> ChartType:
    """Score of each class against the temperature, with the calibration's plateau shaded.

    A result with many classes keeps the curves of the lowest ones only: then the highest cannot be shown.
    """
    model = style.one(result)
    if isinstance(result, Audit):
        calibration = calibration or result.calibration
    if model.curves is None:
        raise ResultError("there are no scores by temperature in this result. Run gfscore audit on the logits.")
    temperatures, scores = model.curves.temperature, model.curves.scores
    parts, x = PLURALS[model.partition], _axis(temperatures)
    y = alt.Y("score:Q", title=style.score_title(model), scale=alt.Scale(domainMin=0))
    own = [entry.name for entry in sorted(model.classes, key=lambda entry: entry.score) if entry.name in scores]
    complete = len(own) == len(model.classes)
    title = f"Score of each {model.partition}, by temperature"
    notes = [f"By name: the lowest and the highest of the {parts} in the audit."]
    if not complete:
        title = f"Scores of the {len(own)} lowest {parts}, by temperature"
        lowest = f"the {len(own)} lowest of {len(model.classes):,} {parts} in the audit"
        notes = [f"Shown are {lowest}; by name: the lowest."]
    layers = _plateau(calibration, x)
    if len(own) <= LINES_DRAWN:
        layers.append(_lines(model.curves, own[1:], color=style.GREY, strokeWidth=1).encode(x=x, y=y))
    else:
        layers.append(_spread(temperatures, list(scores.values()), x))
        notes.append(f"Band: from the lowest to the highest of {len(scores):,} {parts} at each temperature.")
    low = {"color": style.VERMILION, "strokeWidth": 2.5, "strokeDash": style.DASHES[1]}
    layers.append(_lines(model.curves, own[:1], **low).encode(x=x, y=y))
    if complete:
        layers.append(_lines(model.curves, own[-1:], color=style.BLUE, strokeWidth=2.5).encode(x=x, y=y))
    layers += _names(scores, own[0], own[-1] if complete else None, y)
    if model.score.temperature is not None:
        layers.append(_mark(model.score.temperature, x))
        notes.append(f"Dashed: T = {model.score.temperature:g}, the audit's.")
    if calibration is not None and calibration.intervals:
        notes.append("Shaded: the plateau of the calibration.")
    notes.append("No decision of the model changes with T.")
    chart = alt.layer(*layers).properties(width=style.px(WIDTH), height=style.high(HEIGHT))
    return style.frame(chart, title, notes, models=[model], width=style.px(WIDTH) + 140, settings=False)


def _axis(temperatures: Sequence[float]) -> alt.X:
    low, high = min(temperatures), max(temperatures)
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(format="~g", values=[tick for tick in TICKS if low <= tick <= high])
    return alt.X("T:Q", title="temperature T (logarithmic)", scale=scale, axis=axis)


def _mark(temperature: float, x: alt.X) -> style.Part:
    return style.chart_of([{"T": temperature}]).mark_rule(color=style.INK, strokeDash=[5, 3]).encode(x=x)


def _plateau(calibration: Calibration | None, x: alt.X) -> list[style.Part]:
    if calibration is None or not calibration.intervals:
        return []
    pairs = [{"T": low, "end": high} for low, high in calibration.intervals]
    return [style.chart_of(pairs).mark_rect(color=style.PALE, opacity=0.8).encode(x=x, x2="end:Q")]


def _lines(curves: Curves, names: Sequence[str], **look: Any) -> style.Part:
    rows = [
        {"name": views.printable(name), "T": t, "score": score}
        for name in names
        for t, score in zip(curves.temperature, curves.scores[name], strict=True)
    ]
    tooltip = ["name:N", style.tip("T", form=".4g"), "score:Q"]
    return style.chart_of(rows).mark_line(**look).encode(detail="name:N", tooltip=tooltip)


def _names(scores: Mapping[str, Sequence[float]], lowest: str, highest: str | None, y: alt.Y) -> list[style.Part]:
    """Names at the right end of their lines, moved apart where they would lie on each other."""
    texts = [(f"lowest: {views.printable(lowest)}", scores[lowest][-1], style.VERMILION)]
    if highest is not None:
        top, bottom = scores[highest][-1], scores[lowest][-1]
        height = max(max(own) for own in scores.values())
        push = max(0.0, APART * height - abs(top - bottom)) / 2 * (1 if top >= bottom else -1)
        texts = [
            (f"lowest: {views.printable(lowest)}", bottom - push, style.VERMILION),
            (f"highest: {views.printable(highest)}", top + push, style.BLUE),
        ]
    return [
        style.chart_of([{"text": text, "score": end}])
        .mark_text(align="left", dx=6, color=color, fontWeight="bold", limit=style.NAME_LIMIT)
        .encode(x=alt.value(style.px(WIDTH)), y=y, text="text:N")
        for text, end, color in texts
    ]


def _spread(temperatures: Sequence[float], scores: Sequence[Sequence[float]], x: alt.X) -> style.Part:
    rows = [
        {"T": t, "score": min(column), "high": max(column)}
        for t, column in zip(temperatures, zip(*scores, strict=True), strict=True)
    ]
    return style.chart_of(rows).mark_area(color=style.SKY, opacity=0.4).encode(x=x, y="score:Q", y2="high:Q")


def _fold(text: str) -> list[str]:
    """A long title of an axis in two lines."""
    head, comma, tail = text.partition(", ")
    words = head.split()
    return [head + comma, tail] if comma else [" ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])]
