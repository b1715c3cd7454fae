"""Audit how evenly a classifier's robustness is spread over its classes, without attacks."""

from importlib import import_module as _import_module

from gfscore.__about__ import __version__

TYPE_CHECKING = False  # typing's own takes as long to import as all the rest here
if TYPE_CHECKING:
    from typing import Any

    from gfscore.errors import GFScoreError
    from gfscore.inputs.logits_files import read_samples
    from gfscore.jobs.audit import audit, audit_models
    from gfscore.jobs.calibrate import calibrate
    from gfscore.jobs.certify import certify
    from gfscore.jobs.check import check
    from gfscore.jobs.compare import compare
    from gfscore.jobs.gate import gate
    from gfscore.jobs.given_gradients import audit_first_order
    from gfscore.jobs.leaderboard import leaderboard
    from gfscore.jobs.options import Options, RunOptions
    from gfscore.jobs.plan import plan
    from gfscore.jobs.repair import repair
    from gfscore.jobs.sources import samples_of
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
    from gfscore.results import Audit, Comparison, GateResult, Leaderboard, ModelAudit, Repair
    from gfscore.samples import Samples
    from gfscore.scores import SCORE_MAX, local_scores

# Everything is imported when it is asked for: a command has to listen to Ctrl-C before its libraries are loaded, and
# most commands and programs need few of them.
_FORMULAS = ("atkinson", "atkinson_adjusted_mean", "fp_great", "fp_great_curve", "generalised_entropy", "nrgc", "rdi")
_RESULTS = ("Audit", "Comparison", "GateResult", "Leaderboard", "ModelAudit", "Repair")
_JOBS = ("calibrate", "certify", "check", "compare", "gate", "leaderboard", "plan", "repair")
_LATE = {
    **dict.fromkeys(("audit", "audit_models"), "gfscore.jobs.audit"),
    "audit_first_order": "gfscore.jobs.given_gradients",
    **{name: f"gfscore.jobs.{name}" for name in _JOBS},
    **dict.fromkeys((*_FORMULAS, "theil", "wcr"), "gfscore.metrics.formulas"),
    **dict.fromkeys(_RESULTS, "gfscore.results"),
    **dict.fromkeys(("SCORE_MAX", "local_scores"), "gfscore.scores"),
    **dict.fromkeys(("Options", "RunOptions"), "gfscore.jobs.options"),
    "GFScoreError": "gfscore.errors",
    "Samples": "gfscore.samples",
    "StreamingAudit": "gfscore.jobs.stream",
    "read_samples": "gfscore.inputs.logits_files",
    "samples_of": "gfscore.jobs.sources",
}
_ROOMS = ("errors", "metrics", "results", "samples")  # without an import of their own, as in gfscore.errors.FileError

__all__ = [
    "SCORE_MAX",
    "Audit",
    "Comparison",
    "GFScoreError",
    "GateResult",
    "Leaderboard",
    "ModelAudit",
    "Options",
    "Repair",
    "RunOptions",
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
    "leaderboard",
    "local_scores",
    "nrgc",
    "plan",
    "rdi",
    "read_samples",
    "repair",
    "samples_of",
    "theil",
    "wcr",
]


def __getattr__(name: str) -> "Any":
    if name in _ROOMS:
        return _import_module(f"gfscore.{name}")
    if name not in _LATE:
        raise AttributeError(f"module 'gfscore' has no attribute {name!r}")
    found = globals()[name] = getattr(_import_module(_LATE[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE, *_ROOMS})
