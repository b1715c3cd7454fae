"""What can be taken away: report, figures and result, for the models and settings on the page."""

import io
import zipfile
from collections.abc import Sequence

import streamlit as st

from gfscore.dashboard.charts import small
from gfscore.dashboard.numbers import result_of
from gfscore.jobs.plan import audit_radii
from gfscore.outputs import report
from gfscore.outputs.figures import FIGURES, SUFFIXES, draw_all, figure_bytes
from gfscore.results import Audit, ModelAudit

PREPARED, ASKED = "prepared", "asked"  # keys of the session


def show_downloads(models: Sequence[ModelAudit]) -> None:
    """Files are made when asked for, and kept in the session: a button that made its own would lose it in a rerun."""
    suffix = st.selectbox("Format of the figures", SUFFIXES, index=SUFFIXES.index(".svg"))
    wanted = (models, suffix)
    st.button("Prepare the files", on_click=_ask)  # remembered: the page may run again before it comes to this
    if st.session_state.pop(ASKED, False):
        with st.spinner("Writing the report and drawing the figures"):
            audit = result_of(models)
            files = {
                "Report (HTML)": ("gfscore-report.html", "text/html", report.html(audit).encode()),
                "Figures (ZIP)": ("gfscore-figures.zip", "application/zip", zip_figures(audit, suffix)),
                "Result (JSON)": ("audit.json", "application/json", audit.to_json().encode()),
            }
            st.session_state[PREPARED] = (wanted, files)
    made_for, files = st.session_state.get(PREPARED, (None, {}))
    if made_for != wanted:  # the sliders or the models have changed since
        small("Report, figures and result are made for the chosen models, at the settings of the sliders.")
        return
    for label, (name, kind, content) in files.items():
        st.download_button(label, content, name, kind, on_click="ignore")


def _ask() -> None:
    st.session_state[ASKED] = True


def zip_figures(audit: Audit, suffix: str) -> bytes:
    """A ZIP archive of every figure that the result holds the numbers for."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for drawn in draw_all(FIGURES, audit, radii=audit_radii(audit)):
            if drawn.chart is not None:
                archive.writestr(f"{drawn.stem}{suffix}", figure_bytes(drawn.chart, suffix))
    return buffer.getvalue()
