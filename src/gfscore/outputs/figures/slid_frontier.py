"""A repair to slide along: the worst class against the mean, and what each class gains or pays at one point of it."""

from typing import Any

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.outputs.figures import style
from gfscore.results import FrontierPoint, Repair

HEIGHT, ROW = 280, 19
MOST_ROWS = 40  # classes that have a bar: those that change most
TITLE_WIDTH = 430
GAINED, PAID = "gains", "pays"


def slid_frontier(result: Repair, here: FrontierPoint) -> ChartType:
    """The worst class against the mean on the samples that choose: all trade-offs, no bias, the choice and ``here``."""
    what = "accuracy" if result.eps is None else f"robust accuracy at {views.eps_text(result.eps, result.norm)}"
    axis = alt.Axis(format=".0%", tickCount=5)
    scale = alt.Scale(zero=False, nice=True, padding=14)
    x = alt.X("mean:Q", title=f"mean {what}", axis=axis, scale=scale)
    y = alt.Y("worst:Q", title=f"worst {result.partition}", axis=axis, scale=scale)
    tips = [style.tip(key, form=".1%") for key in ("worst", "mean", "clean")]
    rows = [_row(point) for point in result.frontier]
    order = alt.Order("mean:Q")
    line = style.chart_of(rows).mark_line(color=style.BLUE, strokeWidth=1.5).encode(x=x, y=y, order=order)
    dots = style.chart_of(rows).mark_point(color=style.BLUE, filled=True, size=45).encode(x=x, y=y, tooltip=tips)
    marked = {"no bias": result.unrepaired, "chosen": result.chosen, "here": here}
    looks = {"no bias": (style.GREY, "circle"), "chosen": (style.GREEN, "square"), "here": (style.VERMILION, "diamond")}
    colors, shapes = zip(*looks.values(), strict=True)
    legend = alt.Legend(title=None, orient="bottom")
    marks = style.chart_of([_row(point) | {"which": which} for which, point in marked.items()])
    marks = marks.mark_point(filled=True, size=140, opacity=1).encode(
        x=x,
        y=y,
        tooltip=["which:N", *tips],
        color=style.looks(alt.Color, "which", list(looks), colors, legend=legend),
        shape=style.looks(alt.Shape, "which", list(looks), shapes, legend=legend),
    )
    chart = alt.layer(line, dots, marks).properties(width="container", height=HEIGHT)
    title = f"Worst {result.partition} against the mean"
    note = f"Each dot is a bias that no other one beats, on the {result.choice.n:,} samples that choose."
    return style.frame_text(
        chart, title, [note], width=TITLE_WIDTH, description=f"{title}: {views.printable(result.name)}"
    )


def part_changes(result: Repair, here: FrontierPoint) -> ChartType:
    """What each class gains or pays at a point of the frontier, against no bias; of many, those that change most."""
    pairs = zip(result.parts, result.unrepaired.shares, here.shares, strict=True)
    rows: list[dict[str, Any]] = [
        {
            "part": views.printable(name),
            "before": before,
            "after": after,
            "change": after - before,
            "side": GAINED if after >= before else PAID,
        }
        for name, before, after in pairs
    ]
    rows.sort(key=lambda row: -abs(row["change"]))
    shown = sorted(rows[:MOST_ROWS], key=lambda row: row["before"])
    names = style.names_axis([row["part"] for row in shown])
    axis = alt.Axis(format=".0%", title="share, from no bias (tick) to here", tickCount=6)
    legend = alt.Legend(title=None, orient="bottom")
    color = style.looks(alt.Color, "side", [GAINED, PAID], (style.GREEN, style.VERMILION), legend=legend)
    tips = ["part:N", *(style.tip(key, form=".1%") for key in ("before", "after", "change"))]
    base = style.chart_of(shown).encode(y=alt.Y("part", **names), color=color, tooltip=tips)
    across = alt.X("before:Q", scale=alt.Scale(domain=[0, 1]), axis=axis)
    bars = base.mark_rule(strokeWidth=6).encode(x=across, x2="after:Q")
    ticks = base.mark_tick(thickness=2, height=ROW * 0.7).encode(x="before:Q", color=alt.value(style.INK))
    chart = alt.layer(bars, ticks).properties(width="container", height=ROW * len(shown))
    left = len(rows) - len(shown)
    title = f"What each {result.partition} gains or pays here"
    notes = [f"{left:,} {PLURALS[result.partition]} that change less are left out."] if left else []
    return style.frame_text(
        chart, title, notes, width=TITLE_WIDTH, description=f"{title}: {views.printable(result.name)}"
    )


def _row(point: FrontierPoint) -> dict[str, float]:
    return {"worst": point.worst, "mean": point.mean, "clean": point.clean}
