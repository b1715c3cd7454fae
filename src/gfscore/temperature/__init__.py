"""Temperature: scores as functions of it, and what choosing one by an objective means."""

from gfscore.temperature.band import TemperatureBand, temperature_band
from gfscore.temperature.best_temperature import calibrate, check_request
from gfscore.temperature.curve import (
    DEFAULT_RANGE,
    TOLERANCE,
    TemperatureCurve,
    check_temperature_range,
    stored_curves,
    temperature_curve,
)
from gfscore.temperature.objectives import Objective

__all__ = [
    "DEFAULT_RANGE",
    "TOLERANCE",
    "Objective",
    "TemperatureBand",
    "TemperatureCurve",
    "calibrate",
    "check_request",
    "check_temperature_range",
    "stored_curves",
    "temperature_band",
    "temperature_curve",
]
