"""A chart as a file: PNG, SVG, PDF, or a page that works offline; all from the same definition."""

from functools import cache
from html import escape
from pathlib import Path

import altair as alt
import vl_convert
from altair.typing import ChartType

from gfscore.errors import OptionError
from gfscore.outputs.escaping import script_json
from gfscore.storage import atomic_file

SUFFIXES = (".png", ".svg", ".pdf", ".html")
POINTS_PER_INCH = 72
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
# The browser itself refuses every request: all that the page needs is in it. Vega compiles its expressions, hence eval.
POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
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


def save(chart: ChartType, path: str | Path, *, scale: float = 2) -> None:
    """Write a chart, whole or not at all; the ending of ``path`` says how.

    ``scale`` is the number of pixels of a PNG for each point of the figure. A PDF and an SVG have no pixels.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise OptionError(f"a figure cannot be written as {path.name!r}. End its name in {', '.join(SUFFIXES)}.")
    content = figure_bytes(chart, path.suffix.lower(), scale=scale)
    with atomic_file(path) as temporary:
        temporary.write_bytes(content)


def figure_bytes(chart: ChartType, suffix: str, *, scale: float = 2) -> bytes:
    """What :func:`save` writes, for whoever has no file."""
    if suffix == ".html":
        return html_page(chart).encode()
    spec = chart.to_json()
    if suffix == ".svg":
        return str(vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)).encode()
    if suffix == ".pdf":
        return bytes(vl_convert.vegalite_to_pdf(spec, vl_version=VEGA_LITE))
    ppi = POINTS_PER_INCH
    return bytes(vl_convert.vegalite_to_png(spec, vl_version=VEGA_LITE, scale=scale, ppi=ppi))


def html_page(chart: ChartType) -> str:
    """A page that shows the chart with its tooltips, named by its description, and asks no other host for anything."""
    spec = chart.to_dict()
    title = escape(spec.get("description", "gfscore"))
    return PAGE.format(policy=POLICY, title=title, library=javascript(), chart=script_json(spec))


@cache
def javascript() -> str:
    """Vega, Vega-Lite and Vega-Embed in one piece, for pages that show charts: it defines ``vegaEmbed``."""
    return str(vl_convert.javascript_bundle(vl_version=VEGA_LITE))  # type: ignore[call-arg]  # its stub has no default
