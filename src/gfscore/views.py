"""Numbers of a result as people read them, and what scores and metrics are called."""

import math
from collections.abc import Mapping
from typing import Any, Literal

from gfscore.errors import PLURALS
from gfscore.metrics import BUILT_IN, METRICS, PLACEHOLDERS, ModelMetric, Unit, find_metric
from gfscore.results import Calibrated, Metric, ModelAudit, PreprocessingInfo, ScoreInfo
from gfscore.score_titles import digits_of_range, title_of

SLACK = 1e-11  # by which an end may pass a digit: bounds are moved outward by 1e-12 for their own rounding
INDEX_DIGITS = 3  # of a number without a unit
ROUND_EPS = 1e-6  # of a quarter of 1/255: an eps that near to a multiple of it is one
MOST_LEVELS = 16  # of 255, up to which people write a size of attack so


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


def score_name(score: ScoreInfo | None) -> str:
    """What a local score is called; None, as in files of earlier versions, is one of which that is not known."""
    return "score" if score is None else printable(title_of(score.name).title)


def column_name(score: ScoreInfo | None) -> str:
    """What a local score is called as the heading of a column."""
    return "score" if score is None else printable(title_of(score.name).heading)


def accuracy_name(score: ScoreInfo) -> str:
    """What the accuracy of its decisions is called: those of a smoothed classifier are not the model's own."""
    return title_of(score.name).accuracy


def digits_of(score: ScoreInfo | None) -> int:
    """Digits after the point that the values of a score are shown with."""
    return INDEX_DIGITS if score is None else digits_of_range(score.range[1])


def share_text(metric: Metric | None) -> str:
    """A share with its interval, as ``48.5 % [45.1 %, 51.9 %]``."""
    if metric is None or metric.value is None:
        return "–"
    return f"{percent(metric.value)}{between(metric.interval)}"


def norm_text(norm: str) -> str:
    """A norm as it is written in papers.

    >>> norm_text("linf"), norm_text("l2")
    ('Linf', 'L2')
    """
    return norm.capitalize()


def eps_text(eps: float, norm: str | None) -> str:
    """A size of attack as people write it: in Linf in 255ths, where it is a round number of them.

    >>> eps_text(2 / 255, "linf"), eps_text(0.5 / 255, "linf"), eps_text(0.01, "linf"), eps_text(0.25, "l2")
    ('2/255', '0.5/255', '0.01', '0.25')
    >>> eps_text(48 / 255, "linf"), eps_text(0.3, "linf")  # of large ones whole levels only, as 0.3 is 76.5
    ('48/255', '0.3')
    """
    levels, parts = eps * 255, 4 if eps * 255 <= MOST_LEVELS else 1
    if norm == "linf" and abs(parts * levels - round(parts * levels)) < ROUND_EPS:
        return f"{round(parts * levels) / parts:g}/255"
    return f"{eps:.4g}"


def points(change: Metric) -> str:
    """A change of a share in percentage points, with its interval rounded outward.

    >>> points(Metric(value=-0.125, interval=(-0.2001, 0.05)))
    '−12.5 [−20.1, 5.0]'
    """
    hundred = None if change.interval is None else (100 * change.interval[0], 100 * change.interval[1])
    return estimate(None if change.value is None else 100 * change.value, hundred, 1)


def metric_row(key: str) -> ModelMetric:
    """The row of the table of metrics; a metric from a plug-in that is not installed here is shown under its key."""
    title = key.replace("{", "{{").replace("}", "}}")
    unknown = ModelMetric(
        key=key, title=title, value=lambda _: None, note="of a plug-in that is not installed here", unit=Unit.INDEX
    )
    return find_metric(key) or unknown


def metric_keys(*results: ModelAudit | Calibrated, main: bool = False) -> list[str]:
    """Keys of all metrics that any of the results has, as they are shown; ``main``: where there is room for few."""
    others = {key for result in results for key in result.metrics}
    rows = {key: metric_row(key) for key in others}
    known = [key for key in METRICS if key in BUILT_IN or key in others]
    keys = [*known, *sorted(others - METRICS.keys())]
    return [key for key in keys if not main or rows.get(key, METRICS.get(key, metric_row(key))).is_main]


def metric_title(key: str, score: ScoreInfo | None, *, column: bool = False) -> str:
    """What a metric is called; the mean over all samples as the score itself, in a ``column`` in short."""
    named = {"score": column_name(score) if column else score_name(score), "column": column_name(score)}
    return printable(metric_row(key).title.format_map(dict.fromkeys(PLACEHOLDERS, "") | named))


def metric_name(key: str, score: ScoreInfo | None, partition: Literal["class", "group"] = "class") -> str:
    """What a metric is called where there is room for words, with the short title that other places know it by.

    >>> metric_name("wcr", None), metric_name("rdi", None), metric_name("aggregate", None)
    ('worst class (WCR)', 'gap (RDI)', 'score')
    """
    row = metric_row(key)
    named = {"part": partition, "parts": PLURALS[partition], "score": score_name(score), "column": column_name(score)}
    return printable((row.name or row.title).format_map(dict.fromkeys(PLACEHOLDERS, "") | named))


def metric_digits(key: str, score: ScoreInfo | None) -> int:
    """Digits after the point that a metric is shown with: those of the score, where it has the score's unit."""
    return digits_of(score) if metric_row(key).unit in (Unit.SCORE, Unit.GAP) else INDEX_DIGITS


def metric_text(
    model: ModelAudit, key: str, result: ModelAudit | Calibrated | None = None, *, interval: bool = True
) -> str:
    """A metric of a model, or of ``result`` (the same model at another temperature), as it is shown."""
    found, unit = (result or model).metric(key), metric_row(key).unit
    ends = found.interval if interval else None
    if unit is Unit.SHARE:
        return "–" if found.value is None else f"{percent(found.value)}{between(ends)}"
    certified = unit is Unit.SCORE and is_certified(model)
    return estimate(found.value, ends, metric_digits(key, model.score), certified=certified)


def settings(score: ScoreInfo) -> list[str]:
    """What decides a score: activation and temperature, or norm and what else was recorded."""
    found: list[str] = []
    if score.activation is not None:
        found.append("probabilities as given" if score.probabilities else score.activation)
    if score.temperature is not None:
        found.append(f"T = {score.temperature:g}")
    if score.norm is not None:
        found.append(norm_text(score.norm))
    recorded = dict(score.settings or {})
    if "gradients" in recorded:  # of a first-order radius: how it was found says more than every setting
        return [*found, radius_text(recorded)]
    for name, value in recorded.items():
        found.append(f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {value}")
    return found


def radius_text(settings: Mapping[str, Any] | None) -> str:
    """How first-order radii were found: by gradients, perhaps refined at midpoints, or by forward passes alone.

    >>> radius_text({"gradients": True, "refine": 4}), radius_text({"gradients": False, "directions": 64})
    ('by gradients, refined at 4 midpoints', 'forward-only, 64 directions')
    """
    said = dict(settings or {})
    if not said.get("gradients"):
        early = "at most " if said.get("decide") else ""
        return f"forward-only, {early}{said.get('directions')} directions"
    steps = said.get("refine")
    return f"by gradients, refined at {steps} midpoint{'s' * (steps != 1)}" if steps else "by gradients"


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


def between(interval: tuple[float, float] | None) -> str:
    """The interval of a share, where there is one, rounded outward, as `` [25.9 %, 30.8 %]``."""
    return "" if interval is None else f" [{percent(floored(interval[0], 3))}, {percent(ceiled(interval[1], 3))}]"


def level_text(level: float) -> str:
    """An error level with the digits that ``:g`` has, and not above it: who says it asks for no more.

    >>> level_text(0.05 / 3), level_text(0.025)
    ('0.0166666', '0.025')
    """
    near = f"{level:g}"
    if float(near) <= level:
        return near
    unit = 10.0 ** (math.floor(math.log10(level)) - 5)
    return f"{(math.floor(level / unit)) * unit:g}"
