"""Pictures of a repair: what could be had, and every class before and after as an arrow."""

from functools import partial
from typing import Any

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.errors import PLURALS, ResultError
from gfscore.outputs.figures.style import (
    BLUE,
    DASHES,
    GREEN,
    GREY,
    INK,
    PALE,
    VERMILION,
    chart_of,
    frame_text,
    high,
    names_axis,
    panels,
    px,
    side,
    tip,
)
from gfscore.results import BeforeAfter, FrontierPoint, Repair

WIDTH, ROW = 460, 24
TICKS = 5  # about as many places along an axis
MOST_ROWS = 40  # classes that have an arrow: those that change most
BY_RADII, MEAN = ("first-order", "midpoint"), "mean of the classes"
SIDES = {"gained": GREEN, "paid": VERMILION, "unclear": GREY}


def repair_frontier(result: Repair) -> ChartType:
    """The worst class against the mean, on the samples that chose: all trade-offs found, no bias, and the choice."""
    if not result.frontier:
        raise ResultError("no bias was searched for: there is no frontier. Draw repair_arrows instead.")
    rows = [_row(point, "frontier") for point in result.frontier]
    clean = [_row(point, "clean") for point in result.clean_frontier]
    ends = [_row(point, "end") for point in (result.unrepaired, result.chosen)]

    def axis(points: list[dict[str, Any]], field: str) -> alt.Axis:
        return alt.Axis(format=_percents([row[field] for row in [*points, *ends]]), tickCount=TICKS)

    def panel(points: list[dict[str, Any]], field: str, title: str, _: bool) -> Any:
        x = alt.X(f"{field}:Q", title=title, axis=axis(points, field), scale=alt.Scale(zero=False, padding=12))
        y_scale = alt.Scale(zero=False, padding=12, nice=True)
        y = alt.Y("worst:Q", title=f"worst {result.partition}", axis=axis(points, "worst"), scale=y_scale)
        tips = [tip("worst", form=".1%"), tip("mean", form=".1%"), tip("clean", form=".1%"), tip("loss", form=".1%")]
        line = chart_of(points).mark_line(color=BLUE, strokeWidth=1.5).encode(x=x, y=y, order=alt.Order(f"{field}:Q"))
        dots = chart_of(points).mark_point(color=BLUE, filled=True, size=40).encode(x=x, y=y, tooltip=tips)
        marks = []
        for point, name, colour, shape in (
            (result.unrepaired, "no bias", INK, "circle"),
            (result.chosen, "chosen", VERMILION, "diamond"),
        ):
            base = chart_of([_row(point, name)])
            look = {"color": colour, "filled": True, "size": 130, "shape": shape, "opacity": 1}
            marks.append(base.mark_point(**look).encode(x=x, y=y, tooltip=tips))
            marks.append(base.mark_text(dx=9, dy=-9, align="left", color=colour).encode(x=x, y=y, text=alt.value(name)))
        return alt.layer(line, dots, *marks).properties(width=side(WIDTH // 2), height=side(WIDTH // 2))

    what = "accuracy" if result.eps is None else "robust accuracy"
    drawn = [partial(panel, rows, "mean", f"mean {what}")]
    if result.eps is not None:
        drawn.append(partial(panel, clean, "clean", "mean clean accuracy"))
    notes = [
        _about(result),
        f"Each dot is a bias that no other one beats, on the {result.choice.n:,} samples that choose,",
        f"among those that keep what each {result.partition} may lose; the chosen one keeps what means may lose, too.",
    ]
    return frame_text(panels(drawn, spacing=36), f"Worst {result.partition} against the mean", notes, width=WIDTH)


def _percents(values: list[float]) -> str:
    """How shares are written along an axis: with as many digits as it takes to tell its places apart.

    >>> _percents([0.65, 0.72]), _percents([0.994, 0.9958])
    ('.1%', '.2%')
    """
    step = (max(values) - min(values)) / TICKS
    return next((f".{digits}%" for digits in (1, 2) if step >= 10.0 ** -(digits + 2)), ".3%")


def repair_arrows(result: Repair, judged: BeforeAfter | None = None) -> ChartType:
    """Every class before and after, as an arrow, on the samples that judge."""
    found = judged or result.decisive
    if found is None:
        raise ResultError("nothing was judged: there was nothing to repair. Draw an audit instead.")
    parts = sorted(found.parts, key=lambda part: -abs(part.change.value or 0.0))[:MOST_ROWS]
    parts.sort(key=lambda part: part.before.value or 0.0)
    rows = [
        {
            "part": views.printable(part.name),
            "before": part.before.value,
            "after": part.after.value,
            "low": (part.after.interval or (part.after.value, part.after.value))[0],
            "high": (part.after.interval or (part.after.value, part.after.value))[1],
            "verdict": part.verdict,
            "change": part.change.value,
        }
        for part in parts
    ]
    names = [str(row["part"]) for row in rows]
    share = found.measure != "great"
    axis = alt.Axis(format=".0%" if share else ".2f")
    y = alt.Y("part:N", **{**names_axis(names), "type": alt.Undefined})
    known = {"clean": "Clean accuracy", "great": "GREAT score"} | dict.fromkeys(BY_RADII, "Robust accuracy")
    title = known.get(found.measure, f"Accuracy under {found.measure}")
    x = alt.X("before:Q", title=title, axis=axis, scale=alt.Scale(zero=True))
    colour = alt.Color(
        "verdict:N",
        scale=alt.Scale(domain=list(SIDES), range=list(SIDES.values())),
        legend=alt.Legend(title=None, orient="bottom"),
    )
    form = ".1%" if share else ".3f"
    tips = ["part:N", tip("before", form=form), tip("after", form=form), tip("change", form=form)]
    base = chart_of(rows)
    spread = base.mark_rule(color=PALE, strokeWidth=7).encode(x=alt.X("low:Q"), x2="high:Q", y=y)
    shaft = base.mark_rule(strokeWidth=2).encode(x=x, x2="after:Q", y=y, color=colour, tooltip=tips)
    start = base.mark_tick(color=INK, thickness=2, height=ROW / 2.2).encode(x=x, y=y)
    heads = [
        chart_of([row for row, part in zip(rows, parts, strict=True) if ((part.change.value or 0.0) >= 0) is right])
        .mark_point(filled=True, size=90, opacity=1, shape="triangle-right" if right else "triangle-left")
        .encode(x=alt.X("after:Q"), y=y, color=colour, tooltip=tips)
        for right in (True, False)
    ]
    chart = alt.layer(spread, shaft, start, *heads).properties(width=px(WIDTH), height=ROW * len(rows))
    left = len(found.parts) - len(parts)
    notes = [
        _about(result),
        f"From the tick (before) to the tip (after), on {found.n:,} samples that did not choose it.",
        f"Pale bars: intervals of what is after; all hold together with probability {1 - found.delta:g}.",
        *([f"{left:,} {PLURALS[result.partition]} that change less are left out."] if left else []),
    ]
    return frame_text(chart, f"{title} of each {result.partition}, before and after", notes, width=WIDTH)


def _row(point: FrontierPoint, kind: str) -> dict[str, Any]:
    return {
        "worst": point.worst,
        "mean": point.mean,
        "clean": point.clean,
        "loss": point.largest_loss,
        "kind": kind,
    }


def _about(result: Repair) -> str:
    at = (
        ""
        if result.eps is None
        else f"; {views.norm_text(result.norm or '')} {views.eps_text(result.eps, result.norm)}"
    )
    how = "a bias for the logit of each class" if result.training is None else f"training ({result.method})"
    return views.printable(f"{result.name}, repaired by {how}{at}.")


def training_curves(result: Repair) -> ChartType:
    """Robust accuracy of each class after every epoch, on held-out images: the worst before and after by name."""
    trained = result.training
    if trained is None or not trained.curves:
        raise ResultError("nothing was trained: there are no curves. Draw repair_arrows instead.")
    shares = {0: trained.start_robust} | {epoch.number: epoch.robust for epoch in trained.curves}
    ends = (trained.start_robust, shares[trained.chosen])
    worst = [min((share, place) for place, share in enumerate(end) if share is not None)[1] for end in ends]
    named = [views.printable(result.class_names[place]) for place in dict.fromkeys(worst)]
    rows = [
        {"epoch": number, "share": share, "part": views.printable(name)}
        for number, each in shares.items()
        for name, share in zip(result.class_names, each, strict=True)
        if share is not None
    ]
    means = [{"epoch": number, "share": _mean_of(each), "part": MEAN} for number, each in shares.items()]
    x = alt.X("epoch:Q", title="epoch", axis=alt.Axis(tickMinStep=1, format="d"))
    y = alt.Y("share:Q", title="robust accuracy (PGD)", axis=alt.Axis(format=".0%"), scale=alt.Scale(zero=True))
    tips = ["part:N", "epoch:Q", tip("share", form=".1%")]
    others = chart_of([row for row in rows if row["part"] not in named])
    pale = others.mark_line(color=PALE, strokeWidth=1.5).encode(x=x, y=y, detail="part:N", tooltip=tips)
    strong = chart_of([row for row in rows if row["part"] in named] + means)
    domain, colours = [*named, MEAN], [*(VERMILION, BLUE)[: len(named)], INK]
    colour = alt.Color(
        "part:N", scale=alt.Scale(domain=domain, range=colours), legend=alt.Legend(title=None, orient="bottom")
    )
    dash = alt.StrokeDash("part:N", scale=alt.Scale(domain=domain, range=list(DASHES[: len(domain)])), legend=None)
    lines = strong.mark_line(strokeWidth=2.5).encode(x=x, y=y, color=colour, strokeDash=dash, tooltip=tips)
    rule = chart_of([{"epoch": trained.chosen}]).mark_rule(color=GREY, strokeDash=[3, 3]).encode(x="epoch:Q")
    chart = alt.layer(pale, rule, lines).properties(width=px(WIDTH), height=high(WIDTH // 2))
    notes = [
        _about(result),
        f"On {trained.held_n:,} held-out images that select, under the averaged weights.",
        "The dashed rule is the epoch that is kept, pale lines are the other classes.",
    ]
    return frame_text(chart, "Each class while training", notes, width=WIDTH)


def _mean_of(shares: tuple[float | None, ...]) -> float:
    known = [share for share in shares if share is not None]
    return sum(known) / len(known)
