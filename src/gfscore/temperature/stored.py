"""What a result keeps of a temperature curve: enough to show every number at other temperatures, and no more."""

from collections.abc import Callable

from gfscore import disparity
from gfscore.arrays import FloatArray
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
    scores = dict(zip(curve.names, profiles.T.tolist(), strict=True))
    kept = [entry.name for entry in audited.classes]
    if len(kept) > ALL_CLASSES:
        kept = [entry.name for entry in sorted(audited.classes, key=lambda entry: entry.score)[:LOWEST_CLASSES]]
    return Curves(
        temperature=tuple(temperatures.tolist()),
        aggregate=tuple((profiles @ curve.weights).tolist()),
        scores={name: tuple(scores[name]) for name in kept},
        metrics={name: tuple(map(metric, profiles)) for name, metric in _metrics(audited.fp_great.weight).items()},
        error=curve.error,
    )


def _metrics(weight: float) -> dict[str, Callable[[FloatArray], float | None]]:
    """What is said of a whole profile, by its name in the result."""
    return {
        "class_mean": lambda scores: float(scores.mean()),
        "wcr": disparity.wcr,
        "rdi": disparity.rdi,
        "nrgc": disparity.nrgc,
        "fp_great": lambda scores: disparity.fp_great(scores, weight),
        "theil": disparity.theil,
        "atkinson": disparity.atkinson,
    }
