"""A repair: all trade-offs of the worst class against the mean to slide along, what each class pays, and the bias."""

import csv
import io
from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from gfscore import views
from gfscore.dashboard.background import Watched, Work, show_work
from gfscore.dashboard.charts import show_chart, small
from gfscore.dashboard.subjects import DIGITS, Subject, names_of
from gfscore.errors import GFScoreError
from gfscore.jobs.repair import repair
from gfscore.outputs import sentences
from gfscore.outputs.escaping import plain_text, shorten
from gfscore.outputs.figures.slid_frontier import part_changes, slid_frontier
from gfscore.results import FrontierPoint, Repair

LOGITS_ALONE = (
    "Logits show no slopes: what is balanced here is accuracy, and that is all. Nothing is said about robustness; for "
    "that the model itself is needed: gfscore repair MODEL --data DATA."
)
SIZES = (2, 4, 8, 16)  # 255ths
BY_GRADIENTS, FORWARD = "gradients", "forward passes alone"
LOSSES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
WORKS, ASKED = "repairs", "repair asked"  # keys of the session: the latest repair, and one to begin
Wanted = tuple[str, int, tuple[tuple[str, Any], ...]]  # key and number of the model, and what the repair may cost
Works = dict[Wanted, Work[Repair]]


def show_repair_tab(subjects: dict[str, Subject]) -> None:
    """Choose a model, find its trade-offs, and slide along them."""
    small(
        "A repair adds a constant to the logit of each class, which moves decisions from one class to another. The "
        "worst class can gain, and others pay."
    )
    keys = [key for key, subject in subjects.items() if subject.samples is not None]
    if not keys:
        st.info("These are stored audits, which hold no samples. Open logits, or start gfscore dashboard alone.")
        return
    key = st.selectbox("Model to repair", keys, key="repaired", format_func=names_of(subjects).__getitem__)
    subject = subjects[key]
    words = _ask(subject)
    works: Works = st.session_state.setdefault(WORKS, {})
    wanted = (key, subject.number, tuple(words.items()))
    # remembered: what runs above may run the page again, which would forget that it was pressed
    st.button("Find the trade-offs", type="primary", on_click=_remember, args=(wanted,))
    if st.session_state.pop(ASKED, None) == wanted:
        for other in works.values():
            other.cancel()
        works.clear()
        works[wanted] = Work(partial(_repair, subject, words))
    work = works.get(wanted)
    if work is None:
        return
    if work.is_running:
        show_work(work, f"Repairing {shorten(subject.name)}", "repair")
    elif work.is_cancelled:
        st.text("It was cancelled.")
    else:
        _show_result(work, key)


def forget_repairs(subjects: Sequence[Subject]) -> None:
    """Stop and forget repairs of models that are no longer open: each holds the samples of its model."""
    works: Works = st.session_state.get(WORKS, {})
    known = {(subject.key, subject.number) for subject in subjects}
    for wanted in [wanted for wanted in works if wanted[:2] not in known]:
        works.pop(wanted).cancel()


def _remember(wanted: Wanted) -> None:
    st.session_state[ASKED] = wanted


def _ask(subject: Subject) -> dict[str, Any]:
    """What the repair may cost, and what it is against."""
    words: dict[str, Any] = {}
    with st.container(horizontal=True):
        if subject.model is not None:
            size = st.selectbox(
                "Against attacks up to", SIZES, index=len(SIZES) - 1, format_func=lambda size: f"{size}/255", width=200
            )
            how = st.selectbox("Slopes by", (BY_GRADIENTS, FORWARD), width=200)
            words |= {"eps": size / 255, "gradients": "yes" if how == BY_GRADIENTS else "no"}
        for label, name, usual in (("The mean may lose", "keep_mean", 0.05), ("A class may lose", "max_loss", 0.2)):
            words[name] = st.selectbox(label, LOSSES, LOSSES.index(usual), format_func=views.percent, width=200)
    if subject.model is None:
        st.info(LOGITS_ALONE)
    return words


def _repair(subject: Subject, words: dict[str, Any], face: Watched) -> Repair:
    if subject.model is not None:
        return repair(model=subject.key, data=DIGITS, face=face, **words)
    return repair(subject.samples, face=face, **words)


def _show_result(work: Work[Repair], key: str) -> None:
    try:
        found = work.result()
    except GFScoreError as error:
        st.info(plain_text(str(error)))
        return
    if found is None:
        return
    st.text(found.reason)
    points = sorted(dict.fromkeys([*found.frontier, found.chosen]), key=lambda point: (-point.mean, point.worst))
    labels = [_label(found, point) for point in points]
    place = 0
    if len(points) > 1:
        place = st.select_slider(
            "Along the trade-offs: the best mean first, the best worst class last",
            range(len(points)),
            value=points.index(found.chosen),
            format_func=lambda place: labels[place],
            key=f"frontier-{key}",
        )
    point = points[place]
    left, right = st.columns(2, gap="large")
    with left:
        show_chart(slid_frontier(found, point), stretch=True)
    with right:
        show_chart(part_changes(found, point), stretch=True)
    _show_prices(found, point)
    st.download_button(
        "Bias of each class (CSV)",
        bias_file(found, point),
        "bias.csv",
        "text/csv",
        on_click="ignore",
        key=f"bias-{key}",
    )
    small(
        f"Shares are of the {found.choice.n:,} samples that choose, which flatters what was chosen by them. Add the "
        "bias to the logits, in the order of the classes; gfscore repair writes a repaired network."
    )
    for flag in found.flags:
        if flag.code != "logits_alone":  # which stands above, before anybody begins
            st.warning(plain_text(sentences.begin(flag.message)))


def _label(found: Repair, point: FrontierPoint) -> str:
    said = f"worst {views.percent(point.worst)}, mean {views.percent(point.mean)}"
    return f"chosen: {said}" if point == found.chosen else said


def _show_prices(found: Repair, point: FrontierPoint) -> None:
    """What each class gains or pays at a point, in points."""
    changes = zip(found.parts, found.unrepaired.shares, point.shares, strict=True)
    bias = dict(zip(found.class_names, point.bias, strict=True))
    rows = [
        {
            found.partition: shorten(name),
            "before": round(100 * before, 1),
            "after": round(100 * after, 1),
            "change in points": round(100 * (after - before), 1),
            **({"bias": bias[name]} if name in bias else {}),
        }
        for name, before, after in changes
    ]
    share = st.column_config.NumberColumn(format="%.1f %%")
    columns = {
        "before": share,
        "after": share,
        "change in points": st.column_config.NumberColumn(format="%+.1f"),
        "bias": st.column_config.NumberColumn(format="%+.3f"),
    }
    st.dataframe(rows, hide_index=True, column_config=columns, height=min(len(rows), 12) * 35 + 38)


def bias_file(found: Repair, point: FrontierPoint) -> bytes:
    """The constant of each class as a table, exactly."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["class", "bias"])
    writer.writerows(zip(found.class_names, map(repr, point.bias), strict=True))
    return text.getvalue().encode()
