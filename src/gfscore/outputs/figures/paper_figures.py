"""Figures as papers print them: without words around them, as wide as a column or a page, in the font of the document.

What is drawn is laid out anew for that width, so that its text has the size of a caption instead of being shrunken.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import altair as alt
from altair.typing import ChartType

from gfscore.outputs.escaping import cut_middle
from gfscore.outputs.figures.conversion import POINTS_PER_INCH, to_svg
from gfscore.outputs.figures.style import TEXT_SIZE, Look, drawn_as
from gfscore.results import Audit, ModelAudit

COLUMN, PAGE = 3.25, 6.75  # inches
FONT = "Liberation Serif, Times New Roman, Times, serif"
COLUMN_NAME, PAGE_NAME = 28, 40  # characters of a model's name
BESIDE = 28  # characters of numbers and headings beside a name, which a wider font makes wider too
TEXT_POINTS = 8.0  # of the letters of a figure, at least where there is room
LEAST_SHARE, MOST_SHARE = 0.2, 1.5  # of the usual width; below the first nothing can be read in it
TRIALS, CLOSE = 3, 0.01  # of a share, until the next one would differ from it by less
USUAL_CHARACTER = 0.41  # mean width of one of FONT where it is installed, as a share of the font size
WIDER_TEXT = 1.15  # of texts that have more capitals and digits than usual
PROBE = "a network of some length, 7  0.934"  # as text in figures is
WIDTH = re.compile(r'<svg[^>]*? width="([0-9.]+)"')


def with_short_names(result: Audit | ModelAudit, inches: float, font: str | None = None) -> Audit | ModelAudit:
    """The result with names of models that a figure of this width has room for: beginning and end, and told apart."""
    wider = max(1.0, character_of(font or FONT) / USUAL_CHARACTER)
    limit = int(((PAGE_NAME if inches > COLUMN else COLUMN_NAME) + BESIDE) / wider) - BESIDE
    taken = set[str]()
    models = list[ModelAudit]()
    for model in (result,) if isinstance(result, ModelAudit) else result.models:
        name = cut_middle(model.name, limit)
        while name in taken:
            name = f"{name}′"
        taken.add(name)
        models.append(model.model_copy(update={"name": name}))
    return models[0] if isinstance(result, ModelAudit) else result.model_copy(update={"models": tuple(models)})


@lru_cache(maxsize=8)
def character_of(font: str) -> float:
    """Mean width of a character as a share of the font size; where the font is missing, of what stands in for it."""
    look = alt.Config(view=alt.ViewConfig(stroke=None), padding=0)
    text = alt.Chart(alt.InlineData([{}])).mark_text(font=font, fontSize=TEXT_SIZE, align="left")
    across = width_of(text.encode(text=alt.value(PROBE), x=alt.value(0)).properties(width=1, config=look))
    return across / len(PROBE) / TEXT_SIZE


class PaperFigure(NamedTuple):
    """A chart, and by how much it is scaled to be as wide as it shall be."""

    chart: ChartType
    scale: float  # points of paper for each pixel
    inches: float


def for_paper(draw: Callable[[], ChartType], *, inches: float = COLUMN, font: str | None = None) -> PaperFigure:
    """The chart that ``draw`` makes, laid out for a width on paper: so wide, with letters of 8 points where they fit.

    A figure is as wide as its fixed parts (names, numbers) and a share of the rest: two trials tell both, and the share
    follows; some parts come in steps or stop growing, so it is corrected by what it gave. Where even the least share is
    too wide, letters get smaller; where the largest is too narrow, the margins grow.
    """
    wanted = inches * POINTS_PER_INCH / TEXT_POINTS * TEXT_SIZE  # pixels, with letters of TEXT_SIZE
    look = Look(bare=True, font=font or FONT, room=wanted, character=WIDER_TEXT * character_of(font or FONT))

    def chart_at(share: float) -> tuple[ChartType, float]:
        with drawn_as(replace(look, share=share)):
            chart = draw()
        return chart, width_of(chart)

    (_, half), (chart, width) = chart_at(0.5), chart_at(1.0)
    slope, share = 2 * (width - half), 1.0
    for _ in range(TRIALS if slope > 0 else 0):
        better = min(MOST_SHARE, max(LEAST_SHARE, share + (wanted - width) / slope))
        if abs(better - share) < CLOSE:
            break
        share = better
        chart, width = chart_at(share)
    if width < wanted:
        margin = 1 + (wanted - width) / 2
        chart.padding = {"left": margin, "right": margin, "top": 1, "bottom": 1}
        width = wanted
    return PaperFigure(chart, inches * POINTS_PER_INCH / width, inches)


def width_of(chart: ChartType) -> float:
    """How many pixels a chart takes across, with all that stands around it."""
    found = WIDTH.search(to_svg(chart.to_json()))
    return 1.0 if found is None else float(found[1])
