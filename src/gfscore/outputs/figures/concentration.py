"""How the RDI's bound shrinks with the number of samples."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import ResultError
from gfscore.outputs.figures import style
from gfscore.results import Audit, ModelAudit

WIDTH, HEIGHT = 520, 320

Radii = Mapping[str, Sequence[tuple[int, float]]]  # by method: samples per class, and the bound they buy


def rdi_concentration(result: Audit | ModelAudit, radii: Radii) -> ChartType:
    """Half-width of the RDI's interval against samples per class: curves from ``radii``, and where the models stand.

    ``radii`` comes from :func:`gfscore.jobs.plan.rdi_radii`: a picture computes nothing. Needs intervals of the RDI.
    """
    models = [model for model in style.several(result) if model.rdi.interval is not None]
    if not models:
        raise ResultError("this result has no interval of the RDI. Run gfscore audit on the logits.")
    gaps = [model.rdi.value for model in models if model.rdi.value is not None]
    methods = [style.METHODS.get(method, method) for method in radii]
    largest = 1.05 * models[0].score.range[1]
    counts = [n for pairs in radii.values() for n, _ in pairs]
    x = alt.X(
        "n:Q",
        title=f"samples in the {models[0].partition} that has fewest (logarithmic)",
        scale=alt.Scale(type="log", domain=[min(counts), max(counts)], nice=False),
        axis=alt.Axis(format=",d", values=[10.0**power for power in range(10)]),
    )
    y = alt.Y(
        "radius:Q", title="half-width of the interval of the RDI", scale=alt.Scale(domain=[0, largest], nice=False)
    )
    band = _band(gaps)
    lines = (
        alt.Chart(style.rows(_curves(radii)))
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "method:N",
                scale=alt.Scale(domain=methods, range=list(style.LINES[: len(methods)])),
                legend=alt.Legend(title="bound", orient="top-right", symbolType="stroke", symbolSize=300),
            ),
            strokeDash=alt.StrokeDash(
                "method:N", scale=alt.Scale(domain=methods, range=list(style.DASHES[: len(methods)]))
            ),
        )
    )
    points = (
        alt.Chart(style.rows(map(_point, models)))
        .mark_point(shape="diamond", filled=True, size=90, opacity=0.8, color=style.VERMILION)
        .encode(
            x=x,
            y=y,
            tooltip=["model:N", alt.Tooltip("n:Q", format=","), alt.Tooltip("radius:Q", format=".4f"), "interval:N"],
        )
    )
    chart = alt.layer(band, lines, points).properties(width=WIDTH, height=HEIGHT)
    title = "How well the disparity is known, by number of samples"
    return style.framed(chart, title, _notes(models, gaps), models=models, width=WIDTH + 60)


def _notes(models: Sequence[ModelAudit], gaps: Sequence[float]) -> list[str]:
    digits = views.digits_of(models[0].score)
    method = style.either(style.METHODS.get(model.interval.method, model.interval.method) for model in models)
    whose = (
        f"Diamonds: half of each model's {method} interval"
        if len(models) > 1
        else f"Diamond: half of its {method} interval"
    )
    gap = (
        f"models, {views.number(min(gaps), digits)} to {views.number(max(gaps), digits)}"
        if len(models) > 1
        else f"model, {views.number(gaps[0], digits)}"
    )
    return [
        style.about(models),
        f"Curve: holds with probability {1 - models[0].interval.delta:g}. {whose} of the RDI.",
        f"Grey: the RDI of the {gap}. Where the curve is above it, the bound exceeds what it bounds.",
    ]


def _curves(radii: Radii) -> list[dict[str, Any]]:
    return [
        {"method": style.METHODS.get(method, method), "n": n, "radius": radius}
        for method, pairs in radii.items()
        for n, radius in pairs
    ]


def _band(gaps: Sequence[float]) -> style.Part:
    return (
        alt.Chart(style.rows([{"radius": min(gaps), "high": max(gaps)}]))
        .mark_rect(color=style.PALE, opacity=0.7, stroke=style.PALE, strokeWidth=1)
        .encode(y="radius:Q", y2="high:Q")
    )


def _point(model: ModelAudit) -> dict[str, Any]:
    low, high = model.rdi.interval or (0.0, 0.0)
    return {
        "model": views.printable(model.name),
        "n": min(entry.n for entry in model.classes),
        "radius": (high - low) / 2,
        "interval": views.estimate(model.rdi.value, model.rdi.interval, views.digits_of(model.score)),
    }
