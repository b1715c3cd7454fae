"""Who shows a result, and who takes one further: rooms that results know by name only.

They are imported when a result is asked: results hold numbers, and no words, pictures or runs.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

_NOTEBOOK: Final = "gfscore.outputs.notebook"
_BOARD: Final = "gfscore.outputs.leaderboard_text"
FUNCTIONS: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {  # by kind of result: module and name
    "ModelAudit": {
        "text": (_NOTEBOOK, "model_text"),
        "html": (_NOTEBOOK, "model_html"),
        "plot": (_NOTEBOOK, "plot"),
    },
    "Audit": {
        "text": (_NOTEBOOK, "audit_text"),
        "html": (_NOTEBOOK, "audit_html"),
        "plot": (_NOTEBOOK, "plot"),
        "report": (_NOTEBOOK, "write_report"),
        "gate": ("gfscore.jobs.gate", "gate"),
        "compare": ("gfscore.jobs.compare", "compare"),
    },
    "GateResult": {"text": (_NOTEBOOK, "gate_text"), "html": (_NOTEBOOK, "gate_html")},
    "Comparison": {"text": (_NOTEBOOK, "comparison_text"), "html": (_NOTEBOOK, "comparison_html")},
    "Leaderboard": {
        "text": (_BOARD, "board_text"),
        "html": (_BOARD, "board_html"),
        "plot": ("gfscore.outputs.figures.rank_lines", "rank_lines"),
    },
    "Repair": {
        "text": ("gfscore.outputs.repair_text", "repair_text"),
        "apply": ("gfscore.inputs.models.biased", "apply_repair"),
    },
}


def function_for(kind: type, what: str) -> Callable[..., Any] | None:
    """What makes the ``what`` of a result of this kind; None where nothing does."""
    for name in (parent.__name__ for parent in kind.__mro__):
        if what in FUNCTIONS.get(name, {}):
            module, function = FUNCTIONS[name][what]
            found: Callable[..., Any] = getattr(import_module(module), function)
            return found
    return None
