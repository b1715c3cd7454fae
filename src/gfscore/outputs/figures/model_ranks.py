"""Models against each other: score by disparity, places before and after the penalty, and which classes are extreme."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.outputs import sentences
from gfscore.outputs.figures import style
from gfscore.results import Audit, ModelAudit

Align = Literal["left", "right", "center"]

WIDTH, HEIGHT = 640, 420
LABELLED = 40  # points that can have a name
BUMP_WIDTH, BUMP_ROW = 240, 24
RISES, FALLS, STAYS = "rises", "falls", "keeps its place"
MOVE_COLORS = {RISES: style.BLUE, FALLS: style.VERMILION, STAYS: style.GREY}
MOVE_DASHES = {RISES: [1, 0], FALLS: [6, 3], STAYS: [1, 0]}

RADIUS = 6.0  # of a point, in pixels
NEAR = 10.0  # from the point to its text
FAR = 16.0  # a text this far away needs a line to its point
LABEL_RINGS = (1.0, 1.9, 3.0, 4.4, 6.0)
PASSES = 8
# Right and left of a point, above and below, then between.
DIRECTIONS: tuple[tuple[float, float, Align], ...] = (
    *((1, 0, "left"), (-1, 0, "right"), (0, -1.2, "center"), (0, 1.2, "center")),
    *((0.8, -0.9, "left"), (0.8, 0.9, "left"), (-0.8, -0.9, "right"), (-0.8, 0.9, "right")),
)

PANEL, PANEL_ROW = 190, 21
COUNTED = 24  # classes at most
EXTREME_COLORS = {"worst": style.VERMILION, "best": style.BLUE}


def robustness_disparity(result: Audit | ModelAudit) -> ChartType:
    """Every model as a point: its score across, its RDI upwards. Needs two models."""
    models = style.several(result, least=2, what="the plot of score by RDI")
    table = [_point(model) for model in models if model.rdi.value is not None]
    x_domain, y_domain = _padded_range(table, "x"), _padded_range(table, "y")
    x_scale, y_scale = (alt.Scale(domain=domain, nice=False) for domain in (x_domain, y_domain))
    x = alt.X("x:Q", scale=x_scale, title=style.score_title(models[0], " of all samples"))
    height = style.high(HEIGHT)
    difference = f"RDI: score of the best {models[0].partition} − score of the worst"
    y = alt.Y("y:Q", scale=y_scale, title=style.lines(difference, height))
    base = style.chart_of(table)
    faint: dict[str, Any] = {"color": style.GREY, "opacity": 0.35}
    points = base.mark_point(filled=True, size=60, opacity=1, color=style.BLUE)
    layers = [
        base.mark_rule(**faint).encode(x=alt.X("x_low:Q", scale=x_scale), x2="x_high:Q", y=y),
        base.mark_rule(**faint).encode(x=x, y=alt.Y("y_low:Q", scale=y_scale), y2="y_high:Q"),
        points.encode(x=x, y=y, tooltip=["name:N", style.tip("x", "score"), style.tip("y", "RDI")]),
    ]
    bounded = [model for model in models if model.aggregate_interval or model.rdi.interval]
    notes = [*([style.intervals_note(bounded, "Grey lines")] if bounded else []), *sentences.no_order(models)]
    if len(table) <= LABELLED:
        layers += point_labels(table, x_domain, y_domain, size=(style.px(WIDTH), height))
    chart = alt.layer(*layers).properties(width=style.px(WIDTH), height=height)
    return style.frame(
        chart, "Score of each model against its disparity", notes, models=models, width=style.px(WIDTH) + 60
    )


def _point(model: ModelAudit) -> dict[str, Any]:
    row: dict[str, Any] = {"name": views.printable(model.name), "x": model.aggregate, "y": model.rdi.value}
    for axis, interval in (("x", model.aggregate_interval), ("y", model.rdi.interval)):
        row[f"{axis}_low"], row[f"{axis}_high"] = interval or (row[axis], row[axis])
    return row


def _padded_range(table: Sequence[dict[str, Any]], axis: str) -> list[float]:
    """The range of the intervals with a margin, so that no name runs off the picture."""
    low, high = min(row[f"{axis}_low"] for row in table), max(row[f"{axis}_high"] for row in table)
    margin = 0.06 * (high - low) or 0.1 * abs(high) or 0.1
    return [low - margin, high + margin]


def point_labels(
    table: Sequence[dict[str, Any]], x_domain: Sequence[float], y_domain: Sequence[float], *, size: tuple[int, int]
) -> list[style.Part]:
    """Names beside their points, in a chart of so many pixels; and a thin line where a name had to move away."""
    x_unit, y_unit = (x_domain[1] - x_domain[0]) / size[0], (y_domain[1] - y_domain[0]) / size[1]
    points = [((row["x"] - x_domain[0]) / x_unit, (y_domain[1] - row["y"]) / y_unit, row["name"]) for row in table]
    places = place_labels(points, *size)
    rows = [
        {
            **{key: row[key] for key in ("name", "x", "y")},
            "to_x": x_domain[0] + place.x * x_unit,
            "to_y": y_domain[1] - place.y * y_unit,
        }
        for row, place in zip(table, places, strict=True)
    ]
    far = style.chart_of(row for row, place in zip(rows, places, strict=True) if place.far)
    lines = far.mark_rule(color=style.GREY, strokeWidth=0.6)
    layers = [lines.encode(x="x:Q", y="y:Q", x2="to_x:Q", y2="to_y:Q")]
    for align in get_args(Align):
        own = style.chart_of(row for row, place in zip(rows, places, strict=True) if place.align == align)
        for halo in (style.HALO, {}):
            text = own.mark_text(align=align, baseline="middle", limit=style.NAME_LIMIT, **halo)
            layers.append(text.encode(x="to_x:Q", y="to_y:Q", text="name:N"))
    return layers


class LabelPlace(NamedTuple):
    """Where a text stands, in pixels from the top left."""

    x: float
    y: float
    align: Align
    far: bool


class Box(NamedTuple):
    """A rectangle that something covers."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: "Box") -> float:
        """Area that both cover."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, width) * max(0.0, height)


def place_labels(points: Sequence[tuple[float, float, str]], width: float, height: float) -> list[LabelPlace]:
    """A place for the text of each point ``(x, y, text)`` in a frame: near it, free, or else the least crowded.

    Every text takes its best place given the others, a few times over, so that late ones can push early ones aside.

    >>> [place.align for place in place_labels([(50, 50, "one"), (60, 50, "two")], 200, 100)]
    ['right', 'left']
    """
    dots = [Box(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS) for x, y, _ in points]
    places: dict[int, LabelPlace] = {}
    for _ in range(PASSES):
        for index, (x, y, text) in enumerate(points):
            taken = [dot for other, dot in enumerate(dots) if other != index]
            taken += [_box(place, points[other][2]) for other, place in places.items() if other != index]
            away = [(ring * NEAR, direction) for ring in LABEL_RINGS for direction in DIRECTIONS]
            candidates = [LabelPlace(x + far * dx, y + far * dy, align, far > FAR) for far, (dx, dy, align) in away]
            costs = [
                _cost(_box(place, text), taken, width, height) + far
                for place, (far, _) in zip(candidates, away, strict=True)
            ]
            places[index] = candidates[costs.index(min(costs))]
    return [places[index] for index in range(len(points))]


def _cost(box: Box, taken: Sequence[Box], width: float, height: float) -> float:
    """What a text covers of others, in pixels, and how far it sticks out."""
    outside = max(0.0, -box.left, box.right - width, -box.top, box.bottom - height)
    return sum(box.overlap(other) for other in taken) + 100 * outside


def _box(place: LabelPlace, text: str) -> Box:
    width = style.width_of(text)
    left = place.x - {"left": 0.0, "center": width / 2, "right": width}[place.align]
    return Box(left, place.y - style.TEXT_SIZE / 2, left + width, place.y + style.TEXT_SIZE / 2)


def reranking(result: Audit | ModelAudit) -> ChartType:
    """Places of the models by score and by FP-GREAT, joined by lines (a bump chart). Needs two models."""
    models = style.several(result, least=2, what="the re-ranking")
    after = sorted(models, key=lambda model: -(model.fp_great.value or 0.0))
    table = [_move(model, before, after.index(model) + 1) for before, model in enumerate(models, 1)]
    kinds = [kind for kind in MOVE_COLORS if any(row["kind"] == kind for row in table)]
    legend = alt.Legend(title=None, orient="bottom", symbolType="stroke")
    color = style.looks(alt.Color, "kind", kinds, [MOVE_COLORS[kind] for kind in kinds], legend=legend)
    dash = style.looks(alt.StrokeDash, "kind", kinds, [MOVE_DASHES[kind] for kind in kinds])
    base = style.chart_of(table)
    scale = alt.Scale(domain=[0.5, len(table) + 0.5], reverse=True, nice=False)
    values = [alt.Tooltip("great:N", title="score"), alt.Tooltip("fp:N", title="FP-GREAT")]
    shared: dict[str, Any] = {"color": color, "tooltip": ["name:N", "before:Q", "after:Q", *values]}
    left, right = alt.value(0), alt.value(style.px(BUMP_WIDTH))
    y, y2 = (alt.Y(f"{field}:Q", scale=scale, axis=None) for field in ("before", "after"))
    lines = base.mark_rule(strokeWidth=2)
    layers = [lines.encode(x=left, x2=right, y=y, y2=alt.Y2("after:Q"), strokeDash=dash, **shared)]
    narrow = style.is_narrow()
    penalised = f"FP-GREAT = {models[0].partition} mean − {models[0].fp_great.weight:g} × RDI"
    sides: tuple[tuple[Any, alt.Y, str, Align, int, str], ...] = (
        (left, y, "before", "right", -14, views.score_name(models[0].score)),
        (right, y2, "after", "left", 14, "FP-GREAT" if narrow else penalised),
    )
    for x, place, field, align, shift, heading in sides:
        names = base.mark_text(align=align, dx=shift, limit=2 * style.NAME_LIMIT)
        head = style.chart_of([{"text": heading}]).mark_text(
            align=align, dx=shift if narrow else -shift, fontWeight="bold"
        )
        layers += [
            base.mark_circle(size=330, opacity=1).encode(x=x, y=place, **shared),
            base.mark_text(color="white", fontSize=style.small_text(), fontWeight="bold").encode(
                x=x, y=place, text=f"{field}:Q"
            ),
            names.encode(x=x, y=place, text=f"{field}_text:N"),
            head.encode(x=x, y=alt.value(-10), text="text:N"),
        ]
    chart = alt.layer(*layers).properties(width=style.px(BUMP_WIDTH), height=BUMP_ROW * len(table))
    unseen = "The intervals are not drawn: neighbouring places may differ by less than they are wide."
    bounded = any(model.aggregate_interval or model.fp_great.interval for model in models)
    notes = [*([unseen] if bounded else []), *sentences.no_order(models)]
    title = "Places of the models by score, and after a penalty for disparity"
    return style.frame(chart, title, notes, models=models, width=style.px(BUMP_WIDTH) + 400)


def _move(model: ModelAudit, before: int, after: int) -> dict[str, Any]:
    texts = (views.metric_text(model, key, interval=False) for key in ("aggregate", "fp_great"))
    name, great, fp = views.printable(model.name), *texts
    return {
        "name": name,
        "before": before,
        "after": after,
        "great": great,
        "fp": fp,
        "before_text": f"{name}  {great}",
        "after_text": fp if style.is_narrow() else f"{fp}  {name}",  # a column has no room for names on both sides
        "kind": STAYS if before == after else RISES if after < before else FALLS,
    }


def class_vulnerability(result: Audit | ModelAudit) -> ChartType:
    """In how many models each class is the worst, may be the worst, and is the best. Needs two models."""
    models = style.several(result, least=2, what="the count of worst classes")
    table, extreme = _counts(models)
    parts, total = PLURALS[models[0].partition], len({e.name for model in models for e in model.classes})
    notes = []
    if any(model.worst_set for model in models):
        notes.append("Grey: models whose intervals leave it as a candidate for the worst.")
    if len(table) < total:
        shown = f"shown are {len(table)} of them" if len(table) < extreme else "they are shown"
        notes.append(f"Of {total:,} {parts}, {extreme} are the worst or the best of a model: {shown}.")
    chart = style.panels(
        [partial(_count_panel, table, kind, len(models)) for kind in EXTREME_COLORS], spacing=18, columns=2
    )
    title = f"Which {parts} score lowest and highest, over {len(models)} models"
    return style.frame(chart, title, notes, models=models, width=2 * style.px(PANEL) + 190)


def _counts(models: Sequence[ModelAudit]) -> tuple[list[dict[str, Any]], int]:
    """A row per class, the most often worst first, and how many are worst or best somewhere: of many, only those."""
    worst = Counter(model.wcr.class_ for model in models)
    best = Counter(model.rdi.classes[0] for model in models)
    candidates = Counter(name for model in models for name in model.worst_set)
    names = list(dict.fromkeys(entry.name for model in models for entry in model.classes))
    extreme = [name for name in names if worst[name] or best[name]]
    shown = list(names if len(names) <= COUNTED else extreme)
    shown.sort(key=lambda name: (-worst[name], -candidates[name] + best[name], best[name]))
    kept = shown if len(shown) <= COUNTED else shown[: COUNTED // 2] + shown[-COUNTED // 2 :]
    return [
        {
            "name": views.printable(name),
            "worst": worst[name],
            "may": max(candidates[name], worst[name]),
            "best": best[name],
            "worst_text": f"{worst[name] or ''}",
            "best_text": f"{best[name] or ''}",
        }
        for name in kept
    ], len(extreme)


def _count_panel(table: Sequence[dict[str, Any]], kind: str, largest: int, labels: bool) -> style.Part:
    worst = kind == "worst"
    base = style.chart_of(table).encode(
        y=alt.Y("name", **style.names_axis([row["name"] for row in table], labels=labels)),
        tooltip=["name:N", "worst:Q", alt.Tooltip("may:Q", title="may be the worst"), "best:Q"],
    )
    ticks: dict[str, Any] = {"format": "d", "tickMinStep": 1, "tickCount": min(largest, 8, style.px(PANEL) // 18)}
    axis = alt.Axis(title=style.lines(f"models in which it is the {kind}", style.px(PANEL)), **ticks)
    across: dict[str, Any] = {"scale": alt.Scale(domain=[0, largest], nice=False), "axis": axis}
    x = alt.X(f"{kind}:Q", **across)
    candidates = base.mark_bar(color=style.PALE, height=13).encode(x=alt.X("may:Q", **across))
    layers = [
        *([candidates] if worst else []),
        base.mark_bar(color=EXTREME_COLORS[kind], height=13).encode(x=x),
        base.mark_text(align="left", dx=4, fontWeight="bold").encode(x=x, text=f"{kind}_text:N"),
    ]
    return alt.layer(*layers).properties(width=style.px(PANEL), height=PANEL_ROW * len(table), title=f"The {kind}")
