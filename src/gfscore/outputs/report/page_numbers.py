"""What the slider of the HTML report shows: class scores and metrics by temperature, each rounded once."""

from collections.abc import Callable, Iterable
from typing import Any

from gfscore import views
from gfscore.outputs import sentences
from gfscore.outputs.escaping import shorten
from gfscore.results import Audit, Curves, ModelAudit


def page_data(audit: Audit) -> dict[str, Any]:
    """What ``assets/slider.js`` reads: every name once, numbers with the digits they are shown with."""
    places: dict[str, int] = {}
    for model in audit.models:
        for name in () if model.curves is None else model.curves.scores:
            places.setdefault(name, len(places))
    return {
        "names": [shorten(name) for name in places],
        "models": [None if model.curves is None else _pack(model, model.curves, places) for model in audit.models],
    }


def _pack(model: ModelAudit, curves: Curves, places: dict[str, int]) -> dict[str, Any]:
    digits = views.digits_of(model.score)
    how: Callable[[float, int], float] = views.floored if views.is_certified(model) else round
    known: dict[str, Iterable[float | None]] = {"aggregate": curves.aggregate} | dict(curves.metrics)
    keys = [key for key in views.metric_keys(model) if key in known]
    return {
        "part": model.partition,
        "digits": digits,
        "temperature": list(curves.temperature),
        "at": model.score.temperature,
        "star": None if model.calibrated is None else model.calibrated.temperature,
        "metrics": [
            {
                "key": key,
                "name": sentences.begin(views.metric_name(key, model.score, model.partition)),
                "digits": views.metric_digits(key, model.score),
                "values": _round(known[key], views.metric_digits(key, model.score), round),
            }
            for key in keys
        ],
        "names": [places[name] for name in curves.scores],
        "scores": [_round(values, digits, how) for values in curves.scores.values()],
        "all": len(curves.scores) >= len(model.classes),
    }


def _round(values: Iterable[float | None], digits: int, how: Callable[[float, int], float]) -> list[float | None]:
    return [None if value is None else how(value, digits) for value in values]
