"""What can be taken away: the report, the figures and the result itself, at the settings of the sliders."""

import io
import zipfile
from collections.abc import Sequence

import streamlit as st

from gfscore import auditing
from gfscore.dashboard.numbers import audit_of
from gfscore.outputs import report
from gfscore.outputs.figures import FIGURES, SUFFIXES, draw_all, figure_bytes
from gfscore.results import Audit, ModelAudit


def show_downloads(models: Sequence[ModelAudit]) -> None:
    """Three buttons. Each file is made when its button is clicked, so none is lost when the page is run again."""
    if not models:
        st.info("Choose at least one model.")
        return
    audit = audit_of(models)
    st.text(f"{len(models)} model(s), at the settings of the sliders.")
    suffix = st.selectbox("Format of the figures", SUFFIXES, index=SUFFIXES.index(".svg"))
    st.download_button(
        "Report (HTML)",
        lambda: report.html(audit),
        "gfscore-report.html",
        "text/html",
        on_click="ignore",
    )
    st.download_button(
        "Figures (ZIP)", lambda: figures(audit, suffix), "gfscore-figures.zip", "application/zip", on_click="ignore"
    )
    st.download_button("Result (JSON)", audit.to_json, "audit.json", "application/json", on_click="ignore")


def figures(audit: Audit, suffix: str) -> bytes:
    """A ZIP archive of every figure that the result holds the numbers for."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for drawn in draw_all(FIGURES, audit, radii=auditing.audit_radii(audit)):
            if drawn.chart is not None:
                archive.writestr(f"{drawn.stem}{suffix}", figure_bytes(drawn.chart, suffix))
    return buffer.getvalue()
