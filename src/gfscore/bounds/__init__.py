"""How sure: intervals around the estimates, each with the probability it holds with."""

from gfscore.bounds.hoeffding import (
    hoeffding_intervals,
    hoeffding_radius,
    hoeffding_sample_size,
    rdi_radius,
    rdi_sample_size,
)

__all__ = ["hoeffding_intervals", "hoeffding_radius", "hoeffding_sample_size", "rdi_radius", "rdi_sample_size"]
