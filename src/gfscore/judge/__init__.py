"""What follows from the numbers: flags, verdicts of a policy, verdicts on a new version, the adaptive gate."""

from gfscore.judge.accuracies import accuracy_intervals
from gfscore.judge.adaptive_draws import (
    ROUND,
    Drawn,
    Progress,
    Score,
    adaptive_gate,
    describe_draws,
    drawn_decisions,
    explain_draws,
    judge_evidence,
    next_draws,
    rows_to_make_sure,
)
from gfscore.judge.chance import Decisions, is_at_chance
from gfscore.judge.expectation import AccuracyError, check_accuracy, check_expectation
from gfscore.judge.flags import (
    DEFAULT_MIN_N,
    Facts,
    absent_flag,
    audit_flags,
    bounded_flag,
    chance_flag,
    known_flags,
)
from gfscore.judge.judging import about_the_missing, judge, samples_needed
from gfscore.judge.pairing import follows_order, order_correlation
from gfscore.judge.policy import EVERY, Kind, Policy, Rule
from gfscore.judge.scale import check_thresholds
from gfscore.judge.soundness import ABSENT, ALLOWABLE, UnsoundError, refuse_void
from gfscore.judge.threshold import judge_interval
from gfscore.judge.versions import (
    hidden_fall,
    judge_changes,
    paired_classes,
    paired_metrics,
    unpaired_classes,
    unpaired_metrics,
)

__all__ = [
    "ABSENT",
    "ALLOWABLE",
    "DEFAULT_MIN_N",
    "EVERY",
    "ROUND",
    "AccuracyError",
    "Decisions",
    "Drawn",
    "Facts",
    "Kind",
    "Policy",
    "Progress",
    "Rule",
    "Score",
    "UnsoundError",
    "about_the_missing",
    "absent_flag",
    "accuracy_intervals",
    "adaptive_gate",
    "audit_flags",
    "bounded_flag",
    "chance_flag",
    "check_accuracy",
    "check_expectation",
    "check_thresholds",
    "describe_draws",
    "drawn_decisions",
    "explain_draws",
    "follows_order",
    "hidden_fall",
    "is_at_chance",
    "judge",
    "judge_changes",
    "judge_evidence",
    "judge_interval",
    "known_flags",
    "next_draws",
    "order_correlation",
    "paired_classes",
    "paired_metrics",
    "refuse_void",
    "rows_to_make_sure",
    "samples_needed",
    "unpaired_classes",
    "unpaired_metrics",
]
