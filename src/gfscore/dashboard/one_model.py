"""One model: verdict, metrics, its classes to click on, and the class that is looked at with its samples."""

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import pandas  # noqa: F401 (Altair looks at it from one thread while Streamlit may be loading it in another)
import streamlit as st
from altair.typing import ChartType

from gfscore import views
from gfscore.dashboard.numbers import Settings, Subject, class_samples, confusions
from gfscore.errors import PLURALS, ResultError
from gfscore.inputs.data import thumbnails
from gfscore.inputs.protocols import Dataset
from gfscore.jobs import audit as audits
from gfscore.outputs import robust_words, sentences
from gfscore.outputs.escaping import plain_text, shorten
from gfscore.outputs.figures import PICKED, class_picker, robust_curves, temperature_curves
from gfscore.results import ClassResult, ModelAudit

BOXES = {"PASS": st.success, "FAIL": st.error, "UNDECIDED": st.warning}
TABLE_ROWS = 12
VERDICT_WIDTH = 105  # pixels; the longest, UNDECIDED, takes 71 and its margins
IMAGES, IMAGES_ABREAST, SAMPLE_ROWS = 12, 3, 100  # samples shown
STRETCHED = {"type": "fit-x", "contains": "padding"}  # as wide as its column; rows keep their height
NATURAL = {"type": "pad"}


def show_chart(chart: ChartType, *, stretch: bool = False, **options: Any) -> None:
    """Show a chart in the size it was drawn in, or as wide as its column; ``on_select`` is called after a click."""
    spec: dict[str, Any] = chart.to_dict(validate=False)  # it was validated as it was made
    spec["autosize"] = STRETCHED if stretch else NATURAL
    st.vega_lite_chart(None, spec, theme=None, width="stretch" if stretch else "content", **options)


def show_or_explain(draw: Callable[..., ChartType], *given: Any) -> None:
    """Show a picture, or say why the result has no numbers for it."""
    try:
        show_chart(draw(*given))
    except ResultError as error:
        st.caption(plain_text(str(error)))


def show_model(subject: Subject, model: ModelAudit, notes: Sequence[str], settings: Settings) -> None:
    """Everything about one model."""
    st.text(sentences.headline(model))
    for note in notes:
        st.info(plain_text(note))
    _show_robustness(model)
    threshold = settings.threshold(model)
    overall, verdicts = (None, ()) if threshold is None else audits.verdicts(model, threshold)
    if threshold is None or overall is None:
        st.text("No verdict yet: move the threshold τ to have each score judged by its interval.")
    else:
        _show_verdict(model, overall, verdicts, threshold)
    _show_metrics(model)
    noise = sentences.noise_text(model)
    if noise is not None:
        st.text(noise)
    for flag in model.flags:
        st.warning(plain_text(flag.message))
    chart_key, table_key, class_key = (f"{what}-{subject.key}" for what in ("chart", "table", "class"))
    names = [entry.name for entry in model.classes]
    if st.session_state.get(class_key) not in names:
        st.session_state[class_key] = model.wcr.class_

    def follow_chart() -> None:
        picked = st.session_state[chart_key].selection.get(PICKED)
        if picked:
            st.session_state[class_key] = names[int(picked[0]["index"])]

    def follow_table() -> None:
        rows = st.session_state[table_key].selection.rows
        if rows:
            st.session_state[class_key] = names[rows[0]]

    left, right = st.columns([3, 2], gap="large")
    with left:
        show_chart(class_picker(model, threshold, verdicts), stretch=True, key=chart_key, on_select=follow_chart)
        _show_table(model, verdicts, table_key, follow_table)
    with right:
        _show_class(subject, model, settings, class_key)
    if model.score.temperature is not None:
        show_or_explain(temperature_curves, model)
    st.caption(plain_text(f"{sentences.brackets(model)} {sentences.claim_text(model)}"))


def _show_robustness(model: ModelAudit) -> None:
    """Accuracy under attack, where the audit has it: in a sentence, as curves over eps and as a table."""
    found = model.robustness
    if found is None:
        return
    st.markdown(f"**{plain_text(sentences.begin(robust_words.whole_text(model)))}.**")
    st.text(f"Worst {model.partition}: {robust_words.worst_text(model, named=shorten)}")
    show_or_explain(robust_curves, model)  # which is wider than half of a page
    headings = robust_words.ladder_headings(model)
    rows = [dict(zip(headings, row, strict=True)) for row in robust_words.ladder_rows(model, named=shorten)]
    st.dataframe(rows, hide_index=True)
    st.text(robust_words.limits_text(found))


def _show_verdict(model: ModelAudit, overall: str, verdicts: Sequence[str], threshold: float) -> None:
    counts = {kind: [str(verdict) for verdict in verdicts].count(kind) for kind in BOXES}
    below = f"some {model.partition} has a mean score below {threshold:g}"
    lowest = f"the lowest score has {plain_text(model.wcr.class_)}"
    chosen = "a temperature and level" if model.interval.temperatures is None else "any temperature, and a level"
    sure = f"(wrong with probability at most {model.interval.delta:g}, at {chosen} chosen beforehand)"
    sentence = {
        "PASS": f"{below.replace('some', 'no', 1)} {sure}.",
        "FAIL": f"{below} {sure}; {lowest}.",
        "UNDECIDED": f"the intervals do not tell whether {below}; {lowest}.",
    }[str(overall)]
    BOXES[str(overall)](
        f"**{overall}**: {sentence} By {model.partition}: {counts['PASS']:,} pass, {counts['FAIL']:,} fail, "
        f"{counts['UNDECIDED']:,} undecided of {len(verdicts):,} {PLURALS[model.partition]}."
    )


def _show_metrics(model: ModelAudit) -> None:
    """A card for each metric, its interval below it and its meaning on hover."""
    columns = st.columns(4)
    for position, key in enumerate(views.metric_keys(model)):
        interval, places = model.metric(key).interval, views.metric_digits(key, model.score)
        columns[position % 4].metric(
            plain_text(views.metric_title(key, model.score)),
            views.metric_text(model, key, interval=False),
            delta="no interval" if interval is None else f"interval {' to '.join(views.ends(interval, places))}",
            delta_color="off",
            delta_arrow="off",
            help=plain_text(sentences.fill(views.metric_row(key).note, model)),
            border=True,
        )


def ends_of(interval: tuple[float, float] | None, places: int) -> dict[str, float | None]:
    """Columns of a table for both ends of an interval, rounded outward."""
    low, high = interval or (None, None)
    return {
        "lower": None if low is None else views.floored(low, places),
        "upper": None if high is None else views.ceiled(high, places),
    }


def _show_table(model: ModelAudit, verdicts: Sequence[str], key: str, follow: Callable[[], None]) -> None:
    """All classes; a click on a heading sorts, a click on a row selects."""
    places = views.digits_of(model.score)
    rows = [
        {
            model.partition: shorten(entry.name),
            "score": views.floored(entry.score, places) if views.is_certified(model) else entry.score,
            **ends_of(entry.interval, places),
            **({} if verdict is None else {"verdict": str(verdict)}),
            "n": entry.n,
            "accuracy": entry.accuracy,
            "confused with": None if entry.confused_with is None else shorten(entry.confused_with),
        }
        for entry, verdict in zip_longest(model.classes, verdicts)
    ]
    digits = st.column_config.NumberColumn(format=f"%.{places}f")
    st.dataframe(
        rows,
        key=key,
        hide_index=True,
        height=min(len(rows), TABLE_ROWS) * 35 + 38,
        column_config={
            **dict.fromkeys(("score", "lower", "upper"), digits),
            "verdict": st.column_config.TextColumn(width=VERDICT_WIDTH),
            "accuracy": st.column_config.NumberColumn(format="percent"),
        },
        on_select=follow,
        selection_mode="single-row",
    )


def _show_class(subject: Subject, model: ModelAudit, settings: Settings, key: str) -> None:
    """The class that the select box, the picture or the table says: its numbers, and its samples, lowest first."""
    chosen = st.selectbox(
        model.partition.capitalize(), [entry.name for entry in model.classes], key=key, format_func=shorten
    )
    entry = next(entry for entry in model.classes if entry.name == chosen)
    accuracy = f"{views.accuracy_name(model.score)} {views.percent(entry.accuracy)}"
    st.text(f"Score {views.score_text(model, entry.score, entry.interval)}; {accuracy}; n = {entry.n:,}")
    samples = class_samples(subject, settings, entry.name)
    st.markdown("**Most often mistaken for**")
    _show_confusions(entry, samples)
    st.markdown("**Its samples, lowest score first**")
    if subject.samples is None:
        st.caption("A stored audit holds no samples. Open the logits to see them.")
    elif subject.images is None:
        st.caption("The images are not here; these are their rows in the file.")
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
    columns = st.columns(IMAGES_ABREAST)
    pictures = thumbnails(images, [row["row"] for row in samples])
    for position, (row, picture) in enumerate(zip(samples, pictures, strict=True)):
        column = columns[position % IMAGES_ABREAST]
        column.image(picture, alt=f"sample {shorten(row['sample_id'])}", width=96)
        taken_for = "✓" if row["correct"] else f"as {shorten(row['predicted'])}"
        column.text(f"{views.number(row['score'])} {taken_for}")  # not a caption, which is too pale to read
