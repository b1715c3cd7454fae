"""The numbers that the page's scripts show, packed small: columns instead of rows, every name once."""

from collections.abc import Callable, Iterable
from typing import Any

from gfscore import views
from gfscore.outputs.escaping import shortened
from gfscore.outputs.report import words
from gfscore.results import Audit, Curves, ModelAudit

DECIMALS = 6  # at least two more than are shown

Column = list[float | None]


def packed(audit: Audit) -> dict[str, Any]:
    """What ``assets/*.js`` read."""
    places: dict[str, int] = {}
    for model in audit.models:
        for entry in model.classes:
            for name in (entry.name, entry.confused_with):
                if name is not None:
                    places.setdefault(name, len(places))
    calibration = audit.calibration
    return {
        "names": [shortened(name) for name in places],
        "labels": {line.key: line.name for line in words.metric_lines(audit.models[0])},
        "models": [_model(model, places) for model in audit.models],
        "plateau": [] if calibration is None else [list(interval) for interval in calibration.intervals],
    }


def _model(model: ModelAudit, places: dict[str, int]) -> dict[str, Any]:
    classes, worst = model.classes, set(model.worst_set)
    intervals = [entry.interval or (None, None) for entry in classes]
    return {
        "name": shortened(model.name),
        "part": model.partition,
        "title": words.score_title(model.score),
        "digits": views.digits_of(model.score),
        "certified": views.is_certified(model),
        "range": list(model.score.range),
        "temperature": model.score.temperature,
        "star": None if model.calibrated is None else model.calibrated.temperature,
        "mean": model.class_mean,
        "accuracy": views.accuracy_name(model.score),
        "classes": {
            "name": [places[entry.name] for entry in classes],
            "n": [entry.n for entry in classes],
            "score": _rounded(
                (entry.score for entry in classes), views.floored if views.is_certified(model) else round
            ),
            "low": _rounded((low for low, _ in intervals), views.floored),
            "high": _rounded((high for _, high in intervals), views.ceiled),
            "std": _rounded(entry.std for entry in classes),
            "accuracy": _rounded(entry.accuracy for entry in classes),
            "shares": [
                {
                    "title": title,
                    "value": _rounded(None if (found := share(entry)) is None else found.value for entry in classes),
                    "text": [views.share_text(share(entry)) for entry in classes],
                }
                for title, share in views.class_shares(model).items()
            ],
            "confused": [None if entry.confused_with is None else places[entry.confused_with] for entry in classes],
            "share": _rounded(entry.confused_share for entry in classes),
            "worst": [int(entry.name in worst) for entry in classes],
        },
        "curves": None if model.curves is None else _curves(model.curves, places),
    }


def _curves(curves: Curves, places: dict[str, int]) -> dict[str, Any]:
    return {
        "temperature": list(curves.temperature),
        "metrics": {"aggregate": _rounded(curves.aggregate)}
        | {name: _rounded(values) for name, values in curves.metrics.items()},
        "name": [places[name] for name in curves.scores if name in places],
        "scores": [_rounded(values) for name, values in curves.scores.items() if name in places],
    }


def _rounded(values: Iterable[float | None], how: Callable[[float, int], float] = round) -> Column:
    return [None if value is None else how(value, DECIMALS) for value in values]
