"""What a result keeps of a temperature curve: enough to show every number at other temperatures, and no more."""

import numpy as np

from gfscore.metrics import ClassScores, all_metrics
from gfscore.results import Curves, ModelAudit
from gfscore.temperature.curve import TemperatureCurve

ALL_CLASSES = 100  # up to so many, every class's curve is kept
LOWEST_CLASSES = 20  # beyond, only those of the lowest classes


def stored_curves(curve: TemperatureCurve, audited: ModelAudit) -> Curves:
    """Class scores and metrics by temperature; the temperatures of the audit and of its calibration are among them.

    The metrics are about all classes, also where only the curves of the lowest ones are kept.
    """
    asked = [audited.score.temperature, audited.calibrated.temperature if audited.calibrated else None]
    temperatures = curve.temperatures(also=[temperature for temperature in asked if temperature is not None])
    profiles = curve.scores(temperatures)  # (temperatures, K)
    by_name = dict(zip(curve.names, profiles.T.tolist(), strict=True))
    weights, weight = np.array(audited.class_weights), audited.fp_great.weight
    classes = ClassScores(scores=profiles[0], weights=weights, fairness_weight=weight)
    kept = [entry.name for entry in audited.classes]
    if len(kept) > ALL_CLASSES:
        kept = [entry.name for entry in sorted(audited.classes, key=lambda entry: entry.score)[:LOWEST_CLASSES]]
    return Curves(
        temperature=tuple(temperatures.tolist()),
        aggregate=tuple((profiles @ curve.weights).tolist()),
        scores={name: tuple(by_name[name]) for name in kept},
        metrics={
            key: tuple(metric.of(classes.at(scores)) for scores in profiles)
            for key, metric in all_metrics().items()
            if key != "aggregate"  # which has a place of its own
        },
        error=curve.error,
    )
