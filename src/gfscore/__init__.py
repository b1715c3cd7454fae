"""Audit how evenly a classifier's robustness is spread over its classes, without attacks."""

import importlib
import typing

from gfscore.__about__ import __version__
from gfscore.errors import GFScoreError
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

if typing.TYPE_CHECKING:
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
    from gfscore.scores import SCORE_MAX, local_scores


def _later(module: str, name: str) -> typing.Any:
    """A function that is imported when it is first called."""

    def call(*given: typing.Any, **words: typing.Any) -> typing.Any:
        return getattr(importlib.import_module(module), name)(*given, **words)

    return call


_NOTEBOOK = "gfscore.outputs.notebook"
for _kind, _name in ((ModelAudit, "model"), (Audit, "audit"), (GateResult, "gate"), (Comparison, "comparison")):
    _kind.show_as(text=_later(_NOTEBOOK, f"{_name}_text"), html=_later(_NOTEBOOK, f"{_name}_html"))
Repair.show_as(
    text=_later("gfscore.outputs.repair_text", "repair_text"),
    apply=_later("gfscore.inputs.models.biased", "apply_repair"),
)
for _kind in (ModelAudit, Audit):
    _kind.show_as(plot=_later(_NOTEBOOK, "plot"))
Leaderboard.show_as(
    text=_later("gfscore.outputs.leaderboard_text", "board_text"),
    html=_later("gfscore.outputs.leaderboard_text", "board_html"),
    plot=_later("gfscore.outputs.figures.rank_lines", "rank_lines"),
)
Audit.show_as(
    report=_later(_NOTEBOOK, "write_report"),
    gate=_later("gfscore.jobs.gate", "gate"),
    compare=_later("gfscore.jobs.compare", "compare"),
)

# What runs models is imported when it is asked for: it takes a second, and most commands need little of it.
_LATE = {
    **dict.fromkeys(("audit", "audit_models"), "gfscore.jobs.audit"),
    "audit_first_order": "gfscore.jobs.given_gradients",
    **{
        name: f"gfscore.jobs.{name}"
        for name in ("calibrate", "certify", "check", "compare", "gate", "leaderboard", "plan", "repair")
    },
    **dict.fromkeys(("SCORE_MAX", "local_scores"), "gfscore.scores"),
    **dict.fromkeys(("Options", "RunOptions"), "gfscore.jobs.options"),
    "StreamingAudit": "gfscore.jobs.stream",
    "read_samples": "gfscore.inputs.logits_files",
    "samples_of": "gfscore.jobs.sources",
}

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


def __getattr__(name: str) -> typing.Any:
    if name not in _LATE:
        raise AttributeError(f"module 'gfscore' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_LATE[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})
