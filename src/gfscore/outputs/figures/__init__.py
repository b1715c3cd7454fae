"""Pictures of a result. Each function takes a result and returns an Altair chart, for whoever wants to change it.

They compute no mathematics: every number is in the result. Loading this package loads Altair, which takes a while, so
nothing else imports it at the top of a module.
"""

from collections.abc import Callable
from dataclasses import dataclass

from altair.typing import ChartType

from gfscore.outputs.figures.concentration import rdi_concentration
from gfscore.outputs.figures.disparity import disparity_bars, noise_floor
from gfscore.outputs.figures.every import draw_all
from gfscore.outputs.figures.forest import forest
from gfscore.outputs.figures.heatmap import class_heatmap
from gfscore.outputs.figures.inequality import lorenz
from gfscore.outputs.figures.radar import radar
from gfscore.outputs.figures.ranking import reranking, robustness_disparity
from gfscore.outputs.figures.saving import SUFFIXES, figure_bytes, html_page, javascript, save
from gfscore.outputs.figures.temperature import calibration_curve, temperature_curves
from gfscore.outputs.figures.threshold import class_picker, side_by_side
from gfscore.outputs.figures.vulnerability import class_vulnerability

__all__ = [
    "FIGURES",
    "SUFFIXES",
    "Figure",
    "calibration_curve",
    "class_heatmap",
    "class_picker",
    "class_vulnerability",
    "disparity_bars",
    "draw_all",
    "figure_bytes",
    "forest",
    "html_page",
    "javascript",
    "lorenz",
    "noise_floor",
    "radar",
    "rdi_concentration",
    "reranking",
    "robustness_disparity",
    "save",
    "side_by_side",
    "temperature_curves",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure that can be asked for by name."""

    draw: Callable[..., ChartType]
    shows: str  # in one line
    suits: str  # which results it can be drawn from
    per_model: bool = False  # one picture for each model, not one for all
    takes: str | None = None  # a number it cannot take from the result: an argument of this name


FIGURES: dict[str, Figure] = {
    "forest": Figure(
        draw=forest,
        shows="classes of a model with their intervals, sorted",
        suits="results with intervals",
        per_model=True,
    ),
    "heatmap": Figure(
        draw=class_heatmap, shows="every class score of every model; of many classes, the ends by name", suits="all"
    ),
    "disparity": Figure(draw=disparity_bars, shows="score, WCR, RDI, NRGC and FP-GREAT of each model", suits="all"),
    "robustness-rdi": Figure(
        draw=robustness_disparity, shows="score of each model against its RDI", suits="two or more models"
    ),
    "reranking": Figure(
        draw=reranking, shows="places by score, and by FP-GREAT, as a bump chart", suits="two or more models"
    ),
    "lorenz": Figure(
        draw=lorenz,
        shows="share of the sum of the scores that the lowest classes hold",
        suits="scores that are not all 0",
    ),
    "noise": Figure(
        draw=noise_floor, shows="RDI and NRGC beside what chance alone would give", suits="results with a noise floor"
    ),
    "vulnerability": Figure(
        draw=class_vulnerability, shows="how often each class is the worst or the best", suits="two or more models"
    ),
    "radar": Figure(draw=radar, shows="class profiles of a few models as polygons", suits="three or more classes"),
    "concentration": Figure(
        draw=rdi_concentration,
        shows="how the bound of the RDI shrinks with the number of samples",
        suits="results with intervals",
        takes="radii",
    ),
    "calibration": Figure(
        draw=calibration_curve, shows="the calibration's objective by temperature", suits="calibrated results"
    ),
    "temperature": Figure(
        draw=temperature_curves,
        shows="class scores by temperature, with the plateau shaded",
        suits="results with curves over the temperature",
        per_model=True,
        takes="calibration",
    ),
}
