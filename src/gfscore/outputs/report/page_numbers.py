"""What the scripts of the HTML report draw: the numbers of an audit, packed small."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gfscore import views
from gfscore.outputs import robust_words, sentences
from gfscore.outputs.escaping import shorten
from gfscore.outputs.report import report_words as words
from gfscore.results import Audit, Curves, Metric, ModelAudit, Robustness

CLASS_LINES = 40  # classes that have a line of their own over eps; of more a band is drawn
DECIMALS = 6  # of what is drawn: at least two more than are shown


def page_data(audit: Audit) -> dict[str, Any]:
    """What ``assets/*.js`` read: columns instead of rows, every name once."""
    places: dict[str, int] = {}
    for model in audit.models:
        for entry in model.classes:
            for name in (entry.name, entry.confused_with):
                if name is not None:
                    places.setdefault(name, len(places))
    calibration = audit.calibration
    return {
        "names": [shorten(name) for name in places],
        "labels": {line.key: line.name for line in words.metric_lines(audit.models[0])},
        "models": [_pack_model(model, places) for model in audit.models],
        "plateau": [] if calibration is None else [list(interval) for interval in calibration.intervals],
    }


def _pack_model(model: ModelAudit, places: dict[str, int]) -> dict[str, Any]:
    classes, worst = model.classes, set(model.worst_set)
    intervals = [entry.interval or (None, None) for entry in classes]
    return {
        "name": shorten(model.name),
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
            "score": _round((entry.score for entry in classes), views.floored if views.is_certified(model) else round),
            "low": _round((low for low, _ in intervals), views.floored),
            "high": _round((high for _, high in intervals), views.ceiled),
            "std": _round(entry.std for entry in classes),
            "accuracy": _round(entry.accuracy for entry in classes),
            "shares": [
                {
                    "title": title,
                    "value": _round(None if (found := share(entry)) is None else found.value for entry in classes),
                    "text": [views.share_text(share(entry)) for entry in classes],
                }
                for title, share in sentences.class_shares(model).items()
            ],
            "confused": [None if entry.confused_with is None else places[entry.confused_with] for entry in classes],
            "share": _round(entry.confused_share for entry in classes),
            "worst": [int(entry.name in worst) for entry in classes],
        },
        "curves": None if model.curves is None else _pack_curves(model.curves, places),
        "robust": None if model.robustness is None else _pack_robustness(model, model.robustness, places),
    }


def _pack_curves(curves: Curves, places: dict[str, int]) -> dict[str, Any]:
    return {
        "temperature": list(curves.temperature),
        "metrics": {"aggregate": _round(curves.aggregate)}
        | {name: _round(values) for name, values in curves.metrics.items()},
        "name": [places[name] for name in curves.scores if name in places],
        "scores": [_round(values) for name, values in curves.scores.items() if name in places],
    }


def _pack_robustness(model: ModelAudit, found: Robustness, places: dict[str, int]) -> dict[str, Any]:
    """Robust accuracies by eps: of the whole, of the worst class, and of each; of many the lowest and highest."""
    rungs, names = found.rungs, [part.name for part in found.classes]
    unit, said = robust_words.eps_unit(found.norm, rungs[-1].eps)
    place = names.index(found.headline.worst)
    columns = list(zip(*([entry.value for entry in rung.classes] for rung in rungs), strict=True))
    few = len(names) <= CLASS_LINES
    clean = {entry.name: entry.accuracy for entry in model.classes}

    def line(metrics: Sequence[Metric]) -> dict[str, Any]:
        ends = [metric.interval or (None, None) for metric in metrics]
        return {
            "value": _round(metric.value for metric in metrics),
            "low": _round((low for low, _ in ends), views.floored),
            "high": _round((high for _, high in ends), views.ceiled),
        }

    return {
        "eps": _round(rung.eps / unit for rung in rungs),
        "labels": [robust_words.eps_text(found, rung.eps) for rung in rungs],
        "shown": [rungs.index(rung) for rung in robust_words.shown_rungs(found)],
        "title": f"size of the attack, eps ({views.norm_text(found.norm)}{said})",
        "at": rungs.index(found.headline),
        "joined": found.n == model.samples.n,
        "whole": line([rung.whole for rung in rungs]) | {"clean": model.accuracy},
        "worst": line([rung.classes[place] for rung in rungs])
        | {"clean": clean[names[place]], "name": places[names[place]]},
        "classes": [
            {"name": places[name], "value": _round(column), "clean": clean[name]}
            for name, column in zip(names, columns, strict=True)
            if few and name != names[place]
        ],
        "spread": None if few else [_round(map(how, zip(*columns, strict=True))) for how in (min, max)],
    }


def _round(values: Iterable[float | None], how: Callable[[float, int], float] = round) -> list[float | None]:
    return [None if value is None else how(value, DECIMALS) for value in values]
