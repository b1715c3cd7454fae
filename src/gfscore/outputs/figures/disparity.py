"""Metrics of the models side by side: bars, and what chance alone would give."""

from collections.abc import Sequence
from typing import Any

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import PLURALS, ResultError
from gfscore.outputs.figures import style
from gfscore.results import Audit, ModelAudit

PANEL, NOISE_PANEL, ROW = 118, 260, 21
MORE, MAYBE = "more than noise", "may be noise"


def disparity_bars(result: Audit | ModelAudit) -> ChartType:
    """A panel per metric, a bar per model with its interval, and the noise floor where there is one."""
    models = style.several(result)
    parts = PLURALS[models[0].partition]
    keys = views.metric_keys(*models, main=True)
    panels = [_bars(models, key, labels=key == keys[0]) for key in keys]
    notes = [style.about(models)]
    bounded = [model for model in models if any(model.metric(key).interval for key in keys)]
    if bounded:
        notes.append(style.intervals_note(bounded))
    if any(model.noise for model in models):
        notes.append(f"Ticks: what chance alone exceeds in 5 % of cases when all {parts} are equal.")
    notes += views.no_order(models)
    title = "Score of each model, and how unevenly it is spread"
    return style.framed(alt.hconcat(*panels, spacing=12), title, notes, models=models, width=len(panels) * (PANEL + 45))


def noise_floor(result: Audit | ModelAudit) -> ChartType:
    """RDI and NRGC of each model beside what they would be if all classes were equal. Needs the noise floor."""
    models = [model for model in style.several(result) if model.noise is not None]
    if not models:
        raise ResultError("this result has no noise floor to draw. Run gfscore audit on the logits, which computes it.")
    parts = PLURALS[models[0].partition]
    keys = [key for key in views.metric_keys(*models) if _noise_rows(models, key)]
    kinds = {row["kind"] for key in keys for row in _noise_rows(models, key)}
    panels = [_noise(models, key, kinds, labels=key == keys[0]) for key in keys]
    notes = [
        style.about(models),
        f"Grey: from 0 to what chance exceeds in 5 % of cases were all {parts} equal; its tick: the mean under chance.",
        "p: how often chance gives as much as was observed, corrected for RDI and NRGC being asked together.",
    ]
    bounded = [model for model in models if model.rdi.interval or model.nrgc.interval]
    if bounded:
        notes.append(style.intervals_note(bounded))
    title = "Is the disparity more than noise?"
    return style.framed(alt.hconcat(*panels, spacing=16), title, notes, models=models, width=2 * NOISE_PANEL + 260)


def _values(models: Sequence[ModelAudit], metric: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for model in models:
        shown, null = model.metric(metric), views.nulls(model).get(metric)
        low, high = shown.interval or (None, None)
        found.append(
            {
                "model": views.printable(model.name),
                "value": shown.value,
                "low": low,
                "high": high,
                "floor": None if null is None else null.null_q95,
                "text": views.metric_text(model, metric, interval=False),
            }
        )
    return found


def _bars(models: Sequence[ModelAudit], metric: str, *, labels: bool = False) -> style.Part:
    table = _values(models, metric)
    names = [row["model"] for row in table]
    base = alt.Chart(style.rows(table)).encode(y=alt.Y("model", **style.names_axis(names, labels=labels)))
    row = views.metric_row(metric)
    better = "higher" if row.higher_is_better else "lower"
    meaning = row.axis or f"of the {{parts}}: {better} is better"
    title = [word.strip() for word in views.fill(meaning, models[0]).split(":")]
    axis = alt.Axis(title=title, tickCount=4)
    tooltip = [
        "model:N",
        alt.Tooltip("value:Q", title="value", format=".4f"),
        alt.Tooltip("low:Q", title="lower end", format=".4f"),
        alt.Tooltip("high:Q", title="upper end", format=".4f"),
    ]
    bars = base.mark_bar(color=style.SKY, height=12).encode(x=alt.X("value:Q", axis=axis), tooltip=tooltip)
    lines = base.mark_rule(color=style.INK).encode(x=alt.X("low:Q", axis=axis), x2="high:Q")
    floors = base.mark_tick(color=style.VERMILION, thickness=2.5, size=16, opacity=1).encode(
        x=alt.X("floor:Q", axis=axis)
    )
    texts = base.mark_text(align="left").encode(x=alt.value(PANEL + 5), text="text:N")
    heading = views.metric_title(metric, models[0].score)
    return alt.layer(bars, lines, floors, texts).properties(width=PANEL, height=ROW * len(table), title=heading)


def _noise_rows(models: Sequence[ModelAudit], metric: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for model, row in zip(models, _values(models, metric), strict=True):
        null = views.nulls(model).get(metric)
        if null is not None:
            kind = MORE if views.index_verdict(model, null) == MORE else MAYBE
            found.append(
                row | {"zero": 0.0, "mean": null.null_mean, "p": f"p = {views.adjusted(null):.2g}", "kind": kind}
            )
    return found


def _noise(models: Sequence[ModelAudit], metric: str, kinds: set[str], *, labels: bool) -> style.Part:
    table = _noise_rows(models, metric)
    known = [kind for kind in (MORE, MAYBE) if kind in kinds]
    colors = {MORE: style.VERMILION, MAYBE: style.BLUE}
    shapes = {MORE: "diamond", MAYBE: "circle"}
    base = alt.Chart(style.rows(table)).encode(
        y=alt.Y("model", **style.names_axis([row["model"] for row in table], labels=labels))
    )
    heading = views.metric_title(metric, models[0].score)
    unit = views.fill(views.metric_row(metric).axis, models[0]).partition(":")[0]
    axis = alt.Axis(title=f"{heading}: {unit}", tickCount=5)
    legend = alt.Legend(title=None, orient="bottom")
    color = alt.Color("kind:N", scale=alt.Scale(domain=known, range=[colors[kind] for kind in known]), legend=legend)
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=known, range=[shapes[kind] for kind in known]), legend=legend)
    tooltip = [
        "model:N",
        alt.Tooltip("value:Q", title="observed", format=".4f"),
        alt.Tooltip("mean:Q", title="chance, mean", format=".4f"),
        alt.Tooltip("floor:Q", title="chance, 95 %", format=".4f"),
        alt.Tooltip("p:N"),
    ]
    return alt.layer(
        base.mark_bar(color=style.PALE, height=13).encode(x=alt.X("zero:Q", axis=axis), x2="floor:Q", tooltip=tooltip),
        base.mark_tick(color=style.GREY, thickness=2, size=13).encode(x=alt.X("mean:Q", axis=axis)),
        base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q", axis=axis), x2="high:Q", color=color),
        base.mark_point(filled=True, size=75, opacity=1).encode(
            x=alt.X("value:Q", axis=axis), color=color, shape=shape, tooltip=tooltip
        ),
        base.mark_text(align="left").encode(x=alt.value(NOISE_PANEL + 6), text="p:N"),
    ).properties(width=NOISE_PANEL, height=ROW * len(table), title=heading)
