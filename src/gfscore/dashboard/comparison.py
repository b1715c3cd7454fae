"""Several models side by side."""

from collections.abc import Callable, Sequence

import streamlit as st
from altair.typing import ChartType

from gfscore import views
from gfscore.dashboard.numbers import Settings, audit_of
from gfscore.dashboard.pictures import show_chart
from gfscore.dashboard.text import plain
from gfscore.errors import ResultError
from gfscore.jobs.audit import verdicts
from gfscore.outputs.escaping import shorten
from gfscore.outputs.figures import (
    class_heatmap,
    disparity_bars,
    noise_floor,
    reranking,
    robustness_disparity,
    side_by_side,
)
from gfscore.results import Audit, ModelAudit

FIGURES: tuple[Callable[[Audit], ChartType], ...] = (
    disparity_bars,
    robustness_disparity,
    reranking,
    noise_floor,
    class_heatmap,
)


def show_comparison(models: Sequence[ModelAudit], settings: Settings) -> None:
    """A table of all metrics with their intervals, and the pictures that compare; the models have one kind of score."""
    _show_table(models, settings)
    for note in views.no_order(models):
        st.caption(note)
    show_chart(side_by_side(models, settings.threshold(models[0])), stretch=True)
    audit = audit_of(models)
    for draw in FIGURES:
        try:
            show_chart(draw(audit))
        except ResultError as error:
            st.caption(plain(str(error)))


def _show_table(models: Sequence[ModelAudit], settings: Settings) -> None:
    score, keys = models[0].score, views.metric_keys(*models, main=True)
    rows = [
        {
            "model": shorten(model.name),
            "verdict": str(verdicts(model, settings.threshold(model))[0]),
            "accuracy": model.accuracy,
            **{views.metric_title(key, score, column=True): views.metric_text(model, key) for key in keys},
            "worst": shorten(model.wcr.class_),
        }
        for model in models
    ]
    st.dataframe(rows, hide_index=True, column_config={"accuracy": st.column_config.NumberColumn(format="percent")})
