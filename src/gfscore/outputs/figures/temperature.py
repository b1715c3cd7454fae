"""What the temperature does: the objective of a calibration, and the class scores.

They read two parts of a result that are null when nothing was calibrated:

- ``calibration`` of the audit: ``objective``, ``temperature`` and ``value`` (the optimum), ``intervals`` (a list of
  ``[low, high]``: the plateau), ``baselines`` (a number or null by name), and ``curve`` with two lists of equal length,
  ``temperature`` and ``value``.
- ``curves`` of a model: ``temperature``, a list, and ``scores``, a list of the same length for each class name.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import PLURALS, ResultError
from gfscore.outputs.figures import style
from gfscore.results import Audit, ModelAudit

WIDTH, HEIGHT = 520, 320
ALL_SHOWN = 40  # classes that have a line; of more a band is drawn
NAMED = 2  # lines at each end that have a name
MEANINGS = {
    "models": "Spearman correlation over models of score and clean accuracy",
    "classes": "Spearman correlation over classes of score and clean accuracy, mean over models",
    "stability": "smallest Spearman correlation with the profile at a temperature nearby, mean over models",
    "given": "Spearman correlation over models of score and the given reference",
}


def calibration_curve(result: Audit) -> ChartType:
    """The calibration's objective against the temperature: plateau shaded, optimum and baselines marked."""
    found = result.calibration if isinstance(result, Audit) else None
    curve = (found or {}).get("curve")
    if found is None or not curve:
        raise ResultError("this result has no calibration curve. Calibrate first: gfscore audit --calibrate OBJECTIVE.")
    temperatures, values = _pairs(curve, "value", "calibration.curve")
    objective, best = str(found.get("objective")), found.get("temperature")
    x = _axis(temperatures)
    y = alt.Y("value:Q", title=_folded(MEANINGS.get(objective, objective)), scale=alt.Scale(zero=False, nice=True))
    rows = [{"T": t, "value": value} for t, value in zip(temperatures, values, strict=True)]
    line = (
        alt.Chart(style.rows(rows))
        .mark_line(color=style.BLUE, strokeWidth=2)
        .encode(x=x, y=y, tooltip=[alt.Tooltip("T:Q", format=".4g"), alt.Tooltip("value:Q", format=".4f")])
    )
    layers: list[alt.Chart] = [*_plateau(found, x), line]
    notes = [style.about(result.models)]
    if isinstance(best, int | float):
        layers.append(_mark(float(best), x))
        notes.append(f"Objective {objective!r}. Dashed: T = {best:g}, where it is {views.number(found.get('value'))}.")
    if found.get("intervals"):
        notes.append("Shaded: the temperatures at which the objective is highest.")
    baselines = {name: value for name, value in (found.get("baselines") or {}).items() if value is not None}
    if baselines:
        table = [{"name": f"{views.printable(str(name))} alone: {value:.3f}", "value": value} for name, value in baselines.items()]
        base = alt.Chart(style.rows(table)).encode(y=y)
        layers += [
            base.mark_rule(color=style.VERMILION, strokeDash=[2, 2]),
            base.mark_text(align="right", dy=-7, dx=-4, color=style.VERMILION).encode(x=alt.value(WIDTH), text="name:N"),
        ]
    chart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    return style.framed(chart, "What the calibration maximises, by temperature", notes, width=WIDTH + 60)


def temperature_curves(result: Audit | ModelAudit, calibration: Mapping[str, Any] | None = None) -> ChartType:
    """Score of each class against the temperature, with the calibration's plateau shaded."""
    model = style.one(result)
    if isinstance(result, Audit):
        calibration = calibration or result.calibration
    curves = model.curves or {}
    if not curves.get("temperature") or not curves.get("scores"):
        raise ResultError(f"model {model.name!r} has no curves over the temperature. Run gfscore audit --calibrate.")
    temperatures: list[float] = list(curves["temperature"])
    scores: dict[str, list[float]] = dict(curves["scores"])
    parts, x = PLURALS[model.partition], _axis(temperatures)
    y = alt.Y("score:Q", title=style.score_title(model))
    own = [entry.name for entry in sorted(model.classes, key=lambda entry: entry.score) if entry.name in scores]
    named = own if len(own) <= 2 * NAMED else own[:NAMED] + own[-NAMED:]
    layers: list[alt.Chart] = list(_plateau(calibration or {}, x))
    notes = [style.about([model]), f"By name: the lowest and the highest {parts} of the audit."]
    if len(own) <= ALL_SHOWN:
        others = [name for name in own if name not in named]
        layers.append(_lines(temperatures, scores, others, x, y, color=style.GREY, width=1))
    else:
        layers.append(_spread(temperatures, list(scores.values()), x))
        notes.append(f"Band: from the lowest to the highest of {len(scores):,} {parts} at each temperature.")
    for names, color in ((named[:NAMED], style.VERMILION), (named[NAMED:], style.BLUE)):
        layers += [_lines(temperatures, scores, names, x, y, color=color, width=2.2), *_names(scores, names, color, y)]
    if model.score.temperature is not None:
        layers.append(_mark(model.score.temperature, x))
        notes.append(f"Dashed: T = {model.score.temperature:g}, the audit's.")
    if (calibration or {}).get("intervals"):
        notes.append("Shaded: the plateau of the calibration.")
    notes.append("No decision of the model changes with T.")
    chart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    return style.framed(chart, f"Score of each {model.partition}, by temperature", notes, width=WIDTH + 140)


def _pairs(curve: Mapping[str, Any], field: str, where: str) -> tuple[list[float], list[float]]:
    temperatures, values = list(curve.get("temperature", ())), list(curve.get(field, ()))
    if len(temperatures) != len(values) or len(values) < 2:
        raise ResultError(f"{where} has {len(temperatures)} temperatures and {len(values)} values. Calibrate again.")
    return temperatures, values


def _axis(temperatures: Sequence[float]) -> alt.X:
    scale = alt.Scale(type="log", domain=[min(temperatures), max(temperatures)], nice=False)
    return alt.X("T:Q", title="temperature T (logarithmic)", scale=scale, axis=alt.Axis(format="~g", tickCount=6))


def _mark(temperature: float, x: alt.X) -> alt.Chart:
    return alt.Chart(style.rows([{"T": temperature}])).mark_rule(color=style.INK, strokeDash=[5, 3]).encode(x=x)


def _plateau(calibration: Mapping[str, Any], x: alt.X) -> list[alt.Chart]:
    pairs = [{"T": low, "end": high} for low, high in calibration.get("intervals") or ()]
    return [alt.Chart(style.rows(pairs)).mark_rect(color=style.PALE, opacity=0.8).encode(x=x, x2="end:Q")] if pairs else []


def _lines(
    temperatures: Sequence[float],
    scores: Mapping[str, Sequence[float]],
    names: Sequence[str],
    x: alt.X,
    y: alt.Y,
    *,
    color: str,
    width: float,
) -> alt.Chart:
    rows = [
        {"name": views.printable(name), "T": t, "score": score}
        for name in names
        for t, score in zip(temperatures, scores[name], strict=True)
    ]
    return (
        alt.Chart(style.rows(rows))
        .mark_line(color=color, strokeWidth=width)
        .encode(x=x, y=y, detail="name:N", tooltip=["name:N", alt.Tooltip("T:Q", format=".4g"), "score:Q"])
    )


def _names(scores: Mapping[str, Sequence[float]], names: Sequence[str], color: str, y: alt.Y) -> list[alt.Chart]:
    """Names at the right end of their lines; two that would lie on each other share a text."""
    if not names:
        return []
    ends = [scores[name][-1] for name in names]
    text = " and ".join(map(views.printable, names))
    table = [{"text": text, "score": sum(ends) / len(ends)}]
    mark = alt.Chart(style.rows(table)).mark_text(align="left", dx=6, color=color, fontWeight="bold")
    return [mark.encode(x=alt.value(WIDTH), y=y, text="text:N")]


def _spread(temperatures: Sequence[float], scores: Sequence[Sequence[float]], x: alt.X) -> alt.Chart:
    rows = [
        {"T": t, "score": min(column), "high": max(column)}
        for t, column in zip(temperatures, zip(*scores, strict=True), strict=True)
    ]
    band = alt.Chart(style.rows(rows)).mark_area(color=style.SKY, opacity=0.4)
    return band.encode(x=x, y="score:Q", y2="high:Q")


def _folded(text: str) -> list[str]:
    """A long title of an axis in two lines."""
    head, comma, tail = text.partition(", ")
    words = head.split()
    return [head + comma, tail] if comma else [" ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])]
