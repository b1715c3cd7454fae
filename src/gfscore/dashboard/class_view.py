"""One class: its numbers, what it is mistaken for, and its samples from the lowest score up."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from gfscore import views
from gfscore.dashboard.numbers import Settings, class_samples, confusions
from gfscore.dashboard.subjects import Subject
from gfscore.inputs.data import thumbnails
from gfscore.inputs.protocols import Dataset
from gfscore.outputs.escaping import shorten
from gfscore.results import ClassResult, ModelAudit

CLASS = "class"
IMAGES, IMAGES_ABREAST, ROWS = 12, 3, 100  # samples shown


def show_class(subject: Subject, model: ModelAudit, settings: Settings, key: str) -> None:
    """The class that the select box, the picture or the table says."""
    chosen = st.selectbox(
        model.partition.capitalize(), [entry.name for entry in model.classes], key=key, format_func=shorten
    )
    entry = next(entry for entry in model.classes if entry.name == chosen)
    accuracy = f"{views.accuracy_name(model.score)} {views.percent(entry.accuracy)}"
    score = views.score_text(model, entry.score, entry.interval)
    st.text(f"Score {score}; {accuracy}; n = {entry.n:,}")
    samples = class_samples(subject, settings, entry.name)
    st.markdown("**Most often mistaken for**")
    _show_confusions(entry, samples)
    st.markdown("**Its samples, lowest score first**")
    if subject.samples is None:
        st.caption("A stored audit holds no samples. Open the logits to see them.")
    elif subject.images is None:
        st.caption("The images are not here; these are their rows in the file.")
        _show_rows(samples)
    else:
        _show_images(subject.images, samples)


def _show_confusions(entry: ClassResult, samples: Sequence[Mapping[str, Any]]) -> None:
    found = [(name, count / entry.n) for name, count in confusions(samples)]
    if not samples and entry.confused_with is not None:  # a stored audit knows the first of them
        found = [(entry.confused_with, entry.confused_share)]
    lines = [f"{shorten(name)}: {views.percent(share)}" for name, share in found]
    st.text("\n".join(lines) or "None of its samples is mistaken.")


def _show_images(images: Dataset, samples: Sequence[Mapping[str, Any]]) -> None:
    lowest = samples[:IMAGES]
    pictures = thumbnails(images, [row["row"] for row in lowest])
    columns = st.columns(IMAGES_ABREAST)
    for position, (row, picture) in enumerate(zip(lowest, pictures, strict=True)):
        column = columns[position % IMAGES_ABREAST]
        column.image(picture, alt=f"sample {shorten(row['sample_id'])}", width=96)
        column.text(f"{views.number(row['score'])} {_as(row)}")  # not a caption, which is too pale to read


def _as(row: Mapping[str, Any]) -> str:
    return "✓" if row["correct"] else f"as {shorten(row['predicted'])}"


def _show_rows(samples: Sequence[Mapping[str, Any]]) -> None:
    st.dataframe(
        [
            {
                "sample": shorten(row["sample_id"]),
                "score": row["score"],
                "predicted": shorten(row["predicted"]),
            }
            for row in samples[:ROWS]
        ],
        hide_index=True,
        height=320,
        column_config={"score": st.column_config.NumberColumn(format="%.3f")},
    )
