"""The sidebar: what is open, and the sliders."""

import math
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gfscore.dashboard.numbers import DEFAULTS, Settings, Subject, kind_of, uploaded_subject
from gfscore.errors import GFScoreError
from gfscore.inputs.logits_files import SUFFIXES
from gfscore.jobs.options import Options, known_scores
from gfscore.jobs.stages import asked_score
from gfscore.outputs.escaping import plain_text
from gfscore.score_titles import title_of

# 0.01 to 10, some twenty to a decade; rounded, so that what is shown is what is computed.
TEMPERATURES = tuple(float(f"{10 ** (step / 20):.3g}") for step in range(-40, 21))
WEIGHTS = tuple(round(0.05 * step, 2) for step in range(41))
DELTAS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
AS_AUDITED = "as audited"
UPLOADS, MODEL = "uploads", "model"  # keys of the session


def uploads(place: DeltaGenerator) -> list[Subject]:
    """Models from files that came through the browser, the newest last; a broken one is a sentence."""
    with place:
        files = st.file_uploader(
            "Open a logits file",
            type=[suffix.removeprefix(".") for suffix in SUFFIXES],
            accept_multiple_files=True,
            help="An npz with logits and labels, or the same as safetensors, parquet or csv. No pickle is loaded.",
        )
        # The uploader says it to screen readers only, and a caption would be too pale.
        st.text(f"Larger than {st.get_option('server.maxUploadSize')} MB is refused.")
        probabilities = st.checkbox("It holds probabilities", help="Softmax is not applied again.", key="probabilities")
        known: dict[tuple[str, bool], Subject] = st.session_state.setdefault(UPLOADS, {})
        found = []
        for file in files:
            key = (file.file_id, probabilities)
            try:
                if key not in known:
                    known[key] = uploaded_subject(
                        file.name, file.getvalue(), f"{file.file_id}-{probabilities}", probabilities=probabilities
                    )
                    st.session_state[MODEL] = known[key].key  # what was just uploaded is what is looked at
                found.append(known[key])
            except GFScoreError as error:
                st.error(plain_text(str(error)))
        st.session_state[UPLOADS] = {key: known[key] for key in known if known[key] in found}
        return found


def choose_score(place: DeltaGenerator, subjects: Sequence[Subject]) -> list[Subject]:
    """The models with the score that is chosen for those with samples: in a box, where there are several of them.

    Stored audits keep the score that they were made with.
    """
    names = known_scores()
    if len(names) == 1 or not any(subject.samples is not None for subject in subjects):
        return list(subjects)
    with place:
        name = st.selectbox("Score", names, key="score", format_func=lambda name: plain_text(title_of(name).title))
    asked = asked_score(Options(score=name))
    return [replace(subject, asked=asked) for subject in subjects]


def settings(place: DeltaGenerator, subjects: Sequence[Subject]) -> Settings:
    """The sliders; those that nothing open can follow are switched off."""
    computed = any(subject.samples is not None for subject in subjects)
    stored = any(subject.stored is not None for subject in subjects)
    curves = any(subject.stored is not None and subject.stored.curves is not None for subject in subjects)
    tempered = any(subject.score.temperature is not None for subject in subjects)
    with place:
        temperature = None
        if tempered:
            temperature = _choose(
                "Temperature T",
                TEMPERATURES,
                DEFAULTS.divisor,
                stored=stored,
                disabled=not (computed or curves),
                meaning="Divides the logits. It changes every score, but no decision of the model.",
            )
        weight = _choose(
            "Fairness weight λ",
            WEIGHTS,
            DEFAULTS.fairness_weight,
            stored=stored,
            meaning="FP-GREAT = class mean − λ × RDI.",
        )
        thresholds = _thresholds(subjects)
        delta = st.select_slider(
            "Error level δ",
            DELTAS,
            value=DEFAULTS.delta,
            disabled=not computed,
            help="All intervals of a model hold together with probability 1 − δ.",
        )
        if not computed:
            applies = "λ and τ apply, and T where its curves were stored" if curves else "only λ and τ apply"
            more = " Open the logits to change all." if tempered else ""
            st.caption(f"These audits hold no logits: {applies}. δ stays as audited.{more}")
    return Settings(temperature=temperature, fairness_weight=weight, thresholds=thresholds, delta=delta)


def _choose(
    label: str, choices: Sequence[float], usual: float, *, stored: bool, meaning: str, disabled: bool = False
) -> float | None:
    """What a slider says; None, at first where there are stored audits, leaves each of them as it is."""
    offered: list[float | str] = [AS_AUDITED, *choices] if stored else [*choices]
    chosen = st.select_slider(
        label,
        offered,
        value=AS_AUDITED if stored else usual,
        format_func=lambda value: value if isinstance(value, str) else f"{value:.3g}",
        disabled=disabled,
        help=f"{meaning} As audited: each audit keeps its own; of logits it is {usual:g}." if stored else meaning,
    )
    return None if isinstance(chosen, str) else chosen


def _thresholds(subjects: Sequence[Subject]) -> dict[str, float]:
    """A threshold for each kind of score, on its own scale: a radius in Linf ends where GREAT scores begin."""
    largest: dict[str, float] = {}
    for subject in subjects:
        kind = kind_of(subject.score)
        largest[kind] = max(largest.get(kind, 0.0), subject.score.range[1])
    found = {}
    for kind, top in largest.items():
        step, decimals = _step(top)
        found[kind] = st.slider(
            "Threshold τ" if len(largest) == 1 else f"Threshold τ ({plain_text(kind)})",
            0.0,
            round(math.floor(top / step) * step, decimals),
            0.0,  # nobody has chosen one: then nothing is judged
            step,
            format=f"%.{decimals}f",
            help="No class may have a mean score below it. At 0 nothing is judged.",
        )
    return found


def _step(top: float) -> tuple[float, int]:
    """A power of ten that goes 100 to 1,000 times into the range up to ``top``, and its digits after the point.

    >>> _step(1.25), _step(16 / 255)
    ((0.01, 2), (0.0001, 4))
    """
    exponent = math.floor(math.log10(top)) - 2
    return 10.0**exponent, max(0, -exponent)
