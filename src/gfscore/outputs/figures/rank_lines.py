"""The ranks that each model of a leaderboard may have."""

import altair as alt
from altair.typing import ChartType

from gfscore import views
from gfscore.outputs import leaderboard_text as words
from gfscore.outputs.escaping import cut_middle
from gfscore.outputs.figures import style
from gfscore.results import Leaderboard

WIDTH, STEP = 380, 26  # pixels across, and from one model to the next
NAME, NARROW_NAME = 40, 28  # characters of a model's name, and in a column of a paper


def rank_lines(board: Leaderboard) -> ChartType:
    """A line for each model from its best to its worst rank, a dot at that of the estimate, its numbers beside it."""
    count, names, limit = len(board.models), list[str](), NARROW_NAME if style.is_narrow() else NAME
    for model in board.models:  # two may be shortened to the same
        name = cut_middle(model.name, limit)
        names.append(name if name not in names else f"{name} {len(names) + 1}")
    rows = [
        {
            "model": name,
            "rank": model.rank,
            "first": model.ranks[0] - 0.35,
            "last": model.ranks[1] + 0.35,
            "ranks": words.ranks_text(model),
            "worst": views.share_text(model.worst),
            "short": views.percent(model.worst.value),
        }
        for name, model in zip(names, board.models, strict=True)
    ]
    ticks = sorted({1, *range(5, count, 5), count} if count > 12 else range(1, count + 1))
    if style.is_narrow():
        ticks = sorted({1, (count + 1) // 2, count})
    x = alt.Scale(domain=[0.5, count + 0.5], nice=False)
    axis = alt.Axis(values=ticks, title="rank, 1 is the highest", format="d", grid=True)
    y = alt.Y("model", **style.names_axis(names))
    base = style.chart_of(rows).encode(
        y=y, tooltip=["model:N", "ranks:N", alt.Tooltip("worst:N", title=f"worst {board.partition}")]
    )
    lines = base.mark_rule(strokeWidth=7, color=style.SKY).encode(x=alt.X("first:Q", scale=x, axis=axis), x2="last:Q")
    dots = base.mark_point(filled=True, size=70, opacity=1, color=style.INK).encode(x=alt.X("rank:Q", scale=x))
    texts = base.mark_text(align="left", dx=6).encode(
        x=alt.value(style.px(WIDTH)), text="short:N" if style.is_narrow() else "worst:N"
    )
    chart = alt.layer(lines, dots, texts).properties(width=style.px(WIDTH), height=STEP * count)
    heading = f"Ranks of {words.title(board)}"
    said = [
        words.headline(board),
        *words.notes(board),
        f"On the right: robust accuracy of the worst {board.partition}.",
    ]
    return style.frame_text(chart, heading, said, width=style.px(WIDTH) + 330)
