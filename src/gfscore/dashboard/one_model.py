"""One model: its pictures first, then a verdict where one is asked for, its metrics by name, and what lies behind."""

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from gfscore import views
from gfscore.dashboard.charts import show_chart, show_or_explain, small
from gfscore.dashboard.classes import show_class
from gfscore.dashboard.numbers import Settings, audit_at
from gfscore.dashboard.subjects import Subject
from gfscore.errors import PLURALS
from gfscore.jobs import audit as audits
from gfscore.outputs import robust_words, sentences
from gfscore.outputs.escaping import plain_text, shorten
from gfscore.outputs.figures import PICKED, class_picker, temperature_curves
from gfscore.outputs.figures.eps_views import curves_at_eps, robust_picker
from gfscore.results import Metric, ModelAudit

BOXES = {"PASS": st.success, "FAIL": st.error, "UNDECIDED": st.warning}
TABLE_ROWS = 12
VERDICT_WIDTH = 105  # pixels; the longest, UNDECIDED, takes 71 and its margins
CARD = 176  # pixels: two side by side on a phone
ROBUST, SCORE = "robust accuracy", "score"


def show_model(subject: Subject, model: ModelAudit, notes: Sequence[str], settings: Settings) -> None:
    """Everything about one model."""
    st.text(sentences.headline(model))
    for note in notes:
        st.info(plain_text(note))
    if model.robustness is not None:
        st.markdown(f"**{plain_text(sentences.begin(robust_words.whole_text(model)))}.**")
        st.text(f"Worst {model.partition}: {robust_words.worst_text(model, named=shorten)}")
    elif subject.model is None and model.score.temperature is not None:  # of the zoo it comes, certificates have theirs
        st.text(sentences.begin(robust_words.NONE_HERE))
    by = _ask_order(subject, model)
    least, threshold = settings.least, settings.threshold(model)
    robust = None if least is None else audits.robust_verdicts(model, least)
    scored = None if threshold is None else audits.verdicts(model, threshold)
    chart_key, table_key, class_key = (f"{what}-{subject.key}" for what in (f"chart-{by}", "table", "class"))
    names = [entry.name for entry in model.classes]
    if st.session_state.get(class_key) not in names:
        st.session_state[class_key] = model.wcr.class_ if model.robustness is None else model.robustness.headline.worst

    def follow_chart() -> None:
        picked = st.session_state[chart_key].selection.get(PICKED)
        if picked:
            st.session_state[class_key] = names[int(picked[0]["index"])]

    def follow_table() -> None:
        rows = st.session_state[table_key].selection.rows
        if rows:
            st.session_state[class_key] = names[rows[0]]

    judged = robust if by == ROBUST else scored
    each = () if judged is None else judged[1]
    left, right = st.columns([3, 2], gap="large")
    with left:
        if model.robustness is not None:
            show_chart(curves_at_eps(model), stretch=True)
        chart = robust_picker(model, least, each) if by == ROBUST else class_picker(model, threshold, each)
        show_chart(chart, stretch=True, key=chart_key, on_select=follow_chart)
    with right:
        show_class(subject, model, settings, class_key)
    _show_verdicts(model, settings, robust, scored)
    _show_cards(model)
    for flag in model.flags:
        st.warning(plain_text(sentences.begin(flag.message)))
    columns = {"robust enough": robust, "verdict": scored}
    _show_table(model, {name: found[1] for name, found in columns.items() if found}, table_key, follow_table)
    _show_more(subject, model, settings)
    small(f"{sentences.brackets(model)} {sentences.claim_text(model)}")


def _ask_order(subject: Subject, model: ModelAudit) -> str:
    """What the picture and the table of classes are about, where there is a choice."""
    if model.robustness is None:
        return SCORE
    chosen = st.segmented_control(
        f"Show {PLURALS[model.partition]} by",
        (ROBUST, SCORE),
        default=ROBUST,
        required=True,
        key=f"by-{subject.key}",
        format_func=lambda by: f"{views.score_name(model.score)}" if by == SCORE else by,
    )
    return str(chosen or ROBUST)


Judged = tuple[str, Sequence[str]] | None


def _show_verdicts(model: ModelAudit, settings: Settings, robust: Judged, scored: Judged) -> None:
    """What follows from the thresholds that somebody has set; before that, how to set one."""
    threshold = settings.threshold(model)
    if robust is None and scored is None:
        what = "the least robust accuracy or " if model.robustness is not None else ""
        st.text(f"No verdict yet: move {what}the threshold τ to have each {model.partition} judged by its interval.")
    if robust is not None and model.robustness is not None and settings.least is not None:
        at, kind = robust_words.eps_text(model.robustness), robust_words.radius_kind(model.robustness)
        below = f"some {model.partition} has a robust accuracy below {views.percent(settings.least)} at {at}"
        sure = f"(by {kind} radii; for the samples alone wrong with probability at most {model.robustness.delta:g})"
        _show_verdict(model, robust, below, sure, model.robustness.headline.worst)
    if scored is not None:
        chosen = "a temperature and level" if model.interval.temperatures is None else "any temperature, and a level"
        sure = f"(wrong with probability at most {model.interval.delta:g}, at {chosen} chosen beforehand)"
        _show_verdict(
            model, scored, f"some {model.partition} has a mean score below {threshold:g}", sure, model.wcr.class_
        )


def _show_verdict(model: ModelAudit, judged: tuple[str, Sequence[str]], below: str, sure: str, worst: str) -> None:
    overall, verdicts = judged
    counts = {kind: [str(verdict) for verdict in verdicts].count(kind) for kind in BOXES}
    lowest = f"{plain_text(worst)} has the lowest"
    sentence = {
        "PASS": f"{below.replace('some', 'no', 1)} {sure}.",
        "FAIL": f"{below} {sure}; {lowest}.",
        "UNDECIDED": f"the intervals do not tell whether {below}; {lowest}.",
    }[str(overall)]
    BOXES[str(overall)](
        f"**{overall}**: {sentence} By {model.partition}: {counts['PASS']:,} pass, {counts['FAIL']:,} fail, "
        f"{counts['UNDECIDED']:,} undecided of {len(verdicts):,} {PLURALS[model.partition]}."
    )


def _show_cards(model: ModelAudit) -> None:
    """A card for each number of the model, its interval below it and its meaning on hover."""
    with st.container(horizontal=True):  # which wraps in the order of reading, also on a phone
        if model.robustness is not None:
            at, rung = robust_words.eps_text(model.robustness), model.robustness.headline
            meaning = plain_text(sentences.begin(robust_words.meaning(model)) + ".")
            worst = f"worst {model.partition} at {at}: {shorten(rung.worst)}"
            for name, share in ((f"robust accuracy at {at}", rung.whole), (worst, rung.lowest)):
                _show_card(name, views.percent(share.value), _between(share), meaning)
        for key in views.metric_keys(model):
            interval, places = model.metric(key).interval, views.metric_digits(key, model.score)
            _show_card(
                views.metric_name(key, model.score, model.partition),
                views.metric_text(model, key, interval=False),
                "no interval" if interval is None else f"[{', '.join(views.ends(interval, places))}]",
                plain_text(sentences.fill(views.metric_row(key).note, model)),
            )


def _between(share: Metric) -> str:
    return views.between(share.interval).strip() or "no interval"


def _show_card(name: str, value: str, interval: str, meaning: str) -> None:
    st.metric(
        plain_text(sentences.begin(name)),
        value,
        delta=interval,
        delta_color="off",
        delta_arrow="off",
        help=meaning,
        border=True,
        width=CARD,
    )


def ends_of(interval: tuple[float, float] | None, places: int) -> dict[str, float | None]:
    """Columns of a table for both ends of an interval, rounded outward."""
    low, high = interval or (None, None)
    return {
        "lower": None if low is None else views.floored(low, places),
        "upper": None if high is None else views.ceiled(high, places),
    }


def _show_table(model: ModelAudit, verdicts: Mapping[str, Sequence[str]], key: str, follow: Callable[[], None]) -> None:
    """All classes; a click on a heading sorts, a click on a row selects."""
    places, robust = views.digits_of(model.score), model.robustness is not None
    rows = [
        {
            model.partition: shorten(entry.name),
            **({"robust": _share(entry.robust_accuracy)} if robust else {}),
            "accuracy": round(100 * entry.accuracy, 1),
            "score": views.floored(entry.score, places) if views.is_certified(model) else entry.score,
            **ends_of(entry.interval, places),
            **{name: str(found[place]) for name, found in verdicts.items()},
            "n": entry.n,
            "confused with": "–" if entry.confused_with is None else shorten(entry.confused_with),
        }
        for place, entry in enumerate(model.classes)
    ]
    digits, percent = (
        st.column_config.NumberColumn(format=f"%.{places}f"),
        st.column_config.NumberColumn(format="%.1f %%"),
    )
    st.dataframe(
        rows,
        key=key,
        hide_index=True,
        height=min(len(rows), TABLE_ROWS) * 35 + 38,
        column_config={
            **dict.fromkeys(("score", "lower", "upper"), digits),
            "robust": st.column_config.NumberColumn(robust_words.title(model), format="%.1f %%"),
            **dict.fromkeys(verdicts, st.column_config.TextColumn(width=VERDICT_WIDTH)),
            "accuracy": percent,
        },
        on_select=follow,
        selection_mode="single-row",
    )


def _share(metric: Metric | None) -> float | None:
    return None if metric is None or metric.value is None else round(100 * metric.value, 1)


def _show_more(subject: Subject, model: ModelAudit, settings: Settings) -> None:
    """What takes its time or its room, and is there for those who open it."""
    if model.robustness is not None:
        more = st.expander("Robust accuracy at every size of the attack", key="more-sizes", on_change="rerun")
        if more.open:
            with more:
                headings = robust_words.ladder_headings(model)
                rows = [dict(zip(headings, row, strict=True)) for row in robust_words.ladder_rows(model, named=shorten)]
                st.dataframe(rows, hide_index=True)
                st.text(robust_words.limits_text(model.robustness))
    chance = st.expander("Could chance alone make these gaps?", key="more-chance", on_change="rerun")
    if chance.open:
        with chance:
            shuffled = model if subject.stored is not None else audit_at(subject, settings, noise=True)[0]
            st.text(sentences.noise_text(shuffled) or "This needs the samples. Open the logits to see it.")
    if model.score.temperature is not None:
        more = st.expander("Scores by temperature", key="more-temperature", on_change="rerun")
        if more.open:
            with more:
                show_or_explain(temperature_curves, model)
