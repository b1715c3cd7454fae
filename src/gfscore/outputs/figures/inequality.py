"""The Lorenz curve: which share of the robustness the lowest classes have."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import PLURALS, ResultError
from gfscore.outputs.figures import style
from gfscore.results import Audit, ModelAudit

SIDE = 380
OTHERS = "other models"


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
    labels = [_label(model) for model in named] + [OTHERS] * (len(named) < len(models))
    colors = [*style.LINES[: len(named)], "#BBBBBB"][: len(labels)]
    dashes = [*style.DASHES[: len(named)], [1, 0]][: len(labels)]
    others = [model for model in models if model not in named]
    x = alt.X("x:Q", title=f"share of the {parts}, from the lowest score up", axis=alt.Axis(format="%"))
    y = alt.Y("y:Q", title="share of the sum of their scores", axis=alt.Axis(format="%"))
    legend = alt.Legend(title=None, orient="top-left", offset=8, symbolType="stroke", symbolSize=300)
    diagonal = (
        alt.Chart(style.rows([{"x": 0, "y": 0}, {"x": 1, "y": 1}])).mark_line(color=style.GREY, strokeWidth=1)
    ).encode(x=x, y=y)
    curves = [
        alt.Chart(style.rows(row for model in chosen for row in _curve(model, label)))
        .mark_line(strokeWidth=2)
        .encode(
            x=x,
            y=y,
            detail="model:N",
            color=alt.Color("label:N", scale=alt.Scale(domain=labels, range=colors), legend=legend),
            strokeDash=alt.StrokeDash("label:N", scale=alt.Scale(domain=labels, range=dashes), legend=legend),
            tooltip=["model:N", alt.Tooltip("x:Q", format=".1%"), alt.Tooltip("y:Q", format=".1%")],
        )
        for chosen, label in ((others, OTHERS), (named, None))
        if chosen
    ]
    notes = [
        style.about(models),
        f"On the diagonal all {parts} score the same. NRGC is twice the area between diagonal and curve.",
    ]
    title = f"How the score is shared among the {parts}"
    chart = alt.layer(diagonal, *curves).properties(width=SIDE, height=SIDE)
    return style.framed(chart, title, notes, models=models, width=SIDE + 60)


def _label(model: ModelAudit) -> str:
    return f"{views.printable(model.name)}: NRGC {views.number(model.nrgc.value)}"


def _curve(model: ModelAudit, label: str | None) -> list[dict[str, Any]]:
    scores: Sequence[float] = sorted(entry.score for entry in model.classes)
    sums = list(accumulate(scores, initial=0.0))
    return [
        {
            "model": views.printable(model.name),
            "label": label or _label(model),
            "x": count / len(scores),
            "y": total / sums[-1],
        }
        for count, total in enumerate(sums)
    ]
