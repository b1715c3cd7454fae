"""Robust accuracy in words: how it was found, at which eps, of which class, and what it is not."""

from collections.abc import Callable, Sequence

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.results import ClassResult, Metric, ModelAudit, Robustness, Rung
from gfscore.score_titles import FIRST_ORDER

SHOWN = (0.5, 1.0, 2.0, 4.0, 8.0)  # multiples of 1/255 (Linf) or 1/8 (L2) that a table has room for
UNITS = {"linf": 1 / 255, "l2": 1 / 8}
NO_BOUND = "An estimate, no bound: attacks may leave less or more, and the intervals cover the choice of samples only."
PROOF = "Proven, under the premise below."
NONE_HERE = "this result has no robust accuracy, which takes the model. Run gfscore audit --model MODEL --data DATA."
WHOLE = "all samples"
FEW = 4  # candidates for the worst that a sentence can name


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
    return f"{radius_kind(found)} radii{part} by {how} {about}"


def radius_kind(found: Robustness) -> str:
    """What the radii are called: certified; midpoint where they were refined on the way; or first-order."""
    if found.kind == "certified":
        return "certified"
    return "midpoint" if (found.settings or {}).get("refine") else "first-order"


def notes(models: Sequence[ModelAudit]) -> list[str]:
    """What robust accuracies of several models are, where there are any."""
    found = {model.name: model.robustness for model in models if model.robustness is not None}
    if not found:
        return []
    sources = dict.fromkeys(f"Robust accuracy is from {source_text(model)}." for model in models if model.robustness)
    kinds = {each.kind for each in found.values()}
    return [*sources, *([NO_BOUND] if "estimated" in kinds else [PROOF])]


def meaning(model: ModelAudit) -> str:
    """What the number in the headline is, where there is little room."""
    found = model.robustness
    if found is None:
        return "share of radii above eps"
    above = f"share of {radius_kind(found)} radii above {eps_text(found)}"
    return above if found.kind == "certified" else f"{above}: an estimate, and the interval covers sampling only"


def eps_text(found: Robustness, eps: float | None = None) -> str:
    """An eps as people write it, that of the headline unless another is given."""
    return views.eps_text(found.eps if eps is None else eps, found.norm)


def title(model: ModelAudit) -> str:
    """The heading of a column of robust accuracies."""
    return "robust accuracy" if model.robustness is None else f"robust at {eps_text(model.robustness)}"


def eps_unit(norm: str, largest: float) -> tuple[float, str]:
    """What eps are counted in along an axis up to ``largest``, and what its title says of that.

    >>> eps_unit("linf", 8 / 255) == (1 / 255, ", in 255ths"), eps_unit("linf", 0.3), eps_unit("l2", 1.0)
    (True, (1.0, ''), (1.0, ''))
    """
    in_levels = norm == "linf" and largest * 255 <= views.MOST_LEVELS + views.ROUND_EPS
    return (1 / 255, ", in 255ths") if in_levels else (1.0, "")


def size_text(found: Robustness) -> str:
    """The size of the attacks that the headline is about."""
    return f"eps = {eps_text(found)} ({views.norm_text(found.norm)})"


def whole_text(model: ModelAudit) -> str:
    """How much of the whole attacks of the size of the headline would leave correct; empty without radii."""
    found = model.robustness
    if found is None:
        return ""
    share = views.share_text(found.headline.whole)
    if found.kind == "certified":
        return f"attacks up to {size_text(found)} provably leave at least {share} correct"
    return f"attacks up to {size_text(found)} would leave an estimated {share} correct"


def worst_text(model: ModelAudit, named: Callable[[str], str] = views.printable) -> str:
    """Which class attacks of the size of the headline would hurt most, and how sure that is; empty without radii."""
    found = model.robustness
    if found is None:
        return ""
    rung, parts = found.headline, PLURALS[model.partition]
    names = [named(name) for name in rung.worst_set]
    lowest = views.share_text(rung.lowest)
    said = f"{named(rung.worst)} at {lowest} robust accuracy"
    if len(names) == 1:
        return f"{said}; the intervals leave no other candidate."
    if len(names) <= FEW:
        return f"{said}; candidates by the intervals: {', '.join(names)}."
    return f"{said}; the intervals leave {len(names):,} of {len(rung.classes):,} {parts} as candidates."


def ladder_headings(model: ModelAudit) -> list[str]:
    """Headings of the table of robust accuracies by eps."""
    return ["eps", "robust accuracy", f"of the worst {model.partition}", "which"]


def ladder_rows(model: ModelAudit, named: Callable[[str], str] = views.printable) -> list[list[str]]:
    """A row for each eps that a table has room for: of the whole, of the worst class, and which it is."""
    found = model.robustness
    if found is None:
        return []
    return [
        [
            eps_text(found, rung.eps),
            views.share_text(rung.whole),
            views.share_text(rung.lowest),
            named(rung.worst),
        ]
        for rung in shown_rungs(found)
    ]


def models_title(models: Sequence[ModelAudit]) -> str:
    """The heading of a column of robust accuracies of several models; without the eps where they differ in it."""
    titles = dict.fromkeys(title(model) for model in models if model.robustness is not None)
    return next(iter(titles)) if len(titles) == 1 else "robust accuracy"


def claim_text(model: ModelAudit) -> str:
    """What robust accuracies say."""
    found = model.robustness
    if found is None:
        return ""
    says = "bounds" if found.kind == "certified" else "estimates"
    return f"Robust accuracy: the share of {source_text(model)} above eps, which {says} the accuracy under attacks."


def no_claim_text(model: ModelAudit) -> str:
    """What robust accuracies do not say; empty where they are proven, or not there."""
    if model.robustness is None or model.robustness.kind == "certified":
        return ""
    return "That attacks leave what the robust accuracy says: they may leave less or more. gfscore check runs one."


def card_name(model: ModelAudit, *, worst: bool = False) -> str:
    """What a robust accuracy is called in the metadata of a model card."""
    found = model.robustness
    if found is None:
        return "Robust accuracy"
    rung = found.headline
    of = f" of the worst {model.partition} ({views.printable(rung.worst)})" if worst else ""
    metric = rung.lowest if worst else rung.whole
    ends = "" if metric.interval is None else f", interval {' to '.join(views.ends(metric.interval))}"
    return f"Robust accuracy{of}, {found.kind}, {size_text(found)}, by {source_text(model)}{ends}"


def headline_cells(model: ModelAudit, named: Callable[[str], str] = views.printable) -> list[str]:
    """Of the whole, and which class is the worst with how much, at the eps of the headline."""
    if model.robustness is None:
        return ["–", "–"]
    rung = model.robustness.headline
    return [views.share_text(rung.whole), f"{named(rung.worst)}: {views.share_text(rung.lowest)}"]


def limits_text(found: Robustness) -> str:
    """What robust accuracies of this kind are not."""
    return PROOF if found.kind == "certified" else NO_BOUND


def together_text(models: Sequence[ModelAudit]) -> str:
    """What the intervals of robust accuracies are worth."""
    levels = dict.fromkeys(f"{1 - each.robustness.delta:g}" for each in models if each.robustness is not None)
    whose = "" if len(models) == 1 else " of a model"
    return f"all{whose}, at every eps, hold together with probability {' or '.join(levels)}"


def curve_notes(model: ModelAudit, *, lines: bool = True) -> list[str]:
    """What the reader of one model's curves over eps must know."""
    found = model.robustness
    if found is None:
        return []
    of_all = f", of all {model.samples.n:,} samples" if found.n < model.samples.n else ""
    others = "" if lines else f"Grey: from the lowest {model.partition} to the highest. "
    return [
        f"By {source_text(model)}. {limits_text(found)}",
        f"Worst at {eps_text(found)} (dotted): {worst_text(model)}",
        f"{others}Bands: intervals; {together_text([model])}. Circles: {views.accuracy_name(model.score)}{of_all}.",
    ]


def models_notes(models: Sequence[ModelAudit], *, bands: bool, left_out: int) -> list[str]:
    """What the reader of curves over eps of several models must know."""
    found = [model.robustness for model in models if model.robustness is not None]
    about = "; ".join(dict.fromkeys(map(source_text, models)))
    at = " or ".join(dict.fromkeys(map(eps_text, found)))
    drawn = f"Bands: intervals; {together_text(models)}. " if bands else ""
    notes = [
        f"By {about}. {limits_text(found[0])}",
        f"By name on the right: the worst at {at} (dotted). {drawn}Circles: {views.accuracy_name(models[0].score)}.",
    ]
    if left_out:
        notes.append(f"Without robust accuracy, and not shown: {left_out:,} {'model' if left_out == 1 else 'models'}.")
    return notes


def by_robustness(model: ModelAudit) -> list[ClassResult]:
    """The classes from the lowest robust accuracy up where it is known beside the score, else from the lowest score."""
    beside = model.robustness is not None and model.score.name != FIRST_ORDER and model.robustness.kind == "estimated"
    if not beside:
        return sorted(model.classes, key=lambda entry: entry.score)
    return sorted(model.classes, key=lambda entry: (_value(entry.robust_accuracy), entry.score))


def _value(metric: Metric | None) -> float:
    return 1.0 if metric is None or metric.value is None else metric.value
