"""A chart as bytes: the one door to vl-convert, which draws with the engine of a browser (V8) inside this process.

That engine reserves tens of gigabytes of addresses, not of memory, and ends the whole process where it may not have
them. So the limit on addresses is looked at first.
"""

from functools import cache
from types import ModuleType

import altair as alt
import vl_convert

from gfscore.errors import RunError

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
POINTS_PER_INCH = 72
ADDRESSES = 80 * 1024**3  # bytes that are seen to be enough; 60 GB are not


def to_svg(spec: str) -> str:
    """The picture as SVG."""
    return str(_converter().vegalite_to_svg(spec, vl_version=VEGA_LITE))


def to_pdf(spec: str, *, size: float) -> bytes:
    """The picture as a page of its own size, ``size`` times."""
    return bytes(_converter().vegalite_to_pdf(spec, vl_version=VEGA_LITE, scale=size))


def to_png(spec: str, *, scale: float, size: float) -> bytes:
    """The picture in pixels: ``scale`` of them a point, ``size`` times as large."""
    return bytes(_converter().vegalite_to_png(spec, vl_version=VEGA_LITE, scale=scale * size, ppi=POINTS_PER_INCH))


@cache
def javascript() -> str:
    """Vega, Vega-Lite and Vega-Embed in one piece, for pages that show charts: it defines ``vegaEmbed``."""
    return str(_converter().javascript_bundle(vl_version=VEGA_LITE))


def _converter() -> ModuleType:
    """vl-convert, where its engine can start."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return vl_convert
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < ADDRESSES:
        raise RunError(
            f"charts cannot be drawn: the engine that draws reserves some {ADDRESSES / 1e9:.0f} GB of addresses, and "
            f"this process may have {limit / 1e9:.3g} (ulimit -v). Raise that limit; memory is limited by other means."
        )
    return vl_convert
