"""The page from top to bottom, run by Streamlit at every move of a slider: one model, several models, downloads."""

import io
import logging
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import streamlit as st
from altair.typing import ChartType

from gfscore import views
from gfscore.dashboard import controls
from gfscore.dashboard.numbers import (
    Settings,
    Subject,
    audit_at,
    compare_at,
    file_subjects,
    kind_of,
    result_of,
    tell_apart,
    zoo_subjects,
)
from gfscore.dashboard.one_model import ends_of, show_chart, show_model, show_or_explain
from gfscore.errors import GFScoreError
from gfscore.inputs.data import load_data
from gfscore.jobs.audit import verdicts
from gfscore.jobs.plan import audit_radii
from gfscore.outputs import report, robust_words, sentences
from gfscore.outputs.escaping import plain_text, shorten
from gfscore.outputs.figures import (
    FIGURES,
    SUFFIXES,
    class_heatmap,
    disparity_bars,
    draw_all,
    figure_bytes,
    noise_floor,
    reranking,
    robust_models,
    robustness_disparity,
    side_by_side,
)
from gfscore.results import Audit, ModelAudit

COMPARED = 8  # models at first
COMPARING: tuple[Callable[[Audit], ChartType], ...] = (
    disparity_bars,
    robustness_disparity,
    reranking,
    noise_floor,
    class_heatmap,
)
# a picture that is wider than its column, as on a phone, is moved within its own frame instead of being cut
SCROLLING = """<style>
[data-testid="stVegaLiteChart"] { max-width: 100%; overflow-x: auto; }
[data-testid="stVegaLiteChart"]::-webkit-scrollbar { height: 8px; }
[data-testid="stVegaLiteChart"]::-webkit-scrollbar-thumb { background: #8a8a8a; border-radius: 4px; }
</style>"""
PREPARED = "prepared"  # key of the session


def show(paths: Sequence[str] = (), data: str | None = None) -> None:
    """The whole page: the zoo when no paths are given; ``data`` names the images behind logits files."""
    st.set_page_config(page_title="gfscore", layout="wide")
    st.html(SCROLLING)
    with _errors_as_sentences():
        st.title("Which classes are left unprotected?")
        sliders, files = st.sidebar.container(), st.sidebar.container()
        opened, uploaded = _open(tuple(paths), data), controls.uploads(files)
        named = tell_apart([*opened, *uploaded])
        subjects = [*reversed(named[len(opened) :]), *named[: len(opened)]]  # the newest upload first
        if not subjects:
            st.info("Nothing is open. Upload a logits file, or start gfscore dashboard with the path of an audit.")
            return
        subjects = controls.choose_score(sliders, subjects)
        _show_tabs({subject.key: subject for subject in subjects}, controls.settings(sliders, subjects))


def _show_tabs(subjects: dict[str, Subject], settings: Settings) -> None:
    keys = list(subjects)
    if st.session_state.get(controls.MODEL) not in keys:
        st.session_state[controls.MODEL] = keys[0]
    one, several, take = st.tabs(["One model", "Compare models", "Download"], key="tab", on_change="rerun")
    if one.open:
        with one:
            key = st.selectbox("Model", keys, key=controls.MODEL, format_func=lambda key: shorten(subjects[key].name))
            show_model(subjects[key], *audit_at(subjects[key], settings), settings)
    if several.open:
        with several:
            models = _choose(subjects, settings, "compared")
            if models:
                _show_comparison(models, settings)
            if len(subjects) > 1:
                _show_change(subjects, settings)
    if take.open:
        with take:
            models = _choose(subjects, settings, "taken")
            if models:
                _show_downloads(models)


def _choose(subjects: dict[str, Subject], settings: Settings, box: str) -> list[ModelAudit]:
    """Audits of the models that are chosen in a box: none where they do not belong side by side."""
    kinds = {key: kind_of(subject.score) for key, subject in subjects.items()}
    keys = list(subjects)
    alike = [key for key in keys if kinds[key] == kinds[keys[0]]]
    wanted = st.multiselect(
        "Models", keys, alike[:COMPARED], key=box, format_func=lambda key: shorten(subjects[key].name)
    )
    if not wanted:
        st.info("Choose at least one model.")
        return []
    several = sorted({kinds[key] for key in wanted})
    if len(several) > 1:
        kinds_text = "; ".join(several)
        st.info(plain_text(f"Different scores are not comparable ({kinds_text}). Choose models that have the same."))
        return []
    found = [audit_at(subjects[key], settings) for key in wanted]
    for note in dict.fromkeys(note for _, notes in found for note in notes):
        st.info(plain_text(note))
    return [model for model, _ in found]


def _show_comparison(models: Sequence[ModelAudit], settings: Settings) -> None:
    """A table of all metrics with their intervals, and the pictures that compare; the models have one kind of score."""
    score, keys = models[0].score, views.metric_keys(*models, main=True)
    threshold, robust = settings.threshold(models[0]), any(model.robustness for model in models)
    headings = (robust_words.models_title(models), f"worst {models[0].partition}")
    rows = [
        {
            "model": shorten(model.name),
            **({} if threshold is None else {"verdict": str(verdicts(model, threshold)[0])}),
            "accuracy": model.accuracy,
            **(dict(zip(headings, robust_words.headline_cells(model, named=shorten), strict=True)) if robust else {}),
            **{views.metric_title(key, score, column=True): views.metric_text(model, key) for key in keys},
            "worst": shorten(model.wcr.class_),
        }
        for model in models
    ]
    st.dataframe(rows, hide_index=True, column_config={"accuracy": st.column_config.NumberColumn(format="percent")})
    for note in sentences.no_order(models):
        st.caption(note)
    audit = result_of(models)
    if robust:
        show_or_explain(robust_models, audit)
    show_chart(side_by_side(models, threshold), stretch=True)
    for draw in COMPARING:
        show_or_explain(draw, audit)


def _show_change(subjects: dict[str, Subject], settings: Settings) -> None:
    """Two boxes to choose from, and what changes between the two: on the same samples where both have them."""
    st.markdown("**What changes from one model to another**")
    keys = list(subjects)
    old, new = (
        column.selectbox(label, keys, index, key=key, format_func=lambda key: shorten(subjects[key].name))
        for index, (column, label, key) in enumerate(zip(st.columns(2), ("From", "To"), ("from", "to"), strict=True))
    )
    if old == new:
        st.caption("Choose two models.")
        return
    try:
        found = compare_at(subjects[old], subjects[new], settings)
    except GFScoreError as error:  # other classes, or no intervals
        st.info(plain_text(str(error)))
        return
    for text in (found.reason, found.hidden, *(flag.message for flag in found.flags)):
        if text:
            st.text(shorten(text, 1000))
    digits = views.digits_of(subjects[old].score)
    rows = [
        {
            found.partition: shorten(entry.name),
            "from": entry.old,
            "to": entry.new,
            "change": entry.change.value,
            **ends_of(entry.change.interval, digits),
            "verdict": entry.verdict,
        }
        for entry in found.classes
    ]
    shown = st.column_config.NumberColumn(format=f"%.{digits}f")
    columns = dict.fromkeys(("from", "to", "change", "lower", "upper"), shown)
    st.dataframe(rows, hide_index=True, column_config=columns)


def _show_downloads(models: Sequence[ModelAudit]) -> None:
    """Files are made when asked for, and kept in the session: a button that made its own would lose it in a rerun."""
    suffix = st.selectbox("Format of the figures", SUFFIXES, index=SUFFIXES.index(".svg"))
    wanted = (models, suffix)
    if st.button("Prepare the files"):
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
        st.caption("Report, figures and result are made for the chosen models, at the settings of the sliders.")
        return
    for label, (name, kind, content) in files.items():
        st.download_button(label, content, name, kind, on_click="ignore")


def zip_figures(audit: Audit, suffix: str) -> bytes:
    """A ZIP archive of every figure that the result holds the numbers for."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for drawn in draw_all(FIGURES, audit, radii=audit_radii(audit)):
            if drawn.chart is not None:
                archive.writestr(f"{drawn.stem}{suffix}", figure_bytes(drawn.chart, suffix))
    return buffer.getvalue()


def _open(paths: tuple[str, ...], data: str | None) -> list[Subject]:
    """What the command named, or the zoo; read once for all who look."""
    if not paths:
        return _zoo()
    subjects, broken = _files(paths, data)
    for sentence in broken:
        st.error(plain_text(sentence))
    return subjects


@st.cache_resource(show_spinner=False)
def _files(paths: tuple[str, ...], data: str | None) -> tuple[list[Subject], list[str]]:
    return file_subjects(paths, None if data is None else load_data(data))


@st.cache_resource(show_spinner=False)
def _zoo() -> list[Subject]:
    bar = st.progress(0.0, "Running the embedded zoo")
    subjects = zoo_subjects(lambda done, name: bar.progress(done, f"Running the embedded zoo: {name}"))
    bar.empty()
    return subjects


@contextmanager
def _errors_as_sentences() -> Iterator[None]:
    """An error is a sentence on the page; a traceback goes to the log, and only of what should not happen."""
    try:
        yield
    except GFScoreError as error:
        st.error(plain_text(str(error)))
    except Exception as error:
        if os.environ.get("GFSCORE_DEBUG"):
            raise
        logging.getLogger("gfscore").exception("the dashboard failed inside")
        st.error(plain_text(f"failed inside ({type(error).__name__}: {error}). The log has the traceback: report it."))
