"""Bad inputs: what a user may hand over, each with its exact message, as a function that writes it.

A module for each thing that may be wrong; whoever adds one names it here.
"""

from bad_inputs import (
    archives,
    calibrate,
    certify,
    check,
    compare,
    gate,
    misplaced,
    names,
    options,
    radii,
    repair,
    results,
    running,
    tables,
    values,
)
from bad_inputs.making import CASES

__all__ = [
    "CASES",
    "archives",
    "calibrate",
    "certify",
    "check",
    "compare",
    "gate",
    "misplaced",
    "names",
    "options",
    "radii",
    "repair",
    "results",
    "running",
    "tables",
    "values",
]
