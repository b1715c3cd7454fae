"""How sure: intervals around the estimates, each with the probability it holds with."""

from gfscore.bounds.attack_intervals import Attacked, AttackIntervals, attack_intervals
from gfscore.bounds.betting import Evidence, log_average
from gfscore.bounds.changes import ChangeIntervals, change_intervals
from gfscore.bounds.class_means import PartScores, check_level
from gfscore.bounds.few_attacks import Spared, attack_order, near_weights, place_bets
from gfscore.bounds.methods import Method, class_intervals, lower_bounds
from gfscore.bounds.noise import ShrunkenScores, holm, noise_floor, normal_floor, shrunken_scores
from gfscore.bounds.sample_sizes import (
    Pilot,
    Plan,
    hoeffding_intervals,
    hoeffding_radius,
    hoeffding_sample_size,
    plan_radius,
    plan_samples,
    rdi_radius,
    rdi_sample_size,
)
from gfscore.bounds.shares import Strata, clopper_pearson, share_intervals, stratified_intervals
from gfscore.bounds.simultaneous import AuditIntervals, Averages, audit_intervals, summary_intervals, within_box

__all__ = [
    "AttackIntervals",
    "Attacked",
    "AuditIntervals",
    "Averages",
    "ChangeIntervals",
    "Evidence",
    "Method",
    "PartScores",
    "Pilot",
    "Plan",
    "ShrunkenScores",
    "Spared",
    "Strata",
    "attack_intervals",
    "attack_order",
    "audit_intervals",
    "change_intervals",
    "check_level",
    "class_intervals",
    "clopper_pearson",
    "hoeffding_intervals",
    "hoeffding_radius",
    "hoeffding_sample_size",
    "holm",
    "log_average",
    "lower_bounds",
    "near_weights",
    "noise_floor",
    "normal_floor",
    "place_bets",
    "plan_radius",
    "plan_samples",
    "rdi_radius",
    "rdi_sample_size",
    "share_intervals",
    "shrunken_scores",
    "stratified_intervals",
    "summary_intervals",
    "within_box",
]
