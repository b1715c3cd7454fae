"""Audit how evenly a classifier's robustness is spread over its classes, without attacks."""

from gfscore import views
from gfscore.__about__ import __version__
from gfscore.errors import GFScoreError
from gfscore.inputs.logits_files import read_samples
from gfscore.jobs.audit import audit, audit_first_order, audit_models
from gfscore.jobs.calibrate import calibrate
from gfscore.jobs.certify import certify
from gfscore.jobs.check import check
from gfscore.jobs.compare import compare
from gfscore.jobs.gate import gate
from gfscore.jobs.options import Options
from gfscore.jobs.plan import plan
from gfscore.jobs.stream import StreamingAudit
from gfscore.metrics.formulas import (
    atkinson,
    atkinson_adjusted_mean,
    fp_great,
    fp_great_curve,
    generalised_entropy,
    nrgc,
    rdi,
    theil,
    wcr,
)
from gfscore.results import Audit, Comparison, GateResult, ModelAudit
from gfscore.samples import Samples
from gfscore.scores.great import SCORE_MAX, local_scores

ModelAudit.show_as(text=views.model_text, html=views.model_html)

__all__ = [
    "SCORE_MAX",
    "Audit",
    "Comparison",
    "GFScoreError",
    "GateResult",
    "ModelAudit",
    "Options",
    "Samples",
    "StreamingAudit",
    "__version__",
    "atkinson",
    "atkinson_adjusted_mean",
    "audit",
    "audit_first_order",
    "audit_models",
    "calibrate",
    "certify",
    "check",
    "compare",
    "fp_great",
    "fp_great_curve",
    "gate",
    "generalised_entropy",
    "local_scores",
    "nrgc",
    "plan",
    "rdi",
    "read_samples",
    "theil",
    "wcr",
]
