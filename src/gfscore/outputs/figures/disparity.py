"""How uneven the classes are: metrics side by side, what chance would give, shares, and how well the RDI is known."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import PLURALS, ResultError
from gfscore.outputs import sentences
from gfscore.outputs.figures import style
from gfscore.results import Audit, ModelAudit

PANEL, NOISE_PANEL, ROW, PAPER_ROW = 118, 260, 21, 16
MORE, MAYBE = "more than noise", "may be noise"
NOISE_LOOKS = {MORE: (style.VERMILION, "diamond"), MAYBE: (style.BLUE, "circle")}
LORENZ_SIDE = 380
OTHERS = "other models"
CONCENTRATION_WIDTH, CONCENTRATION_HEIGHT = 520, 320

Radii = Mapping[str, Sequence[tuple[int, float]]]  # by method: samples per class, and the bound they buy


def disparity_bars(result: Audit | ModelAudit) -> ChartType:
    """A panel per metric, a bar per model with its interval, and the noise floor where there is one."""
    models = style.several(result)
    keys = views.metric_keys(*models, main=True)
    panels = [partial(_bars, models, key) for key in keys]
    bounded = [model for model in models if any(model.metric(key).interval for key in keys)]
    notes = [style.intervals_note(bounded)] if bounded else []
    if any(model.noise for model in models):
        parts = PLURALS[models[0].partition]
        notes.append(f"Ticks: what chance alone exceeds in 5 % of cases when all {parts} are equal.")
    notes += sentences.no_order(models)
    title = "Score of each model, and how unevenly it is spread"
    return style.frame(
        style.panels(panels, spacing=12, columns=2),
        title,
        notes,
        models=models,
        width=len(panels) * (style.px(PANEL) + 45),
    )


def noise_floor(result: Audit | ModelAudit) -> ChartType:
    """RDI and NRGC of each model beside what they would be if all classes were equal. Needs the noise floor."""
    models = [model for model in style.several(result) if model.noise is not None]
    if not models:
        raise ResultError("this result has no noise floor to draw. Run gfscore audit on the logits, which computes it.")
    tables = {key: rows for key in views.metric_keys(*models) if (rows := _noise_rows(models, key))}
    kinds = {row["kind"] for rows in tables.values() for row in rows}
    known = [kind for kind in NOISE_LOOKS if kind in kinds]
    panels = [partial(_noise, models[0], key, rows, known) for key, rows in tables.items()]
    parts = PLURALS[models[0].partition]
    notes = [
        f"Grey: from 0 to what chance exceeds in 5 % of cases were all {parts} equal; its tick: the mean under chance.",
        "p: how often chance gives as much as was observed, corrected for RDI and NRGC being asked together.",
    ]
    bounded = [model for model in models if model.rdi.interval or model.nrgc.interval]
    notes += [style.intervals_note(bounded)] if bounded else []
    title = "Is the disparity more than noise?"
    return style.frame(
        style.panels(panels, spacing=16), title, notes, models=models, width=2 * style.px(NOISE_PANEL) + 260
    )


def _value(model: ModelAudit, metric: str) -> dict[str, Any]:
    shown, null = model.metric(metric), sentences.nulls(model).get(metric)
    low, high = shown.interval or (None, None)
    return {
        "model": views.printable(model.name),
        "value": shown.value,
        "low": low,
        "high": high,
        "floor": None if null is None else null.null_q95,
        "text": views.metric_text(model, metric, interval=False),
    }


def _bars(models: Sequence[ModelAudit], metric: str, labels: bool) -> style.Part:
    table = [_value(model, metric) for model in models]
    names = style.names_axis([row["model"] for row in table], labels=labels)
    base = style.chart_of(table).encode(y=alt.Y("model", **names))
    row = views.metric_row(metric)
    meaning = row.axis or f"of the {{parts}}: {'higher' if row.higher_is_better else 'lower'} is better"
    title = [word.strip() for word in sentences.fill(meaning, models[0]).split(":")]
    title = [line for word in title for line in style.lines(word, style.px(PANEL) + 30)]
    axis = alt.Axis(title=title, tickCount=max(2, style.px(PANEL) // 30))
    tips = [style.tip("value", "value"), style.tip("low", "lower end"), style.tip("high", "upper end")]
    floors = base.mark_tick(color=style.VERMILION, thickness=2.5, size=16, opacity=1)
    return alt.layer(
        base.mark_bar(color=style.SKY, height=12).encode(x=alt.X("value:Q", axis=axis), tooltip=["model:N", *tips]),
        base.mark_rule(color=style.INK).encode(x=alt.X("low:Q", axis=axis), x2="high:Q"),
        floors.encode(x=alt.X("floor:Q", axis=axis)),
        base.mark_text(align="left").encode(x=alt.value(style.px(PANEL) + 5), text="text:N"),
    ).properties(
        width=style.px(PANEL),
        height=(PAPER_ROW if style.is_narrow() else ROW) * len(table),
        title=views.metric_title(metric, models[0].score),
    )


def _noise_rows(models: Sequence[ModelAudit], metric: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for model in models:
        null = sentences.nulls(model).get(metric)
        if null is not None:
            kind = MORE if sentences.index_verdict(model, null) == MORE else MAYBE
            chance = {"zero": 0.0, "mean": null.null_mean, "p": f"p = {sentences.adjusted(null):.2g}", "kind": kind}
            found.append(_value(model, metric) | chance)
    return found


def _noise(
    model: ModelAudit, metric: str, table: Sequence[dict[str, Any]], known: Sequence[str], labels: bool
) -> style.Part:
    names = style.names_axis([row["model"] for row in table], labels=labels)
    base = style.chart_of(table).encode(y=alt.Y("model", **names))
    heading = views.metric_title(metric, model.score)
    unit = sentences.fill(views.metric_row(metric).axis, model).partition(":")[0]
    axis = alt.Axis(title=f"{heading}: {unit}", tickCount=5)
    legend = alt.Legend(title=None, orient="bottom")
    colors, shapes = zip(*(NOISE_LOOKS[kind] for kind in known), strict=True)
    color = style.looks(alt.Color, "kind", known, colors, legend=legend)
    shape = style.looks(alt.Shape, "kind", known, shapes, legend=legend)
    chance = [style.tip("mean", "chance, mean"), style.tip("floor", "chance, 95 %"), alt.Tooltip("p:N")]
    tooltip = ["model:N", style.tip("value", "observed"), *chance]
    points = base.mark_point(filled=True, size=75, opacity=1)
    return alt.layer(
        base.mark_bar(color=style.PALE, height=13).encode(x=alt.X("zero:Q", axis=axis), x2="floor:Q", tooltip=tooltip),
        base.mark_tick(color=style.GREY, thickness=2, size=13).encode(x=alt.X("mean:Q", axis=axis)),
        base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q", axis=axis), x2="high:Q", color=color),
        points.encode(x=alt.X("value:Q", axis=axis), color=color, shape=shape, tooltip=tooltip),
        base.mark_text(align="left").encode(x=alt.value(style.px(NOISE_PANEL) + 6), text="p:N"),
    ).properties(
        width=style.px(NOISE_PANEL), height=(PAPER_ROW if style.is_narrow() else ROW) * len(table), title=heading
    )


def lorenz(result: Audit | ModelAudit) -> ChartType:
    """Share of all class scores that the lowest classes hold together; with many models the two ends stand out."""
    models = [model for model in style.several(result) if model.nrgc.value is not None]
    if not models:
        raise ResultError(
            "all class scores are 0, so there is nothing to share. A Lorenz curve needs a positive score."
        )
    models.sort(key=lambda model: model.nrgc.value or 0.0)
    parts = PLURALS[models[0].partition]
    named = models if len(models) <= len(style.LINES) else [models[0], models[-1]]
    others = [model for model in models if model not in named]
    labels = [_nrgc_label(model) for model in named] + [OTHERS] * (len(named) < len(models))
    x = alt.X("x:Q", title=f"share of the {parts}, from the lowest score up", axis=alt.Axis(format="%"))
    y = alt.Y("y:Q", title="share of the sum of their scores", axis=alt.Axis(format="%"))
    place: dict[str, Any] = (
        {"orient": "bottom", "columns": 1} if style.is_narrow() else {"orient": "top-left", "offset": 8}
    )
    legend = alt.Legend(title=None, symbolType="stroke", symbolSize=300, **place)
    color = style.looks(alt.Color, "label", labels, [*style.LINES[: len(named)], "#BBBBBB"], legend=legend)
    dash = style.looks(alt.StrokeDash, "label", labels, [*style.DASHES[: len(named)], [1, 0]], legend=legend)
    tooltip = ["model:N", style.tip("x", form=".1%"), style.tip("y", form=".1%")]
    diagonal = style.chart_of([{"x": 0, "y": 0}, {"x": 1, "y": 1}]).mark_line(color=style.GREY, strokeWidth=1)
    curves = [
        style.chart_of(row for model in chosen for row in _shares(model, label))
        .mark_line(strokeWidth=2)
        .encode(x=x, y=y, detail="model:N", color=color, strokeDash=dash, tooltip=tooltip)
        for chosen, label in ((others, OTHERS), (named, None))
        if chosen
    ]
    note = f"On the diagonal all {parts} score the same. NRGC is twice the area between diagonal and curve."
    title = f"How the score is shared among the {parts}"
    side = style.side(LORENZ_SIDE)
    chart = alt.layer(diagonal.encode(x=x, y=y), *curves).properties(width=side, height=side)
    return style.frame(chart, title, [note], models=models, width=side + 60)


def _nrgc_label(model: ModelAudit) -> str:
    return f"{views.printable(model.name)}: NRGC {views.number(model.nrgc.value)}"


def _shares(model: ModelAudit, label: str | None) -> list[dict[str, Any]]:
    sums = list(accumulate(sorted(entry.score for entry in model.classes), initial=0.0))
    whose = {"model": views.printable(model.name), "label": label or _nrgc_label(model)}
    return [whose | {"x": count / (len(sums) - 1), "y": total / sums[-1]} for count, total in enumerate(sums)]


def rdi_concentration(result: Audit | ModelAudit, radii: Radii) -> ChartType:
    """Half-width of the RDI's interval against samples per class: curves from ``radii``, and where the models stand.

    ``radii`` comes from :func:`gfscore.jobs.plan.rdi_radii`: a picture computes nothing. Needs intervals of the RDI.
    """
    models = [model for model in style.several(result) if model.rdi.interval is not None]
    if not models:
        raise ResultError("this result has no interval of the RDI. Run gfscore audit on the logits.")
    gaps = [model.rdi.value for model in models if model.rdi.value is not None]
    methods = [style.METHODS.get(method, method) for method in radii]
    counts = [n for pairs in radii.values() for n, _ in pairs]
    largest = alt.Scale(domain=[0, 1.05 * models[0].score.range[1]], nice=False)
    x = alt.X(
        "n:Q",
        title=f"samples in the {models[0].partition} that has fewest (logarithmic)",
        scale=alt.Scale(type="log", domain=[min(counts), max(counts)], nice=False),
        axis=alt.Axis(format=",d", values=[10.0**power for power in range(10)]),
    )
    y = alt.Y("radius:Q", title="half-width of the interval of the RDI", scale=largest)
    band = style.chart_of([{"radius": min(gaps), "high": max(gaps)}])
    band = band.mark_rect(color=style.PALE, opacity=0.7, stroke=style.PALE, strokeWidth=1)
    legend = alt.Legend(title="bound", orient="top-right", symbolType="stroke", symbolSize=300)
    color = style.looks(alt.Color, "method", methods, style.LINES, legend=legend)
    dash = style.looks(alt.StrokeDash, "method", methods, style.DASHES)
    curves = [
        {"method": name, "n": n, "radius": radius}
        for name, pairs in zip(methods, radii.values(), strict=True)
        for n, radius in pairs
    ]
    lines = style.chart_of(curves).mark_line(strokeWidth=2, clip=True)
    points = style.chart_of(map(_half_width, models))
    points = points.mark_point(shape="diamond", filled=True, size=90, opacity=0.8, color=style.VERMILION)
    tooltip = ["model:N", style.tip("n", form=","), style.tip("radius"), "interval:N"]
    chart = alt.layer(
        band.encode(y="radius:Q", y2="high:Q"),
        lines.encode(x=x, y=y, color=color, strokeDash=dash),
        points.encode(x=x, y=y, tooltip=tooltip),
    ).properties(width=style.px(CONCENTRATION_WIDTH), height=style.high(CONCENTRATION_HEIGHT))
    title, notes = "How well the disparity is known, by number of samples", _concentration_notes(models, gaps)
    return style.frame(chart, title, notes, models=models, width=style.px(CONCENTRATION_WIDTH) + 60)


def _concentration_notes(models: Sequence[ModelAudit], gaps: Sequence[float]) -> list[str]:
    low, high = (views.number(gap, views.digits_of(models[0].score)) for gap in (min(gaps), max(gaps)))
    method = style.either(style.METHODS.get(model.interval.method, model.interval.method) for model in models)
    whose, gap = f"Diamond: half of its {method} interval", f"model, {low}"
    if len(models) > 1:
        whose, gap = f"Diamonds: half of each model's {method} interval", f"models, {low} to {high}"
    return [
        f"Curve: holds with probability {1 - models[0].interval.delta:g}. {whose} of the RDI.",
        f"Grey: the RDI of the {gap}. Where the curve is above it, the bound exceeds what it bounds.",
    ]


def _half_width(model: ModelAudit) -> dict[str, Any]:
    low, high = model.rdi.interval or (0.0, 0.0)
    return {
        "model": views.printable(model.name),
        "n": min(entry.n for entry in model.classes),
        "radius": (high - low) / 2,
        "interval": views.estimate(model.rdi.value, model.rdi.interval, views.digits_of(model.score)),
    }
