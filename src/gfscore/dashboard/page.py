"""The page from top to bottom, run by Streamlit at every move of a slider: one model, several, a repair, downloads."""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from gfscore.dashboard import controls
from gfscore.dashboard.compare_tab import choose_models, show_change, show_comparison
from gfscore.dashboard.downloads import show_downloads
from gfscore.dashboard.numbers import Settings, audit_at
from gfscore.dashboard.one_model import show_model
from gfscore.dashboard.repair_tab import forget_repairs, show_repair_tab
from gfscore.dashboard.subjects import Stamp, Subject, file_subjects, names_of, stamps_of, tell_apart, zoo_subjects
from gfscore.dashboard.uploads import MODEL, uploads
from gfscore.dashboard.zoo_radii import ZooRadii
from gfscore.errors import GFScoreError
from gfscore.inputs.data import load_data
from gfscore.outputs.escaping import plain_text

LOOKS = 5  # seconds between two looks at the files that are open
# A picture that is wider than its column, as on a phone, is moved within its own frame instead of being cut; the legend
# stays in sight above the pictures it is about.
STYLE = """<style>
[data-testid="stVegaLiteChart"] { max-width: 100%; overflow-x: auto; }
[data-testid="stVegaLiteChart"]::-webkit-scrollbar { height: 8px; }
[data-testid="stVegaLiteChart"]::-webkit-scrollbar-thumb { background: #8a8a8a; border-radius: 4px; }
[data-testid="stMainBlockContainer"] { padding-top: 3.5rem; }
[data-testid="stHeading"] h1 { font-size: clamp(1.4rem, 4vw, 2.2rem); padding-block: 0.25rem; }
[data-testid="stElementContainer"]:has(.gfscore-legend) { position: sticky; top: 3.2rem; z-index: 5; }
.gfscore-legend { display: flex; flex-wrap: wrap; gap: 0.2rem 1.1rem; padding: 0.4rem 0.2rem; background: Canvas;
  max-height: 30vh; overflow-y: auto;
  color: CanvasText; font-size: 0.9rem; }
.gfscore-line { display: inline-block; width: 1.6rem; vertical-align: middle; margin-right: -1.25rem; }
.gfscore-line + span { display: inline-block; width: 1.3rem; }
[data-testid="stMetricLabel"] * { white-space: normal !important; }
@media (prefers-color-scheme: dark) {
  :is([data-tag], [data-baseweb="tag"], [data-testid="stBaseButton-primary"]) * { color: #111 !important; }
}
@media (max-width: 640px) { [data-testid="stMainBlockContainer"] { padding-inline: 1rem; } }
</style>"""


def show(paths: Sequence[str] = (), data: str | None = None) -> None:
    """The whole page: the zoo when no paths are given; ``data`` names the images behind logits files."""
    st.set_page_config(page_title="gfscore", layout="wide")
    st.html(STYLE)
    with _errors_as_sentences():
        st.title("Which classes are left unprotected?")
        sliders, files = st.sidebar.container(), st.sidebar.container()
        opened, uploaded = _open(tuple(paths), data), uploads(files)
        named = tell_apart([*opened, *uploaded])
        subjects = [*reversed(named[len(opened) :]), *named[: len(opened)]]  # the newest upload first
        forget_repairs(subjects)
        if not subjects:
            st.info("Nothing is open. Upload an audit or logits, or start gfscore dashboard with the path of an audit.")
            return
        subjects = controls.choose_score(sliders, subjects)
        _show_tabs({subject.key: subject for subject in subjects}, controls.settings(sliders, subjects))


def _show_tabs(subjects: dict[str, Subject], settings: Settings) -> None:
    keys = list(subjects)
    if st.session_state.get(MODEL) not in keys:
        st.session_state[MODEL] = keys[0]
    names = ["One model", "Compare models", "Repair", "Download"]
    one, several, repaired, take = st.tabs(names, key="tab", on_change="rerun")
    if one.open:
        with one:
            key = st.selectbox("Model", keys, key=MODEL, format_func=names_of(subjects).__getitem__)
            show_model(subjects[key], *audit_at(subjects[key], settings), settings)
    if several.open:
        with several:
            show_comparison(subjects, settings)
            if len(subjects) > 1:
                show_change(subjects, settings)
    if repaired.open:
        with repaired:
            show_repair_tab(subjects)
    if take.open:
        with take:
            models = choose_models(subjects, settings, "taken", noise=True)
            if models:
                show_downloads(models)


def _open(paths: tuple[str, ...], data: str | None) -> list[Subject]:
    """What the command named, or the zoo; read once for all who look, and again when a file has changed."""
    if not paths:
        subjects, radii = _zoo()
        radii.show()
        return radii.added_to(subjects)
    stamps = stamps_of(paths)
    _watch(paths, stamps)
    subjects, broken = _files(paths, data, stamps)
    for sentence in broken:
        st.error(plain_text(sentence))
    return subjects


@st.fragment(run_every=LOOKS)
def _watch(paths: tuple[str, ...], stamps: tuple[Stamp, ...]) -> None:
    """Run the page again when a file is not what it was."""
    if stamps_of(paths) != stamps:
        st.rerun()


@st.cache_resource(max_entries=1, show_spinner="Reading the files")  # what was read before a change is forgotten
def _files(paths: tuple[str, ...], data: str | None, stamps: tuple[Stamp, ...]) -> tuple[list[Subject], list[str]]:  # noqa: ARG001
    return file_subjects(paths, None if data is None else load_data(data))


@st.cache_resource(show_spinner=False)
def _zoo() -> tuple[list[Subject], ZooRadii]:
    bar = st.progress(0.0, "Running the embedded zoo")
    subjects = zoo_subjects(lambda done, name: bar.progress(done, f"Running the embedded zoo: {name}"))
    bar.empty()
    radii = ZooRadii(subjects)
    radii.start()
    return subjects, radii


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
