"""Pictures of a result. Each function takes a result and returns an Altair chart, for whoever wants to change it.

They compute no mathematics: every number is in the result. Loading this package loads Altair, which takes a while, so
nothing else imports it at the top of a module.
"""

import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from altair.typing import ChartType

from gfscore.errors import OptionError, ResultError
from gfscore.outputs.escaping import script_json
from gfscore.outputs.figures.attack_agreement import attack_agreement
from gfscore.outputs.figures.by_temperature import calibration_curve, temperature_curves
from gfscore.outputs.figures.class_grids import class_heatmap
from gfscore.outputs.figures.class_polygons import radar
from gfscore.outputs.figures.class_rows import PICKED, class_picker, forest, side_by_side
from gfscore.outputs.figures.conversion import javascript, to_pdf, to_png, to_svg
from gfscore.outputs.figures.disparity import Radii, disparity_bars, lorenz, noise_floor, rdi_concentration
from gfscore.outputs.figures.model_ranks import class_vulnerability, place_labels, reranking, robustness_disparity
from gfscore.outputs.figures.paper_figures import for_paper, with_short_names
from gfscore.outputs.figures.rank_lines import rank_lines
from gfscore.outputs.figures.repair_figures import repair_arrows, repair_frontier, training_curves
from gfscore.outputs.figures.robust_curves import robust_curves, robust_models
from gfscore.results import Audit, Leaderboard, ModelAudit, Repair
from gfscore.storage import atomic_file

__all__ = [
    "ALL_FIGURES",
    "FIGURES",
    "PICKED",
    "SUFFIXES",
    "Drawn",
    "Figure",
    "attack_agreement",
    "calibration_curve",
    "class_heatmap",
    "class_picker",
    "class_vulnerability",
    "disparity_bars",
    "draw_all",
    "figure_bytes",
    "figures_of",
    "for_paper",
    "forest",
    "html_page",
    "javascript",
    "lorenz",
    "noise_floor",
    "place_labels",
    "radar",
    "rank_lines",
    "rdi_concentration",
    "repair_arrows",
    "repair_frontier",
    "reranking",
    "robust_curves",
    "robust_models",
    "robustness_disparity",
    "save",
    "side_by_side",
    "temperature_curves",
    "training_curves",
]

SUFFIXES = (".png", ".svg", ".pdf", ".html")
# The browser itself refuses every request: all that the page needs is in it. Vega compiles its expressions, hence eval.
POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="generator" content="gfscore">
<title>{title}</title>
</head>
<body>
<div id="chart"></div>
<script>{library}</script>
<script>
vegaEmbed("#chart", {chart}, {{actions: {{export: true, source: false, compiled: false, editor: false}}}});
</script>
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that can be asked for by name."""

    draw: Callable[..., ChartType]
    shows: str  # in one line
    per_model: bool = False  # one picture for each model, not one for all
    takes: str | None = None  # a number it cannot take from the result: an argument of this name


FIGURES: dict[str, Figure] = {
    "robustness": Figure(robust_curves, "robust accuracy of each class over eps, the worst marked", per_model=True),
    "robustness-models": Figure(robust_models, "robust accuracy of several models over eps, and of their worst class"),
    "forest": Figure(forest, "classes of a model with their intervals, sorted", per_model=True),
    "heatmap": Figure(class_heatmap, "every class score of every model; of many classes, the ends by name"),
    "disparity": Figure(disparity_bars, "score, WCR, RDI, NRGC and FP-GREAT of each model"),
    "robustness-rdi": Figure(robustness_disparity, "score of each model against its RDI"),
    "reranking": Figure(reranking, "places by score, and by FP-GREAT, as a bump chart"),
    "lorenz": Figure(lorenz, "share of the sum of the scores that the lowest classes hold"),
    "noise": Figure(noise_floor, "RDI and NRGC beside what chance alone would give"),
    "vulnerability": Figure(class_vulnerability, "how often each class is the worst or the best"),
    "radar": Figure(radar, "class profiles of a few models as polygons"),
    "concentration": Figure(
        rdi_concentration, "how the bound of the RDI shrinks with the number of samples", takes="radii"
    ),
    "attacked": Figure(attack_agreement, "what radii predict for each class, and what an attack left", per_model=True),
    "calibration": Figure(calibration_curve, "the calibration's objective by temperature"),
    "temperature": Figure(
        temperature_curves, "class scores by temperature, with the plateau shaded", per_model=True, takes="calibration"
    ),
}
REPAIR_FIGURES: dict[str, Figure] = {
    "arrows": Figure(repair_arrows, "every class before and after a repair"),
    "frontier": Figure(repair_frontier, "the worst class against the mean: what a bias could buy"),
    "training": Figure(training_curves, "robust accuracy of each class after every epoch of a repair"),
}
RANK_FIGURES: dict[str, Figure] = {"ranks": Figure(rank_lines, "the ranks that each model of a leaderboard may have")}
ALL_FIGURES = FIGURES | REPAIR_FIGURES | RANK_FIGURES


def figures_of(result: Audit | Repair | Leaderboard) -> dict[str, Figure]:
    """The figures that can be asked of a result of this kind."""
    match result:
        case Repair():
            return REPAIR_FIGURES
        case Leaderboard():
            return RANK_FIGURES
        case _:
            return FIGURES


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A figure of a result, or why it cannot be drawn from it."""

    name: str  # of the figure
    stem: str  # of its file
    shows: str
    chart: ChartType | None
    reason: str | None = None
    scale: float = 1.0  # points of a PDF or an SVG for each pixel


def draw_all(
    figures: Mapping[str, Figure],
    result: Audit | Repair | Leaderboard,
    *,
    radii: Radii | None = None,
    inches: float | None = None,
    font: str | None = None,
) -> Iterator[Drawn]:
    """Draw each of ``figures`` that the result holds the numbers for; ``radii`` are the one set an audit does not hold.

    With ``inches`` they are drawn for a paper: bare, and so wide.
    """
    numbers: dict[str | None, Any] = {"radii": radii}
    if isinstance(result, Audit):
        numbers["calibration"] = result.calibration
    for name, figure in figures.items():
        given = {} if figure.takes is None else {figure.takes: numbers[figure.takes]}
        for stem, subject in _subjects(name, figure, result):
            chart, reason, scale = None, None, 1.0
            try:
                if inches is None:
                    chart = figure.draw(subject, **given)
                else:
                    short = (
                        with_short_names(subject, inches, font) if isinstance(subject, Audit | ModelAudit) else subject
                    )
                    drawn = partial(figure.draw, short, **given)
                    chart, scale, _ = for_paper(drawn, inches=inches, font=font)
            except ResultError as error:
                reason = str(error)
            yield Drawn(name=name, stem=stem, shows=figure.shows, chart=chart, reason=reason, scale=scale)


def _subjects(
    name: str, figure: Figure, result: Audit | Repair | Leaderboard
) -> Iterator[tuple[str, Audit | ModelAudit | Repair | Leaderboard]]:
    """What a figure is drawn from, and the stem of its file: the result, or each model of an audit."""
    if not figure.per_model or not isinstance(result, Audit):
        yield name, result
        return
    taken: set[str] = set()
    for model in result.models:
        stem = name if len(result.models) == 1 else f"{name}-{_file_name(model.name)}"
        while stem.casefold() in taken:
            stem += "-2"
        taken.add(stem.casefold())
        yield stem, model


def _file_name(name: str) -> str:
    """A model's name without what a file's name cannot hold."""
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.")[:80] or "model"


def save(chart: ChartType, path: str | Path, *, scale: float = 2, size: float = 1) -> None:
    """Write a chart, whole or not at all; the ending of ``path`` says how.

    ``scale`` is the number of pixels of a PNG for each point of the figure. A PDF and an SVG have no pixels: they are
    ``size`` times as large.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise OptionError(f"a figure cannot be written as {path.name!r}. End its name in {', '.join(SUFFIXES)}.")
    content = _marked(figure_bytes(chart, path.suffix.lower(), scale=scale, size=size), path.suffix.lower())
    with atomic_file(path) as temporary:
        temporary.write_bytes(content)


def _marked(content: bytes, suffix: str) -> bytes:
    """A figure that says where it is looked for, and no reader shows it, that gfscore wrote it."""
    match suffix:
        case ".png":  # a text of its own, behind the header, which takes 33 bytes
            text = b"tEXtSoftware\0gfscore"
            chunk = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
            return content[:33] + chunk + content[33:]
        case ".svg":
            return content + b"<!-- gfscore figure -->\n"
        case ".pdf":
            return content + b"% gfscore figure\n"
        case _:
            return content


def figure_bytes(chart: ChartType, suffix: str, *, scale: float = 2, size: float = 1) -> bytes:
    """What :func:`save` writes, for whoever has no file."""
    if suffix == ".html":
        return html_page(chart).encode()
    spec = chart.to_json()
    if suffix == ".svg":
        return _sized(to_svg(spec), size).encode()
    return to_pdf(spec, size=size) if suffix == ".pdf" else to_png(spec, scale=scale, size=size)


def _sized(svg: str, size: float) -> str:
    """The picture so many times as large: its coordinates stay, and it says how many points it takes."""
    if size == 1:
        return svg
    head, tag, rest = svg.partition(">")
    scaled = re.sub(r' (width|height)="([0-9.]+)"', lambda m: f' {m[1]}="{float(m[2]) * size:.4g}pt"', head)
    return scaled + tag + rest


def html_page(chart: ChartType) -> str:
    """A page that shows the chart with its tooltips, named by its description, and asks no other host for anything."""
    spec = chart.to_dict()
    title = escape(spec.get("description", "gfscore"))
    return PAGE.format(policy=POLICY, title=title, library=javascript(), chart=script_json(spec))
