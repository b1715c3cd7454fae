"""Models against each other: robustness against disparity, and places before and after the fairness penalty."""

from collections.abc import Sequence
from typing import Any

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.outputs.figures import style
from gfscore.outputs.figures.labels import ALIGNS, Align, place_labels
from gfscore.results import Audit, ModelAudit

WIDTH, HEIGHT = 640, 420
LABELLED = 40  # points that can have a name
BUMP_WIDTH, BUMP_ROW = 240, 24
RISES, FALLS, STAYS = "rises", "falls", "keeps its place"


def robustness_disparity(result: Audit | ModelAudit) -> ChartType:
    """Every model as a point: its score across, its RDI upwards. Needs two models."""
    models = style.several(result, least=2, what="the plot of score by RDI")
    table = [_point(model) for model in models if model.rdi.value is not None]
    x_domain, y_domain = _padded(table, "x"), _padded(table, "y")
    x_scale, y_scale = (alt.Scale(domain=domain, nice=False) for domain in (x_domain, y_domain))
    x = alt.X("x:Q", scale=x_scale, title=style.score_title(models[0], " of all samples"))
    y = alt.Y("y:Q", scale=y_scale, title=f"RDI: score of the best {models[0].partition} − score of the worst")
    tooltip = ["name:N", alt.Tooltip("x:Q", title="score", format=".4f"), alt.Tooltip("y:Q", title="RDI", format=".4f")]
    base = alt.Chart(style.rows(table))
    shared: dict[str, Any] = {"color": style.GREY, "opacity": 0.35}
    layers: list[style.Part] = [
        base.mark_rule(**shared).encode(x=alt.X("x_low:Q", scale=x_scale), x2="x_high:Q", y=y),
        base.mark_rule(**shared).encode(x=x, y=alt.Y("y_low:Q", scale=y_scale), y2="y_high:Q"),
        base.mark_point(filled=True, size=60, opacity=1, color=style.BLUE).encode(x=x, y=y, tooltip=tooltip),
    ]
    bounded = [model for model in models if model.aggregate_interval or model.rdi.interval]
    notes = [style.about(models), *([style.intervals_note(bounded, "Grey lines")] if bounded else [])]
    notes += views.no_order(models)
    if len(table) <= LABELLED:
        layers += _labels(table, x_domain, y_domain)
    chart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    return style.framed(chart, "Score of each model against its disparity", notes, models=models, width=WIDTH + 60)


def _point(model: ModelAudit) -> dict[str, Any]:
    row: dict[str, Any] = {"name": views.printable(model.name), "x": model.aggregate, "y": model.rdi.value}
    for axis, interval in (("x", model.aggregate_interval), ("y", model.rdi.interval)):
        row[f"{axis}_low"], row[f"{axis}_high"] = interval or (row[axis], row[axis])
    return row


def _padded(table: Sequence[dict[str, Any]], axis: str) -> list[float]:
    """The range of the intervals with a margin, so that no name runs off the picture."""
    low, high = min(row[f"{axis}_low"] for row in table), max(row[f"{axis}_high"] for row in table)
    margin = 0.06 * (high - low) or 0.1 * abs(high) or 0.1
    return [low - margin, high + margin]


def _labels(table: Sequence[dict[str, Any]], x_domain: Sequence[float], y_domain: Sequence[float]) -> list[style.Part]:
    """Names beside their points, and a thin line where a name had to move away."""
    x_unit, y_unit = (x_domain[1] - x_domain[0]) / WIDTH, (y_domain[1] - y_domain[0]) / HEIGHT
    points = [((row["x"] - x_domain[0]) / x_unit, (y_domain[1] - row["y"]) / y_unit, row["name"]) for row in table]
    placed = [
        row | {"to_x": x_domain[0] + place.x * x_unit, "to_y": y_domain[1] - place.y * y_unit, "place": place}
        for row, place in zip(table, place_labels(points, WIDTH, HEIGHT), strict=True)
    ]

    def drawn(rows: list[dict[str, Any]]) -> style.Part:
        return alt.Chart(style.rows({key: row[key] for key in ("name", "x", "y", "to_x", "to_y")} for row in rows))

    far = [row for row in placed if row["place"].far]
    layers = [
        drawn(far).mark_rule(color=style.GREY, strokeWidth=0.6).encode(x="x:Q", y="y:Q", x2="to_x:Q", y2="to_y:Q")
    ]
    for align in ALIGNS:
        own = drawn([row for row in placed if row["place"].align == align])
        for halo in (style.HALO, {}):
            text = own.mark_text(align=align, baseline="middle", limit=style.NAME_LIMIT, **halo)
            layers.append(text.encode(x="to_x:Q", y="to_y:Q", text="name:N"))
    return layers


def reranking(result: Audit | ModelAudit) -> ChartType:
    """Places of the models by score and by FP-GREAT, joined by lines (a bump chart). Needs two models."""
    models = style.several(result, least=2, what="the re-ranking")
    weight = models[0].fp_great.weight
    after = sorted(models, key=lambda model: -(model.fp_great.value or 0.0))
    table = [_move(model, before, after.index(model) + 1) for before, model in enumerate(models, 1)]
    kinds = [kind for kind in (RISES, FALLS, STAYS) if any(row["kind"] == kind for row in table)]
    colors = {RISES: style.BLUE, FALLS: style.VERMILION, STAYS: style.GREY}
    dashes = {RISES: [1, 0], FALLS: [6, 3], STAYS: [1, 0]}
    color = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=kinds, range=[colors[kind] for kind in kinds]),
        legend=alt.Legend(title=None, orient="bottom", symbolType="stroke"),
    )
    dash = alt.StrokeDash("kind:N", scale=alt.Scale(domain=kinds, range=[dashes[kind] for kind in kinds]))
    base = alt.Chart(style.rows(table))
    scale = alt.Scale(domain=[0.5, len(table) + 0.5], reverse=True, nice=False)
    tooltip = [
        "name:N",
        "before:Q",
        "after:Q",
        alt.Tooltip("great:N", title="score"),
        alt.Tooltip("fp:N", title="FP-GREAT"),
    ]
    left, right = alt.value(0), alt.value(BUMP_WIDTH)
    y, y2 = (alt.Y(f"{field}:Q", scale=scale, axis=None) for field in ("before", "after"))
    layers = [
        base.mark_rule(strokeWidth=2).encode(
            x=left, x2=right, y=y, y2=alt.Y2("after:Q"), color=color, strokeDash=dash, tooltip=tooltip
        )
    ]
    sides: tuple[tuple[Any, alt.Y, str, Align, int, str], ...] = (
        (left, y, "before", "right", -14, views.score_name(models[0].score)),
        (right, y2, "after", "left", 14, f"FP-GREAT = {models[0].partition} mean − {weight:g} × RDI"),
    )
    for x, place, field, align, shift, heading in sides:
        names = base.mark_text(align=align, dx=shift, limit=2 * style.NAME_LIMIT)
        head = alt.Chart(style.rows([{"text": heading}])).mark_text(align=align, dx=-shift, fontWeight="bold")
        layers += [
            base.mark_circle(size=330, opacity=1).encode(x=x, y=place, color=color, tooltip=tooltip),
            base.mark_text(color="white", fontSize=10, fontWeight="bold").encode(x=x, y=place, text=f"{field}:Q"),
            names.encode(x=x, y=place, text=f"{field}_text:N"),
            head.encode(x=x, y=alt.value(-10), text="text:N"),
        ]
    chart = alt.layer(*layers).properties(width=BUMP_WIDTH, height=BUMP_ROW * len(table))
    title = "Places of the models by score, and after a penalty for disparity"
    notes = [style.about(models)]
    if any(model.aggregate_interval or model.fp_great.interval for model in models):
        notes.append("The intervals are not drawn: neighbouring places may differ by less than they are wide.")
    notes += views.no_order(models)
    return style.framed(chart, title, notes, models=models, width=BUMP_WIDTH + 400)


def _move(model: ModelAudit, before: int, after: int) -> dict[str, Any]:
    texts = (views.metric_text(model, key, interval=False) for key in ("aggregate", "fp_great"))
    name, great, fp = views.printable(model.name), *texts
    kind = STAYS if before == after else RISES if after < before else FALLS
    return {
        "name": name,
        "before": before,
        "after": after,
        "great": great,
        "fp": fp,
        "before_text": f"{name}  {great}",
        "after_text": f"{fp}  {name}",
        "kind": kind,
    }
