"""What may be said of a model, in sentences, and how its audit shows itself at a prompt and in a notebook."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TypeVar

from gfscore import views
from gfscore.errors import PLURALS, first_few
from gfscore.outputs import robust_words
from gfscore.results import ClassResult, Comparison, Metric, ModelAudit, Null
from gfscore.score_titles import ORDERS_NO_MODELS, title_of

Entry = TypeVar("Entry")
NOISE_LEVEL = 0.05  # of the p-value below which a gap is called more than noise
END_ROWS = 10  # classes at each end, when there are many


class Chance(StrEnum):
    """What may be said of whether the classes differ, from the strongest to nothing."""

    PROVED = "proved"  # the interval of the RDI leaves 0 out
    SHOWN = "shown"  # a test says so, which is approximate where classes are unequal in other ways than their means
    OPEN = "open"  # it may be chance
    UNTESTED = "untested"


def chance(model: ModelAudit) -> Chance:
    """The one rule for every headline, sentence and picture.

    A proof is an interval; a p-value alone says less. While the interval of the RDI reaches down to 0, every class may
    still be the worst: so what only a test shows never names one.
    """
    if model.rdi.interval is not None and model.rdi.interval[0] > 0:
        return Chance.PROVED
    if model.noise is None:
        return Chance.UNTESTED
    return Chance.SHOWN if any(adjusted(null) <= NOISE_LEVEL for null in nulls(model).values()) else Chance.OPEN


def nulls(model: ModelAudit) -> dict[str, Null]:
    """What chance alone would give, by the key of the metric it is known of."""
    found = {} if model.noise is None else {"rdi": model.noise.rdi, "nrgc": model.noise.nrgc}
    return {key: null for key, null in found.items() if null is not None}


def adjusted(null: Null) -> float:
    """The p-value of an index, corrected for the other one; files of earlier versions have the plain one only."""
    return null.p_value if null.p_holm is None else null.p_holm


def chance_text(model: ModelAudit) -> str:
    """What :func:`chance` says, as a sentence."""
    parts = PLURALS[model.partition]
    return {
        Chance.PROVED: f"The {parts} are not protected alike.",
        Chance.SHOWN: f"The {parts} differ by more than chance, but the data cannot tell which is worst.",
        Chance.OPEN: f"No {model.partition} stands out: the differences between the {parts} may be chance.",
        Chance.UNTESTED: f"Whether the {parts} differ by more than chance was not tested.",
    }[chance(model)]


def index_verdict(model: ModelAudit, null: Null) -> str:
    """Whether one index, RDI or NRGC, is more than noise: what :func:`chance` says of both is never contradicted."""
    found = chance(model)
    if found is Chance.PROVED or adjusted(null) <= NOISE_LEVEL:
        return "more than noise"
    return "by itself it may be noise" if found is Chance.SHOWN else "may be noise"


def noise_text(model: ModelAudit) -> str | None:
    """Whether the gap between best and worst is more than chance, in words."""
    if model.noise is None:
        return None
    null, parts, digits = model.noise.rdi, PLURALS[model.partition], views.digits_of(model.score)
    usual, rare, gap = (views.number(value, digits) for value in (null.null_mean, null.null_q95, model.rdi.value))
    approximate = " (by a normal approximation)" if model.noise.kind == "normal" else ""
    both = "" if model.noise.nrgc is None else f", of the {_name(model, 'nrgc')} {adjusted(model.noise.nrgc):.2g}"
    verdict = {
        Chance.PROVED: f"more than noise: the interval of the {_name(model, 'rdi')} leaves 0 out",
        Chance.SHOWN: f"the {parts} differ by more than chance, but the data cannot tell which is worst",
    }.get(chance(model), "it may be noise")
    said = (
        f"Were all {parts} equal, chance alone{approximate} would give a {_name(model, 'rdi')} of {usual} on average "
        f"and above {rare} in 5 % of cases; observed is {gap} (p-value {adjusted(null):.2g}{both}): {verdict}."
    )
    return " ".join([said, *limits_of_test(model)])


def _name(model: ModelAudit, key: str) -> str:
    return views.metric_name(key, model.score, model.partition)


def limits_of_test(model: ModelAudit) -> list[str]:
    """What a test cannot do, where nothing but a test says that the classes differ."""
    if chance(model) is not Chance.SHOWN or model.noise is None:
        return []
    errs = "in more than 5 % of cases where small classes are skewed and others are not"
    if model.noise.kind == "normal":
        return [f"A test says so, no interval: it errs {errs}, and where scores are nearly all 0 or at the maximum."]
    return [f"A test says so, no interval: it is exact for classes of one distribution, and errs {errs}."]


def no_order(models: Sequence[ModelAudit]) -> list[str]:
    """What scores of several models must not be read as: nothing to say of one model, or of a score that orders."""
    orders = all(title_of(model.score.name).orders_models for model in models)
    return [] if len(models) < 2 or orders else [ORDERS_NO_MODELS]


def no_order_between(comparison: Comparison) -> list[str]:
    """The same of two networks that are compared, where robust accuracy, which does compare them, is known too."""
    score = comparison.score
    orders = score is None or title_of(score.name).orders_models
    return [] if orders or not comparison.robustness else [ORDERS_NO_MODELS]


def whole_of(model: ModelAudit) -> str:
    """What a number of the whole model is of."""
    drawn = f"{model.samples.n:,}"
    match model.samples.weighted_by:
        case "class_sizes":
            size = sum(entry.size or 0 for entry in model.classes)
            return f"the {size:,} samples of the data set ({drawn} drawn, classes weighed by their size in it)"
        case "unequal_draws":
            return f"the {drawn} samples drawn (not of the data set)"
        case _:
            return f"all {drawn} samples"


def weighed(model: ModelAudit) -> str:
    """A remark beside an accuracy on what it is of, where there is little room: mostly none."""
    remarks = {"class_sizes": " (classes weighed as in the data set)", "unequal_draws": " (of the samples drawn)"}
    return remarks.get(model.samples.weighted_by, "")


def weighed_notes(models: Sequence[ModelAudit]) -> list[str]:
    """A sentence below tables of several models, where a number of a whole one is not of all samples alike."""
    about = {model.samples.weighted_by: whole_of(model) for model in models}
    return [f"Score and accuracy of a model are of {text}." for by, text in about.items() if by != "samples"]


def headline(model: ModelAudit) -> str:
    """What was scored, and how, in one line."""
    how = ", ".join([views.score_name(model.score), *views.settings(model.score)])
    accuracy = f"{views.accuracy_name(model.score)} {views.percent(model.accuracy, 2)}{weighed(model)}"
    parts = f"{len(model.classes):,} {PLURALS[model.partition]}"
    return f"{model.name}: {model.samples.n:,} samples, {parts}, {accuracy}; {how}"


def made_by(model: ModelAudit) -> list[str]:
    """How a logits file says that it was made, where it does; a model that is run here was told by the reader.

    Where it ran is said of both, unless that was the processor: ``auto`` may have chosen it.
    """
    run, file = model.run, model.samples.source
    if run is None:
        return []
    if run.data.source == file:
        return ran_on([model])
    batches = "" if run.batch_size is None else f"; batches of {run.batch_size:,}"
    how = views.preprocessing_text(run.preprocessing)
    made = f"{file} was made on {run.data.source}; preprocessing: {how}{batches}."
    return [views.printable(made), *ran_on([model])]


def ran_on(models: Sequence[ModelAudit]) -> list[str]:
    """Which models ran elsewhere than on the processor, a line for each device."""
    found: dict[str, list[str]] = {}
    for model in models:
        if model.run is not None and model.run.device is not None:
            found.setdefault(model.run.device, []).append(model.name)
    return [views.printable(f"{first_few(names)} ran on {device}.") for device, names in found.items()]


def claim_text(model: ModelAudit) -> str:
    """What may be read into the score, after everything that was tried."""
    return " ".join([*tried_texts(model), premise_text(model)])


def premise_text(model: ModelAudit) -> str:
    """Whether the score is a certificate, and on what condition; one that was refuted is none."""
    return f"{'A' if views.is_certified(model) else 'Not a'} certificate. {model.claim.premise}"


def tried_texts(model: ModelAudit) -> list[str]:
    """What came of trying to refute the claim, a sentence each; nothing where nothing was tried."""
    claim, tried = model.claim, []
    how = "" if claim.tried_on is None else f" ({claim.tried_on:,} tried, by {', '.join(claim.tried_by)})"
    if claim.radius_refuted_share is not None and claim.radius_refuted_share > 0:
        share = f"{views.percent(claim.radius_refuted_share)}{views.between(claim.radius_refuted_interval)}"
        tried.append(f"Radius reading refuted on {share} of samples{how}.")
    elif claim.radius_refuted_share is not None:
        tried.append(f"No radius was refuted{how}, which proves none.")
    if claim.premise_violated_share is not None:
        tried.append(f"Its premise is violated on {views.percent(claim.premise_violated_share)} of samples.")
    return tried


def brackets(model: ModelAudit) -> str:
    """What the intervals mean, in one sentence."""
    how, others = model.interval, levels_beside(model)
    when = " at every moment of the stream" if how.anytime else ""
    if how.temperatures is not None:
        when = " at every temperature from {:g} to {:g} at once".format(*how.temperatures)
    what = "all intervals" if not others else "all intervals of scores and metrics"
    said = f"Brackets: {what} together hold{when} with probability {1 - how.delta:g} ({how.method}, {how.target})."
    return said if others is None else f"{said} {others}"


def brackets_of_all(models: Sequence[ModelAudit]) -> str:
    """The same for several models, each of which has its own."""
    how = models[0].interval
    if any(model.interval != how for model in models):
        return "Brackets: all intervals of a model together hold with the probability that stands in its audit."
    others = dict.fromkeys(text for text in map(levels_beside, models) if text is not None)
    what = "all intervals of scores and metrics of a model" if others else "all intervals of a model"
    said = f"Brackets: {what} together hold with probability {1 - how.delta:g} ({how.method})."
    return " ".join([said, *others])


def levels_beside(model: ModelAudit) -> str | None:
    """What all intervals of a model are worth together, where some have levels beside that of the scores."""
    deltas = dict[str, float]()
    if model.claim.delta is not None and model.claim.radius_refuted_interval is not None:
        deltas["refuted shares"] = model.claim.delta
    if model.cross_check is not None:
        deltas["accuracy under attack"] = model.cross_check.delta
    if model.robustness is not None and model.score.eps is None:  # else they have a part of the level of the scores
        deltas["robust accuracies"] = model.robustness.delta
    if not deltas:
        return None
    together = max(0.0, 1 - model.interval.delta - sum(deltas.values()))
    own = "a level of their own" if len(deltas) == 1 else "levels of their own"
    beside = f"Intervals of {' and of '.join(deltas)} have {own}"
    return f"{beside}; with them, all hold together with probability {together:g}."


def fill(template: str, model: ModelAudit, named: Callable[[str], str] = str) -> str:
    """A text of the table of metrics with the facts of a model; ``named`` makes names fit for where they stand."""
    return template.format(
        part=model.partition,
        parts=PLURALS[model.partition],
        n=f"{len(model.classes):,}",
        worst=named(model.wcr.class_),
        best=named(model.rdi.classes[0]),
        whole=whole_of(model),
        weight=f"{model.fp_great.weight:g}",
        adjusted=views.score_text(model, model.atkinson.adjusted_mean),
        score=views.score_name(model.score),
        column=views.column_name(model.score),
    )


def begin(text: str) -> str:
    """A text as the beginning of a sentence or of a row."""
    return text[:1].upper() + text[1:]


def metric_rows(model: ModelAudit) -> list[tuple[str, str, str]]:
    """Name, value and meaning of each metric of the whole model."""
    robust = []
    if model.robust_accuracy is not None:
        meaning = robust_words.meaning(model)
        robust.append(("robust accuracy", views.share_text(model.robust_accuracy), meaning))
    return robust + [
        (
            views.metric_name(key, model.score, model.partition),
            views.metric_text(model, key),
            fill(views.metric_row(key).note, model),
        )
        for key in views.metric_keys(model)
    ]


def class_shares(model: ModelAudit) -> dict[str, Callable[[ClassResult], Metric | None]]:
    """What else is known of each class, by the heading of its column; only what this result has."""
    attack = "attack" if model.cross_check is None else model.cross_check.attack
    columns: dict[str, Callable[[ClassResult], Metric | None]] = {
        robust_words.title(model): lambda entry: entry.robust_accuracy,
        "radii refuted": lambda entry: entry.refuted,
        f"accuracy under {attack}": lambda entry: entry.attacked,
    }
    return {name: column for name, column in columns.items() if any(map(column, model.classes))}


def both_ends(ordered: Sequence[Entry]) -> tuple[Sequence[Entry], Sequence[Entry]]:
    """All entries and none, or the first and the last of them when there are more than both ends hold."""
    return (ordered, ()) if len(ordered) <= 2 * END_ROWS else (ordered[:END_ROWS], ordered[-END_ROWS:])


def by_score(model: ModelAudit) -> list[ClassResult]:
    """The classes from the lowest score up."""
    return sorted(model.classes, key=lambda entry: entry.score)
