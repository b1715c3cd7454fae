"""The page from top to bottom, run by Streamlit at every move of a slider."""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from gfscore.dashboard import controls
from gfscore.dashboard.change import show_change
from gfscore.dashboard.comparison import show_comparison
from gfscore.dashboard.downloads import show_downloads
from gfscore.dashboard.numbers import Settings, audited
from gfscore.dashboard.overview import show_model
from gfscore.dashboard.subjects import Subject, file_subjects, kind_of, told_apart, zoo_subjects
from gfscore.dashboard.text import plain
from gfscore.errors import GFScoreError
from gfscore.inputs.data import load_data
from gfscore.outputs.escaping import shorten
from gfscore.results import ModelAudit

COMPARED = 8  # models at first


def show(paths: Sequence[str] = (), data: str | None = None) -> None:
    """The whole page: the zoo when no paths are given; ``data`` names the images behind logits files."""
    st.set_page_config(page_title="gfscore", layout="wide")
    with _sentences():
        st.title("Which classes are left unprotected?")
        sliders, files = st.sidebar.container(), st.sidebar.container()
        opened, uploaded = _opened(tuple(paths), data), controls.uploads(files)
        named = told_apart([*opened, *uploaded])
        subjects = [*reversed(named[len(opened) :]), *named[: len(opened)]]  # the newest upload first
        if not subjects:
            st.info("Nothing is open. Upload a logits file, or start gfscore dashboard with the path of an audit.")
            return
        subjects = controls.asked_for(sliders, subjects)
        _show_tabs({subject.key: subject for subject in subjects}, controls.settings(sliders, subjects))


def _show_tabs(subjects: dict[str, Subject], settings: Settings) -> None:
    keys = list(subjects)
    if st.session_state.get(controls.MODEL) not in keys:
        st.session_state[controls.MODEL] = keys[0]
    one, several, take = st.tabs(["One model", "Compare models", "Download"], key="tab", on_change="rerun")
    if one.open:
        with one:
            key = st.selectbox("Model", keys, key=controls.MODEL, format_func=lambda key: shorten(subjects[key].name))
            show_model(subjects[key], *audited(subjects[key], settings), settings)
    if several.open:
        with several:
            models = _chosen(subjects, settings, "compared")
            if models:
                show_comparison(models, settings)
            if len(subjects) > 1:
                show_change(subjects, settings)
    if take.open:
        with take:
            models = _chosen(subjects, settings, "taken")
            if models:
                show_downloads(models)


def _chosen(subjects: dict[str, Subject], settings: Settings, box: str) -> list[ModelAudit]:
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
    chosen = sorted({kinds[key] for key in wanted})
    if len(chosen) > 1:
        st.info(plain(f"Different scores are not comparable ({'; '.join(chosen)}). Choose models that have the same."))
        return []
    found, notes = [], []
    for key in wanted:
        model, unmet = audited(subjects[key], settings)
        found.append(model)
        notes += unmet
    for note in dict.fromkeys(notes):
        st.info(plain(note))
    return found


def _opened(paths: tuple[str, ...], data: str | None) -> list[Subject]:
    """What the command named, or the zoo; read once for all who look."""
    if not paths:
        return _zoo()
    subjects, broken = _files(paths, data)
    for sentence in broken:
        st.error(plain(sentence))
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
def _sentences() -> Iterator[None]:
    """An error is a sentence on the page; a traceback goes to the log, and only of what should not happen."""
    try:
        yield
    except GFScoreError as error:
        st.error(plain(str(error)))
    except Exception as error:
        if os.environ.get("GFSCORE_DEBUG"):
            raise
        logging.getLogger("gfscore").exception("the dashboard failed inside")
        st.error(plain(f"failed inside ({type(error).__name__}: {error}). The log has the traceback: report it."))
