"""One model: verdict, metrics, and its classes to click on."""

from collections.abc import Sequence

import streamlit as st

from gfscore import views
from gfscore.dashboard.class_view import CLASS, show_class
from gfscore.dashboard.numbers import Settings
from gfscore.dashboard.pictures import show_chart
from gfscore.dashboard.subjects import Subject
from gfscore.dashboard.text import plain
from gfscore.errors import PLURALS, ResultError
from gfscore.jobs import audit as judging
from gfscore.outputs.escaping import shorten
from gfscore.outputs.figures import PICKED, class_picker, temperature_curves
from gfscore.results import ModelAudit

BOXES = {"PASS": st.success, "FAIL": st.error, "UNDECIDED": st.warning}
TABLE_ROWS = 12
VERDICT_WIDTH = 105  # pixels; the longest, UNDECIDED, takes 71 and its margins


def show_model(subject: Subject, model: ModelAudit, notes: Sequence[str], settings: Settings) -> None:
    """Everything about one model."""
    st.text(views.headline(model))
    for note in notes:
        st.info(plain(note))
    threshold = settings.threshold(model)
    overall, verdicts = judging.verdicts(model, threshold)
    _show_verdict(model, overall, verdicts, threshold)
    _show_metrics(model)
    for text in filter(None, (views.noise_text(model),)):
        st.text(text)
    for flag in model.flags:
        st.warning(plain(flag.message))
    chart_key, table_key, class_key = (f"{what}-{subject.key}" for what in ("chart", "table", CLASS))
    names = [entry.name for entry in model.classes]
    if st.session_state.get(class_key) not in names:
        st.session_state[class_key] = model.wcr.class_

    left, right = st.columns([3, 2], gap="large")
    with left:
        show_chart(
            class_picker(model, threshold, verdicts),
            stretch=True,
            key=chart_key,
            on_select=lambda: _follow_chart(chart_key, class_key, names),
        )
        _show_table(model, verdicts, table_key, class_key)
    with right:
        show_class(subject, model, settings, class_key)
    if model.score.temperature is not None:
        try:
            show_chart(temperature_curves(model))
        except ResultError as error:
            st.caption(plain(str(error)))
    st.caption(plain(f"{views.brackets(model)} {views.claim_text(model)}"))


def _show_verdict(model: ModelAudit, overall: str, verdicts: Sequence[str], threshold: float) -> None:
    parts = PLURALS[model.partition]
    counts = {kind: [str(verdict) for verdict in verdicts].count(kind) for kind in BOXES}
    worst = plain(model.wcr.class_)
    below = f"a mean score below {threshold:g}"
    sure = f"(wrong with probability at most {model.interval.delta:g}, at a temperature and level chosen beforehand)"
    sentence = {
        "PASS": f"no {model.partition} has {below} {sure}.",
        "FAIL": f"some {model.partition} has {below} {sure}; the lowest score has {worst}.",
        "UNDECIDED": f"the intervals do not tell whether some {model.partition} has {below}; "
        f"the lowest score has {worst}.",
    }[str(overall)]
    BOXES[str(overall)](
        f"**{overall}**: {sentence} By {model.partition}: {counts['PASS']:,} pass, {counts['FAIL']:,} fail, "
        f"{counts['UNDECIDED']:,} undecided of {len(verdicts):,} {parts}."
    )


def _show_metrics(model: ModelAudit) -> None:
    """A card for each metric, its interval below it and its meaning on hover."""
    columns = st.columns(4)
    for position, key in enumerate(views.metric_keys(model)):
        interval, places = model.metric(key).interval, views.metric_digits(key, model.score)
        ends = None if interval is None else " to ".join(views.ends(interval, places))
        columns[position % 4].metric(
            plain(views.metric_title(key, model.score)),
            views.metric_text(model, key, interval=False),
            delta="no interval" if ends is None else f"interval {ends}",
            delta_color="off",
            delta_arrow="off",
            help=plain(views.fill(views.metric_row(key).note, model)),
            border=True,
        )


def _show_table(model: ModelAudit, verdicts: Sequence[str], table_key: str, class_key: str) -> None:
    """All classes; a click on a heading sorts, a click on a row selects."""
    names, places = [entry.name for entry in model.classes], views.digits_of(model.score)
    rows = [
        {
            model.partition: shorten(entry.name),
            "score": views.floored(entry.score, places) if views.is_certified(model) else entry.score,
            "lower": None if entry.interval is None else views.floored(entry.interval[0], places),
            "upper": None if entry.interval is None else views.ceiled(entry.interval[1], places),
            "verdict": str(verdict),
            "n": entry.n,
            "accuracy": entry.accuracy,
            "confused with": None if entry.confused_with is None else shorten(entry.confused_with),
        }
        for entry, verdict in zip(model.classes, verdicts, strict=True)
    ]
    digits = st.column_config.NumberColumn(format=f"%.{places}f")
    st.dataframe(
        rows,
        key=table_key,
        hide_index=True,
        height=min(len(rows), TABLE_ROWS) * 35 + 38,
        column_config={
            **dict.fromkeys(("score", "lower", "upper"), digits),
            "verdict": st.column_config.TextColumn(width=VERDICT_WIDTH),
            "accuracy": st.column_config.NumberColumn(format="percent"),
        },
        on_select=lambda: _follow_table(table_key, class_key, names),
        selection_mode="single-row",
    )


def _follow_chart(chart_key: str, class_key: str, names: Sequence[str]) -> None:
    """The class that was clicked on in the picture becomes the one that is looked at."""
    picked = st.session_state[chart_key].selection.get(PICKED)
    if picked:
        st.session_state[class_key] = names[int(picked[0]["index"])]


def _follow_table(table_key: str, class_key: str, names: Sequence[str]) -> None:
    rows = st.session_state[table_key].selection.rows
    if rows:
        st.session_state[class_key] = names[rows[0]]
