"""Several models side by side: a table, pictures with one legend, and what changes from one to another."""

import math
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
from gfscore.results import Audit, ClassChange, ModelAudit

COMPARED = 8  # models at first
COMPARING: tuple[Callable[[Audit], ChartType], ...] = (
    disparity_bars,
    robustness_disparity,
    reranking,
    noise_floor,
    class_heatmap,
)
# A line and a mark for each model, in its colour; it stays in sight while the pictures move below it.
# With many models it is moved within its own frame, which the keyboard must then reach.
LEGEND = '<div class="gfscore-legend" role="list" {more} aria-label="Models, in all pictures below">{entries}</div>'
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
    _say_sizes(models)
    for note in sentences.no_order(models):
        st.text(note)
    looks = model_looks([shorten(model.name) for model in models])
    _show_legend(looks)
    robust = [each for each in zip(models, looks, strict=True) if each[0].robustness is not None]
    if robust:
        _show_robust(robust, settings)
    else:
        show_chart(compared_classes(models, looks, robust=False, threshold=settings.threshold(models[0])), stretch=True)
    known = [model for model, _ in robust] or models
    _say_left_out("their robust accuracy is not known", [model for model in models if model not in known])
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


def _show_robust(models: Sequence[tuple[ModelAudit, ModelLook]], settings: Settings) -> None:
    """Curves of the models whose radii are of the norm and kind of the first, and classes of those at its size too."""
    sizes = [(found.norm, found.kind, found.eps) for model, _ in models if (found := model.robustness) is not None]
    curved = [each for each, size in zip(models, sizes, strict=True) if size[:2] == sizes[0][:2]]
    measured, looks = zip(*curved, strict=True)
    curves = [compared_curves(measured, looks, of) for of in ("whole", "lowest")]
    for column, chart in zip(st.columns(2), curves, strict=True):
        with column:
            show_chart(chart, stretch=True)
    small(curve_notes(measured))
    _say_left_out("their radii are of another norm or kind", [each[0] for each in models if each not in curved])
    drawn = [each for each, size in zip(models, sizes, strict=True) if size == sizes[0]]
    measured, looks = zip(*drawn, strict=True)
    show_chart(compared_classes(measured, looks, robust=True, threshold=settings.least), stretch=True)
    why = "they were audited at another size of the attack; the slider for eps sets one for all"
    _say_left_out(why, [each[0] for each in curved if each not in drawn])
    rows, parts = {entry.name for entry in measured[0].classes}, PLURALS[measured[0].partition]
    others = [model for model in measured if rows.isdisjoint(entry.name for entry in model.classes)]
    _say_left_out(f"they have no {parts} of {shorten(measured[0].name)}", others)


def _say_left_out(why: str, models: Sequence[ModelAudit]) -> None:
    """Which models of the legend are not in the picture above, if there are any."""
    if models:
        names = ", ".join(shorten(model.name) for model in models)
        st.text(f"Not in the picture above: {names}, as {why}.")


def _say_sizes(models: Sequence[ModelAudit]) -> None:
    """At which size of attack each robust accuracy of the table is, where that is not the same for all."""
    sizes: dict[str, list[str]] = {}
    for model in models:
        if model.robustness is not None:
            at = f"{robust_words.eps_text(model.robustness)} ({views.norm_text(model.robustness.norm)})"
            sizes.setdefault(at, []).append(shorten(model.name))
    if len(sizes) > 1:
        said = "; ".join(f"{', '.join(names)} at {at}" for at, names in sizes.items())
        st.text(f"Robust accuracies in this table are not comparable, as the attacks differ: {said}.")


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
    st.html(LEGEND.format(entries="".join(entries), more='tabindex="0"' if len(looks) > COMPARED else ""))


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
            st.text(shorten(sentences.begin(text), 1000))
    for change in found.robustness[:1]:  # that of the size on the slider
        at = f"eps = {views.eps_text(change.eps, change.norm)}"
        _show_changes(f"Robust accuracy at {at}, in percent", found.partition, change.classes, times=100, digits=1)
    score = subjects[old].score
    title = f"Mean {views.score_name(score)}"
    _show_changes(title, found.partition, found.classes, times=1, digits=views.digits_of(score))


def _show_changes(title: str, partition: str, classes: Sequence[ClassChange], *, times: int, digits: int) -> None:
    """What changes of each class, with its interval."""
    st.markdown(f"**{plain_text(title)}**")
    rows = []
    for entry in classes:
        low, high = entry.change.interval or (math.nan, math.nan)
        ends = None if entry.change.interval is None else (times * low, times * high)
        rows.append(
            {
                partition: shorten(entry.name),
                "from": times * entry.old,
                "to": times * entry.new,
                "change": None if entry.change.value is None else times * entry.change.value,
                **ends_of(ends, digits),
                "verdict": entry.verdict,
            }
        )
    shown = st.column_config.NumberColumn(format=f"%.{digits}f")
    columns = dict.fromkeys(("from", "to", "change", "lower", "upper"), shown)
    st.dataframe(rows, hide_index=True, column_config=columns)
