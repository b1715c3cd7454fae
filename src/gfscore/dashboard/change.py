"""From one model to another, class by class: on the same samples where both have them."""

import streamlit as st

from gfscore import views
from gfscore.dashboard.numbers import Settings, compared
from gfscore.dashboard.subjects import Subject
from gfscore.dashboard.text import plain
from gfscore.errors import GFScoreError
from gfscore.outputs.escaping import shorten
from gfscore.results import Comparison


def show_change(subjects: dict[str, Subject], settings: Settings) -> None:
    """Two boxes to choose from, and what changes between the two."""
    st.markdown("**What changes from one model to another**")
    left, right = st.columns(2)
    keys = list(subjects)
    old = left.selectbox("From", keys, index=0, key="from", format_func=lambda key: shorten(subjects[key].name))
    new = right.selectbox("To", keys, index=1, key="to", format_func=lambda key: shorten(subjects[key].name))
    if old == new:
        st.caption("Choose two models.")
        return
    try:
        found = compared(subjects[old], subjects[new], settings)
    except GFScoreError as error:  # other classes, or no intervals
        st.info(plain(str(error)))
        return
    for text in (found.reason, found.hidden, *(flag.message for flag in found.flags)):
        if text:
            st.text(shorten(text, 1000))
    _show_table(found, views.digits_of(subjects[old].score))


def _show_table(found: Comparison, digits: int) -> None:
    rows = [
        {
            found.partition: shorten(entry.name),
            "from": entry.old,
            "to": entry.new,
            "change": entry.change.value,
            "lower": None if entry.change.interval is None else views.floored(entry.change.interval[0], digits),
            "upper": None if entry.change.interval is None else views.ceiled(entry.change.interval[1], digits),
            "verdict": entry.verdict,
        }
        for entry in found.classes
    ]
    shown = st.column_config.NumberColumn(format=f"%.{digits}f")
    columns = dict.fromkeys(("from", "to", "change", "lower", "upper"), shown)
    st.dataframe(rows, hide_index=True, column_config=columns)
