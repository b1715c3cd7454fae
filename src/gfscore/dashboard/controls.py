"""The sidebar: what is open, and the sliders."""

import math
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gfscore import views
from gfscore.dashboard.numbers import DEFAULTS, Settings
from gfscore.dashboard.subjects import Subject, kind_of
from gfscore.jobs.options import Options, known_scores
from gfscore.jobs.stages import asked_score
from gfscore.outputs.escaping import plain_text
from gfscore.score_titles import title_of

# 0.01 to 10, some twenty to a decade; rounded, so that what is shown is what is computed.
TEMPERATURES = tuple(float(f"{10 ** (step / 20):.3g}") for step in range(-40, 21))
WEIGHTS = tuple(round(0.05 * step, 2) for step in range(41))
DELTAS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
AS_AUDITED = "as audited"


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
        eps = _sizes(subjects)
        least = _least(subjects)
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
            robust = any(subject.ladder is not None for subject in subjects)
            applies = f"{'eps, the least robust accuracy, ' if robust else ''}λ and τ apply"
            applies += ", and T where its curves were stored" if curves else ", and nothing else"
            more = " Open the logits to change all." if tempered else ""
            st.caption(f"These audits hold no logits: {applies}. δ stays as audited.{more}")
    return Settings(
        temperature=temperature, fairness_weight=weight, thresholds=thresholds, delta=delta, eps=eps, least=least
    )


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


def _sizes(subjects: Sequence[Subject]) -> dict[str, float]:
    """The size of the attack for each norm, of those at which the radii of any model are counted."""
    known = [ladder for subject in subjects if (ladder := subject.ladder) is not None]
    found = dict[str, float]()
    for norm in dict.fromkeys(norm for norm, _, _ in known):
        heads = {eps for other, eps, _ in known if other == norm}
        sizes = sorted({eps for other, _, ladder in known if other == norm for eps in ladder})
        chosen = st.select_slider(
            f"Size of the attack, eps ({views.norm_text(norm)})",
            [AS_AUDITED, *sizes] if len(heads) > 1 else sizes,
            value=AS_AUDITED if len(heads) > 1 else heads.pop(),
            key=f"eps-{norm}",
            format_func=lambda eps, norm=norm: eps if isinstance(eps, str) else views.eps_text(eps, norm),
            help="Robust accuracy is the share of samples that attacks up to this size leave correct. Intervals at all "
            "sizes hold together, so that any may be looked at.",
        )
        if isinstance(chosen, float):
            found[norm] = chosen
    return found


def _least(subjects: Sequence[Subject]) -> float | None:
    """The robust accuracy that no class may be below; None where nobody has chosen it."""
    if not any(subject.ladder is not None for subject in subjects):
        return None
    percent = st.slider(
        "Least robust accuracy, %",
        0,
        100,
        0,  # nobody has chosen one: then nothing is judged
        key="least",
        help="No class may have a robust accuracy below it, at the size of the attack. At 0 nothing is judged.",
    )
    return percent / 100 or None


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
