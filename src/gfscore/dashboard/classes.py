"""The class that is looked at: its numbers, what it is mistaken for, and its samples, lowest score first."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from gfscore import views
from gfscore.dashboard.numbers import Settings, class_samples, confusions
from gfscore.dashboard.subjects import Subject
from gfscore.inputs.data import thumbnails
from gfscore.inputs.protocols import Dataset
from gfscore.outputs import robust_words
from gfscore.outputs.escaping import plain_text, shorten
from gfscore.results import ClassResult, ModelAudit

IMAGES, IMAGE, SAMPLE_ROWS = 12, 96, 100  # samples shown, and pixels of an image


def show_class(subject: Subject, model: ModelAudit, settings: Settings, key: str) -> None:
    """The class that the select box, the picture or the table says: its numbers, and its samples, lowest first."""
    names = [entry.name for entry in model.classes]
    chosen = st.selectbox(model.partition.capitalize(), names, key=key, format_func=shorten)
    entry = model.classes[names.index(chosen)]
    if model.robustness is not None and entry.robust_accuracy is not None:
        st.text(f"{robust_words.title(model).capitalize()}: {views.share_text(entry.robust_accuracy)}")
    accuracy = f"{views.accuracy_name(model.score)} {views.percent(entry.accuracy)}"
    st.text(f"Score {views.score_text(model, entry.score, entry.interval)}; {accuracy}; n = {entry.n:,}")
    samples = class_samples(subject, settings, entry.name)
    st.markdown("**Most often mistaken for**")
    _show_confusions(entry, samples)
    st.markdown("**Its samples, lowest score first**")
    if subject.no_images is not None:
        st.info(plain_text(subject.no_images))
    if subject.samples is None:
        st.text("A stored audit holds no samples. Open the logits to see them.")
    elif subject.images is None:
        st.text("The images are not here; these are their rows in the file.")
        shown = {"score": st.column_config.NumberColumn(format="%.3f")}
        rows = [
            {"sample": shorten(row["sample_id"]), "score": row["score"], "predicted": shorten(row["predicted"])}
            for row in samples[:SAMPLE_ROWS]
        ]
        st.dataframe(rows, hide_index=True, height=320, column_config=shown)
    else:
        _show_images(subject.images, samples[:IMAGES])


def _show_confusions(entry: ClassResult, samples: Sequence[Mapping[str, Any]]) -> None:
    found = [(name, count / entry.n) for name, count in confusions(samples)]
    if not samples and entry.confused_with is not None:  # a stored audit knows the first of them
        found = [(entry.confused_with, entry.confused_share)]
    lines = [f"{shorten(name)}: {views.percent(share)}" for name, share in found]
    st.text("\n".join(lines) or "None of its samples is mistaken.")


def _show_images(images: Dataset, samples: Sequence[Mapping[str, Any]]) -> None:
    """Pictures side by side as far as there is room, in the order of reading."""
    pictures = thumbnails(images, [row["row"] for row in samples])
    with st.container(horizontal=True):
        for row, picture in zip(samples, pictures, strict=True):
            with st.container(width=IMAGE + 4):
                st.image(picture, alt=f"sample {shorten(row['sample_id'])}", width=IMAGE)
                taken_for = "✓" if row["correct"] else f"as {shorten(row['predicted'])}"
                st.text(f"{views.number(row['score'])} {taken_for}")  # not a caption, which is too pale to read
