"""Charts on the page."""

from collections.abc import Callable
from typing import Any

import pandas  # noqa: F401 (Altair looks at it from one thread while Streamlit may be loading it in another)
import streamlit as st
from altair.typing import ChartType

STRETCHED = {"type": "fit-x", "contains": "padding"}  # as wide as its column; rows keep their height
NATURAL = {"type": "pad"}


def show_chart(
    chart: ChartType, *, stretch: bool = False, key: str | None = None, on_select: Callable[[], None] | None = None
) -> None:
    """Show a chart in the size it was drawn in, or as wide as its column; ``on_select`` is called after a click."""
    spec: dict[str, Any] = chart.to_dict(validate=False)  # it was validated as it was made
    spec["autosize"] = STRETCHED if stretch else NATURAL
    width: Any = "stretch" if stretch else "content"
    if on_select is None:
        st.vega_lite_chart(None, spec, theme=None, width=width, key=key)
    else:
        st.vega_lite_chart(None, spec, theme=None, width=width, key=key, on_select=on_select)
