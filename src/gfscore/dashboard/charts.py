"""Charts on the page: as wide as their column, in the colours of the page's theme, with their titles as text."""

from collections.abc import Callable
from typing import Any

import pandas  # noqa: F401 (Altair looks at it from one thread while Streamlit may be loading it in another)
import streamlit as st
from altair.typing import ChartType

from gfscore.errors import ResultError
from gfscore.outputs.escaping import plain_text

STRETCHED = {"type": "fit-x", "contains": "padding"}  # as wide as its column; rows keep their height
NATURAL = {"type": "pad"}
CLEAR = "rgba(0,0,0,0)"
# What the figures draw on white, and what is as easy to tell apart on the dark page.
DARK = {
    "white": "#191919",
    "#222222": "#ECECEC",
    "#767676": "#A8A8A8",
    "#dddddd": "#4A4A4A",
    "#ececec": "#3A3A3A",
    "#f3f3f3": "#262626",
    "#0072b2": "#3C93DC",
    "#56b4e9": "#8FD0FF",  # lighter than on white, or it would be the blue above
    "#d55e00": "#F58A4A",
    "#009e73": "#2CC79C",
    "#cc79a7": "#E29BC4",
    "#8c510a": "#C69260",
}
COLORED = frozenset(("color", "fill", "stroke", "background", "range", "value"))
DATA = frozenset(("data", "datasets", "values", "domain"))  # may hold names that look like colours


def is_dark() -> bool:
    """Whether the page is shown in the dark theme, as far as the browser has said."""
    return bool(st.context.theme.type == "dark")


def darken(spec: Any) -> Any:
    """A chart's specification in the colours of the dark theme; data and names stay as they are.

    >>> darken({"mark": {"color": "#222222"}, "data": {"values": [{"name": "white"}]}})
    {'mark': {'color': '#ECECEC'}, 'data': {'values': [{'name': 'white'}]}}
    """
    if isinstance(spec, list):
        return [darken(each) for each in spec]
    if not isinstance(spec, dict):
        return spec
    return {
        key: each if key in DATA else _recolour(each) if key in COLORED or key.endswith("Color") else darken(each)
        for key, each in spec.items()
    }


def _recolour(found: Any) -> Any:
    if isinstance(found, str):
        return DARK.get(found.lower(), found)
    if isinstance(found, list):
        return [_recolour(each) for each in found]
    return darken(found)


def show_chart(chart: ChartType, *, stretch: bool = False, **options: Any) -> None:
    """Show a chart in the size it was drawn in, or as wide as its column; ``on_select`` is called after a click.

    Its title and notes are text of the page: they wrap where the page is narrow, and have its colours.
    """
    spec: dict[str, Any] = chart.to_dict(validate=False)  # it was validated as it was made
    title = spec.pop("title", {})
    st.markdown(f"**{plain_text(_joined(title.get('text', '')))}**")
    if title.get("subtitle"):
        small(_joined(title["subtitle"]))
    spec["background"] = CLEAR
    spec["autosize"] = STRETCHED if stretch else NATURAL
    spec["padding"] = {"left": 2, "right": 8, "top": 4, "bottom": 2}
    if is_dark():
        spec = darken(spec)
    options["width"] = "stretch" if stretch else "content"
    st.vega_lite_chart(None, spec, theme=None, **options)


def small(text: str) -> None:
    """A remark in small letters."""
    st.markdown(f":small[{plain_text(text)}]")


def show_or_explain(draw: Callable[..., ChartType], *given: Any, **options: Any) -> None:
    """Show a picture, or say why the result has no numbers for it."""
    try:
        show_chart(draw(*given), **options)
    except ResultError as error:
        small(str(error))


def _joined(lines: Any) -> str:
    return lines if isinstance(lines, str) else " ".join(lines)
