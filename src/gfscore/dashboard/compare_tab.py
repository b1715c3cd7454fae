"""Several models side by side: a table, pictures with one legend, and what changes from one to another."""

from collections.abc import Callable, Sequence
from html import escape

import streamlit as st
from altair.typing import ChartType

from gfscore import views
from gfscore.dashboard.charts import DARK, is_dark, show_chart, show_or_explain, small
from gfscore.dashboard.numbers import Settings, audit_at, compare_at, result_of
from gfscore.dashboard.one_model import ends_of
from gfscore.dashboard.subjects import Subject, kind_of, names_of
from gfscore.errors import PLURALS, GFScoreError
from gfscore.jobs.audit import robust_verdicts, verdicts
from gfscore.outputs import robust_words, sentences
from gfscore.outputs.escaping import plain_text, shorten
from gfscore.outputs.figures import class_heatmap, disparity_bars, noise_floor, reranking, robustness_disparity, style
from gfscore.outputs.figures.compared_models import (
    SHAPES,
    ModelLook,
    compared_classes,
    compared_curves,
    curve_notes,
    model_looks,
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
# A line and a mark for each model, in its colour; it stays in sight while the pictures move below it.
LEGEND = '<div class="gfscore-legend" role="list" aria-label="Models, in all pictures below">{entries}</div>'
ENTRY = (
    '<span role="listitem"><span class="gfscore-line" style="border-top: 2px {line} {color}"></span>'
    '<span aria-hidden="true" style="color: {color}">{mark}</span> {name}</span>'
)
MARKS = dict(zip(SHAPES, "●■◆▲✚▼▶", strict=True))
LINES = ("solid", "dashed", "dotted")


def choose_models(subjects: dict[str, Subject], settings: Settings, box: str, *, noise: bool) -> list[ModelAudit]:
    """Audits of the models that are chosen in a box: none where they do not belong side by side."""
    kinds = {key: kind_of(subject.score) for key, subject in subjects.items()}
    keys = list(subjects)
    alike = [key for key in keys if kinds[key] == kinds[keys[0]]]
    wanted = st.multiselect(
        "Models", keys, default=alike[:COMPARED], key=box, format_func=names_of(subjects).__getitem__
    )
    if not wanted:
        st.info("Choose at least one model.")
        return []
    several = sorted({kinds[key] for key in wanted})
    if len(several) > 1:
        kinds_text = "; ".join(several)
        st.info(plain_text(f"Different scores are not comparable ({kinds_text}). Choose models that have the same."))
        return []
    found = [audit_at(subjects[key], settings, noise=noise) for key in wanted]
    for note in dict.fromkeys(note for _, notes in found for note in notes):
        st.info(plain_text(note))
    return [model for model, _ in found]


def show_comparison(subjects: dict[str, Subject], settings: Settings) -> None:
    """A table of all metrics with their intervals, and the pictures that compare; the models have one kind of score."""
    models = choose_models(subjects, settings, "compared", noise=False)
    if not models:
        return
    _show_table(models, settings)
    for note in sentences.no_order(models):
        st.text(note)
    looks = model_looks([shorten(model.name) for model in models])
    _show_legend(looks)
    robust = [each for each in zip(models, looks, strict=True) if each[0].robustness is not None]
    if robust:
        try:
            curves = [compared_curves(models, looks, of) for of in ("whole", "lowest")]
            for column, chart in zip(st.columns(2), curves, strict=True):
                with column:
                    show_chart(chart, stretch=True)
            small(curve_notes(models))
        except GFScoreError as error:  # of different norms
            st.text(str(error))
    if robust:
        measured, theirs = zip(*robust, strict=True)
        show_chart(compared_classes(measured, theirs, robust=True, threshold=settings.least), stretch=True)
    else:
        show_chart(compared_classes(models, looks, robust=False, threshold=settings.threshold(models[0])), stretch=True)
    _show_left_out(models, [model for model, _ in robust] or models)
    more = st.expander("More pictures: scores, disparity, ranks, chance", key="more-compared", on_change="rerun")
    if more.open:
        with more:
            chosen = [subjects[key] for key in st.session_state["compared"]]
            audit = result_of([audit_at(subject, settings, noise=True)[0] for subject in chosen])
            if robust:
                show_chart(
                    compared_classes(models, looks, robust=False, threshold=settings.threshold(models[0])), stretch=True
                )
            for draw in COMPARING:
                show_or_explain(draw, audit)


def _show_left_out(models: Sequence[ModelAudit], drawn: Sequence[ModelAudit]) -> None:
    """Which models of the legend are not in the picture of the classes, and why."""
    without = [shorten(model.name) for model in models if model not in drawn]
    if without:
        st.text(f"Not in this picture, as their robust accuracy is not known: {', '.join(without)}.")
    rows = {entry.name for entry in drawn[0].classes}
    others = [shorten(model.name) for model in drawn if rows.isdisjoint(entry.name for entry in model.classes)]
    if others:
        what = PLURALS[drawn[0].partition]
        st.text(f"Not in this picture, as they have no {what} of {shorten(drawn[0].name)}: {', '.join(others)}.")


def _show_table(models: Sequence[ModelAudit], settings: Settings) -> None:
    score, keys = models[0].score, views.metric_keys(*models, main=True)
    robust = any(model.robustness for model in models)
    headings = (robust_words.models_title(models), f"worst {models[0].partition}")
    rows = [
        {
            "model": shorten(model.name),
            **_verdict(model, settings),
            **(dict(zip(headings, robust_words.headline_cells(model, named=shorten), strict=True)) if robust else {}),
            "accuracy": round(100 * model.accuracy, 1),
            **{views.metric_title(key, score, column=True): views.metric_text(model, key) for key in keys},
            "worst by score": shorten(model.wcr.class_),
        }
        for model in models
    ]
    st.dataframe(rows, hide_index=True, column_config={"accuracy": st.column_config.NumberColumn(format="%.1f %%")})


def _verdict(model: ModelAudit, settings: Settings) -> dict[str, str]:
    """Verdicts by the thresholds that somebody has set."""
    found, threshold = {}, settings.threshold(model)
    robust = None if settings.least is None else robust_verdicts(model, settings.least)
    if robust is not None:
        found["robust enough"] = str(robust[0])
    if threshold is not None:
        found["verdict"] = str(verdicts(model, threshold)[0])
    return found


def _show_legend(looks: Sequence[ModelLook]) -> None:
    entries = [
        ENTRY.format(
            color=DARK.get(look.color.lower(), look.color) if is_dark() else look.color,
            line=LINES[style.DASHES.index(look.dash) % len(LINES)],
            mark=MARKS[look.shape],
            name=escape(look.name),
        )
        for look in looks
    ]
    st.html(LEGEND.format(entries="".join(entries)))


def show_change(subjects: dict[str, Subject], settings: Settings) -> None:
    """Two boxes to choose from, and what changes between the two: on the same samples where both have them."""
    st.markdown("**What changes from one model to another**")
    keys, called = list(subjects), names_of(subjects).__getitem__
    old, new = (
        column.selectbox(label, keys, index, key=key, format_func=called)
        for index, (column, label, key) in enumerate(zip(st.columns(2), ("From", "To"), ("from", "to"), strict=True))
    )
    if old == new:
        st.text("Choose two models.")
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
