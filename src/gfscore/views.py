"""How a result shows itself at a prompt and in a notebook, and the words for its numbers."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from html import escape
from typing import Any

from gfscore.errors import PLURALS
from gfscore.metrics import BUILT_IN, METRICS, PLACEHOLDERS, ModelMetric, Unit, find_metric
from gfscore.results import Calibrated, ClassResult, Metric, ModelAudit, Null, PreprocessingInfo, ScoreInfo
from gfscore.score_titles import ORDERS_NO_MODELS, digits_of_range, title_of

NOISE_LEVEL = 0.05  # of the p-value below which a gap is called more than noise
SHOWN = 10  # classes at each end, when there are many
SLACK = 1e-11  # by which an end may pass a digit: bounds are moved outward by 1e-12 for their own rounding
INDEX_DIGITS = 3  # of a number without a unit


def number(value: float | None, digits: int = 3) -> str:
    """A number for people; a dash when it does not exist."""
    if value is None:
        return "–"
    return f"{value:.{digits}f}".replace("-", "−")


def floored(value: float, digits: int) -> float:
    """A number rounded down: a lower end that is not above what was proven.

    >>> floored(0.2999, 3), floored(0.3, 3), round(0.2999, 3)
    (0.299, 0.3, 0.3)
    """
    near = round(value, digits)
    return (near if near <= value + SLACK else round(near - 10**-digits, digits)) + 0.0  # no minus before a zero


def ceiled(value: float, digits: int) -> float:
    """A number rounded up: an upper end that is not below what was proven.

    >>> ceiled(0.3001, 3), ceiled(0.3, 3)
    (0.301, 0.3)
    """
    return -floored(-value, digits) + 0.0


def ends(interval: tuple[float, float], digits: int = 3) -> tuple[str, str]:
    """Both ends of an interval for people, rounded outward: what is shown holds when the interval does.

    >>> ends((0.2599, 0.3071), 2)
    ('0.25', '0.31')
    """
    return number(floored(interval[0], digits), digits), number(ceiled(interval[1], digits), digits)


def estimate(
    value: float | None, interval: tuple[float, float] | None, digits: int = 3, *, certified: bool = False
) -> str:
    """A number with its interval, as ``0.283 [0.259, 0.308]``; one that is ``certified`` is rounded down."""
    if value is None:
        return number(None)
    shown = number(floored(value, digits) if certified else value, digits)
    return shown if interval is None else f"{shown} [{', '.join(ends(interval, digits))}]"


def score_text(model: ModelAudit, value: float | None, interval: tuple[float, float] | None = None) -> str:
    """A mean score of a model, with its digits; of a certificate, never more than was certified."""
    return estimate(value, interval, digits_of(model.score), certified=is_certified(model))


def is_certified(model: ModelAudit) -> bool:
    """Whether the score is a certificate; one that was refuted is none."""
    return model.claim.certified and not model.claim.radius_refuted_share


def printable(name: str) -> str:
    """A name that cannot move the cursor or hide: control characters are spelled out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def percent(share: float | None, digits: int = 1) -> str:
    """A share of a whole, for people; a dash when it does not exist."""
    return "–" if share is None else f"{100 * share:.{digits}f} %"


def lowest_and_highest(model: ModelAudit) -> tuple[list[ClassResult], list[ClassResult]]:
    """Classes from the lowest score up: all of them, or the ends when there are more than both ends hold."""
    ordered = sorted(model.classes, key=lambda entry: entry.score)
    if len(ordered) <= 2 * SHOWN:
        return ordered, []
    return ordered[:SHOWN], ordered[-SHOWN:]


def score_name(score: "ScoreInfo | None") -> str:
    """What a local score is called; None, as in files of earlier versions, is one of which that is not known."""
    return "score" if score is None else printable(title_of(score.name).title)


def column_name(score: "ScoreInfo | None") -> str:
    """What a local score is called as the heading of a column."""
    return "score" if score is None else printable(title_of(score.name).heading)


def accuracy_name(score: ScoreInfo) -> str:
    """What the accuracy of its decisions is called: those of a smoothed classifier are not the model's own."""
    return title_of(score.name).accuracy


def no_order(models: Sequence["ModelAudit"]) -> list[str]:
    """What scores of several models must not be read as: nothing to say of one model, or of a score that orders."""
    orders = all(title_of(model.score.name).orders_models for model in models)
    return [] if len(models) < 2 or orders else [ORDERS_NO_MODELS]


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
    """The same where there is little room: a remark beside an accuracy, mostly none."""
    remarks = {"class_sizes": " (classes weighed as in the data set)", "unequal_draws": " (of the samples drawn)"}
    return remarks.get(model.samples.weighted_by, "")


def weighed_notes(models: Sequence[ModelAudit]) -> list[str]:
    """A sentence below tables of several models, where a number of a whole one is not of all samples alike."""
    about = {model.samples.weighted_by: whole_of(model) for model in models}
    return [f"Score and accuracy of a model are of {text}." for by, text in about.items() if by != "samples"]


def digits_of(score: "ScoreInfo | None") -> int:
    """Digits after the point that the values of a score are shown with."""
    return INDEX_DIGITS if score is None else digits_of_range(score.range[1])


def share_text(metric: Metric | None) -> str:
    """A share with its interval, as ``48.5 % [45.1 %, 51.9 %]``."""
    if metric is None or metric.value is None:
        return "–"
    return f"{percent(metric.value)}{between(metric.interval)}"


def class_shares(model: ModelAudit) -> dict[str, Callable[[ClassResult], Metric | None]]:
    """What else is known of each class, by the heading of its column; only what this result has."""
    attack = "attack" if model.cross_check is None else model.cross_check.attack
    columns: dict[str, Callable[[ClassResult], Metric | None]] = {
        "robust accuracy": lambda entry: entry.robust_accuracy,
        "radii refuted": lambda entry: entry.refuted,
        f"accuracy under {attack}": lambda entry: entry.attacked,
    }
    return {name: column for name, column in columns.items() if any(map(column, model.classes))}


def metric_row(key: str) -> ModelMetric:
    """The row of the table of metrics; a metric from a plug-in that is not installed here is shown under its key."""
    title = key.replace("{", "{{").replace("}", "}}")
    unknown = ModelMetric(
        key=key, title=title, value=lambda _: None, note="of a plug-in that is not installed here", unit=Unit.INDEX
    )
    return find_metric(key) or unknown


def metric_keys(*results: "ModelAudit | Calibrated", main: bool = False) -> list[str]:
    """Keys of all metrics that any of the results has, as they are shown; ``main``: where there is room for few."""
    others = {key for result in results for key in result.metrics}
    rows = {key: metric_row(key) for key in others}
    known = [key for key in METRICS if key in BUILT_IN or key in others]
    keys = [*known, *sorted(others - METRICS.keys())]
    return [key for key in keys if not main or rows.get(key, METRICS.get(key, metric_row(key))).is_main]


def metric_title(key: str, score: "ScoreInfo | None", *, column: bool = False) -> str:
    """What a metric is called; the mean over all samples as the score itself, in a ``column`` in short."""
    named = {"score": column_name(score) if column else score_name(score), "column": column_name(score)}
    return printable(metric_row(key).title.format_map(dict.fromkeys(PLACEHOLDERS, "") | named))


def metric_digits(key: str, score: "ScoreInfo | None") -> int:
    """Digits after the point that a metric is shown with: those of the score, where it has the score's unit."""
    return digits_of(score) if metric_row(key).unit in (Unit.SCORE, Unit.GAP) else INDEX_DIGITS


def metric_text(
    model: "ModelAudit", key: str, result: "ModelAudit | Calibrated | None" = None, *, interval: bool = True
) -> str:
    """A metric of a model, or of ``result`` (the same model at another temperature), as it is shown."""
    found, unit = (result or model).metric(key), metric_row(key).unit
    ends = found.interval if interval else None
    if unit is Unit.SHARE:
        return "–" if found.value is None else f"{percent(found.value)}{between(ends)}"
    certified = unit is Unit.SCORE and is_certified(model)
    return estimate(found.value, ends, metric_digits(key, model.score), certified=certified)


def fill(template: str, model: "ModelAudit", named: Callable[[str], str] = str) -> str:
    """A text of the table of metrics with the facts of a model; ``named`` makes names fit for where they stand."""
    facts = {
        "part": model.partition,
        "parts": PLURALS[model.partition],
        "n": f"{len(model.classes):,}",
        "worst": named(model.wcr.class_),
        "best": named(model.rdi.classes[0]),
        "whole": whole_of(model),
        "weight": f"{model.fp_great.weight:g}",
        "adjusted": score_text(model, model.atkinson.adjusted_mean),
        "score": score_name(model.score),
        "column": column_name(model.score),
    }
    return template.format_map(facts)


def metric_rows(model: "ModelAudit") -> list[tuple[str, str, str]]:
    """Name, value and meaning of each metric of the whole model."""
    robust = []
    if model.robust_accuracy is not None:
        meaning = f"share of radii above {model.score.eps:g}: an estimate, and the interval covers sampling only"
        robust.append(("robust accuracy", share_text(model.robust_accuracy), meaning))
    rows = [
        (metric_title(key, model.score), metric_text(model, key), fill(metric_row(key).note, model))
        for key in metric_keys(model)
    ]
    return [*robust, *rows]


def nulls(model: "ModelAudit") -> "dict[str, Null]":
    """What chance alone would give, by the key of the metric it is known of."""
    found = {} if model.noise is None else {"rdi": model.noise.rdi, "nrgc": model.noise.nrgc}
    return {key: null for key, null in found.items() if null is not None}


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
    nulls = [null for null in (model.noise.rdi, model.noise.nrgc) if null is not None]
    return Chance.SHOWN if any(adjusted(null) <= NOISE_LEVEL for null in nulls) else Chance.OPEN


def chance_text(model: ModelAudit) -> str:
    """The same as a sentence."""
    parts = PLURALS[model.partition]
    match chance(model):
        case Chance.PROVED:
            return f"The {parts} are not protected alike."
        case Chance.SHOWN:
            return f"The {parts} differ by more than chance, but the data cannot tell which is worst."
        case Chance.OPEN:
            return f"No {model.partition} stands out: the differences between the {parts} may be chance."
        case Chance.UNTESTED:
            return f"Whether the {parts} differ by more than chance was not tested."


def adjusted(null: Null) -> float:
    """The p-value of an index, corrected for the other one; files of earlier versions have the plain one only."""
    return null.p_value if null.p_holm is None else null.p_holm


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
    null, parts, digits = model.noise.rdi, PLURALS[model.partition], digits_of(model.score)
    approximate = " (by a normal approximation)" if model.noise.kind == "normal" else ""
    both = "" if model.noise.nrgc is None else f", of the NRGC {adjusted(model.noise.nrgc):.2g}"
    verdict = {
        Chance.PROVED: "more than noise: the interval of the RDI leaves 0 out",
        Chance.SHOWN: f"the {parts} differ by more than chance, but the data cannot tell which is worst",
    }.get(chance(model), "it may be noise")
    return (
        f"Were all {parts} equal, chance alone{approximate} would give an RDI of {number(null.null_mean, digits)} on "
        f"average and above {number(null.null_q95, digits)} in 5 % of cases; observed is "
        f"{number(model.rdi.value, digits)} (p of the RDI {adjusted(null):.2g}{both}): {verdict}."
        + "".join(f" {limits}" for limits in limits_of_test(model))
    )


def limits_of_test(model: ModelAudit) -> list[str]:
    """What a test cannot do, where nothing but a test says that the classes differ."""
    if chance(model) is not Chance.SHOWN or model.noise is None:
        return []
    errs = "in more than 5 % of cases where small classes are skewed and others are not"
    if model.noise.kind == "normal":
        return [f"A test says so, no interval: it errs {errs}, and where scores are nearly all 0 or at the maximum."]
    return [f"A test says so, no interval: it is exact for classes of one distribution, and errs {errs}."]


def headline(model: ModelAudit) -> str:
    """What was scored, and how, in one line."""
    how = [score_name(model.score), *settings(model.score)]
    return (
        f"{model.name}: {model.samples.n:,} samples, {len(model.classes):,} "
        f"{PLURALS[model.partition]}, {accuracy_name(model.score)} {percent(model.accuracy, 2)}{weighed(model)}; "
        + ", ".join(how)
    )


def settings(score: ScoreInfo) -> list[str]:
    """What decides a score: activation and temperature, or norm and what else was recorded."""
    found: list[str] = []
    if score.activation is not None:
        found.append("probabilities as given" if score.probabilities else score.activation)
    if score.temperature is not None:
        found.append(f"T = {score.temperature:g}")
    if score.norm is not None:
        found.append(score.norm.capitalize())
    recorded = dict(score.settings or {})
    if "gradients" in recorded:  # of a first-order radius: how it was found says more than every setting
        forward = f"forward-only, {recorded.get('directions')} directions"
        return [*found, "by gradients" if recorded["gradients"] else forward]
    for name, value in recorded.items():
        found.append(f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {value}")
    return found


def preprocessing_text(how: PreprocessingInfo) -> str:
    """What happened to the pixels before the model saw them.

    >>> preprocessing_text(PreprocessingInfo(mean=(0.5,), std=(0.25,), layout="NHWC"))
    'mean 0.5, std 0.25, layout NHWC'
    """
    said = how.model_dump(exclude_defaults=True)  # which change nothing
    if not {"resize", "crop"} & said.keys():
        said.pop("interpolation", None)

    def text(value: Any) -> str:
        if isinstance(value, list | tuple):
            return " ".join(f"{each:g}" if isinstance(each, int | float) else str(each) for each in value)
        return f"{value:g}" if isinstance(value, float) else str(value)

    names = {"value_range": "range"}
    return ", ".join(f"{names.get(name, name)} {text(value)}" for name, value in said.items()) or "none"


def claim_text(model: ModelAudit) -> str:
    """What may be read into the score, after everything that was tried."""
    return " ".join([*tried_texts(model), premise_text(model)])


def premise_text(model: ModelAudit) -> str:
    """Whether the score is a certificate, and on what condition; one that was refuted is none."""
    return f"{'A' if is_certified(model) else 'Not a'} certificate. {model.claim.premise}"


def tried_texts(model: ModelAudit) -> list[str]:
    """What came of trying to refute the claim, a sentence each; nothing where nothing was tried."""
    claim, tried = model.claim, []
    how = "" if claim.tried_on is None else f" ({claim.tried_on:,} tried, by {', '.join(claim.tried_by)})"
    if claim.radius_refuted_share is not None:
        share = f"{percent(claim.radius_refuted_share)}{between(claim.radius_refuted_interval)} of samples{how}"
        tried.append(
            f"Radius reading refuted on {share}."
            if claim.radius_refuted_share > 0
            else f"No radius was refuted{how}, which proves none."
        )
    if claim.premise_violated_share is not None:
        tried.append(f"Its premise is violated on {percent(claim.premise_violated_share)} of samples.")
    return tried


def between(interval: tuple[float, float] | None) -> str:
    """The interval of a share, where there is one, rounded outward, as `` [25.9 %, 30.8 %]``."""
    return "" if interval is None else f" [{percent(floored(interval[0], 3))}, {percent(ceiled(interval[1], 3))}]"


def brackets(model: ModelAudit) -> str:
    """What the intervals mean, in one sentence."""
    how = model.interval
    when = " at every moment of the stream" if how.anytime else ""
    others = levels_beside(model)
    what = "all intervals" if not others else "all intervals of scores and metrics"
    said = f"Brackets: {what} together hold{when} with probability {1 - how.delta:g} ({how.method}, {how.target})."
    return said if others is None else f"{said} {others}"


def levels_beside(model: ModelAudit) -> str | None:
    """What all intervals of a model are worth together, where some have levels beside that of the scores."""
    deltas = dict[str, float]()
    if model.claim.delta is not None and model.claim.radius_refuted_interval is not None:
        deltas["refuted shares"] = model.claim.delta
    if model.cross_check is not None:
        deltas["accuracy under attack"] = model.cross_check.delta
    if not deltas:
        return None
    together = max(0.0, 1 - model.interval.delta - sum(deltas.values()))
    own = "a level of their own" if len(deltas) == 1 else "levels of their own"
    beside = f"Intervals of {' and of '.join(deltas)} have {own}"
    return f"{beside}; with them, all hold together with probability {together:g}."


def model_text(model: ModelAudit) -> str:
    """A model's audit in a few lines."""
    rows = metric_rows(model)
    width = max(len(name) for name, _, _ in rows)
    values = max(len(value) for _, value, _ in rows)
    lines = [headline(model)]
    lines += [f"  {name:<{width}}  {value:<{values}}  {meaning}" for name, value, meaning in rows]
    lines += [f"  {line}" for line in (noise_text(model),) if line]
    lines += [f"  ! {flag.message}" for flag in model.flags]
    lines.append(f"  {claim_text(model)}")
    return "\n".join(map(printable, lines))


def model_html(model: ModelAudit) -> str:
    """A model's audit for a notebook; every name is escaped."""
    metrics = "".join(_html_row(row) for row in metric_rows(model))
    low, high = lowest_and_highest(model)
    shares = class_shares(model)
    headings = (model.partition, "n", "score", "accuracy", *shares, "most confused with")
    gap = [("…", *[""] * (len(headings) - 1))] if high else []
    rows = [
        (
            entry.name,
            f"{entry.n:,}",
            score_text(model, entry.score, entry.interval),
            percent(entry.accuracy),
            *(share_text(share(entry)) for share in shares.values()),
            entry.confused_with or "–",
        )
        for entry in (*low, *high)
    ]
    rows[len(low) : len(low)] = gap
    notes = [text for text in (noise_text(model), *(flag.message for flag in model.flags)) if text]
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    head = _html_row(headings, tag="th")
    return (
        f"<h4>{escape(headline(model))}</h4><table>{metrics}</table>"
        f"<table>{head}{''.join(map(_html_row, rows))}</table>"
        + (f"<ul>{items}</ul>" if items else "")
        + f"<p><small>{escape(brackets(model))} {escape(claim_text(model))}</small></p>"
    )


def _html_row(cells: tuple[str, ...], tag: str = "td") -> str:
    return "<tr>" + "".join(f'<{tag} style="text-align:left">{escape(cell)}</{tag}>' for cell in cells) + "</tr>"
