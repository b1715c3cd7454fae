"""The published numbers as an audit, so that whatever shows an audit shows the paper."""

import numpy as np

from gfscore import disparity
from gfscore.assembling import make_provenance
from gfscore.bounds import box, hoeffding_intervals, inequality
from gfscore.paper.published_numbers import Dataset, Published, PublishedModel, published
from gfscore.results import (
    Atkinson,
    Audit,
    Calibration,
    Claim,
    ClassResult,
    Disparity,
    IntervalInfo,
    Metric,
    ModelAudit,
    Penalised,
    SamplesInfo,
    ScoreInfo,
    WorstCase,
)
from gfscore.samples import FloatArray
from gfscore.scores import SCORE_MAX
from gfscore.scores.great import PREMISE

DELTA = 0.05
SOURCE = "published with Shah, Visavadiya, Padala (2026), arXiv 2604.12757"
CRITERION, OBJECTIVE = "class_accuracy", "classes"  # the paper's name of the search, and ours


def published_audit(dataset: Dataset) -> Audit:
    """An audit of the paper's models at T = 1, from the numbers published with it.

    Intervals are Hoeffding's, the paper's own bound: means and counts are all it needs. Those of the metrics are what
    the class intervals allow. What takes the samples themselves (the noise floor, confusions) is None.

    >>> audit = published_audit("cifar10")
    >>> model = audit["Rebuffi_extra"]
    >>> len(audit.models), model.wcr.class_, round(model.rdi.value, 3)
    (17, 'cat', 0.333)
    """
    numbers = published(dataset)
    names = tuple(_class_name(numbers, name) for name in numbers.class_names)
    return Audit(
        models=tuple(_model(model, names, numbers.activation) for model in numbers.models),
        calibration=_calibration(numbers),
        provenance=make_provenance(),
    )


def _class_name(numbers: Published, name: str) -> str:
    """A WordNet id with its words, where they are known."""
    return f"{name} {numbers.readable_names[name]}" if name in numbers.readable_names else name


def _model(model: PublishedModel, names: tuple[str, ...], activation: str) -> ModelAudit:
    scores, counts = model.scores, model.counts
    lower, upper = hoeffding_intervals(scores, counts, DELTA)
    shares: FloatArray = counts / counts.sum()
    highest, lowest = disparity.rdi_classes(scores)
    weight = disparity.DEFAULT_FAIRNESS_WEIGHT
    return ModelAudit(
        name=model.short_name,
        score=ScoreInfo(name="great", range=(0.0, SCORE_MAX), activation=activation, temperature=1.0),
        samples=SamplesInfo(source=SOURCE, n=int(counts.sum())),
        interval=IntervalInfo(method="hoeffding", delta=DELTA, target="population"),
        accuracy=model.accuracy,
        aggregate=float(np.dot(shares, scores)),
        aggregate_interval=box.mean_range(lower, upper, shares),
        class_mean=float(scores.mean()),
        class_mean_interval=box.mean_range(lower, upper),
        classes=tuple(
            ClassResult(
                name=name,
                n=int(counts[k]),
                score=float(scores[k]),
                std=float(model.stds[k]),
                accuracy=float(model.accuracies[k]),
                interval=(float(lower[k]), float(upper[k])),
                confused_with=None,
            )
            for k, name in enumerate(names)
        ),
        absent_classes=(),
        worst_set=tuple(names[k] for k in np.flatnonzero(lower <= upper.min())),
        rdi=Disparity(
            value=disparity.rdi(scores), interval=box.rdi_range(lower, upper), classes=(names[highest], names[lowest])
        ),
        nrgc=Metric(value=disparity.nrgc(scores), interval=inequality.nrgc_range(lower, upper)),
        wcr=WorstCase(value=disparity.wcr(scores), interval=box.wcr_range(lower, upper), class_=names[lowest]),
        fp_great=Penalised(
            value=disparity.fp_great(scores, weight), interval=box.fp_great_range(lower, upper, weight), weight=weight
        ),
        theil=Metric(value=disparity.theil(scores), interval=inequality.theil_range(lower, upper)),
        atkinson=Atkinson(
            value=disparity.atkinson(scores),
            interval=inequality.atkinson_range(lower, upper),
            adjusted_mean=disparity.atkinson_adjusted_mean(scores),
        ),
        flags=(),
        claim=Claim(premise=PREMISE),
    )


def _calibration(numbers: Published) -> Calibration:
    """The published search for a temperature, as it was sampled; what it does not say is absent."""
    trace = numbers.traces[CRITERION]
    temperatures = np.concatenate((trace.coarse_temperatures, trace.fine_temperatures))
    values = np.concatenate((trace.coarse_values, trace.fine_values))
    order = np.argsort(temperatures, kind="stable")
    starts = temperatures[order].tolist()
    return Calibration(
        objective=OBJECTIVE,
        models=tuple(model.short_name for model in numbers.models),
        temperature=numbers.models[0].temperature,
        value=float(values.max()),
        intervals=(),
        temperature_range=(starts[0], starts[-1]),
        curve={"edges": (*starts, starts[-1]), "values": tuple(values[order].tolist())},
        baselines={},
    )
