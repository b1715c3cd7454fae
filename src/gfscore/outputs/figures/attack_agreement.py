"""What radii predict for each class against what an attack left of it."""

from typing import Any

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import PLURALS, ResultError
from gfscore.outputs import attack_words
from gfscore.outputs.figures import style
from gfscore.outputs.figures.model_ranks import point_labels
from gfscore.results import Audit, ModelAudit

SIDE = 340
NAMED = 40  # classes that have their name beside their point
NOT_ATTACKED = (
    "this figure sets what radii predict against an attack, and this result lacks one of them. "
    "Run gfscore check --autoattack --budget N."
)


def attack_agreement(result: Audit | ModelAudit) -> ChartType:
    """A point for each class: the share that radii predict to withstand, across, and what the attack left, upwards.

    On the diagonal both agree. Needs an attack, and radii at its eps.
    """
    model = style.one(result)
    rows = _rows(model)
    check = model.cross_check
    if not rows or check is None:
        raise ResultError(NOT_ATTACKED)
    attack = attack_words.attack_title(check.attack, check.norm, check.eps)
    axis: dict[str, Any] = {
        "scale": alt.Scale(domain=[0, 1], nice=False),
        "axis": alt.Axis(format=".0%", values=[0, 0.2, 0.4, 0.6, 0.8, 1]),
    }
    x = alt.X("predicted:Q", title="predicted by radii", **axis)
    side = style.side(SIDE)
    y = alt.Y("attacked:Q", title=style.lines(f"left by {attack}", side), **axis)
    diagonal = style.chart_of([{"predicted": 0, "attacked": 0}, {"predicted": 1, "attacked": 1}])
    base = style.chart_of(rows).encode(x=x)
    tooltip = ["name:N", style.tip("predicted", form=".1%"), style.tip("attacked", form=".1%")]
    layers = [
        diagonal.mark_line(color=style.GREY, strokeDash=[4, 3], strokeWidth=1).encode(x=x, y=y),
        base.mark_rule(color=style.SKY, strokeWidth=2).encode(y=alt.Y("low:Q", **axis), y2="high:Q"),
        base.mark_point(filled=True, size=60, opacity=1, color=style.BLUE).encode(y=y, tooltip=tooltip),
    ]
    if len(rows) <= NAMED:
        named = [{"name": row["name"], "x": row["predicted"], "y": row["attacked"]} for row in rows]
        layers += point_labels(named, (0, 1), (0, 1), size=(side, side))
    notes = [
        f"Each point is one of {len(rows):,} {PLURALS[model.partition]}; on the dashed line both agree.",
        f"Lines: intervals of what the attack leaves; all hold together with probability {1 - check.delta:g}.",
    ]
    chart = alt.layer(*layers).properties(width=side, height=side)
    title = f"What radii predict for each {model.partition}, and what the attack left"
    return style.frame(chart, title, notes, models=[model], width=side + 120, settings=False)


def _rows(model: ModelAudit) -> list[dict[str, Any]]:
    """Both shares of each class: of few attacks as they stand there, else radii at the eps of the attack."""
    check = model.cross_check
    if check is None:
        return []
    if check.few is not None:
        return [_row(part.name, part.predicted, part.value, part.interval) for part in check.few.classes]
    known = None if model.robustness is None or model.robustness.norm != check.norm else model.robustness.at(check.eps)
    if known is None:
        return []
    return [
        _row(entry.name, metric.value, entry.attacked.value, entry.attacked.interval)
        for entry, metric in zip(model.classes, known.classes, strict=True)
        if entry.attacked is not None and entry.attacked.value is not None and metric.value is not None
    ]


def _row(
    name: str, predicted: float | None, attacked: float | None, interval: tuple[float, float] | None
) -> dict[str, Any]:
    low, high = interval or (attacked, attacked)
    return {"name": views.printable(name), "predicted": predicted, "attacked": attacked, "low": low, "high": high}
