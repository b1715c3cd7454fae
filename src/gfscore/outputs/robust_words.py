"""Robust accuracy in words: how it was found, at which eps, of which class, and what it is not."""

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.results import ClassResult, Metric, ModelAudit, Robustness, Rung
from gfscore.score_titles import FIRST_ORDER

SHOWN = (0.5, 1.0, 2.0, 4.0, 8.0)  # multiples of 1/255 (Linf) or 1/8 (L2) that a table has room for
UNITS = {"linf": 1 / 255, "l2": 1 / 8}
NO_BOUND = "An estimate, no bound: attacks may do better, and the intervals cover the choice of samples only."
PROOF = "Proven, under the premise below."


def shown_rungs(found: Robustness) -> list[Rung]:
    """The rungs that a table shows: round eps, and that of the headline."""
    unit = UNITS.get(found.norm, 1.0)
    return [
        rung
        for rung in found.rungs
        if rung is found.headline or any(abs(rung.eps / unit - round_eps) < 1e-6 for round_eps in SHOWN)
    ]


def source_text(model: ModelAudit) -> str:
    """What the radii are, and of how many samples."""
    found = model.robustness
    if found is None:
        return ""
    part = "" if found.n == model.samples.n else f" of a random part of each {model.partition}"
    about = f"({found.n:,} samples, {views.norm_text(found.norm)})"
    if found.kind == "certified":
        return f"certified radii{part} {about}"
    how = "gradients" if (found.settings or {}).get("gradients") else "forward passes alone"
    return f"first-order radii{part} by {how} {about}"


def meaning(model: ModelAudit) -> str:
    """What the number in the headline is, where there is little room."""
    found = model.robustness
    if found is None:
        return "share of radii above eps"
    above = f"share of {'certified' if found.kind == 'certified' else 'first-order'} radii above {eps_text(found)}"
    return above if found.kind == "certified" else f"{above}: an estimate, and the interval covers sampling only"


def eps_text(found: Robustness, eps: float | None = None) -> str:
    """An eps as people write it, that of the headline unless another is given."""
    return views.eps_text(found.eps if eps is None else eps, found.norm)


def title(model: ModelAudit) -> str:
    """The heading of a column of robust accuracies."""
    return "robust accuracy" if model.robustness is None else f"robust at {eps_text(model.robustness)}"


def worst_text(model: ModelAudit) -> str:
    """Which class attacks of the size of the headline would hurt most, and how sure that is; empty without radii."""
    found = model.robustness
    if found is None:
        return ""
    rung, parts = found.headline, PLURALS[model.partition]
    names = [views.printable(name) for name in rung.worst_set]
    lowest = views.share_text(rung.lowest)
    said = f"{views.printable(rung.worst)} at {lowest} robust accuracy"
    if len(names) == 1:
        return f"{said}; the intervals leave no other candidate."
    if len(names) <= 4:
        return f"{said}; candidates by the intervals: {', '.join(names)}."
    return f"{said}; the intervals leave {len(names):,} of {len(rung.classes):,} {parts} as candidates."


def by_robustness(model: ModelAudit) -> list[ClassResult]:
    """The classes from the lowest robust accuracy up where it is known beside the score, else from the lowest score."""
    beside = model.robustness is not None and model.score.name != FIRST_ORDER and model.robustness.kind == "estimated"
    if not beside:
        return sorted(model.classes, key=lambda entry: entry.score)
    return sorted(model.classes, key=lambda entry: (_value(entry.robust_accuracy), entry.score))


def _value(metric: Metric | None) -> float:
    return 1.0 if metric is None or metric.value is None else metric.value
