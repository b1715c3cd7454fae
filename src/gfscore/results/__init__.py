"""What is written and read: audits, calibrations, verdicts and comparisons, to and from JSON."""

from gfscore.results.audit_result import SCHEMA, Audit, json_schema
from gfscore.results.base_result import Flag, Interval, Metric, Result, Share
from gfscore.results.calibration_result import (
    AgainstReference,
    Baselines,
    Calibrated,
    Calibration,
    Curves,
    GridOptimum,
    LeftOut,
    ObjectiveSteps,
)
from gfscore.results.check_result import AttackAgreements, AttackFreeScores, Claim, CrossCheck, Witness
from gfscore.results.class_result import Atkinson, ClassResult, Disparity, NoiseFloor, Null, Penalised, WorstCase
from gfscore.results.comparison_result import COMPARISON_SCHEMA, ClassChange, Comparison, MetricChange
from gfscore.results.consistency import check_consistent
from gfscore.results.model_result import ModelAudit
from gfscore.results.origin_result import (
    DataInfo,
    IntervalInfo,
    ModelInfo,
    PreprocessingInfo,
    RunInfo,
    SamplesInfo,
    ScoreInfo,
    Setting,
    WeightedBy,
)
from gfscore.results.ranking_result import Agreement, ModelRanking
from gfscore.results.result_file import Provenance, ResultFile
from gfscore.results.verdict_result import (
    GATE_SCHEMA,
    AdaptiveClass,
    AdaptiveRun,
    GateResult,
    ModelVerdict,
    RuleVerdict,
    Verdict,
)

FILES: dict[str, type[ResultFile]] = {"gate": GateResult, "comparison": Comparison}  # by the name of the file

__all__ = [
    "COMPARISON_SCHEMA",
    "FILES",
    "GATE_SCHEMA",
    "SCHEMA",
    "AdaptiveClass",
    "AdaptiveRun",
    "AgainstReference",
    "Agreement",
    "Atkinson",
    "AttackAgreements",
    "AttackFreeScores",
    "Audit",
    "Baselines",
    "Calibrated",
    "Calibration",
    "Claim",
    "ClassChange",
    "ClassResult",
    "Comparison",
    "CrossCheck",
    "Curves",
    "DataInfo",
    "Disparity",
    "Flag",
    "GateResult",
    "GridOptimum",
    "Interval",
    "IntervalInfo",
    "LeftOut",
    "Metric",
    "MetricChange",
    "ModelAudit",
    "ModelInfo",
    "ModelRanking",
    "ModelVerdict",
    "NoiseFloor",
    "Null",
    "ObjectiveSteps",
    "Penalised",
    "PreprocessingInfo",
    "Provenance",
    "Result",
    "ResultFile",
    "RuleVerdict",
    "RunInfo",
    "SamplesInfo",
    "ScoreInfo",
    "Setting",
    "Share",
    "Verdict",
    "WeightedBy",
    "Witness",
    "WorstCase",
    "check_consistent",
    "json_schema",
]
