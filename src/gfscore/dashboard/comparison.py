"""Several models side by side."""

from collections.abc import Callable, Sequence

import streamlit as st
from altair.typing import ChartType

from gfscore import auditing, views
from gfscore.dashboard.numbers import Settings, audit_of
from gfscore.dashboard.pictures import show_chart
from gfscore.dashboard.text import plain
from gfscore.errors import ResultError
from gfscore.outputs.escaping import shortened
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
ORDERS_NO_MODELS = "A higher score does not make a model more robust than one that was trained differently."


def show_comparison(models: Sequence[ModelAudit], settings: Settings) -> None:
    """A table of all metrics with their intervals, and the pictures that compare; the models have one kind of score."""
    _show_table(models, settings)
    if len(models) > 1 and models[0].score.name == "great":
        st.caption(ORDERS_NO_MODELS)
    show_chart(side_by_side(models, settings.threshold(models[0])), stretch=True)
    audit = audit_of(models)
    for draw in FIGURES:
        try:
            show_chart(draw(audit))
        except ResultError as error:
            st.caption(plain(str(error)))


def _show_table(models: Sequence[ModelAudit], settings: Settings) -> None:
    score = models[0].score
    digits = views.digits_of(score)
    rows = [
        {
            "model": shortened(model.name),
            "verdict": str(auditing.verdicts(model, settings.threshold(model))[0]),
            "accuracy": model.accuracy,
            views.column_name(score): views.score_text(model, model.aggregate, model.aggregate_interval),
            "WCR": views.score_text(model, model.wcr.value, model.wcr.interval),
            "worst": shortened(model.wcr.class_),
            "RDI": views.estimate(model.rdi.value, model.rdi.interval, digits),
            "NRGC": views.estimate(model.nrgc.value, model.nrgc.interval),
            "FP-GREAT": views.score_text(model, model.fp_great.value, model.fp_great.interval),
        }
        for model in models
    ]
    st.dataframe(rows, hide_index=True, column_config={"accuracy": st.column_config.NumberColumn(format="percent")})
