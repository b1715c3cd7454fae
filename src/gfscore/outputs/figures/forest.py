"""The classes of a model with their intervals, from the lowest up."""

from collections.abc import Sequence
from typing import Any

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import PLURALS, ResultError
from gfscore.outputs.figures import style
from gfscore.results import Audit, ClassResult, ModelAudit

ALL_SHOWN = 60  # classes; of more only the ends have a row
ENDS = 12
WIDTH, ROW = 420, 18
CANDIDATE, OTHER = "may be the worst", "not the worst"


def forest(result: Audit | ModelAudit) -> ChartType:
    """Score and interval of each class, sorted; with many classes all as a curve, and a row for those at the ends.

    Needs intervals. The classes whose interval allows them to be the worst are marked.
    """
    model = style.one(result)
    if any(entry.interval is None for entry in model.classes):
        raise ResultError("the forest plot shows intervals, and this result has none. Run gfscore audit on the logits.")
    ordered = sorted(model.classes, key=lambda entry: entry.score)
    parts = PLURALS[model.partition]
    found = len(model.worst_set)
    title = f"Score of each {model.partition}, from the least protected up"
    notes = [
        style.about([model]),
        style.intervals_note([model]),
        f"They leave {found:,} of {len(ordered):,} {parts} as candidates for the worst. Dashed: mean of the {parts}.",
    ]
    if len(ordered) <= ALL_SHOWN:
        chart: style.Part = _rows(model, ordered, height=ROW * len(ordered), axis=True)
    else:
        chart = alt.vconcat(
            _curve(model, ordered),
            _rows(model, ordered[:ENDS], height=ROW * ENDS, title=f"The {ENDS} lowest"),
            _rows(model, ordered[-ENDS:], height=ROW * ENDS, title=f"The {ENDS} highest", axis=True),
            spacing=14,
        ).resolve_scale(color="shared", shape="shared")
    return style.framed(chart, title, notes, models=[model], width=WIDTH + 280)


def _entry(model: ModelAudit, entry: ClassResult, rank: int) -> dict[str, Any]:
    low, high = entry.interval or (entry.score, entry.score)
    return {
        "name": views.printable(entry.name),
        "rank": rank,
        "score": entry.score,
        "low": low,
        "high": high,
        "n": entry.n,
        "accuracy": entry.accuracy,
        "kind": CANDIDATE if entry.name in model.worst_set else OTHER,
        "estimate": views.score_text(model, entry.score, entry.interval),
        "count": f"n = {entry.n:,}",
    }


def _rows(
    model: ModelAudit, entries: Sequence[ClassResult], *, height: int, title: str = "", axis: bool = False
) -> style.Part:
    """A row for each class: name, interval, point, and the numbers."""
    table = [_entry(model, entry, rank) for rank, entry in enumerate(entries, 1)]
    base = alt.Chart(style.rows(table)).encode(
        y=alt.Y("name", **style.names_axis([row["name"] for row in table])),
        tooltip=[
            alt.Tooltip("name:N", title=model.partition),
            alt.Tooltip("score:Q", format=".4f"),
            alt.Tooltip("low:Q", title="lower end", format=".4f"),
            alt.Tooltip("high:Q", title="upper end", format=".4f"),
            alt.Tooltip("n:Q", format=","),
            alt.Tooltip("accuracy:Q", title="clean accuracy", format=".1%"),
        ],
    )
    ends = [end for entry in model.classes for end in entry.interval or ()]
    scale = alt.Scale(domain=[min(ends), max(ends)], nice=True, zero=False)
    x_title = style.score_title(model) if axis else None
    x_axis = alt.Axis(title=x_title, labels=axis, ticks=axis, domain=axis)
    known = [CANDIDATE, OTHER][: 1 + (len(model.worst_set) < len(model.classes))]
    kinds = alt.Scale(domain=known, range=[style.VERMILION, style.BLUE])
    shapes = alt.Scale(domain=known, range=["diamond", "circle"])
    legend = alt.Legend(title=None, orient="bottom")
    color = alt.Color("kind:N", scale=kinds, legend=legend)
    lines = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", scale=scale, axis=x_axis), x2=alt.X2("high:Q"), color=color
    )
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("score:Q", scale=scale, axis=x_axis),
        color=color,
        shape=alt.Shape("kind:N", scale=shapes, legend=legend),
    )
    numbers = [base.mark_text(align="left").encode(x=alt.value(WIDTH + 12), text="estimate:N")]
    if len({entry.n for entry in model.classes}) > 1:  # else the note says it for all
        numbers.append(base.mark_text(align="left").encode(x=alt.value(WIDTH + 145), text="count:N"))
    mean = (
        alt.Chart(style.rows([{"mean": model.class_mean}]))
        .mark_rule(strokeDash=[4, 3], color=style.GREY)
        .encode(x=alt.X("mean:Q", scale=scale, axis=x_axis), tooltip=alt.Tooltip("mean:Q", format=".4f"))
    )
    return alt.layer(mean, lines, points, *numbers).properties(width=WIDTH, height=height, title=title)


def _curve(model: ModelAudit, entries: Sequence[ClassResult]) -> style.Part:
    """All classes in order of their score, with their intervals as a band."""
    table = [_entry(model, entry, rank) for rank, entry in enumerate(entries, 1)]
    x = alt.X(
        "rank:Q",
        title=f"{PLURALS[model.partition]}, from the lowest score to the highest",
        scale=alt.Scale(domain=[1, len(table)], nice=False),
        axis=alt.Axis(format=",d", grid=False),
    )
    base = alt.Chart(style.rows(table))
    band = base.mark_area(color=style.SKY, opacity=0.45).encode(
        x=x, y=alt.Y("low:Q", title=style.score_title(model)), y2="high:Q"
    )
    line = base.mark_line(color=style.INK, strokeWidth=1.5).encode(x=x, y="score:Q")
    title = f"All {len(table):,} {PLURALS[model.partition]}"
    return alt.layer(band, line).properties(width=WIDTH, height=190, title=title)
