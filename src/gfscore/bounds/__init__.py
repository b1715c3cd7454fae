"""How sure: intervals around the estimates, each with the probability it holds with."""

from gfscore.bounds.hoeffding import (
    checked_delta,
    hoeffding_intervals,
    hoeffding_radius,
    hoeffding_sample_size,
    rdi_radius,
    rdi_sample_size,
)

__all__ = [
    "checked_delta",
    "hoeffding_intervals",
    "hoeffding_radius",
    "hoeffding_sample_size",
    "rdi_radius",
    "rdi_sample_size",
]
