"""How sure: intervals around the estimates, each with the probability it holds with."""

from gfscore.bounds.bernstein import bernstein_intervals
from gfscore.bounds.betting import betting_intervals
from gfscore.bounds.binomial import clopper_pearson
from gfscore.bounds.changes import ChangeIntervals, change_intervals
from gfscore.bounds.hoeffding import (
    hoeffding_intervals,
    hoeffding_radius,
    hoeffding_sample_size,
    rdi_radius,
    rdi_sample_size,
)
from gfscore.bounds.kl import kl_intervals
from gfscore.bounds.methods import Method
from gfscore.bounds.noise import noise_floor, normal_floor
from gfscore.bounds.parts import check_level
from gfscore.bounds.planning import Pilot, Plan, plan_radius, plan_samples
from gfscore.bounds.sequential import Evidence, log_average
from gfscore.bounds.shares import share_intervals
from gfscore.bounds.shrinkage import ShrunkenScores, shrunken_scores
from gfscore.bounds.simultaneous import AuditIntervals, audit_intervals, summary_intervals
from gfscore.bounds.stratified import Strata, stratified_intervals

__all__ = [
    "AuditIntervals",
    "ChangeIntervals",
    "Evidence",
    "Method",
    "Pilot",
    "Plan",
    "ShrunkenScores",
    "Strata",
    "audit_intervals",
    "bernstein_intervals",
    "betting_intervals",
    "change_intervals",
    "check_level",
    "clopper_pearson",
    "hoeffding_intervals",
    "hoeffding_radius",
    "hoeffding_sample_size",
    "kl_intervals",
    "log_average",
    "noise_floor",
    "normal_floor",
    "plan_radius",
    "plan_samples",
    "rdi_radius",
    "rdi_sample_size",
    "share_intervals",
    "shrunken_scores",
    "stratified_intervals",
    "summary_intervals",
]
