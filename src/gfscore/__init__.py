"""Audit how evenly a classifier's robustness is spread over its classes, without attacks."""

from gfscore.__about__ import __version__
from gfscore.auditing import Options, audit, audit_first_order, audit_models
from gfscore.calibrating import calibrate
from gfscore.comparing import compare
from gfscore.errors import GFScoreError
from gfscore.gating import gate
from gfscore.inputs.logits_files import read_samples
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
from gfscore.outputs import sentences
from gfscore.results import Audit, Comparison, GateResult, ModelAudit
from gfscore.samples import Samples
from gfscore.scores.great import SCORE_MAX, local_scores
from gfscore.streaming import StreamingAudit

ModelAudit.show_as(text=sentences.model_text, html=sentences.model_html)

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
    "compare",
    "fp_great",
    "fp_great_curve",
    "gate",
    "generalised_entropy",
    "local_scores",
    "nrgc",
    "rdi",
    "read_samples",
    "theil",
    "wcr",
]
