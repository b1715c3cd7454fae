"""Figures as papers print them: without words around them, as wide as a column or a page, in the font of the document.

What is drawn is laid out anew for that width, so that its text has the size of a caption instead of being shrunken.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from altair.typing import ChartType

from gfscore.outputs.figures.conversion import POINTS_PER_INCH, to_svg
from gfscore.outputs.figures.style import TEXT_SIZE, Look, drawn_as

COLUMN, PAGE = 3.25, 6.75  # inches
FONT = "Liberation Serif, Times New Roman, Times, serif"
TEXT_POINTS = 8.0  # of the letters of a figure, at least where there is room
LEAST_SHARE = 0.2  # of the usual width, below which nothing can be read in it
WIDTH = re.compile(r'<svg[^>]*? width="([0-9.]+)"')


class PaperFigure(NamedTuple):
    """A chart, and by how much it is scaled to be as wide as it shall be."""

    chart: ChartType
    scale: float  # points of paper for each pixel
    inches: float


def for_paper(draw: Callable[[], ChartType], *, inches: float = COLUMN, font: str | None = None) -> PaperFigure:
    """The chart that ``draw`` makes, laid out for a width on paper.

    A figure is as wide as its fixed parts (names, numbers) and a share of the rest: two trials tell both, and the share
    follows. Where even the least share is too wide, letters get smaller.
    """
    wanted = inches * POINTS_PER_INCH / TEXT_POINTS * TEXT_SIZE  # pixels, with letters of TEXT_SIZE

    def chart_at(share: float) -> ChartType:
        with drawn_as(Look(bare=True, font=font or FONT, share=share)):
            return draw()

    half, whole = (width_of(chart_at(share)) for share in (0.5, 1.0))
    slope = 2 * (whole - half)
    share = min(1.5, max(LEAST_SHARE, (wanted - (whole - slope)) / slope)) if slope > 0 else 1.0
    chart = chart_at(share)
    return PaperFigure(chart, inches * POINTS_PER_INCH / width_of(chart), inches)


def width_of(chart: ChartType) -> float:
    """How many pixels a chart takes across, with all that stands around it."""
    found = WIDTH.search(to_svg(chart.to_json()))
    return 1.0 if found is None else float(found[1])
